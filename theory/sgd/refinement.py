"""Finer and finer quadratures of the ODE, until a solution can be vouched for: its values and what they may be off."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from theory.sgd.drift import Drift
from theory.sgd.expectations import MOST_EVALUATIONS, Laws, evaluations
from theory.sgd.solver import MOST_WORK, solve, work
from theory.sgd.state import State
from theory.sgd.task import Task

Array = NDArray[np.float64]

FINE, COARSE = (1e-9, 1e-11), (1e-7, 1e-9)
"""Relative and absolute tolerance of the solver where expectations are exact, and of the solution to compare with."""
_TIGHTEST = 1e-12  # what the solver can keep
_TINY = 1e-300
_STEP = 2
_FINEST, _FINEST_ALONE = 18, 12  # the level beyond which a rule is not refined, and for one field that is read alone
_POINTS_A_SOLVE = 2**19
_POINTS_TO_CHECK = 2**14
_EXACT_ORDER = 11  # a coordinate's law is integrated by 12 nodes at least


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
    task: Task,
    laws: Laws,
    state: State,
    grid: tuple[float, ...],
    tolerance: float,
    progress: Callable[[int, int], None] | None = None,
) -> Refined:
    """Solve on finer and finer quadratures until the error is below ``tolerance``, or the budget is spent.

    The error is the difference of the last two solutions, and more where a far finer rule says so; see ``_error``.
    """
    drift = Drift.of(task, laws=laws)
    method = drift.quadrature.rule(0).method
    order = drift.quadrature.exact_order
    exact = order is not None and (not state.localised or order <= _EXACT_ORDER)
    finest = _finest(drift)
    even = method == "Gauss-Hermite"
    done, level, previous = 0, 0, None
    while True:
        refined = drift.at_level(level)
        size = _size(refined, state)
        flow = partial(_flat_drift, refined, state)
        # On fixed nodes a kinked loss has a drift that jumps by a weight: finer steps would see nothing else.
        # The solver's tolerance tightens with the quadrature, so that the difference tells both errors.
        jump, relative = 0.0 if task.is_smooth else 8 / size, max(tolerance / (10 * 4**done), _TIGHTEST)
        accuracy = FINE if exact else (max(relative, jump), max(relative / 10, jump))
        found = solve(task, flow, state, grid, accuracy, points=size, even=even)
        done += 1
        if progress:
            progress(done, finest // _STEP + 1)
        if exact:
            coarse = solve(task, flow, state, grid, COARSE, points=size, even=even)
            return Refined(found.values, np.abs(found.values - coarse.values), f"exact {method}", True)
        following = _following(size, state)
        spent = following > min(_POINTS_A_SOLVE, MOST_EVALUATIONS) or work(found.calls, following) > MOST_WORK
        if previous is not None:
            error = _error(refined, state, grid, found.values, previous)
            converged = bool(error.max() < tolerance)
            if converged or spent or level >= finest:
                return Refined(found.values, error, method, converged, level)
        previous, level = found.values, level + _STEP


def _flat_drift(drift: Drift, state: State, flat: Array) -> Array:
    return drift(state.moved(flat)).flat()


def _size(drift: Drift, state: State) -> int:
    return evaluations(drift.task, state, laws=drift.laws, quadrature=drift.quadrature, level=drift.level)


def _error(drift: Drift, state: State, grid: tuple[float, ...], values: Array, previous: Array) -> Array:
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
    before, here, beyond = (np.array([_flat_drift(f, state, values[row]) for row in rows]) for f in levels)
    defects, changes = np.abs(beyond - here), np.abs(here - before)
    if (defects.max(axis=1) <= changes.max(axis=1) / 2).all():
        return difference
    response = max(1.0, float(difference.max()) / max(float(changes.max()), _TINY))
    # What no rule moves (a second layer that is frozen) is not off.
    moved = (defects > 0).any(axis=0) | (difference > 0).any(axis=0)
    missed: Array = float(defects.max()) * np.minimum(grid, response)[:, None] * moved
    return np.maximum(difference, missed)


def _checking_level(drift: Drift, state: State) -> Drift | None:
    """A level with so many points that one call, not a solution, can be afforded; ``None`` where there is none."""
    finer, size = drift, _size(drift, state)
    while finer is drift or (size < _POINTS_TO_CHECK and finer.level < _finest(drift)):
        if _following(size, state) > MOST_EVALUATIONS:
            return None
        finer = drift.at_level(finer.level + _STEP)
        size = _size(finer, state)
        if size > MOST_EVALUATIONS:
            return None
    return finer


def _following(size: int, state: State) -> int:
    """About so many points on the next level: four times as many nodes, twice as many values of a coordinate."""
    return 4 * size * (2 if state.localised == 1 else 1)


def _finest(drift: Drift) -> int:
    return _FINEST_ALONE if len(drift.quadrature.read) <= 1 else _FINEST
