"""Dormand and Prince's pair of orders 5 and 4 for stacks of arrays, with a bound on the number of steps.

``scipy.integrate`` knows neither single precision nor a bound on its work, and gives nothing of a run that ended early.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from theory.autoencoder.limits.solution import FloatArray

Stack = npt.NDArray[Any]
_STAGES: tuple[tuple[float, ...], ...] = (
    (1 / 5,),
    (3 / 40, 9 / 40),
    (44 / 45, -56 / 15, 32 / 9),
    (19372 / 6561, -25360 / 2187, 64448 / 6561, -212 / 729),
    (9017 / 3168, -355 / 33, 46732 / 5247, 49 / 176, -5103 / 18656),
    (35 / 384, 0.0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84),
)
_ERROR = (71 / 57600, 0.0, -71 / 16695, 71 / 1920, -17253 / 339200, 22 / 525, -1 / 40)


_SHORTEST = 1e-7
"""In units of the last time; a flow that needs shorter steps has run away."""


def steps_to(
    slope: Callable[[Stack], Stack],
    start: Stack,
    ends: FloatArray,
    *,
    tolerance: float,
    most_steps: int,
    still: float = 0.0,
) -> Iterator[Stack]:
    """y of y′ = slope(y), y(0) = ``start``, at each of the increasing ``ends``; NaN once ``most_steps`` are used up.

    The first axis counts the members of the stack, which are stepped together. Errors are relative to a member's norm,
    and the largest counts. A member is at rest where its slope would change no more than a part ``still`` of it up to
    the last of ``ends``; once all are, y is kept.

    >>> found = steps_to(lambda y: -y, np.ones((1, 1)), np.array([0.0, 1.0]), tolerance=1e-9, most_steps=100)
    >>> [round(float(y[0, 0]), 6) for y in found]
    [1.0, 0.367879]
    """
    y, at, k = start, 0.0, slope(start)
    speed = _largest(k, y)
    step = 0.01 / speed if 0 < speed < math.inf else math.inf
    steps, last = 0, float(ends[-1])
    resting = False
    for end in (float(value) for value in ends):
        while at < end and steps < most_steps and step > _SHORTEST * last and not resting:
            steps += 1
            h = min(step, end - at)
            stages = [k]
            with np.errstate(all="ignore"):
                for row in _STAGES:
                    trial = y + _combined(h, row, stages)
                    stages.append(slope(trial))
                error = _largest(_combined(h, _ERROR, stages), trial) / tolerance
            factor = min(4.0, 0.9 * error**-0.2) if error > 0 else 4.0
            if error < 1:
                at = end if h == end - at else at + h
                y, k = trial, stages[-1]
                step = max(step, h * factor) if h < step else h * max(0.2, factor)
                resting = still > 0 and _largest(k, y) * (last - at) < still
            else:  # NaN too
                step = h * (max(0.2, factor) if math.isfinite(error) else 0.2)
        if at < end and not resting:
            y = np.full_like(y, np.nan)
            steps = most_steps
        yield y


def _combined(h: float, row: tuple[float, ...], stages: list[Stack]) -> Stack:
    total = (h * row[0]) * stages[0]
    for a, stage in zip(row[1:], stages[1:], strict=True):
        if a:
            total += (h * a) * stage
    return total


def _largest(x: Stack, unit: Stack) -> float:
    """The largest norm of a member of the stack, in units of the norm of its counterpart."""
    axes = tuple(range(1, x.ndim))
    with np.errstate(all="ignore"):
        size = np.sum(np.abs(x) ** 2, axis=axes, dtype=float) / np.sum(np.abs(unit) ** 2, axis=axes, dtype=float)
        return float(np.sqrt(np.max(size)))
