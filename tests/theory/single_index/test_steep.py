"""Links that bend within a small part of the field's spread: values, slopes and the claimed error."""

from __future__ import annotations

import math

import numpy as np
import pytest

from theory.single_index.link import Link
from theory.single_index.loss import PopulationLoss

STEEP = ("tanh(5*x)", "tanh(5*x-3)", "exp(-10*(x-5)**2)", "1/(1+x**2)", "x*tanh(x)", "gelu(x)")


def mean(link: Link, variance: float, power: int) -> float:
    """E f(√A G)^power by the trapezoidal rule in x, which converges geometrically."""
    x = np.linspace(-10, 10, 100_001) * math.sqrt(variance)
    density = np.exp(-(x**2) / (2 * variance)) / math.sqrt(2 * math.pi * variance)
    return float(np.sum(link.value(x) ** power * density)) * math.sqrt(variance) / 5_000


def uncorrelated(link: Link, variance: float) -> float:
    """Φ at η_1 = m_1 = 0, where C = 0 and B = 1."""
    cross = mean(link, variance, 1) * mean(link, 1.0, 1)
    return mean(link, variance, 2) + mean(link, 1.0, 2) - 2 * cross


@pytest.mark.parametrize("text", STEEP)
@pytest.mark.parametrize(("lam", "m2"), [(1000.0, 1.0), (1000.0, 0.5), (30.0, 0.9)])
def test_a_large_spike_across_the_target(text: str, lam: float, m2: float) -> None:
    link, loss = Link.parse(text), PopulationLoss(Link.parse(text), lam=lam, eta1=0.0)
    expected, error = uncorrelated(link, 1 + lam * m2**2), float(loss.error_at(0.0, m2))
    assert error < 1e-10 * expected
    assert abs(float(loss.value(0.0, m2)) - expected) <= error
    h = 1e-4
    ahead, behind = (uncorrelated(link, 1 + lam * (m2 + d) ** 2) for d in (h, -h))
    assert float(loss.gradient(0.0, m2)[1]) == pytest.approx((ahead - behind) / (2 * h), rel=1e-4, abs=1e-9)


def test_the_error_of_a_correlated_pair_covers() -> None:
    """K at C ≠ 0, the two fields of very different variance, against the sum over both on a grid."""
    link = Link.parse("tanh(5*x-3)")
    loss = PopulationLoss(link, lam=300.0, eta1=0.2)
    _, A, C = (float(part) for part in loss.fields(0.3, 0.5))
    g = np.linspace(-8, 8, 4001)
    weight = np.exp(-(g**2) / 2)
    weight /= weight.sum()
    slope = C / math.sqrt(loss.B)
    means = [float(link.value(slope * y + math.sqrt(A - slope**2) * g) @ weight) for y in g]
    direct = float((weight * link.value(math.sqrt(loss.B) * g)) @ means)
    error = float(loss.error_at(0.3, 0.5))
    assert error < 1e-10
    assert abs(float(loss.kernel.covariance(np.array(A), np.array(C))[0]) - direct) < error + 1e-12


@pytest.mark.parametrize("text", ["x**9", "x**3-3*x"])
def test_the_error_of_a_polynomial_grows_with_its_values(text: str) -> None:
    link = Link.parse(text)
    loss = PopulationLoss(link, lam=1000.0, eta1=0.0)
    for m2 in (0.01, 1.0):
        value, error = float(loss.value(0.0, m2)), float(loss.error_at(0.0, m2))
        assert 1e-16 < error / value < 1e-12
        assert error <= loss.error
    if text == "x**9":
        A = 1001.0
        assert abs(float(loss.value(0.0, 1.0)) - 34459425.0 * (A**9 + 1)) <= loss.error  # 17!! (A⁹ + 1)
