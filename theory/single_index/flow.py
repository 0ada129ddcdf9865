"""Population gradient flow on the sphere, in the disc of overlaps. [S] §5.

dX/dt = −(1 − XXᵀ)∇Φ closes on m = (m_1, m_2): dm_i/dt = −∂_iΦ + m_i (m·∇Φ). The circle |m| = 1 is invariant, and Φ
never grows. With online SGD of step δ/d, t is the number of steps times δ/d.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from theory.errors import BudgetError, InputError
from theory.single_index.loss import PopulationLoss, check_overlaps
from theory.single_index.table import Field
from theory.times import time_grid

Floats = npt.NDArray[np.float64]
MOST_TIMES = 100_000
_STEP = 0.02
_SLOW = 0.1
_STILL = 1e-7


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
    from scipy.integrate import solve_ivp

    grid = np.array(time_grid(times))
    if len(grid) > MOST_TIMES:
        raise BudgetError("times", estimate=f"{len(grid)} points", limit=str(MOST_TIMES), remedy="give fewer times")
    point = check_overlaps(*start)

    def velocity(_: float, m: Floats) -> list[float]:
        first, second = loss.spherical_gradient(*into_disc(m[0], m[1]))
        return [-float(first), -float(second)]

    end = max(float(grid[-1]), 1e-9)
    solution = solve_ivp(velocity, (0.0, end), point, method="LSODA", t_eval=grid, rtol=1e-9, atol=1e-12)
    if not solution.success:
        raise InputError(
            "flow",
            given=loss.link.text,
            expected="a flow that can be integrated",
            remedy=f"shorten the times: {solution.message}",
        )
    m1, m2 = into_disc(solution.y[0], solution.y[1])
    return Flow(loss, point, grid, m1, m2, loss.value(m1, m2))


def destinations(
    field: Field, m1: npt.ArrayLike, m2: npt.ArrayLike, *, steps: int = 300
) -> tuple[Floats, Floats, npt.NDArray[np.bool_]]:
    """Where the flow from each of many starts goes, and whether m_1 grew all the way.

    ``field`` is a loss or its table. The curves are followed by arc length (Runge–Kutta steps of 0.02, slower where
    the gradient is small), so each start gets near its limit point in ``steps`` steps, whatever the speed of the flow.
    """
    x, y = (np.array(part, dtype=np.float64) for part in np.broadcast_arrays(m1, m2))
    slow = _SLOW * _typical_speed(field)
    rising = np.ones(x.shape, dtype=bool)

    def velocity(x: Floats, y: Floats) -> tuple[Floats, Floats]:
        first, second = field.spherical_gradient(*into_disc(x, y))
        speed = np.hypot(first, second) + slow
        return -first / speed, -second / speed

    h = _STEP
    for _ in range(steps):
        a, b = velocity(x, y)
        rising &= a > -1e-6
        c, d = velocity(x + h / 2 * a, y + h / 2 * b)
        e, f = velocity(x + h / 2 * c, y + h / 2 * d)
        p, q = velocity(x + h * e, y + h * f)
        before = x, y
        x, y = into_disc(x + h / 6 * (a + 2 * c + 2 * e + p), y + h / 6 * (b + 2 * d + 2 * f + q))
        if max(np.abs(x - before[0]).max(), np.abs(y - before[1]).max()) < _STILL:
            break
    return x, y, rising


def _typical_speed(field: Field) -> float:
    angles = np.linspace(0, 2 * np.pi, 24, endpoint=False)
    radii = np.array([[0.3], [0.6], [0.95]])
    first, second = field.spherical_gradient(radii * np.cos(angles), radii * np.sin(angles))
    return max(float(np.hypot(first, second).mean()), 1e-300)


def into_disc(m1: npt.ArrayLike, m2: npt.ArrayLike) -> tuple[Floats, Floats]:
    """Pull points that rounding put outside the disc back onto its edge."""
    x, y = np.asarray(m1, dtype=np.float64), np.asarray(m2, dtype=np.float64)
    shrink = 1 / np.maximum(np.hypot(x, y), 1.0)
    return x * shrink, y * shrink
