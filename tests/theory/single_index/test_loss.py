"""The population loss: exact against quadrature against simulation, and against the formulas of the papers."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
import sympy
from hypothesis import given, settings
from hypothesis import strategies as st

from theory.errors import InputError
from theory.single_index.closed_forms import A, B, C, closed_form
from theory.single_index.kernel import QuadratureKernel, kernel
from theory.single_index.link import Link
from theory.single_index.loss import PopulationLoss, check_overlaps
from theory.single_index.quadrature import correlated_mean, normal_mean
from theory.single_index.symbolic import ETA1, LAMBDA, M1, M2, NOISE, symbolic_loss

CUBIC = Link.parse("x**3-3*x")
CLOSED = ("erf(x)", "2*erf(x/2)+1", "relu(x)", "abs(x)", "relu(x)-relu(-x)/10", "relu(2*x)+1", "sin(x)", "2**x")
SMOOTH = ("tanh(x)", "gelu(x)", "exp(-x**2)", "x*exp(x)", "(x-x**3)*exp(-x**2)")
ALL = ("x**3-3*x", "He(4,x)+x", *CLOSED, *SMOOTH, "abs(x-1)")


def bivariate_moment(i: int, j: int, a: Fraction, b: Fraction, c: Fraction) -> Fraction:
    """E x^i y^j by pairing off one factor at a time (Isserlis)."""
    if i == 0:
        return b * (j - 1) * bivariate_moment(0, j - 2, a, b, c) if j > 1 else Fraction(j == 0)
    inner = a * (i - 1) * bivariate_moment(i - 2, j, a, b, c) if i > 1 else Fraction(0)
    cross = c * j * bivariate_moment(i - 1, j - 1, a, b, c) if j > 0 else Fraction(0)
    return inner + cross


coefficients = st.lists(st.integers(-4, 4), min_size=2, max_size=6).filter(lambda c: any(c[1:]))


@settings(max_examples=25, deadline=None)
@given(coefficients, st.integers(1, 5), st.integers(1, 5), st.integers(-3, 3))
def test_polynomials_against_pairings(c: list[int], a: int, b: int, cross: int) -> None:
    link = Link.parse("+".join(f"({ck})*x**{k}" for k, ck in enumerate(c)))
    pairs = [(i, j, ci * cj) for i, ci in enumerate(c) for j, cj in enumerate(c)]
    form = closed_form(link)
    assert form is not None
    expected = sum(w * bivariate_moment(i, j, Fraction(a), Fraction(b), Fraction(cross)) for i, j, w in pairs)
    assert form.kernel.subs({A: a, B: b, C: cross}) == expected
    square = sum(w * bivariate_moment(i + j, 0, Fraction(a), Fraction(1), Fraction(0)) for i, j, w in pairs)
    assert form.second_moment.subs(A, a) == square
    assert sympy.expand(sympy.diff(form.kernel, A) - form.slope_variance) == 0
    assert sympy.expand(sympy.diff(form.kernel, C) - form.slope_covariance) == 0
    assert float(kernel(link, float(b), float(a)).variance(np.array(float(a)))[0]) == pytest.approx(float(square))


def test_the_cubic_of_the_paper() -> None:
    """Φ = Var ε + h(A) + h(B) − 12C³ − 18C(A−1)(B−1), h(A) = 15A³ − 18A² + 9A; at η_1 = 1 its derivative."""
    loss = symbolic_loss(CUBIC)

    def h(v: sympy.Expr) -> sympy.Expr:
        return 15 * v**3 - 18 * v**2 + 9 * v

    known = NOISE + h(A) + h(B) - 12 * C**3 - 18 * C * (A - 1) * (B - 1)
    assert sympy.expand(loss.in_fields - known) == 0
    aligned = sympy.diff(loss.in_overlaps.subs({ETA1: 1, M2: 0}), M1)
    lam = LAMBDA
    known = 36 * lam * M1 - 18 * (5 * lam**3 + 9 * lam**2 + 6 * lam + 2) * M1**2
    known += 108 * lam**2 * M1**3 + 90 * lam**3 * M1**5
    assert sympy.expand(aligned - known) == 0


def test_numbers_agree_with_the_formula() -> None:
    numbers = PopulationLoss(CUBIC, lam=1.3, eta1=0.6, noise=0.2)
    formula = symbolic_loss(CUBIC)
    at = {LAMBDA: sympy.Rational(13, 10), ETA1: sympy.Rational(3, 5), NOISE: sympy.Rational(1, 5), M1: 0.3, M2: -0.4}
    assert float(numbers.value(0.3, -0.4)) == pytest.approx(float(formula.in_overlaps.subs(at)), rel=1e-12)
    for name in ("gradient", "spherical_gradient"):
        exact = [float(part.subs(at)) for part in getattr(formula, name)]
        assert [float(part) for part in getattr(numbers, name)(0.3, -0.4)] == pytest.approx(exact, rel=1e-12)
    parts = numbers.parts(0.3, -0.4)
    assert float(parts.variance + parts.alignment + parts.constant) == pytest.approx(float(numbers.value(0.3, -0.4)))


@pytest.mark.parametrize("text", [*CLOSED, *SMOOTH])
def test_two_routes_to_the_kernel(text: str) -> None:
    """Closed form or series against quadrature over both fields; K, both slopes, V, V′."""
    link = Link.parse(text)
    a, c = np.array([1.1, 1.9, 1.5]), np.array([0.5, -0.9, 1.4])
    fast, slow = kernel(link, 1.5, 2.0), QuadratureKernel("", 0.0, link, 1.5)
    assert not isinstance(fast, QuadratureKernel)
    for one, other in zip(fast.covariance(a, c), slow.covariance(a, c), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-7, atol=1e-9)
    for one, other in zip(fast.variance(a), slow.variance(a), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-10)
    assert fast.error < 1e-8


@pytest.mark.parametrize("text", ["x**3-3*x", "erf(x)", "relu(x)", "tanh(x)", "abs(x-1)"])
def test_simulation(text: str) -> None:
    """The loss of a vector X in R^6, simulated: within 4.5 standard errors, themselves below 1 %. A spike left out of C
    (covariance m_1 instead of m_1 + λη_1s̄) must be off by more than 10.
    """
    link = Link.parse(text)
    loss = PopulationLoss(link, lam=1.5, eta1=0.6, noise=0.25)
    rng = np.random.default_rng(np.random.SeedSequence(5))
    d, count = 6, 800_000
    v0, other = np.eye(d)[0], np.eye(d)[1]
    v = loss.eta1 * v0 + loss.eta2 * other
    X = np.array([0.5, 0.4, 0.3, -0.5, 0.2, 0.0])
    X[-1] = math.sqrt(1 - X @ X)
    a = rng.standard_normal((count, d)) + math.sqrt(loss.lam) * rng.standard_normal((count, 1)) * v
    y = link.value(a @ v0) + 0.5 * rng.standard_normal(count)
    draws = (y - link.value(a @ X)) ** 2
    mean, error = draws.mean(), draws.std() / math.sqrt(count)
    assert error < 0.01 * mean
    assert abs(mean - float(loss.value(0.5, 0.4))) < 4.5 * error
    _, variance, _ = loss.fields(0.5, 0.4)
    spikeless = -2 * float(loss.kernel.covariance(variance, np.array(0.5))[0])
    parts = loss.parts(0.5, 0.4)
    assert abs(mean - (float(parts.variance) + spikeless + parts.constant)) > 10 * error


@pytest.mark.parametrize("text", ALL)
def test_gradient_is_the_slope(text: str) -> None:
    loss = PopulationLoss(Link.parse(text), lam=0.8, eta1=0.5)
    h = 1e-4
    for m1, m2 in ((0.3, 0.2), (-0.4, 0.5)):
        slopes = (
            float(loss.value(m1 + h, m2) - loss.value(m1 - h, m2)) / (2 * h),
            float(loss.value(m1, m2 + h) - loss.value(m1, m2 - h)) / (2 * h),
        )
        assert [float(part) for part in loss.gradient(m1, m2)] == pytest.approx(slopes, rel=1e-5, abs=1e-6)


@pytest.mark.parametrize("text", ["x**3-3*x", "tanh(x)", "relu(x)"])
def test_spherical_gradient_from_the_sample_gradient(text: str) -> None:
    """(1−XXᵀ)∇E(f(x)−f(y))² along v_0 is 2E(f(x)−f(y))f′(x)(y − m_1x), x = a·X, y = a·v_0."""
    link = Link.parse(text)
    loss = PopulationLoss(link, lam=1.0, eta1=0.6)
    m1, m2 = 0.4, 0.3
    _, a, c = (float(part) for part in loss.fields(m1, m2))
    both = {"variances": (a, loss.B), "covariance": c, "breaks": link.kinks}
    f, slope = link.value, link.derivative
    fxy = correlated_mean(lambda y: y, lambda x: f(x) * slope(x), **both)  # type: ignore[arg-type]
    fyy = correlated_mean(lambda y: y * f(y), slope, **both)  # type: ignore[arg-type]
    fxx = normal_mean(lambda g: f(math.sqrt(a) * g) * slope(math.sqrt(a) * g) * math.sqrt(a) * g, breaks=(0.0,)).value
    fyx = correlated_mean(f, lambda x: x * slope(x), **both)  # type: ignore[arg-type]
    direct = 2 * (fxy - fyy - m1 * (fxx - fyx))
    assert float(loss.spherical_gradient(m1, m2)[0]) == pytest.approx(direct, rel=1e-7)


@pytest.mark.parametrize("text", ["x**3-3*x", "tanh(x)", "relu(x)", "erf(x)", "sin(x)"])
def test_at_the_target(text: str) -> None:
    """Φ(1, 0) = Var ε, ∂Φ/∂m_1 = −2E f′(√B G)², ∂Φ/∂m_2 = 0."""
    link = Link.parse(text)
    loss = PopulationLoss(link, lam=1.0, eta1=0.6, noise=0.1)
    root = math.sqrt(loss.B)
    slope = normal_mean(lambda g: link.derivative(root * g) ** 2, breaks=(0.0,)).value
    assert float(loss.value(1.0, 0.0)) == pytest.approx(0.1, abs=1e-8)
    first, second = loss.gradient(1.0, 0.0)
    assert float(first) == pytest.approx(-2 * slope, rel=1e-7)
    assert float(second) == pytest.approx(0.0, abs=1e-7)


def test_a_high_degree_stays_accurate() -> None:
    loss = PopulationLoss(Link.parse("He(20,x)/He(20,0)"), lam=0.5, eta1=0.7)
    link = loss.link
    _, a, c = (float(part) for part in loss.fields(0.3, 0.4))
    direct = correlated_mean(link.value, link.value, variances=(a, loss.B), covariance=c)
    assert float(loss.kernel.covariance(np.array(a), np.array(c))[0]) == pytest.approx(direct, rel=1e-8)


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"lam": -1.0}, "lambda"),
        ({"lam": math.nan}, "lambda"),
        ({"lam": math.inf}, "lambda"),
        ({"eta1": 1.5}, "eta1"),
        ({"noise": -0.1}, "noise"),
    ],
)
def test_bad_settings(changes: dict[str, float], named: str) -> None:
    with pytest.raises(InputError, match=named):
        PopulationLoss(CUBIC, **{"lam": 1.0, "eta1": 0.5, **changes})


def test_overlaps_outside_the_disc() -> None:
    with pytest.raises(InputError, match="disc"):
        check_overlaps(0.9, 0.9)
    with pytest.raises(InputError, match="disc"):
        check_overlaps(math.nan, 0.0)
