"""Statistics along the ODE, on a grid of times: one step of the solver at a time, within bounds and within a budget."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.integrate import LSODA, RK45

from theory.errors import BudgetError, ReachError
from theory.sgd.task import Task

Array = NDArray[np.float64]

BEYOND = 1e6
"""A statistic larger than this has left every bound: the parameters started at order one."""
MOST_WORK = 2**31
"""Calls of the drift times its points: a quarter of an hour or so."""
_A_CALL = 2**9  # what a call costs beside its points
_PACE = 500  # steps after which the solver's pace is known
_GROWTH = 1.1


@dataclass(frozen=True, eq=False)
class Solution:
    """The statistics (times × statistics) and how often the drift was called for them."""

    values: Array
    calls: int


def work(calls: float, points: int) -> float:
    """What so many calls of a drift on so many points cost, in the units of ``MOST_WORK``."""
    return calls * (points + _A_CALL)


def solve(
    task: Task,
    flow: Callable[[float, Array], Array],
    start: Array,
    grid: tuple[float, ...],
    accuracy: tuple[float, float],
    *,
    points: int = 0,
    even: bool = True,
) -> Solution:
    """The solution of ẏ = flow(t, y) at the grid's times. ``accuracy`` is a relative and an absolute tolerance.

    ``points`` is the number of points on which ``flow`` takes expectations. ``even`` says that they lie symmetrically
    about 0, as those of Gauss–Hermite rules do, and that no kink passes them. Uneven ones give a drift that moves like
    the root of an eigenvalue where the Gram matrix becomes singular: an implicit method then takes ten times the steps.

    Steps are taken one at a time: a solution that blows up may do so within one, where nothing is left to interpolate.
    Raises ``ReachError`` where the statistics leave every bound, ``BudgetError`` where they come too slowly.
    """
    relative, absolute = accuracy
    method = LSODA if even else RK45
    rows = [start for time in grid if time == 0]
    last = grid[-1]
    steps, at_last_look = 0, (0.0, 0.0)
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # LSODA's own words on what is a ReachError here
        solver = method(flow, 0.0, start, max(last, 1e-12), rtol=relative, atol=absolute)
        while len(rows) < len(grid):
            before = solver.t
            solver.step()
            if solver.status == "failed" or not np.abs(solver.y).max(initial=0.0) <= BEYOND:
                raise ReachError(
                    f"ODE of {task.name}",
                    given=last,
                    reach=f"time {before:.3g}, where the statistics leave every bound",
                    remedy=f"δ = {task.step:g} is beyond stability, or the loss has no minimum: "
                    "lower step=, or add a ridge",
                )
            passed = [time for time in grid[len(rows) :] if time <= solver.t]
            if passed:
                rows += list(solver.dense_output()(np.array(passed)).T)
            steps += 1
            if steps % _PACE == 0:
                largest = float(np.abs(solver.y).max(initial=0.0))
                if largest < _GROWTH * at_last_look[1]:  # else it may be about to blow up
                    _check_pace(task, solver.t, last, solver.t - at_last_look[0], solver.nfev / steps, points)
                at_last_look = (solver.t, largest)
    return Solution(np.array(rows), int(solver.nfev))


def _check_pace(task: Task, time: float, last: float, gained: float, calls_a_step: float, points: int) -> None:
    """Raise ``BudgetError`` where the rest, at the pace of the latest steps, would take too long."""
    steps = (last - time) / gained * _PACE if gained > 0 else math.inf
    if work(steps * calls_a_step, points) > MOST_WORK:
        raise BudgetError(
            f"ODE of {task.name}",
            estimate=f"{steps:.1e} more steps of the solver from time {time:.3g} to {last:.3g}",
            limit=f"{MOST_WORK / work(calls_a_step, points):.1e}",
            remedy="ask for earlier times",
        )
