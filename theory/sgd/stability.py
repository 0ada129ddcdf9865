"""How large a step can be: the δ at which the critical-step correction stops the expected loss from falling."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from theory.errors import BudgetError, InputError
from theory.sgd.drift import expected_loss
from theory.sgd.expectations import GAUSSIAN, Laws
from theory.sgd.routes import velocity
from theory.sgd.state import State, start_state
from theory.sgd.task import Task

_NUDGE = 1e-4
_RISE = 1e-3
_MARGIN = 0.25
_SMALLEST = 1e-7


def largest_step(task: Task, state: State, *, laws: Laws = GAUSSIAN, level: int = 2) -> float:
    """The δ above which the expected loss rises from ``state``: dL/dt = −|∇L|² + δ·curvature, at zero. [E] §2.

    Infinite where the correction lowers the loss; 0 at a critical point of the loss where it raises it.

    >>> from theory.sgd.state import start_state
    >>> from theory.sgd.tasks import single_index
    >>> linear = single_index(link="x")  # (z − u)²: R = Q − 2M + 1 obeys Ṙ = (4δ − 4)R
    >>> round(largest_step(linear, start_state(linear)), 6)
    1.0
    """
    slope, corrected = (_rate(replace(task, step=step), state, laws=laws, level=level) for step in (0.0, 1.0))
    curvature = corrected - slope
    if curvature <= 1e-12:
        return math.inf
    return max(-slope, 0.0) / curvature


def stable_step(task: Task, state: State, *, laws: Laws = GAUSSIAN, most: float = 0.5) -> float:
    """A δ ≤ ``most``, of the form 1, 2 or 5 times a power of ten, with which SGD in finite dimension stays bounded.

    A quarter of the smaller ``largest_step`` at the start and at parameters as long as the truths, where they go:
    where gradients grow faster than linearly, the longer the parameters the smaller a step they bear. An estimate, not
    a bound: rare large inputs may ask for less.

    >>> from theory.sgd.tasks import single_index
    >>> cubic = single_index(link="x**3 - 3*x", step=1.0)
    >>> stable_step(cubic, start_state(cubic))
    0.001
    """
    lengths = np.maximum(np.diag(state.Q), max(np.diag(np.array(task.truth_gram)), default=0.0))
    longer = replace(state, Q=state.Q + np.diag(lengths - np.diag(state.Q)))
    with np.errstate(all="ignore"):
        try:
            limits = [largest_step(task, place, laws=laws) for place in (state, longer)]
        except BudgetError:  # too many units to integrate over: no estimate
            return most
    # At a critical point the estimate is 0 and says nothing; a loss without expectation gives none.
    found = [limit for limit in limits if math.isfinite(limit) and limit > 0]
    return round_down(min(most, _MARGIN * min(found, default=math.inf)))


def round_down(step: float) -> float:
    """The largest 1, 2 or 5 times a power of ten up to ``step``.

    >>> round_down(0.5), round_down(0.049), round_down(0.00067)
    (0.5, 0.02, 0.0005)
    """
    power = math.floor(math.log10(step) + 1e-12)
    leading = max(digit for digit in (1, 2, 5) if digit <= step / 10.0**power + 1e-9)
    return float(f"{leading}e{power}")


def with_default_step(task: Task, *, most: float) -> Task:
    """The task with the step it is given where the user names none: ``stable_step`` from its own start.

    Raises ``InputError`` where gradients grow so fast that only steps below 1e-7 would be stable.
    """
    step = stable_step(task, start_state(task), most=most)
    if step < _SMALLEST:
        raise InputError(
            f"task {task.name}: step",
            given="none",
            expected=f"one named by you: this loss grows so fast that no step above {_SMALLEST:g} is found stable",
            remedy="give step=, or a link or activation that grows less",
        )
    return replace(task, step=step)


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
    flat = state.flat()
    change = velocity(task, state, laws=laws, level=level)(flat)
    h = _NUDGE / max(1.0, float(np.abs(change).max()))
    after, before = (
        expected_loss(task, state.moved(flat + sign * h * change), laws=laws, level=level) for sign in (1, -1)
    )
    return (after - before) / (2 * h)
