"""Medians and slopes of times that were not always reached."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from numerics.judge import as_rare
from theory.errors import InputError

_RESAMPLES = 500
_LEAST_ERROR = 1e-3
"""No median is trusted to better than this, relatively, when slopes are fitted."""
LEAST_REPLICAS = 4
"""With fewer, the spread of the replicas says too little about the error for a number to be given."""
_MANY = 8
"""From here on errors cover as they are; below, they are enlarged by Student's quotient at two standard errors."""


@dataclass(frozen=True)
class Median:
    """A median of times, of which ``censored`` out of ``count`` were not reached within ``bound``.

    ``value`` and ``stderr`` are None where half the times or more are censored: the median is then only known to
    exceed ``bound``. ``log_stderr`` is the error of its logarithm; both errors are None for fewer than 4 times.
    """

    value: float | None
    log_stderr: float | None
    censored: int
    count: int
    bound: int

    @property
    def stderr(self) -> float | None:
        """Standard error of the median, from that of its logarithm."""
        return None if self.value is None or self.log_stderr is None else self.value * self.log_stderr


def median(times: Sequence[int | None], bound: int) -> Median:
    """The median of positive times, None standing for a time beyond ``bound``.

    All runs stop at the same ``bound``, so the estimate of Kaplan and Meier is the order statistic itself with the
    censored times last: no censored time enters as a number. The error is Woodruff's: half the distance between the
    order statistics √n/2 ranks below and above (the part below only, where the one above is censored). It is enlarged
    for fewer than 8 times, and not given for fewer than 4.

    >>> result = median([3, 1, None, 2, 5], bound=10)
    >>> result.value, round(result.log_stderr, 3), result.censored
    (3, 0.782, 1)
    >>> median([3, None, None], bound=10).value is None
    True

    Raises ``InputError`` for no times at all.
    """
    if not times:
        raise InputError("times", given=list(times), expected="at least one", remedy="run more replicas")
    logs = sorted(math.inf if time is None else math.log(max(time, 1)) for time in times)
    count = len(logs)
    censored = sum(time is None for time in times)
    middle = (logs[(count - 1) // 2] + logs[count // 2]) / 2
    if math.isinf(middle):
        return Median(None, None, censored, count, bound)
    ranks = np.clip((count - 1) / 2 + math.sqrt(count) / 2 * np.array([-1, 1]), 0, count - 1)
    below = float(np.interp(ranks[0], range(count), logs))
    above = math.inf if math.isinf(logs[math.ceil(ranks[1])]) else float(np.interp(ranks[1], range(count), logs))
    error = middle - below if math.isinf(above) else (above - below) / 2
    factor = _inflation(count)
    return Median(round(math.exp(middle)), None if factor is None else factor * error, censored, count, bound)


@dataclass(frozen=True)
class Slope:
    """A slope d log y / d log x with its standard error.

    Both are None where fewer than two points could be used, the error also for fewer than 4 replicas.
    """

    value: float | None
    stderr: float | None


def fit_slope(
    dims: Sequence[int], times: Sequence[Sequence[int | None]], medians: Sequence[Median], seed: np.random.SeedSequence
) -> Slope:
    """Least squares of log median against log d, weighted by the medians' errors; unreached medians are left out.

    ``times[i][k]`` is replica k's time at ``dims[i]``, None where censored. Replica k begins from the same random
    numbers at every d, so the errors of the medians go together; the slope's error is therefore had by resampling
    replicas, all dimensions at once. It is enlarged where the medians scatter around the line more than their errors,
    and for fewer than 8 replicas; of fewer than 4 none is given, nor are the medians weighted.

    >>> times = [[5, 6, 4, 5], [500, 600, 400, 500]]
    >>> slope = fit_slope([10, 100], times, [median(t, 999) for t in times], np.random.SeedSequence(0))
    >>> round(slope.value, 6), round(slope.stderr, 6)
    (2.0, 0.0)
    """
    used = [i for i, m in enumerate(medians) if m.value is not None]
    if len(used) < 2:
        return Slope(None, None)
    x = np.log([dims[i] for i in used])
    weights = np.array([max(medians[i].log_stderr or 0.0, _LEAST_ERROR) for i in used]) ** -2
    centred = x - np.average(x, weights=weights)
    lever = weights * centred / np.sum(weights * centred**2)
    logs = np.log([[math.inf if time is None else max(time, 1) for time in times[i]] for i in used])
    y = np.log([medians[i].value or 1.0 for i in used])
    slope = float(lever @ y)
    factor = _inflation(logs.shape[1])
    if factor is None:
        return Slope(slope, None)
    residual = y - np.average(y, weights=weights) - slope * centred
    scatter = float(np.sum(weights * residual**2)) / (len(used) - 2) if len(used) > 2 else 1.0
    chosen = np.random.default_rng(seed).integers(logs.shape[1], size=(_RESAMPLES, logs.shape[1]))
    ordered = np.sort(logs[:, chosen], axis=2)
    count = logs.shape[1]
    middles = (ordered[:, :, (count - 1) // 2] + ordered[:, :, count // 2]) / 2
    slopes = (lever @ np.where(np.isinf(middles), np.nan, middles))[~np.isinf(middles).any(axis=0)]
    return Slope(slope, factor * float(slopes.std()) * math.sqrt(max(1.0, scatter)))


def _inflation(count: int) -> float | None:
    """What an error had from so few replicas is multiplied by; None where it would mean nothing."""
    if count < LEAST_REPLICAS:
        return None
    if count >= _MANY:
        return 1.0
    return as_rare(2, count - 1) / 2 * math.sqrt(count / (count - 1))


def wilson(successes: int, count: int, *, errors: float = 1.959963984540054) -> tuple[float, float]:
    """Wilson's interval for a share, by default of 95 %.

    >>> low, high = wilson(8, 10)
    >>> round(low, 3), round(high, 3)
    (0.49, 0.943)
    """
    share, square = successes / count, errors**2 / count
    middle = (share + square / 2) / (1 + square)
    half = errors / (1 + square) * math.sqrt(share * (1 - share) / count + square / (4 * count))
    low = 0.0 if successes == 0 else max(0.0, middle - half)
    return low, 1.0 if successes == count else min(1.0, middle + half)


def order_interval(times: Sequence[int | None]) -> tuple[float | None, float | None, float | None]:
    """The median of times and a 95 % interval for it by order statistics; None is beyond the largest time allowed.

    >>> order_interval([3, 1, None, 2, 5, 4, 7, 6])
    (4.5, 1.0, None)
    """
    from scipy.stats import binom

    logs = sorted(math.inf if time is None else float(time) for time in times)
    count = len(logs)
    middle = (logs[(count - 1) // 2] + logs[count // 2]) / 2
    rank = int(binom.ppf(0.025, count, 0.5))  # P(fewer than rank below the median) < 2.5 %
    low, high = logs[max(rank - 1, 0)], (logs[count - rank] if rank >= 1 else math.inf)
    found = (None if math.isinf(x) else x for x in (middle, low, high))
    first, second, third = found
    return first, second, third
