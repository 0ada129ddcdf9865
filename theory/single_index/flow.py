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

from theory.errors import BudgetError, InputError, ReachError
from theory.single_index.loss import PopulationLoss, check_overlaps
from theory.times import time_grid

Floats = npt.NDArray[np.float64]
MOST_TIMES = 100_000
_STEP = 0.02
_GROWTH = 0.3
_GAMMA = 1 + 1 / math.sqrt(2)
_DOUBT = 0.8
"""The two orders may differ by this part of the step: by up to 0.71 of it they do in a linear decay, however fast."""
_NUDGE = 1e-6
_STILL = 1e-8
_EDGE = 1e-12
_CLOSE = 1e-8
_CLOSEST = 1e-9
_SAFE = 1e-8


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
    _typical_speed(quick)  # refuses a landscape that overflows
    y = _follow(equation, np.array(initial), grid)
    m1, m2 = (np.cos(y[0]), np.sin(y[0])) if on_circle else into_disc(y[0], y[1])
    return Flow(loss, point, grid, m1, m2, quick.value(m1, m2))


def _follow(velocity: Callable[[Floats], Floats], start: Floats, grid: Floats) -> Floats:
    """The states at the times ``grid``, shape (dimension, T).

    The solver stops once the path has arrived: every deviation decays, and Newton's step to the fixed point is below
    10⁻⁸, which is then taken. What the solver would see from there on is the rounding of the velocity.
    """
    from scipy.integrate import solve_ivp

    def newton(state: Floats) -> Floats | None:
        """The step to the fixed point nearby; None where a deviation grows."""
        rate = velocity(state)
        columns = np.array([(velocity(state + nudge) - rate) / _NUDGE for nudge in _NUDGE * np.eye(len(state))])
        decays = np.linalg.eigvals(columns).real.max() < 0
        return -np.linalg.solve(columns.T, rate) if decays else None

    def arrival(_: float, state: Floats) -> float:
        step = newton(state)
        return 1.0 if step is None else float(np.linalg.norm(step)) / _CLOSE - 1

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
        atol=1e-10 * float(np.clip(np.linalg.norm(start), _SAFE, 1)),
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
        step = newton(last)
        last = last if step is None else last + step
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
    steps: int = 1600,
    progress: Callable[[int, int], None] | None = None,
) -> tuple[Floats, Floats, npt.NDArray[np.bool_]]:
    """Where the flow from each of many starts goes, and whether m_1 grew all the way.

    A linearly implicit scheme of second order (Rosenbrock, γ = 1 + 1/√2) with a step of its own for each start: as
    long as the path moves by 0.02 and no deviation grows by more than a third. If the two orders disagree, the step is
    retried at a quarter of its length. Fast directions do not slow it down, and points with a zero rate are approached
    and left geometrically, without being stepped across. A start has arrived when Newton's step to the fixed point is
    below 10⁻⁹ and every deviation decays, or when it is below 10⁻⁹ of the distance from m = 0; for links whose slopes
    are had by quadrature also when its speed is 10⁻⁸ of what is usual. ``progress`` counts those that have.
    """
    loss = replace(loss, quick=True)
    x, y = np.broadcast_arrays(np.asarray(m1, dtype=np.float64), np.asarray(m2, dtype=np.float64))
    ends = np.stack([x.ravel(), y.ravel()])
    rising = np.ones(x.size, dtype=bool)
    active = np.arange(x.size)

    def velocity(m: Floats) -> Floats:
        return -np.stack(loss.spherical_gradient(*into_disc(*m)))

    shorter = np.ones(x.size)
    typical, exact = _typical_speed(loss), loss.link.is_polynomial
    for _ in range(steps):
        m = ends[:, active]
        rate = velocity(m)
        speed = np.hypot(*rate)
        still = 0.0 if exact else _STILL * np.minimum(typical, loss.scale(*m))
        radius = np.abs(m[0]) if loss.planar else np.hypot(*m)
        jacobian = _jacobian(velocity, m, rate, nudge=_NUDGE * (np.maximum(radius, 1e-150) if exact else 1.0))
        trace, difference = jacobian[0, 0] + jacobian[1, 1], jacobian[0, 0] - jacobian[1, 1]
        growth = (trace + np.sqrt(np.maximum(difference**2 + 4 * jacobian[0, 1] * jacobian[1, 0], 0))) / 2
        ahead = _distance(jacobian, rate, planar=loss.planar)
        grows = jacobian[0, 0] >= 0 if loss.planar else growth >= 0
        arrived = (speed <= still) | (ahead <= np.where(grows, _CLOSEST * radius, _CLOSEST))
        moving = ~arrived
        if progress:
            progress(x.size - int(moving.sum()), x.size)
        if not moving.any():
            break
        active, m, rate, speed = active[moving], m[:, moving], rate[:, moving], speed[moving]
        jacobian, growth = jacobian[:, :, moving], growth[moving]
        h = shorter[active] * np.minimum(_STEP / speed, _GROWTH / np.maximum(growth, 1e-300))
        with np.errstate(all="ignore"):  # of a step that is not taken
            first = _solve(jacobian, _GAMMA * h, rate)
            second = _solve(jacobian, _GAMMA * h, velocity(m + h * first) - 2 * first)
            move = h * (1.5 * first + 0.5 * second)
            doubt = h * np.hypot(*(first + second)) / 2
            taken = (doubt <= _DOUBT * h * np.hypot(*first)) & (np.hypot(*move) <= 3 * _STEP)
        shorter[active] = np.where(taken, np.minimum(2 * shorter[active], 1.0), shorter[active] / 4)
        moved = np.stack(into_disc(*(m + move)))[:, taken]
        rising[active[taken]] &= moved[0] >= m[0, taken] - 1e-9
        ends[:, active[taken]] = moved
    return ends[0].reshape(x.shape), ends[1].reshape(x.shape), rising.reshape(x.shape)


def _jacobian(velocity: Callable[[Floats], Floats], m: Floats, rate: Floats, *, nudge: float | Floats) -> Floats:
    """∂velocity_i/∂m_j by differences taken towards the centre of the disc; shape (2, 2, …)."""
    columns = []
    for j in range(2):
        change = np.zeros_like(m)
        change[j] = np.where(m[j] > 0, -nudge, nudge)
        columns.append((velocity(m + change) - rate) / change[j])
    return np.stack(columns, axis=1)


def _distance(jacobian: Floats, rate: Floats, *, planar: bool) -> Floats:
    """The length of Newton's step to a fixed point, infinite where none is to be seen; of m_1 alone if nothing else
    matters.
    """
    (a, b), (c, d) = jacobian
    with np.errstate(all="ignore"):
        if planar:
            step = np.abs(rate[0] / a)
        else:
            step = np.hypot(d * rate[0] - b * rate[1], a * rate[1] - c * rate[0]) / np.abs(a * d - b * c)
    return np.where(np.hypot(*rate) == 0, 0.0, np.where(np.isfinite(step), step, np.inf))


def _solve(jacobian: Floats, h: Floats, right: Floats) -> Floats:
    """(1 − hJ)⁻¹ right, for 2 × 2 matrices."""
    a, b, c, d = 1 - h * jacobian[0, 0], -h * jacobian[0, 1], -h * jacobian[1, 0], 1 - h * jacobian[1, 1]
    determinant = a * d - b * c
    return np.asarray(np.stack([d * right[0] - b * right[1], a * right[1] - c * right[0]]) / determinant)


def _typical_speed(loss: PopulationLoss) -> float:
    """The mean speed of the flow in the disc; ``ReachError`` where Φ overflows in it."""
    angles = np.linspace(0, 2 * np.pi, 24, endpoint=False)
    radii = np.array([[0.3], [0.6], [0.95], [1.0]])
    with np.errstate(all="ignore"):
        speeds = np.hypot(*loss.spherical_gradient(radii * np.cos(angles), radii * np.sin(angles)))
        typical = float(speeds[:-1].mean())
    if not np.isfinite(speeds).all() or not np.isfinite(typical):
        raise ReachError(
            "population flow",
            given=f"{loss.link.text} at {loss.spike}",
            reach="losses whose slopes are numbers in the whole disc",
            remedy="lower lambda, or take a link that grows more slowly",
        )
    return max(typical, 1e-300)


def into_disc(m1: npt.ArrayLike, m2: npt.ArrayLike) -> tuple[Floats, Floats]:
    """Pull points that rounding put outside the disc back onto its edge."""
    x, y = np.asarray(m1, dtype=np.float64), np.asarray(m2, dtype=np.float64)
    shrink = 1 / np.maximum(np.hypot(x, y), 1.0)
    return x * shrink, y * shrink
