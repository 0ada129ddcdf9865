"""Compressed draws have the law of plain ones: moments, and Kolmogorov–Smirnov tests of the losses."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import ks_2samp

from numerics.gradient_flow.draw import Draw, draw
from numerics.gradient_flow.integrate import gradient_descent
from numerics.gradient_flow.reduce import full
from theory.autoencoder.sizes import Sizes

REPLICAS = 1500
LEVEL = 1e-4
"""Seeds are fixed, so a right sampler passes once and for all; a wrong one is found at this level."""


def plain_draw(sizes: Sizes, generator: np.random.Generator) -> Draw:
    weights = float(sizes.sigma2) ** 0.5 * generator.standard_normal((sizes.n, sizes.p))
    return Draw(weights, generator.standard_normal((sizes.p, sizes.m)), sizes.p, sizes.m)


@pytest.mark.parametrize(
    "text", ["p=3,n=7,m=4,sigma2=1/5", "p=3,n=2,m=9,sigma2=1/5", "p=9,n=2,m=3,sigma2=1/5", "p=3,n=6,m=8,sigma2=1/5"]
)
def test_losses_have_the_law_of_plain_draws(text: str) -> None:
    sizes = Sizes.parse(text)
    times = [0.0, 0.5]

    def sample(seed: int, compressed: bool) -> np.ndarray:
        generator = np.random.default_rng(seed)
        sampler = draw if compressed else plain_draw
        return np.array(
            [
                gradient_descent(full(sampler(sizes, generator)), times, eta=1.0, step=0.125).ravel()
                for _ in range(REPLICAS if compressed else 2 * REPLICAS)
            ]
        )

    found, expected = sample(1, compressed=True), sample(2, compressed=False)
    assert min(ks_2samp(found[:, k], expected[:, k]).pvalue for k in range(4)) > LEVEL


@pytest.mark.parametrize(("text", "rows", "columns"), [("p=50,n=2,m=3,sigma2=1", 5, 3), ("p=4,n=9,m=8,sigma2=1", 4, 4)])
def test_moments_of_the_data(text: str, rows: int, columns: int) -> None:
    """E Tr S = pm and E Tr S² = pm(p + m + 1), exactly."""
    sizes = Sizes.parse(text)
    p, m = sizes.p, sizes.m
    generator = np.random.default_rng(5)
    traces = []
    for _ in range(4000):
        data = draw(sizes, generator).data
        assert data.shape == (rows, columns)
        gram = data.T @ data
        traces.append((np.trace(gram), np.vdot(gram, gram)))
    sample = np.array(traces)
    errors = sample.std(axis=0, ddof=1) / np.sqrt(len(sample))
    exact = np.array([p * m, p * m * (p + m + 1)])
    assert np.all(errors < 0.02 * exact)
    assert np.all(np.abs(sample.mean(axis=0) - exact) < 4 * errors)


def test_law_can_be_told_apart() -> None:
    """The power of the test above: chi with one degree of freedom too few is found out."""
    generator = np.random.default_rng(6)
    right = np.sqrt(generator.chisquare(8, REPLICAS))
    wrong = np.sqrt(generator.chisquare(7, 2 * REPLICAS))
    assert ks_2samp(right, wrong).pvalue < LEVEL
