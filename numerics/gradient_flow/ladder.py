"""What a finite size adds to the interior's solution, measured on a ladder of other sizes in the same ratios."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from theory.autoencoder.sizes import Sizes

FloatArray = npt.NDArray[np.float64]
LossName = Literal["train", "population"]

SMALLEST = 6
"""No rung has a dimension below this: the expansion in 1/N would not begin to converge."""

DOWN = 64
"""From this smallest dimension on the rungs lie below the sizes, where they are cheap; else above them."""

_THIRD = 3.0
"""The term of third order is taken to be at most so many times the second, over the smallest dimension."""


@dataclass(frozen=True)
class Rung:
    """Sizes in (nearly) the same ratios, ``scale`` times the user's, and how many replicas they get."""

    scale: float
    sizes: Sizes
    replicas: int

    def times(self, times: Iterable[float], sizes: Sizes) -> tuple[float, ...]:
        """The times at which ηt/p is what it is at ``sizes``."""
        return tuple(t * self.sizes.p / sizes.p for t in times)

    def same_ratios(self, sizes: Sizes) -> bool:
        """Whether nothing had to be rounded, so that the interior is the same as at ``sizes``."""
        ours, p = self.sizes, sizes.p
        return ours.n * p == sizes.n * ours.p and ours.m * p == sizes.m * ours.p


def rung(sizes: Sizes, scale: float, *, replicas: int) -> Rung:
    """``sizes`` times ``scale``, rounded to whole numbers, with σ²p kept exactly.

    >>> rung(Sizes.parse("p=15,n=30,m=8,sigma2=1/15"), 2, replicas=4).sizes
    Sizes(p=30, n=60, m=16, sigma2=Fraction(1, 30))
    """
    p, n, m = (max(1, round(scale * size)) for size in (sizes.p, sizes.n, sizes.m))
    return Rung(p / sizes.p, Sizes(p, n, m, sizes.sigma2 * sizes.p / p), replicas)


def rungs(sizes: Sizes, *, replicas: int) -> tuple[Rung, Rung]:
    """The two rungs from which the terms in 1/N and 1/N² are found, with the replicas that make them sharp enough.

    >>> [r.scale for r in rungs(Sizes.parse("p=100,n=100,m=100,sigma2=1/100"), replicas=8)]
    [0.25, 0.5]
    >>> [r.scale for r in rungs(Sizes.parse("p=30,n=30,m=30,sigma2=1/30"), replicas=8)]
    [0.5, 2.0]
    >>> [r.scale for r in rungs(Sizes.parse("p=30,n=4,m=30,sigma2=1/30"), replicas=8)]
    [1.5, 3.0]
    """
    smallest = min(sizes.p, sizes.n, sizes.m)
    if smallest >= DOWN:
        plan = ((0.25, 4), (0.5, 6))
    elif smallest >= 2 * SMALLEST:
        plan = ((0.5, 2), (2.0, 1))
    else:
        plan = ((1.5, 8), (3.0, 4))
    first, second = (rung(sizes, scale, replicas=share * replicas) for scale, share in plan)
    return first, second


@dataclass(frozen=True)
class Deviation:
    """How far the measured change of each loss is from the interior's at one rung's ratios, with standard errors."""

    rung: Rung
    mean: Mapping[LossName, FloatArray]
    stderr: Mapping[LossName, FloatArray]


@dataclass(frozen=True)
class Term:
    """The finite-size term of one loss at the user's sizes, time by time.

    ``stderr`` is statistical; ``truncation`` estimates the terms from third order on; ``share`` is the part of an error
    of the interior that the term would take over (an error b of the interior moves the sum by b(1 − share)).
    ``order`` is the measured power of 1/N at the last time, with its standard error: 1 where the first term leads.
    """

    mean: FloatArray
    stderr: FloatArray
    truncation: FloatArray
    share: float
    order: tuple[float, float]


def finite_size_term(loss: LossName, deviations: tuple[Deviation, Deviation], *, smallest: int) -> Term:
    """c/N + e/N² at scale 1, from the deviations c/(Nλ) + e/(Nλ)² at two scales λ.

    >>> plan = rungs(Sizes.parse("p=30,n=30,m=30,sigma2=1/30"), replicas=8)
    >>> zero = np.zeros(1)
    >>> found = tuple(Deviation(r, {"train": np.array([3 / r.scale + 1 / r.scale**2])}, {"train": zero}) for r in plan)
    >>> finite_size_term("train", found, smallest=30).mean
    array([4.])
    """
    scales = np.array([deviation.rung.scale for deviation in deviations])
    powers = np.stack([1 / scales, 1 / scales**2])
    weights = np.linalg.solve(powers, np.ones(2))
    means = np.stack([deviation.mean[loss] for deviation in deviations])
    errors = np.stack([deviation.stderr[loss] for deviation in deviations])
    second = np.linalg.solve(powers.T, means)[1]
    third = float(1 - weights @ (1 / scales**3))
    return Term(
        mean=weights @ means,
        stderr=np.sqrt(weights**2 @ errors**2),
        truncation=abs(third) * np.abs(second) * _THIRD / smallest,
        share=float(weights.sum()),
        order=_order(scales, means[:, -1], errors[:, -1]),
    )


def _order(scales: FloatArray, means: FloatArray, errors: FloatArray) -> tuple[float, float]:
    """The power of 1/N between two rungs; NaN where their signs differ, so that there is none."""
    if means[0] * means[1] <= 0:
        return float("nan"), float("nan")
    run = np.log(scales[1] / scales[0])
    return float(np.log(means[0] / means[1]) / run), float(np.hypot(*(errors / means)) / run)
