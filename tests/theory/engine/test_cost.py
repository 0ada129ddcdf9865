"""Estimates and refusals for any model; losses of different kinds side by side; sizes beyond floats."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from theory.autoencoder.model import AUTOENCODER
from theory.engine import recursion
from theory.engine.composite import composite_plan
from theory.engine.cost import Cost, Watch
from theory.engine.derivatives import derivatives
from theory.engine.laurent import Laurent
from theory.engine.model import GaussianMatrix, Loss, MatrixModel, Term
from theory.engine.planar import planar_derivatives
from theory.engine.planar_support import planar_supports
from theory.engine.series import expected_derivatives, expected_derivatives_together
from theory.errors import BudgetError, InputError, ReachError
from theory.models.model import Model

UNTIED_AUTOENCODER, TEACHER_STUDENT = Model.named("untied").rings, Model.named("teacher").rings


@pytest.mark.parametrize(
    ("model", "order"),
    [(UNTIED_AUTOENCODER, 12), (Model.named("deep:3").rings, 8), (AUTOENCODER, 18), (TEACHER_STUDENT, 14)],
)
def test_what_would_take_hours_is_refused_with_the_estimate(model: MatrixModel, order: int) -> None:
    with pytest.raises(BudgetError, match=rf"order {order} of the series of train: would need (about .* GiB|years)"):
        expected_derivatives(model, "train", order=order)


def test_planar_routes_are_refused_too() -> None:
    with pytest.raises(BudgetError, match="order 30 of the planar series"):
        planar_derivatives(UNTIED_AUTOENCODER, "train", order=30)
    with pytest.raises(BudgetError, match="order 30 of the planar series"):
        planar_derivatives(AUTOENCODER, "train", order=30)
    with pytest.raises(BudgetError, match="order 30 of the planar monomials"):
        planar_supports(UNTIED_AUTOENCODER, "train", order=30)


def test_progress_ends_where_it_said() -> None:
    for model in (UNTIED_AUTOENCODER, AUTOENCODER):
        seen: list[tuple[int, int]] = []
        expected_derivatives(
            model, "train", order=3, progress=lambda done, total, seen=seen: seen.append((done, total))
        )
        assert seen == sorted(seen, key=lambda pair: pair[0])
        assert all(done <= total for done, total in seen)
        assert seen[-1][0] == seen[-1][1]


def test_force_begins_all_the_same() -> None:
    watch = Watch("a series", 40, force=True)
    for work in (1, 1000, 10**6):
        watch.done(work, held=10**12)
    with pytest.raises(BudgetError, match="years"):
        Cost(1e12, 0).check("a series")


def mixed() -> MatrixModel:
    """The autoencoder with an observable that is a product of traces, and one that no Gram letters tile."""
    p, n, m = AUTOENCODER.spaces
    squared = Loss("squared", (Term(1, ("U' U", "U' U")), Term(-2, ("X X'",))))
    square = Loss("square", (Term(1, ("Q U' U",)),))
    matrices = (*AUTOENCODER.matrices, GaussianMatrix("Q", p, p))
    return MatrixModel("mixed", (p, n, m), matrices, (*AUTOENCODER.losses, squared, square), train_loss="train")


def test_a_loss_with_a_product_of_traces_leaves_the_others_their_fast_path() -> None:
    model = mixed()
    assert composite_plan(model) is None
    assert composite_plan(model, ["train", "population"]) is not None
    found = expected_derivatives_together(model, {"squared": 2, "population": 3, "square": 1, "train": 3})
    assert list(found) == ["squared", "population", "square", "train"]
    assert found["population"] == tuple(
        y.substitute({}, model.variables) for y in expected_derivatives(AUTOENCODER, "population", order=3)
    )
    for loss in ("squared", "square"):
        combinations = derivatives(model, loss, order=len(found[loss]) - 1)
        assert found[loss] == tuple(recursion.expectation(c, model=model) for c in combinations)
    with pytest.raises(BudgetError):
        expected_derivatives(model, "squared", order=20)
    assert len(expected_derivatives(model, "train", order=7)) == 8


HUGE = 10**60


def test_huge_sizes_have_right_values_or_a_refusal() -> None:
    y = expected_derivatives(AUTOENCODER, "population", order=5)[5]
    exact = y.evaluate({"p": HUGE, "n": HUGE, "m": HUGE, "sigma2": Fraction(1, HUGE)})
    assert exact == y.evaluate({"p": HUGE, "n": HUGE, "m": HUGE, "sigma2": Fraction(1, 10**60)})
    small = {"p": 1e60, "n": 1e60, "m": 1e60, "sigma2": 1e-60}
    assert y.evaluate(small) == pytest.approx(float(exact), rel=1e-12)
    assert y.compile()(1e60, 1e60, 1e60, 1e-60) == pytest.approx(float(exact), rel=1e-12)
    with pytest.raises(ReachError, match="largest float"):
        (Laurent.variable("p", ("p",)) ** 6).evaluate({"p": 1e60})
    with pytest.raises(ReachError, match="largest float"):
        (Laurent.variable("p", ("p",)) ** 6).compile()(np.array([1.0, 1e60]))
    with pytest.raises(InputError, match="finite"):
        Laurent.variable("p", ("p",)).evaluate({"p": float("nan")})
    p = Laurent.variable("p", ("p",))
    both = p**6 * p**-5 + p**-8 * p**8
    assert (p**6 - p**6 + both).compile()(np.array([2.0, 1e60])).tolist() == [3.0, 1e60]
    assert (p * 10**400).evaluate({"p": 1e-300}) == pytest.approx(1e100)
    assert (p * 10**400).compile()(1e-300) == pytest.approx(1e100)


@settings(max_examples=50, deadline=None, derandomize=True)
@given(
    st.dictionaries(
        st.tuples(st.integers(-9, 9), st.integers(-9, 9)),
        st.fractions(-9, 9, max_denominator=9),
        min_size=1,
        max_size=5,
    ),
    st.integers(-60, 60),
    st.integers(-60, 60),
    st.sampled_from([1, -3, 7]),
)
def test_compiled_functions_are_exact_values_rounded(
    terms: dict[tuple[int, int], Fraction], a: int, b: int, sign: int
) -> None:
    """Against fractions summed one by one; a value that no float is near is refused."""
    polynomial = Laurent(("p", "n"), terms)
    x, y = Fraction(float(sign * Fraction(10) ** a)), Fraction(float(3 * Fraction(10) ** b))
    exact = sum((c * x**i * y**j for (i, j), c in polynomial.terms.items()), Fraction(0))
    assert polynomial.evaluate({"p": x, "n": y}) == exact
    size = sum((abs(c * x**i * y**j) for (i, j), c in polynomial.terms.items()), Fraction(0))
    if size < Fraction(10) ** 300:
        assert polynomial.evaluate({"p": float(x), "n": float(y)}) == float(exact)
        assert abs(Fraction(float(polynomial.compile()(float(x), float(y)))) - exact) <= size / 10**12 + Fraction(
            1, 10**307
        )
