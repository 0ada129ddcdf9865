"""Φ along the target where it depends on m_1 alone: zeros of its slope, however close or flat, and the trap."""

from __future__ import annotations

import numpy as np
import pytest

from theory.single_index.aligned import aligned_slope, aligned_zeros, climb, slope_polynomial
from theory.single_index.fixed_points import fixed_points, indices_complete
from theory.single_index.link import Link
from theory.single_index.loss import PopulationLoss
from theory.single_index.trap import trap

CUBIC = Link.parse("x**3-3*x")


@pytest.mark.parametrize("text", ["x**3-3*x", "He(4,x)+x", "sqrt(2)*x**5-x**2/3"])
@pytest.mark.parametrize(("lam", "eta1"), [(0.0, 0.3), (0.7, 1.0), (30.0, 1.0)])
def test_the_slope_as_a_polynomial_is_the_slope(text: str, lam: float, eta1: float) -> None:
    loss = PopulationLoss(Link.parse(text), lam=lam, eta1=eta1)
    m = np.linspace(-0.9, 0.9, 7)
    coefficients = [float(c.p) / float(c.q) for c in slope_polynomial(loss).coeffs()]
    np.testing.assert_allclose(
        np.polynomial.polynomial.polyval(m, coefficients), aligned_slope(loss, m), rtol=1e-9, atol=1e-12 * loss.B**5
    )
    assert climb(loss, 0.6) == pytest.approx(float(loss.value(0.6, 0.0) - loss.value(0.0, 0.0)), rel=1e-9)


@pytest.mark.parametrize("lam", [1e-12, 1e-6, 1e-4, 1000.0])
def test_the_smallest_traps_have_a_radius_and_a_barrier(lam: float) -> None:
    """r* = λ/[(1+λ)³ + 1.5λ²(1+λ)] and a barrier of 6λr*², to first order in the radius."""
    found = trap(CUBIC, lam=lam)
    expected = lam / ((1 + lam) ** 3 + 1.5 * lam**2 * (1 + lam))
    assert found.trapped
    assert found.radius == pytest.approx(expected, rel=1e-3)
    assert found.barrier == pytest.approx(6 * lam * expected**2, rel=1e-3)


def test_a_small_trap_without_a_polynomial() -> None:
    """sin x − x/√e has information exponent 3; its radius is proportional to small λ."""
    link = Link.parse("sin(x)-x*exp(-1/2)")
    radii = [trap(link, lam=lam).radius for lam in (1e-3, 1e-4)]
    assert radii[0] is not None
    assert radii[1] is not None
    assert radii[0] / radii[1] == pytest.approx(10, rel=0.02)


@pytest.mark.parametrize("text", ["He(3,x)", "He(4,x)", "x**4-6*x**2", "He(5,x)", "He(6,x)"])
def test_flat_zeros_are_found_and_judged(text: str) -> None:
    """At λ = 0, Φ − Φ(0) ∝ −m^k: an inflection for odd k, a maximum for even."""
    loss = PopulationLoss(Link.parse(text), lam=0.0, eta1=1.0)
    (zero,) = aligned_zeros(loss)
    assert (zero.m, zero.curvature) == (0.0, 0.0)
    odd = "He(3" in text or "He(5" in text
    assert zero.kind == (0 if odd else 1)
    points = fixed_points(loss)
    assert indices_complete(loss, points)
    assert [p.stability for p in points if p.m1 == 0] == ["half-stable" if odd else "unstable"]
