"""Which route takes a task's expectations: closed form, pairs of fields, or one rule over all fields."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from theory.sgd.drift import Drift, Motion
from theory.sgd.erf_committee import MANY_FIELDS, closed_form, erf_drift
from theory.sgd.expectations import GAUSSIAN, Laws
from theory.sgd.pairwise import PairwiseDrift
from theory.sgd.state import State
from theory.sgd.task import Task

Array = NDArray[np.float64]


def motion_of(task: Task, *, laws: Laws = GAUSSIAN, level: int = 1) -> Motion:
    """The drift by quadrature: pairs of fields where the loss is additive and has kinks or many fields.

    >>> from theory.sgd.tasks import committee, logistic
    >>> motion_of(committee(activation="softplus")).method, motion_of(logistic()).method
    ('pairs of fields', 'Gauss-Hermite')
    """
    whole = Drift.of(task, laws=laws, level=level)
    many = len(whole.quadrature.read) >= (MANY_FIELDS if task.is_smooth else 1)
    if whole.quadrature.exact_order is None and many:
        return PairwiseDrift.of(task, laws=laws, level=level) or whole
    return whole


def exact_flow(task: Task, state: State, laws: Laws) -> Callable[[float, Array], Array] | None:
    """The velocity of all statistics in closed form, as a function of time and statistics, where there is one."""
    form = closed_form(task, state, laws)
    if form is None:
        return None
    return lambda time, flat: erf_drift(task, form, state, flat, float(task.pace(time)))


def velocity(task: Task, state: State, *, laws: Laws = GAUSSIAN, level: int = 2) -> Callable[[Array], Array]:
    """Statistics → their velocity by the best route, for states of the shape of ``state``, at time 0."""
    exact = exact_flow(task, state, laws)
    if exact is not None:
        return lambda flat: exact(0.0, flat)
    drift = motion_of(task, laws=laws, level=level)

    def flow(flat: Array) -> Array:
        found: Any = drift(state.moved(flat))
        result: Array = found.flat()
        return result

    return flow
