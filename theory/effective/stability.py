"""How large a step can be: the δ at which the critical-step correction stops the expected loss from falling."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from theory.effective.drift import Drift, expected_loss
from theory.effective.erf_committee import closed_form, erf_drift
from theory.effective.expectations import GAUSSIAN, Laws
from theory.effective.state import State
from theory.effective.task import Task

_NUDGE = 1e-4
_RISE = 1e-3


def largest_step(task: Task, state: State, *, laws: Laws = GAUSSIAN, level: int = 2) -> float:
    """The δ above which the expected loss rises from ``state``: dL/dt = −|∇L|² + δ·curvature, at zero. [E] §2.

    Infinite where the correction lowers the loss; 0 at a critical point of the loss where it raises it.

    >>> from theory.effective.state import start_state
    >>> from theory.effective.tasks import single_index
    >>> linear = single_index(link="x")  # (z − u)²: R = Q − 2M + 1 obeys Ṙ = (4δ − 4)R
    >>> round(largest_step(linear, start_state(linear)), 6)
    1.0
    """
    slope, corrected = (_rate(replace(task, step=step), state, laws=laws, level=level) for step in (0.0, 1.0))
    curvature = corrected - slope
    if curvature <= 1e-12:
        return math.inf
    return max(-slope, 0.0) / curvature


def step_warnings(task: Task, start: State, end: State, *, laws: Laws = GAUSSIAN, level: int = 2) -> tuple[str, ...]:
    """A warning where the ODE raised the expected loss: gradient flow never does, so δ is beyond stability."""
    before, after = (expected_loss(task, state, laws=laws, level=level) for state in (start, end))
    if after <= before + _RISE * max(1.0, abs(before)):
        return ()
    limit = largest_step(task, start, laws=laws, level=level)
    return (
        f"the expected loss rises from {before:.4g} to {after:.4g}: the step δ = {task.step:g} is beyond stability "
        f"(at the start it falls for δ below {limit:.3g})",
    )


def _rate(task: Task, state: State, *, laws: Laws, level: int) -> float:
    """dL/dt along the ODE, by a difference of the loss on one fixed rule."""
    flat, form = state.flat(), closed_form(task, state, laws)
    drift = Drift.of(task, laws=laws, level=level)
    change = drift(state).flat() if form is None else erf_drift(task, form, state, flat)
    h = _NUDGE / max(1.0, float(np.abs(change).max()))
    after, before = (
        expected_loss(task, state.moved(flat + sign * h * change), laws=laws, level=level) for sign in (1, -1)
    )
    return (after - before) / (2 * h)
