"""The Marchenko–Pastur law against direct integration of its density."""

from __future__ import annotations

import math

import mpmath as mp
import numpy as np
import pytest
from scipy.integrate import quad
from scipy.linalg import eigh_tridiagonal

from theory.autoencoder.limits.marchenko_pastur import MarchenkoPastur, narayana
from theory.errors import InputError

RATIOS = (0.2, 0.9, 1.0, 1.3, 5.0)


def integral(law: MarchenkoPastur, power: float) -> float:
    """∫ x^power over the continuous part, with x = centre + half-width · cos θ."""
    centre, half = (law.lower_edge + law.upper_edge) / 2, (law.upper_edge - law.lower_edge) / 2

    def integrand(theta: float) -> float:
        x = centre + half * math.cos(theta)
        return float(law.density(np.array([x]))[0]) * x**power * half * math.sin(theta)

    return float(quad(integrand, 0, math.pi, epsabs=1e-11, epsrel=1e-10, limit=400)[0])


@pytest.mark.parametrize("ratio", RATIOS)
def test_density_has_the_mass_moments_and_inverse_moments_stated(ratio: float) -> None:
    law = MarchenkoPastur(ratio)
    assert integral(law, 0) + law.atom == pytest.approx(1, abs=1e-8)
    for k in (1, 2, 5):
        assert integral(law, k) == pytest.approx(law.moment(k), rel=1e-8)
    if ratio != 1:
        first, second = law.inverse_moments
        assert integral(law, -1) == pytest.approx(first, rel=1e-7)
        assert integral(law, -2) == pytest.approx(second, rel=1e-6)


@pytest.mark.parametrize("ratio", RATIOS)
def test_jacobi_matrix_has_the_moments_its_size_allows_and_no_more(ratio: float) -> None:
    """Its eigenvalues and first components are the Gauss rule of five nodes."""
    law = MarchenkoPastur(ratio)
    x, vectors = eigh_tridiagonal(*law.jacobi(5))
    w = vectors[0] ** 2
    assert float(w @ x**9) == pytest.approx(law.moment(9), rel=1e-12)
    assert abs(float(w @ x**10) / law.moment(10) - 1) > 1e-6


@pytest.mark.parametrize("scale", [0.0, 1.0, 1e12, math.inf])
@pytest.mark.parametrize("ratio", [1e-9, *RATIOS, 1 - 1e-9, 1e9])
def test_rule_has_the_moments_at_any_grading(ratio: float, scale: float) -> None:
    law = MarchenkoPastur(ratio)
    x, below, w = law.rule(scale=scale, nodes=16)
    assert np.allclose(x + below, law.upper_edge, rtol=1e-14)
    for k in range(8):
        assert float(w @ x**k) == pytest.approx(law.moment(k), rel=1e-12)


@pytest.mark.parametrize("ratio", [0.3, 2.0])
def test_edge_densities(ratio: float) -> None:
    law = MarchenkoPastur(ratio)
    step = 1e-8
    upper = law.density(np.array([law.upper_edge - step]))[0] / math.sqrt(step)
    lower = law.density(np.array([law.lower_edge + step]))[0] / math.sqrt(step)
    assert upper == pytest.approx(law.upper_edge_density, rel=1e-5)
    assert lower == pytest.approx(law.lower_edge_density, rel=1e-5)


def test_moments_count_planar_pairings() -> None:
    assert [sum(narayana(k)) for k in range(7)] == [1, 1, 2, 5, 14, 42, 132]


@pytest.mark.parametrize("steep", [1e-3, 1.0, 1e3, 1e8, 1e16])
@pytest.mark.parametrize("ratio", [0.3, 0.99, 1 - 1e-6, 1.0, 1 + 1e-6, 1.01, 4.0])
def test_expectation_resolves_atom_and_edges_at_any_steepness(ratio: float, steep: float) -> None:
    """∫ dMP/(1 + cx) is algebraic, (√((w+1+r)² − 4r) − w + 1 − r)/2 with w = 1/c."""
    value, error = MarchenkoPastur(ratio).expectation(lambda x: 1 / (1 + steep * x), scale=steep)
    with mp.workdps(60):
        r, w = mp.mpf(ratio), 1 / mp.mpf(steep)
        exact = float((mp.sqrt((w + 1 + r) ** 2 - 4 * r) - w + 1 - r) / 2)
    assert abs(float(value) - exact) <= float(error)
    conditioning = 1.0 if ratio == 1 else 1 / abs(ratio - 1)  # what the last digit of r does at the edge
    assert float(error) <= (1e-13 + 4e-15 * conditioning) * exact


def test_expectation_sees_a_hard_edge_and_says_what_it_did_not_resolve() -> None:
    """At r = 1, ∫ e^{−cx} dMP = ₁F₁(½; 2; −4c); a step is beyond any rule."""
    law = MarchenkoPastur(1.0)
    value, error = law.expectation(lambda x: np.stack([np.exp(-x), np.exp(-1e6 * x)]), scale=1e6)
    assert value == pytest.approx([float(mp.hyp1f1(0.5, 2, -4 * c)) for c in (1, 1e6)], rel=1e-13)
    assert np.all(error < 1e-13 * value)
    step, uncertain = law.expectation(lambda x: np.where(x < 0.7, 1.0, 0.0))
    exact = quad(lambda x: float(law.density(np.array([x]))[0]), 0, 0.7)[0]
    assert 0 < abs(float(step) - exact) <= float(uncertain) < 1e-2


@pytest.mark.parametrize("ratio", [0.0, -1.0, math.nan, math.inf])
def test_impossible_ratios_are_refused(ratio: float) -> None:
    with pytest.raises(InputError, match="ratio"):
        MarchenkoPastur(ratio)
