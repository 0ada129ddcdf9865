"""The loss series of the autoencoder in powers of 1/N: planar part, first correction, and so on. [P] §3–4."""

from __future__ import annotations

from fractions import Fraction

from theory.autoencoder.series import VARIABLES, LossSeries
from theory.engine.genus import by_genus
from theory.engine.laurent import Laurent

WEIGHTS = {"p": 1, "n": 1, "m": 1, "sigma2": -1}
"""p ~ n ~ m ~ N and σ² ~ 1/N: every planar term of Y_s and of Ŷ_s is then of order N^s."""


def genus_expansion(series: LossSeries) -> tuple[LossSeries, ...]:
    """The series split by the number of lost nodes: entry g holds what is smaller than the planar part by N^g.

    Entry 0 is the planar series, entry 1 the first correction; the entries sum to the series.

    >>> from theory.autoencoder.series import loss_series
    >>> planar, first, *_ = genus_expansion(loss_series("population", order=1))
    >>> print(first.coefficients[1])
    12 p n m sigma2^3 + 12 n^2 m sigma2^3 - 8 n m sigma2^2
    """
    split = [by_genus(c, weights=WEIGHTS, planar_degree=s) for s, c in enumerate(series.coefficients)]
    deepest = max((lost for parts in split for lost in parts), default=0)
    nothing = Laurent.constant(0, VARIABLES)
    return tuple(
        LossSeries(
            series.loss,
            tuple(parts.get(lost, nothing) for parts in split),
            series.constant if lost == 0 else Fraction(0),
        )
        for lost in range(deepest + 1)
    )
