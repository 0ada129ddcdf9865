"""Is the place where SGD was last seen an end, or a plateau that it leaves later? The ODE is followed on from there."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.integrate import LSODA, RK45

from theory.sgd.laws import Law
from theory.sgd.routes import exact_flow, motion_of
from theory.sgd.state import State
from theory.sgd.task import TIME, Task

Array = NDArray[np.float64]
Kind = Literal["end", "plateau", "unknown"]

AHEAD = 10
"""How many times the time followed so far the ODE is followed on."""
_ACCURACY = 1e-3
_LEVEL = 1
_MOST_STEPS = 400


@dataclass(frozen=True)
class Outlook:
    """What becomes of a place: an ``end`` is kept for ``AHEAD`` times as long again, a ``plateau`` is left.

    ``drift`` is the largest velocity of a statistic there, ``leaves_at`` the time nδ/d (from the random start) at
    which the ODE has moved away. ``unknown``: the ODE could not be followed so far.
    """

    kind: Kind
    drift: float
    leaves_at: float | None = None


def outlook(task: Task, law: Law, place: State, *, time: float, close: float) -> Outlook:
    """Follow the ODE from ``place``, reached at ``time``, to ``(1 + AHEAD)·time``. [E] (saddles and plateaus).

    ``place`` should be one replica's own state, whose noise leaves a saddle; the mean of many lies on it. Places
    further than ``close`` in some statistic are different ones.

    >>> from theory.sgd.laws import LAWS
    >>> from theory.sgd.state import start_state
    >>> from theory.sgd.tasks import single_index
    >>> task = single_index(step=0.02)
    >>> for overlap in (0.001, 1.0):
    ...     state = start_state(task, {"M_1_1": overlap, "Q_1_1": max(0.5, overlap)})
    ...     print(outlook(task, LAWS["gaussian"], state, time=1.0, close=0.2).kind)
    plateau
    end
    """
    begun = place.flat()
    later = task if task.schedule is None else replace(task, schedule=task.schedule.subs(TIME, TIME + time))
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the solver's own words on what is unknown here
        flow, even = _flow(later, law, place)
        drift = float(np.abs(flow(0.0, begun)).max())
        solver = (LSODA if even else RK45)(flow, 0.0, begun, AHEAD * time, rtol=_ACCURACY, atol=_ACCURACY * close)
        for _ in range(_MOST_STEPS):
            solver.step()
            if solver.status == "failed" or not np.isfinite(solver.y).all():
                return Outlook("unknown", drift)
            if float(np.abs(solver.y - begun).max()) > close:
                return Outlook("plateau", drift, time + float(solver.t))
            if solver.status == "finished":
                return Outlook("end", drift)
    return Outlook("unknown", drift)


def _flow(task: Task, law: Law, place: State) -> tuple[Callable[[float, Array], Array], bool]:
    """(time, statistics) → velocity, on one level of quadrature; and whether an implicit method is of use."""
    exact = exact_flow(task, place, law)
    if exact is not None:
        return exact, True
    motion = motion_of(task, laws=law, level=_LEVEL)

    def flow(time: float, flat: Array) -> Array:
        change: State = motion(place.moved(flat), float(task.pace(time)))
        return change.flat()

    return flow, motion.even
