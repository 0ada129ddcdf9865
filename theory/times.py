"""Time grids: finite, non-negative, in increasing order."""

from __future__ import annotations

import math
from collections.abc import Iterable

from theory.errors import InputError

_REMEDY = "give for example 0,1,2.5"


def time_grid(times: Iterable[float]) -> tuple[float, ...]:
    """The times as floats, checked.

    Raises ``InputError`` where the grid is empty, or a time is negative, not finite, or not later than the one before.

    >>> time_grid([0, 0.5, 2])
    (0.0, 0.5, 2.0)
    """
    try:
        grid = tuple(float(t) for t in times)
    except (TypeError, ValueError) as error:
        raise InputError("times", given=times, expected="a sequence of numbers", remedy="give [0, 1, 2.5]") from error
    if not grid:
        raise InputError("times", given=list(grid), expected="at least one time", remedy=_REMEDY)
    for earlier, later in zip((-math.inf, *grid), grid, strict=False):
        if not math.isfinite(later) or later < 0:
            raise InputError("times", given=later, expected="finite times from 0", remedy=_REMEDY)
        if later <= earlier:
            raise InputError(
                "times", given=[earlier, later], expected="strictly increasing times", remedy="sort them, drop repeats"
            )
    return grid


def parse_times(text: str) -> tuple[float, ...]:
    """Read ``0,1,2.5`` into a checked grid.

    >>> parse_times("0, 1, 2.5")
    (0.0, 1.0, 2.5)
    """
    try:
        values = [float(item) for item in text.split(",")]
    except ValueError as error:
        raise InputError("times", given=text, expected="numbers separated by commas", remedy=_REMEDY) from error
    return time_grid(values)
