"""Finer and finer quadratures of the ODE, until a solution can be vouched for: its values and what they may be off."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from theory.sgd.chart import Chart
from theory.sgd.drift import Motion
from theory.sgd.expectations import MOST_EVALUATIONS
from theory.sgd.solver import MOST_WORK, solve, work

Array = NDArray[np.float64]

FINE, COARSE = (1e-9, 1e-11), (1e-7, 1e-9)
"""Relative and absolute tolerance of the solver where expectations are exact, and of the solution to compare with."""
_TIGHTEST = 1e-12  # what the solver can keep
_TINY = 1e-300
_STEP = 2
_POINTS_A_SOLVE = 2**19
_POINTS_TO_CHECK = 2**14


@dataclass(frozen=True, eq=False)
class Refined:
    """The last solution, its estimated error (both times × statistics), the method, whether it is good enough, and the
    level it was found on."""

    values: Array
    error: Array
    method: str
    converged: bool
    level: int = 2


def refine(
    drift: Motion,
    state: Any,
    grid: tuple[float, ...],
    tolerance: float,
    *,
    chart: Chart,
    progress: Callable[[int, int], None] | None = None,
) -> Refined:
    """Solve on finer and finer quadratures until the error is below ``tolerance``, or the budget is spent.

    ``state`` is the start, ``chart`` says in which coordinates to integrate. The error is the difference of the last
    two solutions, and more where a far finer rule says so; see ``_error``.
    """
    task, start = drift.task, chart.down(state.flat())
    exact = drift.is_exact(state)
    done, level, previous = 0, 0, None
    while True:
        refined = drift.at_level(level)
        size = refined.size(state)
        flow = chart.flow(partial(_flow, refined, state))
        # On fixed nodes a kinked loss has a drift that jumps by a weight: finer steps would see nothing else.
        # The solver's tolerance tightens with the quadrature, so that the difference tells both errors.
        uneven = not task.is_smooth and not drift.even
        jump, relative = 8 / size if uneven else 0.0, max(tolerance / (10 * 4**done), _TIGHTEST)
        accuracy = FINE if exact else (max(relative, jump), max(relative / 10, jump))
        found = solve(task, flow, start, grid, accuracy, points=size, even=drift.even)
        done += 1
        if progress:
            progress(done, drift.finest // _STEP + 1)
        values = chart.lift(found.values)
        if exact:
            coarse = solve(task, flow, start, grid, COARSE, points=size, even=drift.even)
            return Refined(values, np.abs(values - chart.lift(coarse.values)), f"exact {drift.method}", True)
        following = _following(size, state)
        spent = following > min(_POINTS_A_SOLVE, MOST_EVALUATIONS) or work(found.calls, following) > MOST_WORK
        if previous is not None:
            error = _error(refined, state, grid, values, previous)
            converged = bool(error.max() < tolerance)
            if converged or spent or level >= drift.finest:
                return Refined(values, error, drift.method, converged, level)
        previous, level = values, level + _STEP


def _flow(drift: Motion, state: Any, time: float, flat: Array) -> Array:
    velocity: Array = drift(state.moved(flat), float(drift.task.pace(time))).flat()
    return velocity


def _error(drift: Motion, state: Any, grid: tuple[float, ...], values: Array, previous: Array) -> Array:
    """What ``values``, solved with ``drift``, may be off, when the level before gave ``previous``.

    Their difference, while each refinement changes the drift by half as much as the one before, or less. But two levels
    can agree because both miss the same feature, or by chance on the way. So the drift itself is compared, at a few
    states passed, with a far finer rule. Where what it is off there (the defect) is more than half of what the last
    refinement changed, solutions are off by the defect times the response: how far the last two have come apart for
    the difference of their drifts, no less than 1, but no more than the time.
    """
    difference: Array = np.abs(values - previous)
    finer = _checking_level(drift, state)
    if finer is None:
        return difference
    levels = (drift.at_level(drift.level - _STEP), drift, finer)
    rows = sorted({0, len(grid) // 2, len(grid) - 1})
    before, here, beyond = (np.array([_flow(f, state, grid[row], values[row]) for row in rows]) for f in levels)
    defects, changes = np.abs(beyond - here), np.abs(here - before)
    if (defects.max(axis=1) <= changes.max(axis=1) / 2).all():
        return difference
    response = max(1.0, float(difference.max()) / max(float(changes.max()), _TINY))
    # What no rule moves (a second layer that is frozen) is not off.
    moved = (defects > 0).any(axis=0) | (difference > 0).any(axis=0)
    missed: Array = float(defects.max()) * np.minimum(grid, response)[:, None] * moved
    return np.maximum(difference, missed)


def _checking_level(drift: Motion, state: Any) -> Motion | None:
    """A level with so many points that one call, not a solution, can be afforded; ``None`` where there is none."""
    finer, size = drift, drift.size(state)
    while finer is drift or (size < _POINTS_TO_CHECK and finer.level < drift.finest):
        if _following(size, state) > MOST_EVALUATIONS:
            return None
        finer = drift.at_level(finer.level + _STEP)
        size = finer.size(state)
        if size > MOST_EVALUATIONS:
            return None
    return finer


def _following(size: int, state: Any) -> int:
    """About so many points on the next level: four times as many nodes, twice as many values of a coordinate."""
    return 4 * size * (2 if state.localised == 1 else 1)
