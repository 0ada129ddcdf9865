"""Monomials as users write them, and the variances and rates that are made of them."""

from __future__ import annotations

from contextlib import suppress
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from theory.engine import pairings
from theory.engine.derivatives import derivatives
from theory.engine.laurent import Laurent
from theory.engine.model import GaussianMatrix, Loss, MatrixModel, Space, Term
from theory.engine.monomial import Monomial
from theory.engine.planar import planar_derivatives
from theory.engine.series import expected_derivatives
from theory.errors import InputError

P, N, M = Space("p"), Space("n"), Space("m")


@pytest.mark.parametrize(
    ("text", "coefficient", "powers"),
    [
        ("sigma2", 1, {"sigma2": 1}),
        ("sigma2/n", 1, {"sigma2": 1, "n": -1}),
        ("1/(p m)", 1, {"p": -1, "m": -1}),
        ("2 a^2 * b^-3 / 4", Fraction(1, 2), {"a": 2, "b": -3}),
        ("0.125", Fraction(1, 8), {}),
        ("1e-3 x", Fraction(1, 1000), {"x": 1}),
        ("a / (2 b)^2 a^-1", Fraction(1, 4), {"b": -2}),
    ],
)
def test_monomials(text: str, coefficient: Fraction, powers: dict[str, int]) -> None:
    assert Monomial.parse(text) == Monomial(Fraction(coefficient), tuple(powers.items()))


@pytest.mark.parametrize(
    "text",
    ["", "a+b", "a/", "(a", "a)", "a^x", "0", "a/0", "a^9999999", "7^5000", "2^-99999", "__import__('os')", "é", "("],
)
def test_what_is_no_monomial_is_refused(text: str) -> None:
    with pytest.raises(InputError):
        Monomial.parse(text)


@settings(max_examples=200, deadline=None, derandomize=True)
@given(st.text("ab12()/*^ .e-+", max_size=14))
def test_any_text_is_read_or_refused(text: str) -> None:
    with suppress(InputError):
        assert Monomial.parse(text).coefficient


def two_matrices(*, rate_u: str, rate_v: str, variance: str) -> MatrixModel:
    """Untied factors, each with its own learning rate."""
    matrices = (
        GaussianMatrix("U", N, P, variance=variance, trained=True, rate=rate_u),
        GaussianMatrix("V", P, N, variance="v", trained=True, rate=rate_v),
    )
    loss = Loss("train", (Term(Fraction(1, 2), ("U' V' V U",)), Term(-1, ("V U",))))
    return MatrixModel("two", (P, N), matrices, (loss,), train_loss="train")


def test_rates_weigh_the_gradient_of_their_matrix() -> None:
    """At one time derivative E D¹L is the sum of rate × E ‖∂L/∂W‖²: with one rate 0 in turn, by enumeration."""
    rated = two_matrices(rate_u="1/n", rate_v="3 g", variance="w")
    plain = two_matrices(rate_u="1", rate_v="1", variance="w")
    assert rated.variables == ("p", "n", "w", "v", "g")
    halves = []
    for trained in ("U", "V"):
        matrices = tuple(
            GaussianMatrix(m.name, m.rows, m.columns, m.variance, m.name == trained) for m in plain.matrices
        )
        alone = MatrixModel("one", plain.spaces, matrices, plain.losses, train_loss="train")
        value = pairings.expectation(derivatives(alone, "train", order=1)[1], model=alone)
        halves.append(value.substitute({}, rated.variables))
    expected = halves[0] * Laurent.monomial({"n": -1}, rated.variables) + halves[1] * Laurent.monomial(
        {"g": 1}, rated.variables, 3
    )
    assert expected_derivatives(rated, "train", order=1)[1] == expected


def test_rates_and_variances_on_the_fast_path() -> None:
    """The fast path against enumeration, and a variance sigma2/n against sigma2 put in afterwards."""
    loss = Loss("train", (Term(1, ("U' U X X'",), (("p", -1),)), Term(Fraction(1, 2), ("U' U U' U",))))

    def model(variance: str, rate: str) -> MatrixModel:
        u = GaussianMatrix("U", N, P, variance=variance, trained=True, rate=rate)
        return MatrixModel("m", (P, N, M), (u, GaussianMatrix("X", P, M)), (loss,), train_loss="train")

    scaled = model("sigma2/n", "1/(2 n)")
    found = expected_derivatives(scaled, "train", order=2)
    combinations = derivatives(scaled, "train", order=2)
    assert found[:2] == tuple(pairings.expectation(c, model=scaled) for c in combinations[:2])
    plain = expected_derivatives(model("sigma2", "1"), "train", order=3)
    rate = Laurent.monomial({"n": -1}, scaled.variables, Fraction(1, 2))
    for s, known in enumerate(expected_derivatives(scaled, "train", order=3)):
        assert known == plain[s].substitute({"sigma2": {"sigma2": 1, "n": -1}}, scaled.variables) * rate**s
    flat = planar_derivatives(scaled, "train", order=2)
    weights = {"p": 1, "n": 1, "m": 1, "sigma2": 0}
    assert [y.leading(weights) for y in flat] == [y.leading(weights) for y in found]


def test_a_rate_of_an_untrained_matrix_is_refused() -> None:
    with pytest.raises(InputError, match="trained"):
        GaussianMatrix("X", P, M, rate="1/n")
    with pytest.raises(InputError, match="a number"):
        GaussianMatrix("X", P, M, trained=True, rate="-1")
