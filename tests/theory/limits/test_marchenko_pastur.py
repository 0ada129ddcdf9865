"""The Marchenko–Pastur law against direct integration of its density."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.integrate import quad

from theory.errors import InputError
from theory.limits.marchenko_pastur import MarchenkoPastur, narayana

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
def test_gauss_rule_is_exact_to_its_degree_and_no_further(ratio: float) -> None:
    law = MarchenkoPastur(ratio)
    x, w = law.gauss(5)
    assert float(w @ x**9) == pytest.approx(law.moment(9), rel=1e-12)
    assert abs(float(w @ x**10) / law.moment(10) - 1) > 1e-6


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


def test_expectation_reports_what_it_could_not_resolve() -> None:
    law = MarchenkoPastur(1.0)
    value, error = law.expectation(lambda x: np.stack([np.exp(-x), np.exp(-1e6 * x)]))
    assert (
        abs(
            float(value[0])
            - quad(lambda t: math.exp(-(2 + 2 * math.cos(t))) * (1 - math.cos(t)) / math.pi, 0, math.pi)[0]
        )
        < 1e-12
    )
    assert error[0] < 1e-13
    assert error[1] > 0.1 * value[1]


@pytest.mark.parametrize("ratio", [0.0, -1.0, math.nan, math.inf])
def test_impossible_ratios_are_refused(ratio: float) -> None:
    with pytest.raises(InputError, match="ratio"):
        MarchenkoPastur(ratio)
