"""Exact arithmetic beyond machine integers: many-digit, tiny, huge and rational coefficients, by three routes."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from theory.autoencoder.model import AUTOENCODER
from theory.engine import pairings, planar, recursion
from theory.engine.composite import composite_plan
from theory.engine.derivatives import derivatives
from theory.engine.laurent import Laurent
from theory.engine.model import GaussianMatrix, Loss, MatrixModel, Space, Term
from theory.engine.packed import PackedWords, add_up, integers, multiply
from theory.engine.series import expected_derivatives

P, N, M = Space("p"), Space("n"), Space("m")
POINT = {"p": 1, "n": 1, "m": 1}


def quartic(a: Fraction | float) -> MatrixModel:
    """L = a Tr UᵀU + Tr UᵀUUᵀU."""
    loss = Loss("train", (Term(a, ("U' U",)), Term(1, ("U' U U' U",))))
    return MatrixModel("quartic", (P, N), (GaussianMatrix("U", N, P, trained=True),), (loss,), train_loss="train")


def by_hand(a: Fraction) -> Fraction:
    """E D²L of L = a u² + u⁴ at u ~ N(0, 1): D²L = 2 L'² L'', term by term with the moments of u."""
    moment = {2: 1, 4: 3, 6: 15, 8: 105}
    slope, curvature = {1: 2 * a, 3: Fraction(4)}, {0: 2 * a, 2: Fraction(12)}
    return sum(
        (
            2 * x * y * z * moment[i + j + k]
            for i, x in slope.items()
            for j, y in slope.items()
            for k, z in curvature.items()
        ),
        Fraction(0),
    )


@pytest.mark.parametrize(("a", "printed"), [("0.123457", 41156.977), ("1000000", 1.60005e19), ("-1e-9", 40319.99999)])
def test_second_derivative_of_a_scalar_quartic(a: str, printed: float) -> None:
    exact = by_hand(Fraction(a))
    assert float(exact) == pytest.approx(printed, rel=1e-5)
    assert expected_derivatives(quartic(Fraction(a)), "train", order=2)[2].evaluate(POINT) == exact


coefficients = st.one_of(
    st.fractions(-9, 9, max_denominator=9),
    st.fractions(-(10**12), 10**12),
    st.integers(-(10**24), 10**24).map(Fraction),
    st.integers(1, 10**12).map(lambda k: Fraction(1, k)),
    st.decimals(-1, 1, places=9).map(Fraction),
).filter(bool)


@st.composite
def models(draw: st.DrawFn) -> MatrixModel:
    """Two Gram letters with drawn coefficients, variances and a learning rate."""
    variance = draw(coefficients.filter(lambda x: x > 0))
    rate = draw(st.one_of(st.just(Fraction(1)), coefficients.filter(lambda x: x > 0)))
    train = Loss(
        "train",
        (
            Term(draw(coefficients), ("U' U X X'",), (("m", -1),)),
            Term(draw(coefficients), ("U' U",)),
            Term(draw(coefficients), ("U' U U' U",), (("decay", 1),)),
        ),
    )
    letters = (GaussianMatrix("U", N, P, variance=variance, trained=True, rate=rate), GaussianMatrix("X", P, M))
    return MatrixModel("drawn", (P, N, M), letters, (train,), train_loss="train", parameters=("decay",))


@settings(max_examples=15, deadline=None, derandomize=True)
@given(models())
def test_fast_path_recursion_and_enumeration_agree(model: MatrixModel) -> None:
    assert composite_plan(model) is not None
    combinations = derivatives(model, "train", order=2)
    slow = tuple(recursion.expectation(combination, model=model) for combination in combinations)
    assert expected_derivatives(model, "train", order=2) == slow
    assert pairings.expectation(combinations[1], model=model) == slow[1]
    weights = {"p": 1, "n": 1, "m": 1, "decay": 0}
    words = planar.planar_derivatives(model, "train", order=2)
    assert words == tuple(planar.expectation(combination, model=model) for combination in combinations)
    assert words[0] == Laurent(model.variables, {e: words[0].terms[e] for e in slow[0].terms if e in words[0].terms})
    assert slow[0].leading(weights) == words[0].leading(weights)


def test_a_tiny_decay_is_the_decay_as_a_parameter() -> None:
    """½·10⁻⁶‖U‖² as a number, and λ for it put in afterwards."""
    bare = {loss.name: loss for loss in AUTOENCODER.losses}
    letters = (GaussianMatrix("U", N, P, variance="sigma2", trained=True), GaussianMatrix("X", P, M))

    def decayed(*, powers: tuple[tuple[str, int], ...], coefficient: Fraction) -> MatrixModel:
        train = Loss("train", (*bare["train"].terms, Term(coefficient, ("U' U",), powers)))
        names = tuple(name for name, _ in powers)
        return MatrixModel(
            "decayed", (P, N, M), letters, (train, bare["population"]), train_loss="train", parameters=names
        )

    numeric = decayed(powers=(), coefficient=Fraction(1, 2 * 10**6))
    symbolic = decayed(powers=(("decay", 1),), coefficient=Fraction(1, 2))
    for loss in ("train", "population"):
        known = expected_derivatives(symbolic, loss, order=4)
        found = expected_derivatives(numeric, loss, order=4)
        flat = planar.planar_derivatives(numeric, loss, order=3), planar.planar_derivatives(symbolic, loss, order=3)
        for with_number, with_name in [*zip(found, known, strict=True), *zip(*flat, strict=True)]:
            put_in = Laurent.constant(0, numeric.variables)
            for exponents, c in with_name.terms.items():
                put_in = put_in + Laurent(numeric.variables, {exponents[:-1]: c * Fraction(1, 10**6) ** exponents[-1]})
            assert with_number == put_in


def test_products_and_sums_change_to_big_integers_before_they_would_wrap() -> None:
    values = integers([2**61, -(2**61), 3])
    assert values.dtype == np.int64
    assert multiply(values, 8).tolist() == [2**64, -(2**64), 24]
    assert multiply(np.zeros(0, np.int64), 2**80).tolist() == []
    assert integers([2**63]).dtype == object  # NumPy's own choice, uint64, would turn sums into floats
    codes, totals = add_up(np.array([7] * 5), np.array([2**61] * 5))
    assert (codes.tolist(), totals.tolist()) == ([7], [5 * 2**61])


@pytest.mark.parametrize("length", [26, 30, 31])
def test_the_longest_words_have_their_widths(length: int) -> None:
    words = PackedWords(4)
    code = np.array([words.pack([3] * length)])
    assert words.widths(code).tolist() == [2 * length]
    assert words.canonical(code).tolist() == code.tolist()
