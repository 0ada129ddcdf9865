"""The mean change of a loss since the start, with the start's own noise taken out as far as it helps."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from theory.autoencoder.sizes import Sizes

FEWEST = 12
"""From so many replicas on β is fitted; with fewer its own noise would cost more than it saves, and β = 1."""


@dataclass(frozen=True)
class Change:
    """An estimate of E L(t) − E L(t₀) at each time, its standard error (NaN for one replica), and the mean β used."""

    mean: np.ndarray
    stderr: np.ndarray
    beta: np.ndarray

    def to_json(self) -> dict[str, list[float | None]]:
        """Lists of numbers; a standard error that is not there is null."""
        return {
            "mean": self.mean.tolist(),
            "stderr": [float(error) if math.isfinite(error) else None for error in self.stderr],
            "beta": self.beta.tolist(),
        }


def expected_start(sizes: Sizes) -> float:
    """E L(0), the same for both losses: ½ − σ²n + ½σ⁴n(p + n + 1). [P] §2: the series' constant ½ + Y_0.

    >>> expected_start(Sizes.parse("p=10,n=5,m=3,sigma2=1/10"))
    0.4
    """
    drive = sizes.sigma2 * sizes.n
    return 0.5 + float(drive * (sizes.sigma2 * (sizes.p + sizes.n + 1) / 2 - 1))


def estimate_change(sample: np.ndarray, start: float | None) -> Change:
    """The mean change since the first column, from losses with one row a replica and one column a time.

    With C = L(t₀) − ``start``, of mean zero where ``start`` is E L(t₀), every L(t) − ``start`` − βC has the mean
    E L(t) − E L(t₀): β = 1 is the difference within the replica, best while the loss still remembers its start, β = 0
    the loss itself, best when it does not. Each replica's β is the regression coefficient of L(t) on L(t₀) over the
    other replicas, so that it is independent of what it multiplies and the estimate is unbiased; the standard error is
    that of the mean of the terms. β = 1 where ``start`` is not known (None), or there are fewer than ``FEWEST`` rows.

    >>> rows = np.array([[k, 0.5 * k + 3.0] for k in range(13)])
    >>> estimate_change(rows, 6.0).beta.tolist(), estimate_change(rows, 6.0).mean.tolist()
    ([1.0, 0.5], [0.0, 0.0])
    """
    first = sample[:, :1]
    count = len(sample)
    if start is None or count < FEWEST or np.ptp(first) == 0.0:
        beta = np.ones_like(sample)
        terms = sample - first
    else:
        beta = _left_out(sample, first)
        terms = sample - start - beta * (first - start)
    stderr = terms.std(axis=0, ddof=1) / math.sqrt(count) if count > 1 else np.full(sample.shape[1], math.nan)
    return Change(terms.mean(axis=0), stderr, beta.mean(axis=0))


def _left_out(sample: np.ndarray, first: np.ndarray) -> np.ndarray:
    """For each row the slope of the columns on the first one over the other rows."""
    # Leaving row i out takes K/(K − 1) times the product of its deviations from the mean of all out of each sum.
    x, y = first - first.mean(), sample - sample.mean(axis=0)
    share = len(sample) / (len(sample) - 1)
    slopes: np.ndarray = ((x * y).sum(axis=0) - share * x * y) / ((x * x).sum() - share * x * x)
    slopes[:, 0] = 1.0  # the first column on itself, without its rounding
    return slopes
