"""Population gradient flow on the sphere, in the disc of overlaps. [S] §5.

dX/dt = −(1 − XXᵀ)∇Φ closes on m = (m_1, m_2): dm_i/dt = −∂_iΦ + m_i (m·∇Φ). The circle |m| = 1 is invariant, and Φ
never grows. With online SGD of step δ/d, t is the number of steps times δ/d.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from theory.errors import BudgetError, InputError
from theory.single_index.loss import PopulationLoss, check_overlaps
from theory.times import time_grid

Floats = npt.NDArray[np.float64]
MOST_TIMES = 100_000
_STEP = 0.02
_GROWTH = 0.3
_GAMMA = 1 + 1 / math.sqrt(2)
_NUDGE = 1e-6
_STILL = 1e-8
_EDGE = 1e-12
_ARRIVED = 1e-7
_DECAYS = 1e-3


@dataclass(frozen=True, eq=False)
class Flow:
    """A solution: overlaps and loss at ``times``; arrays of shape (T,)."""

    loss: PopulationLoss
    start: tuple[float, float]
    times: Floats
    m1: Floats
    m2: Floats
    value: Floats


def flow(loss: PopulationLoss, start: tuple[float, float], times: Iterable[float]) -> Flow:
    """Follow the flow from ``start`` = (m_1, m_2) at time 0.

    >>> from theory.single_index.link import Link
    >>> path = flow(PopulationLoss(Link.parse("x**3-3*x"), lam=1.0, eta1=0.45), (0.45, 0.89), [0, 0.2, 2.0])
    >>> bool(path.m1[-1] > 0.999999)
    True

    Raises ``InputError`` for a start outside the unit disc, ``BudgetError`` for more than 100 000 times.
    """
    grid = np.array(time_grid(times))
    if len(grid) > MOST_TIMES:
        raise BudgetError("times", estimate=f"{len(grid)} points", limit=str(MOST_TIMES), remedy="give fewer times")
    point = check_overlaps(*start)
    quick = replace(loss, quick=True)

    def velocity(m: Floats) -> Floats:
        return -np.stack(
            quick.spherical_gradient(m[0], m[1])
        )  # smooth across the circle: a clamp would stall the solver

    def turning(angle: Floats) -> Floats:
        first, second = quick.gradient(np.cos(angle[0]), np.sin(angle[0]))
        return np.stack([np.sin(angle[0]) * first - np.cos(angle[0]) * second])

    on_circle = math.hypot(*point) >= 1 - _EDGE  # rounding must not push it off a circle that repels
    equation, initial = (turning, [math.atan2(point[1], point[0])]) if on_circle else (velocity, [*point])
    y = _follow(equation, np.array(initial), grid, typical=_typical_speed(quick))
    m1, m2 = (np.cos(y[0]), np.sin(y[0])) if on_circle else into_disc(y[0], y[1])
    return Flow(loss, point, grid, m1, m2, quick.value(m1, m2))


def _follow(velocity: Callable[[Floats], Floats], start: Floats, grid: Floats, *, typical: float) -> Floats:
    """The states at the times ``grid``, shape (dimension, T).

    The solver stops once the path has arrived: hardly any speed left, and every deviation decays. What it would see
    from there on is the rounding of the velocity.
    """
    from scipy.integrate import solve_ivp

    def arrival(_: float, state: Floats) -> float:
        rate = velocity(state)
        excess = float(np.linalg.norm(rate)) / (_ARRIVED * typical) - 1
        if excess > 0:
            return excess
        columns = [(velocity(state + nudge) - rate) / _NUDGE for nudge in _NUDGE * np.eye(len(state))]
        return -1.0 if np.linalg.eigvals(np.array(columns)).real.max() < -_DECAYS * typical else 1.0

    arrival.terminal = True  # type: ignore[attr-defined]
    if arrival(0.0, start) < 0:
        return np.repeat(start[:, None], len(grid), axis=1)
    solution = solve_ivp(
        lambda _, state: velocity(state),
        (0.0, max(float(grid[-1]), 1e-9)),
        start,
        method="BDF",
        t_eval=grid,
        events=arrival,
        rtol=1e-8,
        atol=1e-10,
    )
    if not solution.success:
        raise InputError(
            "times",
            given=float(grid[-1]),
            expected="times the flow can be followed to",
            remedy=f"end earlier: {solution.message}",
        )
    states = np.asarray(solution.y).reshape(len(start), -1)
    if solution.status == 1:
        last = np.asarray(solution.y_events[0][0])
        states = np.concatenate([states, np.repeat(last[:, None], len(grid) - states.shape[1], axis=1)], axis=1)
    return states


def smooth_path(path: Flow, *, points: int = 400) -> Flow:
    """The same flow at ``points`` times, dense where it starts: for drawing."""
    end = max(float(path.times[-1]), 1e-9)
    return flow(path.loss, path.start, np.concatenate([[0.0], np.geomspace(1e-5 * end, end, points - 1)]))


def destinations(
    loss: PopulationLoss,
    m1: npt.ArrayLike,
    m2: npt.ArrayLike,
    *,
    steps: int = 400,
    progress: Callable[[int, int], None] | None = None,
) -> tuple[Floats, Floats, npt.NDArray[np.bool_]]:
    """Where the flow from each of many starts goes, and whether m_1 grew all the way.

    A linearly implicit scheme of second order (Rosenbrock, γ = 1 + 1/√2) with a step of its own for each start: as long
    as the path moves by 0.02 and no deviation grows by more than a third. Fast directions do not slow it down, and
    points with a zero rate are approached and left geometrically, without being stepped across. A start whose speed
    has fallen to 10⁻⁸ of the typical one has arrived. ``progress`` counts those that have.
    """
    loss = replace(loss, quick=True)
    x, y = np.broadcast_arrays(np.asarray(m1, dtype=np.float64), np.asarray(m2, dtype=np.float64))
    ends = np.stack([x.ravel(), y.ravel()])
    rising = np.ones(x.size, dtype=bool)
    active = np.arange(x.size)

    def velocity(m: Floats) -> Floats:
        return -np.stack(loss.spherical_gradient(*into_disc(*m)))

    still = _STILL * _typical_speed(loss)
    for _ in range(steps):
        m = ends[:, active]
        rate = velocity(m)
        moving = np.hypot(*rate) > still
        if progress:
            progress(x.size - int(moving.sum()), x.size)
        if not moving.any():
            break
        active, m, rate = active[moving], m[:, moving], rate[:, moving]
        jacobian = _jacobian(velocity, m, rate)
        trace, difference = jacobian[0, 0] + jacobian[1, 1], jacobian[0, 0] - jacobian[1, 1]
        growth = (trace + np.sqrt(np.maximum(difference**2 + 4 * jacobian[0, 1] * jacobian[1, 0], 0))) / 2
        h = np.minimum(_STEP / np.hypot(*rate), _GROWTH / np.maximum(growth, still))
        first = _solve(jacobian, _GAMMA * h, rate)
        second = _solve(jacobian, _GAMMA * h, velocity(m + h * first) - 2 * first)
        moved = np.stack(into_disc(*(m + h * (1.5 * first + 0.5 * second))))
        rising[active] &= moved[0] >= m[0] - 1e-9
        ends[:, active] = moved
    return ends[0].reshape(x.shape), ends[1].reshape(x.shape), rising.reshape(x.shape)


def _jacobian(velocity: Callable[[Floats], Floats], m: Floats, rate: Floats) -> Floats:
    """∂velocity_i/∂m_j by differences taken towards the centre of the disc; shape (2, 2, …)."""
    columns = []
    for j in range(2):
        nudge = np.zeros_like(m)
        nudge[j] = np.where(m[j] > 0, -_NUDGE, _NUDGE)
        columns.append((velocity(m + nudge) - rate) / nudge[j])
    return np.stack(columns, axis=1)


def _solve(jacobian: Floats, h: Floats, right: Floats) -> Floats:
    """(1 − hJ)⁻¹ right, for 2 × 2 matrices."""
    a, b, c, d = 1 - h * jacobian[0, 0], -h * jacobian[0, 1], -h * jacobian[1, 0], 1 - h * jacobian[1, 1]
    determinant = a * d - b * c
    return np.asarray(np.stack([d * right[0] - b * right[1], a * right[1] - c * right[0]]) / determinant)


def _typical_speed(loss: PopulationLoss) -> float:
    angles = np.linspace(0, 2 * np.pi, 24, endpoint=False)
    radii = np.array([[0.3], [0.6], [0.95]])
    first, second = loss.spherical_gradient(radii * np.cos(angles), radii * np.sin(angles))
    return max(float(np.hypot(first, second).mean()), 1e-300)


def into_disc(m1: npt.ArrayLike, m2: npt.ArrayLike) -> tuple[Floats, Floats]:
    """Pull points that rounding put outside the disc back onto its edge."""
    x, y = np.asarray(m1, dtype=np.float64), np.asarray(m2, dtype=np.float64)
    shrink = 1 / np.maximum(np.hypot(x, y), 1.0)
    return x * shrink, y * shrink
