"""Time grids: finite, non-negative, in increasing order."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Set

from theory.checks import real
from theory.errors import InputError

_REMEDY = "give for example 0,1,2.5"
_TIME = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?", re.ASCII)


def time_grid(times: Iterable[float]) -> tuple[float, ...]:
    """The times as floats, checked.

    Raises ``InputError`` for what is no sequence of numbers (``parse_times`` reads a text), where the grid is empty, or
    a time is negative, not finite, or not later than the one before.

    >>> time_grid([0, 0.5, 2])
    (0.0, 0.5, 2.0)
    """
    grid = None if isinstance(times, str | bytes | Mapping | Set) else _floats(times)
    if grid is None:
        raise InputError(
            "times",
            given=times,
            expected="a sequence of numbers",
            remedy="give a list such as [0, 1, 2.5], or parse_times('0,1,2.5')",
        )
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
    items = [item.strip() for item in text.split(",")] if isinstance(text, str) else [""]
    if not all(map(_TIME.fullmatch, items)):
        raise InputError("times", given=text, expected="numbers separated by commas", remedy=_REMEDY)
    return time_grid(map(float, items))


def _floats(times: Iterable[object]) -> tuple[float, ...] | None:
    try:
        numbers = [real(item) for item in times]
    except TypeError:  # not iterable after all
        return None
    grid = tuple(number for number in numbers if number is not None)
    return grid if len(grid) == len(numbers) else None
