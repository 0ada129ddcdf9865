"""Time grids: finite, non-negative, in increasing order; ``0:100:21`` and ``log:0.1:100:21`` stand for many times."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Set

from theory.checks import real
from theory.errors import InputError

_MOST = 100_000
_DIGITS = 9
_NUMBER = r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?"
_RANGE = re.compile(rf"(?P<log>log:)?(?P<first>{_NUMBER}):(?P<last>{_NUMBER}):(?P<count>\d+)", re.ASCII)
_REMEDY = "give for example 0,1,2.5"
_TIME = re.compile(_NUMBER, re.ASCII)


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
    """Read a grid: times and ranges, separated by commas.

    ``0:100:21`` is 21 times evenly spaced from 0 to 100, ends included; ``log:0.1:100:4`` is 4 times in equal ratios.

    >>> parse_times("0, 1, 2.5")
    (0.0, 1.0, 2.5)
    >>> parse_times("0:1:3"), parse_times("0,log:0.1:100:4")
    ((0.0, 0.5, 1.0), (0.0, 0.1, 1.0, 10.0, 100.0))

    Raises ``InputError`` for anything else, and as ``time_grid`` does.
    """
    items = [item.strip() for item in text.split(",")] if isinstance(text, str) else [""]
    return time_grid([time for item in items for time in _item(item, text)])


def _item(item: str, text: object) -> tuple[float, ...]:
    if _TIME.fullmatch(item):
        return (float(item),)
    found = _RANGE.fullmatch(item)
    if not found:
        raise InputError(
            "times",
            given=text,
            expected="numbers separated by commas, or ranges as 0:100:21 and log:0.1:100:21",
            remedy=_REMEDY,
        )
    first, last, count = float(found["first"]), float(found["last"]), int(found["count"][:_DIGITS])
    logarithmic = found["log"] is not None
    if not 2 <= count <= _MOST or len(found["count"]) > _DIGITS:
        raise InputError("times", given=item, expected=f"from 2 to {_MOST} times in a range", remedy=_REMEDY)
    if not (0 <= first < last < math.inf) or (logarithmic and first == 0):
        raise InputError(
            "times",
            given=item,
            expected=f"first:last:count with {'0 < first' if logarithmic else '0 ≤ first'} < last",
            remedy="give for example 0,log:0.1:100:21" if logarithmic else "give for example 0:100:21",
        )
    shares = [k / (count - 1) for k in range(count)]
    if logarithmic:
        low, high = math.log10(first), math.log10(last)
        inner = [10.0 ** (low + share * (high - low)) for share in shares[1:-1]]
    else:
        inner = [first + share * (last - first) for share in shares[1:-1]]
    return (first, *inner, last)


def _floats(times: Iterable[object]) -> tuple[float, ...] | None:
    try:
        numbers = [real(item) for item in times]
    except TypeError:  # not iterable after all
        return None
    grid = tuple(number for number in numbers if number is not None)
    return grid if len(grid) == len(numbers) else None
