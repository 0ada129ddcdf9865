"""Fluctuations of the summary statistics about a fixed point of the ODE: a linear diffusion at scale d^{-1/2}."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import expm, solve_continuous_lyapunov
from scipy.optimize import root

from theory.errors import InputError, ReachError
from theory.sgd.drift import Drift
from theory.sgd.expectations import GAUSSIAN, Laws
from theory.sgd.ode import chart_of, effective_ode
from theory.sgd.routes import velocity
from theory.sgd.state import State, as_state, full_gram
from theory.sgd.task import Task
from theory.sgd.third_order import Shape, third_order_shift

Array = NDArray[np.float64]

_STEP = 1e-4
_JUMPS = 4
_STILL = 1e-6


@dataclass(frozen=True, eq=False)
class Fluctuations:
    """x = √d (statistics − fixed point) obeys dx = (J x + shift) dt + dB, B with covariance ``volatility``·t. [U] [E]

    ``names`` are the statistics that move; J is ``jacobian``. For delocalised vectors the volatility is the same for
    every law; the shift is not: it is proportional to the third cumulant.
    """

    names: tuple[str, ...]
    fixed_point: State
    jacobian: Array
    volatility: Array
    shift: Array

    def mean(self, time: float, start: Array | None = None) -> Array:
        """E[x(time)] from x(0) = ``start`` (0 unless given)."""
        n = len(self.names)
        system = np.zeros((n + 1, n + 1))
        system[:n, :n], system[:n, n] = self.jacobian, self.shift
        at_start = np.append(np.zeros(n) if start is None else start, 1.0)
        result: Array = (expm(system * time) @ at_start)[:n]
        return result

    def covariance(self, time: float) -> Array:
        """The covariance of x(time) from a fixed x(0): ∫ e^{Js} Σ e^{Jᵀs} ds (Van Loan)."""
        n = len(self.names)
        doublings = max(0, math.ceil(math.log2(1e-9 + float(np.linalg.norm(self.jacobian)) * time)))
        short = time / 2**doublings
        block = np.block([[-self.jacobian, self.volatility], [np.zeros((n, n)), self.jacobian.T]])
        exponential = expm(block * short)  # over a long time its growing half would drown the rest
        propagator: Array = exponential[n:, n:].T
        result: Array = propagator @ exponential[:n, n:]
        for _ in range(doublings):
            result = result + propagator @ result @ propagator.T
            propagator = propagator @ propagator
        return result

    def stationary_mean(self) -> Array:
        """The mean in the long run, −J⁻¹ shift. Raises ``ReachError`` at an unstable fixed point."""
        self._check_stable()
        return np.asarray(-np.linalg.solve(self.jacobian, self.shift), dtype=np.float64)

    def stationary_covariance(self) -> Array:
        """The covariance in the long run. Raises ``ReachError`` at an unstable fixed point."""
        self._check_stable()
        result: Array = solve_continuous_lyapunov(self.jacobian, -self.volatility)
        return result

    def _check_stable(self) -> None:
        slowest = float(np.linalg.eigvals(self.jacobian).real.max())
        if slowest >= -_STILL:
            raise ReachError(
                "stationary fluctuations",
                given=slowest,
                reach="stable fixed points, where every eigenvalue of the drift's Jacobian has a negative real part",
                remedy="ask for the mean and covariance at a finite time",
            )


def fixed_point(
    task: Task,
    *,
    start: State | Mapping[str, float] | None = None,
    laws: Laws = GAUSSIAN,
    time: float = 50.0,
    level: int = 4,
) -> State:
    """The fixed point the ODE comes to: followed for ``time``, then polished by Powell's hybrid method.

    A start on an invariant set keeps to it: started at a saddle, this finds the saddle.

    Raises ``ReachError`` where there is none nearby.

    >>> from theory.sgd.tasks import single_index
    >>> task = single_index(loss="correlation", ridge=1.0, step=0.3)  # Q* = δ E[He_2²]/2 = δ
    >>> {name: round(abs(value), 9) for name, value in fixed_point(task, start={"M_1_1": 0.2}).named().items()}
    {'M_1_1': 0.0, 'Q_1_1': 0.3}
    """
    begun = as_state(task, start)
    chart, rate = chart_of(task, begun, laws=laws), velocity(task, begun, laws=laws, level=level)
    flow = chart.flow(lambda _, flat: rate(flat))
    y = chart.down(begun.flat())
    if not float(np.abs(flow(0.0, y)).max(initial=0.0)) < _STILL:
        y = chart.down(effective_ode(task, [0.0, time], start=begun, laws=laws).values[-1])
    found = root(lambda y: flow(0.0, y), y, tol=1e-13)
    flat = chart.up(found.x)
    left = float(np.abs(flow(0.0, found.x)).max(initial=0.0))
    if not left < _STILL:
        raise ReachError(
            f"fixed point of {task.name}",
            given=time,
            reach=f"a drift of {left:.1e}",
            remedy="give a longer time or another start",
        )
    return begun.moved(flat)


def fluctuations(
    task: Task, at: State, *, laws: Laws = GAUSSIAN, truths: Shape | None = None, level: int = 4
) -> Fluctuations:
    """The diffusion at the fixed point ``at``. One step changes the statistics by −(δ/d) h, with

        h = (c_i u_α,  c_i z_j + c_j z_i − δτ² c_i c_j,  ∂loss/∂b,  c_i a_l),  volatility = δ Cov(h),

    J the Jacobian of the drift (central differences), and the shift from third cumulants (``third_order_shift``);
    ``truths`` says how the truths lie against the axes (random directions unless given).

    Labels may jump (a teacher sign(u)); the loss is to be smooth in the parameters' own fields.
    Raises ``InputError`` for a kink there, a point that is not fixed, or one with linearly dependent fields.

    >>> from theory.sgd.laws import LAWS
    >>> from theory.sgd.tasks import single_index
    >>> task = single_index(loss="correlation", ridge=1.0, step=0.3)  # [U]: dx = (κ_3 − x) dt + √(10δ) dB
    >>> point = fixed_point(task)
    >>> limit = fluctuations(task, point, laws=LAWS["exponential"], truths=Shape(np.ones(1), np.ones((1, 1, 1))))
    >>> [round(float(x), 6) + 0.0 for x in (limit.jacobian[0, 0], limit.volatility[0, 0] / 0.3, limit.shift[0])]
    [-1.0, 10.0, 2.0]
    """
    if not task.is_smooth_in_fields:
        raise InputError(
            f"task {task.name}",
            given="a loss with a kink",
            expected="a smooth loss, for the fluctuation limit",
            remedy="take a smooth activation such as softplus",
        )
    local = np.concatenate([at.p, at.s])
    smallest = float(np.linalg.eigvalsh(full_gram(task, at) - local @ local.T).min())
    if smallest < 10 * _STEP:
        raise InputError(
            "fixed point",
            given=at.named(),
            expected=f"linearly independent parameters and truths (smallest eigenvalue of the Gram {smallest:.1e})",
            remedy="add label noise or a larger step: at perfect recovery nothing fluctuates",
        )
    # Where labels jump a rule over all fields wants more points.
    drift = Drift.of(task, laws=laws, level=level if task.is_smooth else level + _JUMPS)
    moving = moving_statistics(task, at)
    flow, flat = _restricted(velocity(task, at, laws=laws, level=level), at, moving), at.flat()[moving]
    left = float(np.abs(flow(flat)).max())
    if left > 100 * _STILL:
        raise InputError(
            "fixed point", given=at.named(), expected=f"a drift of 0 (it is {left:.1e})", remedy="use fixed_point(task)"
        )
    jacobian = jacobian_at(velocity(task, at, laws=laws, level=level), at.flat(), moving)
    shift = third_order_shift(drift, at, truths or Shape.generic(len(task.truths))).flat()[moving]
    volatility = step_covariance(drift, at)[np.ix_(moving, moving)]
    return Fluctuations(tuple(at.names[k] for k in moving), at, jacobian, volatility, shift)


def jacobian_at(rate: Callable[[Array], Array], flat: Array, moving: list[int]) -> Array:
    """The Jacobian of the velocity of the moving statistics, by central differences."""
    columns = []
    for k in moving:
        nudge = np.zeros_like(flat)
        nudge[k] = _STEP
        columns.append((rate(flat + nudge) - rate(flat - nudge))[moving] / (2 * _STEP))
    result: Array = np.array(columns).T
    return result


def moving_statistics(task: Task, state: State) -> list[int]:
    """Positions in ``State.flat`` of the statistics that move: all, but for a frozen second layer."""
    return [k for k, name in enumerate(state.names) if task.train_second or not name.startswith("b")]


def _restricted(rate: Callable[[Array], Array], state: State, moving: list[int]) -> Callable[[Array], Array]:
    whole = state.flat()

    def flow(flat: Array) -> Array:
        point = whole.copy()
        point[moving] = flat
        return rate(point)[moving]

    return flow


def step_covariance(drift: Drift, state: State) -> Array:
    """δ Cov(h) in the order of ``State.flat``: what a unit of time adds to the covariance of x."""
    task, K, r, L = drift.task, len(drift.task.z), len(drift.task.u), state.localised
    points = replace(drift, quadrature=drift.quadrature.squared()).points(state)
    values = drift.gradients(points)
    c = values[:K]
    fluctuation = points.nodes @ points.root.T
    fields = [points.mean[:, f, None] + fluctuation[None, :, f] for f in range(K + r)]
    h = [c[i] * fields[K + a] for i in range(K) for a in range(r)]
    pairs = [(i, j) for i in range(K) for j in range(i, K)]
    h += [c[i] * fields[j] + c[j] * fields[i] - task.critical * task.noise * c[i] * c[j] for i, j in pairs]
    h += list(values[K:]) if task.train_second else [np.zeros_like(c[0])] * len(state.b)
    h += [c[i] * points.local[:, l, None] for i in range(K) for l in range(L)]
    flat = np.stack([x.ravel() for x in h])
    weights = points.weights.ravel()
    mean = flat @ weights
    covariance = (flat * weights) @ flat.T - np.outer(mean, mean)
    # Fields that are not read fluctuate about their regression: h is linear in that rest, with coefficients ± c_i.
    linear = np.zeros((len(h), K + r, K))
    for k, (i, a) in enumerate((i, a) for i in range(K) for a in range(r)):
        linear[k, K + a, i] += 1
    for k, (i, j) in enumerate(pairs, start=K * r):
        linear[k, j, i] += 1
        linear[k, i, j] += 1
    stacked = np.stack([x.ravel() for x in c])
    second_moment = (stacked * weights) @ stacked.T
    covariance += np.einsum("sei,tfj,ef,ij->st", linear, linear, points.residual, second_moment)
    result: Array = task.critical * covariance
    return result
