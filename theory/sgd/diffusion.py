"""Fluctuations along the ODE: a linear diffusion whose drift and volatility move with the statistics."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import CubicSpline

from theory.errors import InputError
from theory.sgd.drift import Drift
from theory.sgd.expectations import GAUSSIAN, Laws
from theory.sgd.fluctuations import jacobian_at, moving_statistics, step_covariance
from theory.sgd.ode import effective_ode
from theory.sgd.routes import velocity
from theory.sgd.state import State
from theory.sgd.task import Task
from theory.sgd.third_order import Shape, third_order_shift

Array = NDArray[np.float64]

_NODES = 25
_SUBSTEPS = 8


@dataclass(frozen=True, eq=False)
class Diffusion:
    """x = √d (statistics − ODE) obeys dx = (J(t) x + shift(t)) dt + dB, Cov dB = Σ(t) dt, from x = 0. [U] [E]

    ``jacobian``, ``volatility`` and ``shift`` are those at the last time; moments come from ``times``, on which they
    were integrated.
    """

    names: tuple[str, ...]
    times: Array
    statistics: Array
    means: Array
    covariances: Array
    jacobian: Array
    volatility: Array
    shift: Array

    def mean(self, time: float) -> Array:
        """E[x(time)]."""
        result: Array = CubicSpline(self.times, self.means)(time)
        return result

    def covariance(self, time: float) -> Array:
        """The covariance of x(time)."""
        result: Array = CubicSpline(self.times, self.covariances)(time)
        return result

    def centre(self, times: Sequence[float]) -> Array:
        """All statistics of the ODE at some of the times it was solved on."""
        rows = [int(np.abs(self.times - time).argmin()) for time in times]
        return self.statistics[rows]


def diffusion_along(
    task: Task,
    start: State,
    grid: Sequence[float],
    *,
    laws: Laws = GAUSSIAN,
    truths: Shape | None = None,
    level: int = 4,
) -> Diffusion:
    """The diffusion along the ODE from ``start`` to the last time of ``grid``.

    Raises ``InputError`` for a loss with a kink in the parameters' fields.

    >>> from theory.sgd.state import start_state
    >>> from theory.sgd.tasks import single_index
    >>> task = single_index(loss="correlation", ridge=1.0, step=0.3)  # at the fixed point nothing moves
    >>> limit = diffusion_along(task, start_state(task, {"M_1_1": 0.0, "Q_1_1": 0.3}), [0, 1])
    >>> round(float(limit.covariance(1.0)[0, 0] / (3 * (1 - np.exp(-2)) / 2)), 4)
    1.0
    """
    if not task.is_smooth_in_fields:
        raise InputError(
            f"task {task.name}",
            given="a loss with a kink",
            expected="a smooth loss, for the fluctuation limit",
            remedy="take a smooth activation such as softplus",
        )
    times = np.unique(np.concatenate([np.linspace(0.0, grid[-1], _NODES), np.asarray(grid, dtype=float)]))
    curve = effective_ode(task, times, start=start, laws=laws, tolerance=1e-6 if len(task.z) < 3 else 1e-4)
    moving = moving_statistics(task, start)
    shape, drift = truths or Shape.generic(len(task.truths)), Drift.of(task, laws=laws, level=level)
    rate = velocity(task, start, laws=laws, level=level)
    J, S, m = [], [], []
    for row in curve.values:
        state = start.moved(row)
        J.append(jacobian_at(rate, row, moving))
        S.append(step_covariance(drift, state)[np.ix_(moving, moving)])
        m.append(third_order_shift(drift, state, shape).flat()[moving])
    splines = [CubicSpline(times, np.array(values)) for values in (J, S, m)]
    means, covariances = _integrate(times, *splines)
    names = tuple(start.names[k] for k in moving)
    return Diffusion(names, times, curve.values, means, covariances, J[-1], S[-1], m[-1])


def _integrate(times: Array, J: CubicSpline, S: CubicSpline, m: CubicSpline) -> tuple[Array, Array]:
    """ẋ = J x + m and Ċ = JC + CJᵀ + Σ by Runge–Kutta."""
    n = J(0.0).shape[0]
    x, C = np.zeros(n), np.zeros((n, n))
    means, covariances = [x], [C]

    def change(t: float, x: Array, C: Array) -> tuple[Array, Array]:
        j = J(t)
        return j @ x + m(t), j @ C + C @ j.T + S(t)

    for before, after in itertools.pairwise(times):
        largest = max(float(np.linalg.norm(J(t), 2)) for t in (before, after))
        steps = max(_SUBSTEPS, int(np.ceil(2 * largest * (after - before))))
        h = (after - before) / steps
        for k in range(steps):
            t = before + k * h
            a, A = change(t, x, C)
            b, B = change(t + h / 2, x + h / 2 * a, C + h / 2 * A)
            c, D = change(t + h / 2, x + h / 2 * b, C + h / 2 * B)
            e, E = change(t + h, x + h * c, C + h * D)
            x, C = x + h / 6 * (a + 2 * b + 2 * c + e), C + h / 6 * (A + 2 * B + 2 * D + E)
        means.append(x)
        covariances.append(C)
    return np.array(means), np.array(covariances)
