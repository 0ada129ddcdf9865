"""Medians with censoring, and slopes."""

from __future__ import annotations

import math

import numpy as np
import pytest

from numerics.single_index.censoring import Median, Slope, fit_slope, median
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


def slope_of(dims: tuple[int, ...], logs: np.ndarray, *, bound: float = math.inf) -> Slope:
    times = [[int(math.exp(x)) if math.exp(x) <= bound else None for x in row] for row in logs]
    return fit_slope(dims, times, [median(row, int(min(bound, 1e12))) for row in times], np.random.SeedSequence(0))


@pytest.mark.parametrize("common", [0.0, 1.0])
def test_slopes_recover_a_power_and_their_errors_cover(common: float) -> None:
    """Both for replicas that share their luck across dimensions and for those that do not."""
    rng = np.random.default_rng(2)
    dims, slopes, errors = (100, 200, 400, 800), [], []
    for _ in range(150):
        luck = common * rng.normal(size=64) + 0.3 * rng.normal(size=(4, 64))
        slope = slope_of(dims, 14 + 1.5 * np.log(np.array(dims) / 100)[:, None] + luck)
        slopes.append(slope.value)
        errors.append(slope.stderr)
    assert abs(np.mean(slopes) - 1.5) < 4 * np.std(slopes) / math.sqrt(150)
    assert 0.8 < np.mean(errors) / np.std(slopes) < 1.5


def test_unreached_medians_are_left_out_and_two_points_are_needed() -> None:
    rows = np.log([[100.0] * 9, [10_000.0] * 9, [10.0**9] * 9])
    assert slope_of((10, 100, 1000), rows, bound=1e6).value == pytest.approx(2.0, abs=1e-3)
    assert slope_of((100, 1000), rows[1:], bound=1e6) == Slope(None, None)
    with pytest.raises(InputError):
        median([], 10)


@pytest.mark.parametrize("count", [1, 2, 3])
def test_few_replicas_have_no_error(count: int) -> None:
    rows = np.log([[100.0] * count, [10_000.0] * count])
    assert slope_of((10, 100), rows) == Slope(pytest.approx(2.0, abs=1e-2), None)
    assert median([7] * count, 10).stderr is None


@pytest.mark.parametrize("count", [4, 6, 8])
def test_errors_from_a_handful_of_replicas_cover(count: int) -> None:
    """Two standard errors in at least 90 of 100 cases, four in all but one; and not by being huge."""
    rng = np.random.default_rng(count)
    dims, off, errors = (100, 200, 400, 800), [], []
    for _ in range(300):
        slope = slope_of(dims, 14 + 1.5 * np.log(np.array(dims) / 100)[:, None] + 0.8 * rng.normal(size=(4, count)))
        assert slope.value is not None
        assert slope.stderr is not None
        off.append(abs(slope.value - 1.5) / slope.stderr)
        errors.append(slope.stderr)
    assert np.mean(np.array(off) < 2) > 0.9
    assert np.mean(np.array(off) < 4) > 0.98
    assert np.median(errors) < 0.6
