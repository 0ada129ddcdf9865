"""The polytope of leading rates, found in exact series: the prism, and the shapes of other models."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import networkx as nx
import pytest

from regimes.faces import face_lattice
from regimes.prism import VERTICES
from theory.autoencoder.model import AUTOENCODER
from theory.engine.laurent import Laurent
from theory.engine.model import MatrixModel
from theory.engine.newton import LimitingPolytope, leading_monomials, limiting_polytope
from theory.engine.planar_support import planar_supports
from theory.engine.polytope import hull, minkowski_difference
from theory.engine.series import expected_derivatives
from theory.engine.shapes import same_type, shape_of
from theory.errors import ReachError
from theory.models.deep_rates import local_rates
from theory.models.model import Model

SIZES = ("p", "n", "n1", "n2", "m")
PRISM = hull(vertex.vector for vertex in VERTICES)


def from_exact_series(model: MatrixModel, loss: str, order: int) -> LimitingPolytope:
    series = expected_derivatives(model, loss, order=order)
    return limiting_polytope([leading_monomials(y, sizes=SIZES) for y in series], variables=model.variables)


@pytest.mark.parametrize(("loss", "begins"), [("train", 1), ("population", 1)])
def test_the_prism_is_found_in_the_autoencoder_s_series(loss: str, begins: int) -> None:
    found = from_exact_series(AUTOENCODER, loss, 5)
    assert found.polytope.vertices == PRISM.vertices
    assert found.period == 1
    assert found.orders == tuple(range(begins, 5))
    assert shape_of(found.polytope) == "triangular prism"
    assert nx.is_isomorphic(found.polytope.face_lattice(), face_lattice())


def test_with_infinite_data_the_population_loss_has_a_triangle() -> None:
    weights = {"p": 0, "n": 0, "m": 1, "sigma2": 0}
    series = [y.leading(weights) for y in expected_derivatives(AUTOENCODER, "population", order=5)]
    found = limiting_polytope([leading_monomials(y, sizes=SIZES) for y in series], variables=AUTOENCODER.variables)
    assert shape_of(found.polytope) == "triangle"
    assert set(found.polytope.vertices) == {vertex.vector for vertex in VERTICES if vertex.segment == "m"}


UNTIED_RATES = {  # exponents of p, n, m, σ_U², σ_V²
    (-1, 0, 0, 0, 0),
    (0, 0, -1, 0, 0),
    (-1, 1, 0, 1, 0),
    (-1, 1, 0, 0, 1),
    (0, 1, -1, 1, 0),
    (0, 1, -1, 0, 1),
    (0, 0, 0, 1, 0),
    (0, 0, 0, 0, 1),
    (1, 0, -1, 0, 1),  # but not σ_U² p/m: U S Uᵀ has a node too few
}


@pytest.mark.parametrize("loss", ["train", "population"])
def test_the_untied_autoencoder_s_shape(loss: str) -> None:
    found = from_exact_series(Model.named("untied").rings, loss, 4 if loss == "train" else 5)
    assert set(found.polytope.vertices) == UNTIED_RATES
    assert found.period == 2  # a single merge with the target changes the parity of both factors
    assert found.polytope.f_vector == (9, 21, 20, 8, 1)
    assert shape_of(found.polytope) == "square pyramid × segment less a vertex"
    whole = hull([*found.polytope.vertices, (1, 0, -1, 1, 0)])
    pyramid = hull(v[:2] + v[3:] for v in whole.vertices if v[2] == 0)
    assert shape_of(whole) == "square pyramid × segment"
    assert shape_of(pyramid) == "square pyramid"


def test_equal_variances_take_the_untied_autoencoder_to_the_same_prism() -> None:
    rates = [(p, n, m, u + v) for p, n, m, u, v in UNTIED_RATES]
    assert hull(rates).vertices == PRISM.vertices


@pytest.mark.parametrize(("layers", "order"), [(2, 4), (3, 3)])
def test_planar_pairings_are_the_leading_ones(layers: int, order: int) -> None:
    """The cheap supports against the exact series, which knows every pairing and every sign."""
    model = Model.named(f"deep:{layers}").rings
    supports = planar_supports(model, "train", order=order)
    for support, exact in list(zip(supports, expected_derivatives(model, "train", order=order), strict=True))[1:]:
        assert support == leading_monomials(exact, sizes=SIZES)


def test_two_layers_are_the_untied_autoencoder_by_two_routes() -> None:
    assert {tuple(map(int, vertex)) for vertex in hull(local_rates(2)).vertices} == UNTIED_RATES


def test_two_hidden_layers_by_two_routes() -> None:
    """From the series at successive orders, and from local merges alone."""
    model = Model.named("deep:3").rings
    found = limiting_polytope(planar_supports(model, "train", order=4), variables=model.variables)
    assert found.polytope.vertices == hull(local_rates(3)).vertices
    assert found.period == 2
    assert found.orders == (1, 2)
    assert found.polytope.dimension == 6
    assert found.polytope.f_vector == (28, 139, 275, 258, 115, 21, 1)
    halves = [v for v in found.polytope.vertices if any(x.denominator == 2 for x in v)]
    assert len(halves) == 12  # pairs of target merges; the other 16 are quadratic ones


def test_equal_hidden_layers_have_a_shape_in_space() -> None:
    model = Model.named("deep:3").rings
    images = [
        frozenset((p, n1 + n2, m, a + b + c) for p, n1, n2, m, a, b, c in support)
        for support in planar_supports(model, "train", order=4)
    ]
    found = limiting_polytope(images, variables=("p", "n", "m", "sigma2"))
    half = Fraction(1, 2)
    assert set(found.polytope.vertices) == {
        (-1, half, 0, half), (-half, 0, 0, half), (0, 0, -half, half), (0, half, -1, half),
        (-1, 2, 0, 2), (0, 2, -1, 2), (1, 0, 0, 2), (1, 1, -1, 2),
    }  # fmt: skip
    assert found.polytope.f_vector == (8, 13, 7, 1)
    assert not same_type(found.polytope, PRISM)


def test_three_hidden_layers_grow_by_the_local_rates() -> None:
    """One step, equal widths and variances; here a wrong norm of the data between two thin products shows."""

    def merged(exponents: Sequence[Fraction | int]) -> tuple[Fraction | int, ...]:
        p, n1, n2, n3, m, *variances = exponents
        return (p, n1 + n2 + n3, m, sum(variances))

    _, first, _, third = (hull(map(merged, s)) for s in planar_supports(Model.named("deep:4").rings, "train", order=3))
    step = minkowski_difference(third, first)
    assert step is not None
    per_derivative = {tuple(x / 2 for x in vertex) for vertex in step.vertices}
    assert per_derivative == set(hull(map(merged, local_rates(4))).vertices)


@pytest.mark.parametrize("loss", ["train", "data", "population"])
def test_weight_decay_is_one_more_rate_over_the_prism(loss: str) -> None:
    """The convex hull of the prism and the decay; the decayed and the population loss are no Minkowski sums."""
    found = from_exact_series(Model.named("weight-decay").rings, loss, 4)
    assert shape_of(found.polytope) == "pyramid over triangular prism"
    assert found.polytope.f_vector == (7, 15, 14, 6, 1)
    assert set(found.polytope.vertices) == {(*vertex, 0) for vertex in PRISM.vertices} | {(0, 0, 0, 0, 1)}
    assert found.minkowski == (loss == "data")
    assert "settled" in found.certificate


def test_the_teacher_s_rates_settle_with_period_two() -> None:
    """Four rates of quadratic merges, as in the prism, and those of merges with the target.

    They multiply U by as + sa over pm, for a = AᵀA and s = XXᵀ. The largest eigenvalue counts. Where k ≫ p, a is kτ²
    and s up to max(m, p); where m ≫ p, s is m and a up to τ² max(k, p). Else a and s are pτ² and p times projections
    on k and m random directions, whose subspaces meet at an angle of cosine (max(k, m)/p)^½: p²τ² times it.
    """
    series = expected_derivatives(Model.named("teacher").rings, "train", order=6)
    supports = [leading_monomials(y, sizes=Model.named("teacher").rings.sizes) for y in series]
    found = limiting_polytope(supports, variables=Model.named("teacher").rings.variables)
    half = Fraction(1, 2)
    assert found.period == 2
    assert set(found.polytope.vertices) == {  # exponents of p, n, k, m, σ², τ²
        (-1, 1, 0, 0, 1, 0), (0, 1, 0, -1, 1, 0), (0, 0, 0, 0, 1, 0), (1, 0, 0, -1, 1, 0),  # the student's own
        (-1, 0, 1, 0, 0, 1), (0, 0, 1, -1, 0, 1), (0, 0, 0, 0, 0, 1),  # the teacher's
        (half, 0, 0, -half, 0, 1), (half, 0, half, -1, 0, 1),  # and both subspaces thin
    }  # fmt: skip
    assert found.polytope.f_vector == (9, 19, 17, 7, 1)
    with pytest.raises(ReachError, match="not settled to order 5"):
        limiting_polytope(supports[:6], variables=Model.named("teacher").rings.variables)


def test_too_short_a_series_is_refused() -> None:
    model = Model.named("deep:2").rings
    with pytest.raises(ReachError, match="give a higher order"):
        limiting_polytope(planar_supports(model, "train", order=2), variables=model.variables)


def test_unscaled_parameters_are_refused() -> None:
    mixed = Laurent(("p", "lambda"), {(0, 1): Fraction(1), (0, 0): Fraction(1)})
    with pytest.raises(ReachError, match="planar"):
        leading_monomials(mixed, sizes=SIZES)
