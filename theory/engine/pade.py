"""Padé approximants near the diagonal of an exact series, and by how much neighbouring ones differ."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt
from mpmath import mp

Array = npt.NDArray[np.float64]

_DIGITS = 60


def resummed(taylor: Sequence[Fraction], times: Array) -> tuple[Array, Array]:
    """The highest near-diagonal approximant at the times, and its largest distance from two neighbours.

    >>> from math import factorial
    >>> value, spread = resummed([Fraction(1, factorial(s)) for s in range(9)], np.array([0.0, 1.0]))
    >>> bool(abs(value[1] - np.e) < 1e-6), bool(spread[1] < 1e-4)
    (True, True)
    """
    order = len(taylor) - 1
    with mp.workdps(_DIGITS):
        coefficients = [mp.mpf(c.numerator) / c.denominator for c in taylor]
        shapes = [(order - order // 2, order // 2), ((order - 1) - (order - 1) // 2, (order - 1) // 2)]
        shapes.append((order // 2, order - order // 2) if order % 2 else (order // 2 + 1, order // 2 - 1))
        rows = [_pade(coefficients, top, bottom, times) for top, bottom in shapes if min(top, bottom) >= 0]
    best, *others = rows
    if not others:
        return best, np.where(times > 0, np.inf, 0.0)
    return best, np.max([np.abs(best - other) for other in others], axis=0)


def _pade(coefficients: list[Any], top: int, bottom: int, times: Array) -> Array:
    """The [top/bottom] approximant at the times; the next smaller one where it does not exist."""
    try:
        above, below = mp.pade(coefficients[: top + bottom + 1], top, bottom)
        return np.array([float(mp.polyval(above[::-1], t) / mp.polyval(below[::-1], t)) for t in times])
    except (ZeroDivisionError, ValueError):
        if bottom == 0:
            return np.array([float(mp.polyval(coefficients[top::-1], t)) for t in times])
        return _pade(coefficients, top, bottom - 1, times)
