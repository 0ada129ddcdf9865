"""Which faces the machine solves, and that its solutions are those found by hand."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
import sympy as sp

from regimes.faces import FACES
from regimes.limit import limit
from tests.theory.equations.faces import series
from theory.autoencoder.sizes import Sizes
from theory.equations.closed_form import ClosedForm, close, holds
from theory.equations.evaluate import evaluate
from theory.equations.factor import factorisations
from theory.equations.reduced import ReducedSeries, plain_series

SOLVED = {
    "R|m": "closed form",
    "R|p": "closed form",
    "N|m": "closed form",
    "N|p": "closed form",
    "P|m": "closed form",
    "P|p": "closed form",
    "R,N|m": "closed form",
    "R,N|p": "closed form",
    "R,P|m": "closed form",
    "R,P|p": "closed form",
    "R|m,p": "integral",
    "N|m,p": "integral",
    "N,P|m": "integral",
    "mean-field": "integral",
    "large-data": "integral",
}
"""What comes out, and of which kind; of the 19 faces with a solution by hand, four do not come out."""
UNSOLVED = {"narrow-latent", "small-data", "P|m,p", "N,P|p", "free", "interior"}


def test_every_face_is_accounted_for() -> None:
    assert set(SOLVED) | UNSOLVED == {face.name for face in FACES}


@pytest.mark.parametrize(
    ("face", "loss"), [*((face, "population") for face in SOLVED), ("R|m", "train"), ("mean-field", "train")]
)
def test_solved_face(face: str, loss: str) -> None:
    known = series(face, loss, 9)  # type: ignore[arg-type]
    found = close(known)
    assert found is not None
    assert found.kind == SOLVED[face]
    if found.moments is None:  # two more orders than it was found from
        assert holds(found.kernel, series(face, loss, 11))  # type: ignore[arg-type]


def test_unsolved_face_says_so() -> None:
    assert close(series("P|m,p", "train", 8)) is None


def _at(known: ReducedSeries, sizes: Sizes, time: float) -> tuple[Fraction, dict[str, Fraction]]:
    point = {"p": Fraction(sizes.p), "n": Fraction(sizes.n), "m": Fraction(sizes.m), "sigma2": sizes.sigma2}
    point["u"] = -Fraction(time) / (sizes.p * sizes.m)
    values = {
        name: Fraction(np.prod([point[k] ** power for k, power in powers.items()]))
        for name, powers in known.variables.items()
    }
    return values.pop("x"), values


@pytest.mark.parametrize(
    ("face", "loss", "sizes"),
    [
        ("mean-field", "population", Sizes(100, 3000, 200, Fraction(1, 2000))),
        ("mean-field", "train", Sizes(100, 3000, 100, Fraction(1, 2000))),
        ("large-data", "train", Sizes(100, 50, 10000, Fraction(1, 200))),
    ],
)
def test_curve_agrees_with_the_hand_made_formula(face: str, loss: str, sizes: Sizes) -> None:
    known = series(face, loss, 8)  # type: ignore[arg-type]
    found = close(known)
    assert found is not None
    times = [10.0, 100.0, 1000.0]
    points = [_at(known, sizes, time) for time in times]
    curve = evaluate(found, [x for x, _ in points], points[0][1])
    expected = getattr(limit(face, sizes, times), loss)
    assert np.allclose(curve.values, expected, rtol=1e-12, atol=0)
    assert max(e / abs(v) for e, v in zip(curve.errors, curve.values, strict=True)) < 1e-12


def test_late_curve_keeps_its_digits() -> None:
    # ηt = 100p at m = p, where the loss falls by a power law
    known, sizes = series("mean-field", "population", 8), Sizes(100, 3000, 100, Fraction(1, 2000))
    found = close(known)
    assert found is not None
    x, values = _at(known, sizes, 1e4)
    curve = evaluate(found, [x], values)
    assert curve.values[0] == pytest.approx(limit("mean-field", sizes, [1e4]).population[0], rel=1e-12)


def test_wrong_solution_does_not_hold() -> None:
    x = sp.Symbol("x", positive=True)
    known = plain_series([Fraction(1), Fraction(1), Fraction(1, 2), Fraction(1, 6)])
    assert holds(sp.exp(x), known)
    assert not holds(1 / (1 - x), known)
    assert not holds(sp.exp(x) + x**3 / 100, known)


def test_product_is_taken_apart() -> None:
    values = {(s, j): Fraction((s + 1) * (j + 2**s)) for s in range(6) for j in range(2)}
    broken = {**values, (3, 1): Fraction(1)}
    names, variables = ("x", "r"), {"x": {"u": 1}, "r": {"m": 1}}
    whole = list(factorisations(ReducedSeries(names, variables, {}, (), values, 5)))
    assert whole[0].moments.coefficients[1, 1] == Fraction(3, 2)
    assert len(list(factorisations(ReducedSeries(names, variables, {}, (), broken, 5)))) == len(whole)


def test_text_of_an_integral() -> None:
    x = sp.Symbol("x", positive=True)
    assert "dμ(λ) - 1/2" in str(ClosedForm(sp.exp(x), sp.exp(x), Fraction(1, 2)))
