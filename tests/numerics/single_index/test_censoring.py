"""Medians with censoring, and slopes."""

from __future__ import annotations

import math

import numpy as np
import pytest

from numerics.single_index.censoring import Median, fit_slope, median
from theory.errors import InputError


def kaplan_meier_median(times: list[float], reached: list[bool]) -> float | None:
    """By its definition: the first time at which the product of (1 − deaths/at risk) is at most one half."""
    survival = 1.0
    for time in sorted({t for t, r in zip(times, reached, strict=True) if r}):
        at_risk = sum(t >= time for t in times)
        survival *= 1 - sum(t == time and r for t, r in zip(times, reached, strict=True)) / at_risk
        if survival <= 0.5 + 1e-12:
            return time
    return None


def test_the_median_is_kaplan_and_meiers() -> None:
    rng = np.random.default_rng(0)
    for _ in range(50):
        times = [int(t) for t in rng.integers(1, 200, size=15)]
        given = [t if t <= 120 else None for t in times]
        expected = kaplan_meier_median([min(t, 121) for t in times], [t <= 120 for t in times])
        assert median(given, 120).value == expected


def test_censored_times_do_not_enter_as_numbers() -> None:
    assert median([10, 20, 30, None, None], 40).value == median([10, 20, 30, None, None], 4000).value == 30
    assert median([10, None, None], 40) == Median(None, None, 2, 3, 40)


def test_the_error_of_the_median_covers() -> None:
    rng = np.random.default_rng(1)
    values, errors = [], []
    for _ in range(400):
        result = median([int(t) for t in 1e6 * np.exp(rng.normal(size=64))], 10**9)
        values.append(math.log(result.value or 0))
        errors.append(result.log_stderr)
    assert 0.8 < np.mean(errors) / np.std(values) < 1.3


def test_slopes_recover_a_power_and_their_errors_cover() -> None:
    rng = np.random.default_rng(2)
    dims, deviations = (100, 200, 400, 800), []
    for _ in range(300):
        noise = rng.normal(scale=0.1, size=4)
        medians = [
            Median(round(1e6 * (d / 100) ** 1.5 * math.exp(e)), 0.1, 0, 64, 10**9)
            for d, e in zip(dims, noise, strict=True)
        ]
        slope = fit_slope(dims, medians)
        deviations.append(((slope.value or 0) - 1.5) / (slope.stderr or 1))
    assert abs(np.mean(deviations)) < 0.2
    assert 0.6 < np.std(deviations) < 1.1


def test_unreached_medians_are_left_out_and_two_points_are_needed() -> None:
    reached = [Median(100, 0.1, 0, 9, 999), Median(10_000, 0.1, 0, 9, 99_999)]
    lost = Median(None, None, 6, 9, 10)
    assert fit_slope([10, 100, 1000], [*reached, lost]).value == pytest.approx(2.0)
    assert fit_slope([10, 100], [reached[0], lost]).value is None
    with pytest.raises(InputError):
        median([], 10)
