"""Every face's Taylor coefficients against the leading part of the exact series, exactly."""

from __future__ import annotations

from functools import cache

import pytest

from regimes.atlas import ATLAS
from regimes.faces import FACES
from theory.autoencoder.limits.solution import Loss
from theory.autoencoder.limits.table import SOLUTIONS, SOLVED
from theory.autoencoder.series import loss_series
from theory.engine.laurent import Laurent

ORDER = 6
LOSSES: tuple[Loss, Loss] = ("train", "population")


@cache
def exact(loss: Loss) -> tuple[Laurent, ...]:
    return loss_series(loss, order=ORDER).coefficients


def leading(face: str, loss: Loss) -> list[Laurent]:
    """The leading part of the exact series for the face's own scaling."""
    scaling = ATLAS[face].scaling
    weights = scaling.weights
    return [coefficient.leading(weights) for coefficient in exact(loss)]


def test_there_is_one_solution_a_face() -> None:
    assert [entry.face for entry in ATLAS.values()] == list(FACES)
    assert set(SOLUTIONS) == {face.vertex_set for face in FACES}
    assert len(SOLVED) == 19


@pytest.mark.parametrize("name", ATLAS)
def test_canonical_scaling_lies_in_the_cone(name: str) -> None:
    entry = ATLAS[name]
    assert entry.scaling.face() == entry.face
    assert all(exponent.denominator == 1 for exponent in entry.scaling.exponents)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("name", [face.name for face in FACES if face.vertex_set in SOLVED])
def test_taylor_coefficients_are_the_leading_part_of_the_exact_series(name: str, loss: Loss) -> None:
    """As polynomials, so at every ratio of the sizes at once."""
    expected = leading(name, loss)
    found = ATLAS[name].limit.taylor(loss, ORDER)
    assert len(found) == ORDER + 1
    for s, (a, b) in enumerate(zip(found, expected, strict=True)):
        assert a == b, (s, str(a), str(b))


def test_the_comparison_sees_one_wrong_coefficient() -> None:
    expected = leading("small-data", "train")
    found = list(ATLAS["small-data"].limit.taylor("train", ORDER))
    found[6] = found[6] + Laurent.monomial({"n": 1}, found[6].variables)
    assert found != expected


def test_faces_differ() -> None:
    """No face's coefficients pass for another's, but for those whose scalings both make the same terms win."""
    series = {name: tuple(entry.limit.taylor("train", 3)) for name, entry in ATLAS.items()}
    assert len(set(series.values())) == 21
