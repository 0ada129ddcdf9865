"""The expansion at zero overlap, information exponents, and the trap."""

from __future__ import annotations

import math

import numpy as np
import pytest
import sympy
from hypothesis import given, settings
from hypothesis import strategies as st

from theory.errors import InputError
from theory.single_index.aligned import aligned_slope
from theory.single_index.exponent import information_exponent
from theory.single_index.link import Link
from theory.single_index.loss import PopulationLoss
from theory.single_index.moments import hermite_coefficient
from theory.single_index.quadrature import normal_mean
from theory.single_index.symbolic import ETA1, ETA2, LAMBDA, M1, M2, symbolic_loss
from theory.single_index.taylor import coefficient_value, taylor_terms, variance_slope
from theory.single_index.trap import trap

CUBIC = Link.parse("x**3-3*x")
coefficients = st.lists(st.integers(-3, 3), min_size=2, max_size=5).filter(lambda c: any(c[1:]))


@settings(max_examples=12, deadline=None)
@given(coefficients)
def test_terms_are_the_series_of_the_loss(c: list[int]) -> None:
    """Σ of the terms of order n against the coefficient of tⁿ in Φ(t m_1, t m_2), at λ = 2, η_1 = 3/5."""
    link = Link.parse("+".join(f"({ck})*x**{k}" for k, ck in enumerate(c)))
    numbers = {LAMBDA: 2, ETA1: sympy.Rational(3, 5)}
    t = sympy.Symbol("t")
    loss = symbolic_loss(link).in_overlaps.subs(numbers).subs({M1: t * M1, M2: t * M2}, simultaneous=True)
    exact = sympy.Poly(sympy.expand(loss), t)
    terms = taylor_terms(link, order=4)
    for n in range(1, 5):
        total = sum(term.in_overlaps for term in terms if term.order == n)
        assert sympy.expand(sympy.sympify(total).subs(numbers) - exact.coeff_monomial(t**n)) == 0
        assert all(term.vanishes == (term.coefficient == 0) for term in terms)


def test_the_gradient_of_the_paper() -> None:
    """∇Φ = 36λs̄v − 36C²∇C − 18λ²η_1²(2s̄C v + s̄²∇C) + O(m³) for x³ − 3x."""
    s = ETA1 * M1 + ETA2 * M2
    c = M1 + LAMBDA * ETA1 * s
    v, grad_c = (ETA1, ETA2), (1 + LAMBDA * ETA1**2, LAMBDA * ETA1 * ETA2)
    terms = taylor_terms(CUBIC, order=3)
    for i in range(2):
        known = 36 * LAMBDA * s * v[i] - 36 * c**2 * grad_c[i]
        known -= 18 * LAMBDA**2 * ETA1**2 * (2 * s * c * v[i] + s**2 * grad_c[i])
        assert sympy.expand(sum(term.gradient[i] for term in terms) - known) == 0


def test_what_vanishes_and_why() -> None:
    told = {(t.order, t.kind, t.signal_power): (t.vanishes, t.why) for t in taylor_terms(CUBIC, order=3)}
    assert told[1, "alignment", 1] == (True, "F_1(1) = 0: order 1 is invisible to the prediction")
    assert told[2, "alignment", 2][0]
    assert told[2, "variance", 0] == (False, "V′(1) = 18")
    assert not told[3, "alignment", 3][0]
    odd = {(t.order, t.signal_power): t.why for t in taylor_terms(Link.parse("He(4,x)+x**3-3*x"), order=4)}
    assert "label" not in odd[4, 4]
    even = [t for t in taylor_terms(Link.parse("x**2-1"), order=2) if t.kind == "alignment" and t.signal_power == 2]
    assert not even[0].vanishes


@pytest.mark.parametrize("text", ["erf(x)", "tanh(x)", "relu(x)"])
def test_the_expansion_approaches_the_gradient(text: str) -> None:
    """The error of the gradient's expansion to order 3 falls like r⁴ (fitted slope within 0.5: also rejects r³)."""
    link = Link.parse(text)
    loss = PopulationLoss(link, lam=1.0, eta1=0.6)
    radii, errors = np.array([0.04, 0.08, 0.16]), []
    terms = [t for t in taylor_terms(link, order=4) if not t.vanishes]
    for r in radii:
        at = {LAMBDA: 1.0, ETA1: 0.6, M1: 0.7 * r, M2: -0.3 * r}
        series = 0.0
        for term in terms:
            ratio = coefficient_value(term, link, lam=1.0, eta1=0.6)
            shape = term.gradient[0] / term.coefficient
            series += ratio * float(shape.subs(at))
        errors.append(abs(series - float(loss.gradient(0.7 * r, -0.3 * r)[0])))
    slope = np.polyfit(np.log(radii), np.log(errors), 1)[0]
    expected = 5 if text == "relu(x)" else 4  # ReLU has no odd terms beyond the first
    assert slope == pytest.approx(expected, abs=0.5)


@pytest.mark.parametrize(
    ("text", "k", "at_1_5"),
    [
        *(("x", 1, 1), ("x**2", 2, 2), ("x**3-3*x", 3, 1), ("He(5,x)", 5, 1), ("He(4,x)", 4, 2)),
        *(("relu(x)", 1, 1), ("abs(x)", 2, 2), ("cos(x)", 2, 2), ("tanh(x)", 1, 1), ("(x-x**3)*exp(-x**2)", 3, 1)),
    ],
)
def test_information_exponents(text: str, k: int, at_1_5: int) -> None:
    link = Link.parse(text)
    assert information_exponent(link).exponent == k
    assert information_exponent(link, variance=1.5).exponent == at_1_5


@pytest.mark.parametrize("text", ["erf(x)", "relu(x)", "sin(x)", "x**3-3*x"])
def test_hermite_coefficients(text: str) -> None:
    """E f(√A G) He_k(G) A^{−k/2} against E f^(k)(√A G) where f′ is at hand, and against A-differences of F_{k−2}."""
    link, variance = Link.parse(text), 1.4
    root = math.sqrt(variance)
    slope = normal_mean(lambda g: link.derivative(root * g), breaks=link.kinks).value
    assert hermite_coefficient(link, 1, variance=variance).value == pytest.approx(slope, rel=1e-9)
    h = 1e-4
    ahead, behind = (hermite_coefficient(link, 1, variance=variance + d).value for d in (h, -h))
    third = hermite_coefficient(link, 3, variance=variance).value
    assert third == pytest.approx((ahead - behind) / h, rel=1e-6, abs=1e-8)


@pytest.mark.parametrize("text", ["x**3-3*x", "erf(x)", "relu(x)", "tanh(x)", "(x-x**3)*exp(-x**2)"])
def test_variance_slope(text: str) -> None:
    """V′(1) = ½E[(G²−1)f(G)²]."""
    link = Link.parse(text)
    mean = normal_mean(lambda g: 0.5 * (g**2 - 1) * link.value(g) ** 2, breaks=link.kinks).value
    assert float(variance_slope(link)) == pytest.approx(mean, rel=1e-9)


@pytest.mark.parametrize("lam", [0.3, 1.0, 4.0])
def test_the_trap_of_the_cubic(lam: float) -> None:
    found = trap(CUBIC, lam=lam)
    assert found.trapped
    assert found.slope == 0
    assert found.curvature == pytest.approx(36 * lam)
    assert found.radius is not None
    assert found.barrier is not None
    small = lam / ((1 + lam) ** 3 + 1.5 * lam**2 * (1 + lam))
    assert found.radius == pytest.approx(small, rel=0.06)
    loss = PopulationLoss(CUBIC, lam=lam, eta1=1.0)
    m = np.linspace(0, 1, 20_001)
    values = loss.value(m, 0.0)
    top = int(np.argmax(values))
    assert m[top] == pytest.approx(found.radius, abs=1e-4)
    assert values[top] - values[0] == pytest.approx(found.barrier, rel=1e-5)
    assert float(aligned_slope(loss, found.radius)) == pytest.approx(0, abs=1e-8)


def test_the_sign_decides_not_the_symmetry() -> None:
    """Two odd links with information exponent 3 and V′(1) of either sign: only one is trapped, as Φ itself shows."""
    bump = Link.parse("(x-x**3)*exp(-x**2)")
    assert information_exponent(bump).exponent == 3
    for link, trapped in ((CUBIC, True), (bump, False)):
        found = trap(link, lam=1.0)
        assert found.trapped is trapped
        loss = PopulationLoss(link, lam=1.0, eta1=1.0)
        near = loss.value(np.array([-0.01, 0.0, 0.01]), 0.0)
        assert (near[0] > near[1] < near[2]) == trapped
        second = float(near[0] - 2 * near[1] + near[2]) / 1e-4
        assert second == pytest.approx(found.curvature, rel=0.05)
    assert trap(bump, lam=1.0).radius is None


def test_no_trap_without_spike_or_with_a_slope() -> None:
    assert not trap(CUBIC, lam=0.0).trapped
    assert not trap(Link.parse("tanh(x)"), lam=1.0).trapped
    assert trap(Link.parse("x**2"), lam=1.0).curvature < 0


def test_order_is_bounded() -> None:
    with pytest.raises(InputError, match="order"):
        taylor_terms(CUBIC, order=0)
    with pytest.raises(InputError, match="order"):
        taylor_terms(CUBIC, order=100)
