"""The ladder finds c/N + e/N² whatever the rungs, and what it leaves is of third order."""

from __future__ import annotations

import numpy as np
import pytest

from numerics.gradient_flow.ladder import Deviation, finite_size_term, rung, rungs
from theory.autoencoder.sizes import Sizes

SIZES = {
    "down": Sizes.parse("p=80,n=200,m=100,sigma2=1/80"),
    "both": Sizes.parse("p=30,n=30,m=30,sigma2=1/30"),
    "up": Sizes.parse("p=40,n=4,m=50,sigma2=1/40"),
}


def ladder(sizes: Sizes, values: dict[int, float], noise: float = 0.0) -> tuple[Deviation, Deviation]:
    """Two rungs whose deviations are Σ values[k]/λᵏ."""
    first, second = (
        Deviation(
            r,
            {"train": np.array([sum(value / r.scale**k for k, value in values.items())])},
            {"train": np.array([noise])},
        )
        for r in rungs(sizes, replicas=4)
    )
    return first, second


@pytest.mark.parametrize("kind", SIZES)
def test_two_orders_are_found_exactly(kind: str) -> None:
    sizes = SIZES[kind]
    term = finite_size_term("train", ladder(sizes, {1: 0.3, 2: -0.1}), smallest=10)
    assert term.mean[0] == pytest.approx(0.2, rel=1e-12)


@pytest.mark.parametrize("kind", SIZES)
def test_the_third_order_is_within_the_truncation(kind: str) -> None:
    """Of the series of 1/(1 − 1/n) at n times the scale the third term is n times smaller than the second."""
    sizes, smallest = SIZES[kind], min(SIZES[kind].p, SIZES[kind].n, SIZES[kind].m)
    values = {k: float(smallest) ** -k for k in range(1, 12)}
    term = finite_size_term("train", ladder(sizes, values), smallest=smallest)
    missed = abs(term.mean[0] - sum(values.values()))
    assert 0 < missed < term.truncation[0] < 0.3 * values[1]


@pytest.mark.parametrize("kind", SIZES)
def test_an_error_of_the_interior_does_not_pass_through(kind: str) -> None:
    """A constant that does not shrink with the size moves the sum by its part 1 − share, which is never small."""
    term = finite_size_term("train", ladder(SIZES[kind], {0: 1.0}), smallest=30)
    assert term.mean[0] == pytest.approx(term.share)
    assert abs(1 - term.share) >= 0.37


def test_noise_is_carried_through() -> None:
    term = finite_size_term("train", ladder(SIZES["both"], {1: 1.0}, noise=0.01), smallest=30)
    assert term.stderr[0] == pytest.approx(0.01 * np.hypot(4 / 3, 1 / 6))
    assert term.order == pytest.approx((1.0, 0.01 * np.hypot(2.0, 0.5) / np.log(4)))


def test_rungs_keep_the_ratios() -> None:
    sizes = Sizes.parse("p=15,n=683,m=18,sigma2=1585/95419")
    found = rung(sizes, 2, replicas=1)
    assert found.same_ratios(sizes)
    assert found.sizes.sigma2 * found.sizes.p == sizes.sigma2 * sizes.p
    assert found.times([0.0, 3.0], sizes) == (0.0, 6.0)
    assert not rung(sizes, 0.5, replicas=1).same_ratios(sizes)
