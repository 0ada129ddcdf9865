"""Claims UN-4 and UN-5: fluctuations about a fixed point know the input law though the ODE does not."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from numerics.claims.ledger import Claim, Conditions, Curve, Evidence, Plot
from numerics.judge import Quantity
from numerics.sgd.simulate import Simulation, simulate_sgd
from theory.sgd.drift import Drift
from theory.sgd.fluctuations import Fluctuations, fixed_point, fluctuations, step_covariance
from theory.sgd.laws import law
from theory.sgd.state import State, start_state
from theory.sgd.task import Task
from theory.sgd.tasks import single_index
from theory.sgd.third_order import Shape

_TIMES = (0.0, 0.5, 1.0, 2.0, 3.0)
_FLAT = Shape(np.ones(1), np.ones((1, 1, 1)))
"""v = (1, …, 1)/√d."""


@dataclass(frozen=True)
class _Case:
    """A task, a size of run, and what finite d may add: to the mean, and to the variance in proportion."""

    name: str
    task: Task
    statistic: str
    laws: tuple[str, ...]
    d: int
    replicas: int
    mean_allowance: float
    variance_allowance: float


def solvable() -> Task:
    """Loss −y w·a + ‖w‖²/2 with y = He_2(v·a): x = √d w·v obeys dx = (κ_3 − x)dt + √(10δ) dB. [U]"""
    return single_index(loss="correlation", ridge=1.0, step=0.5)


def _cases(full: bool) -> tuple[_Case, ...]:
    laws = ("gaussian", "exponential", "two-point:0.1", "rademacher") if full else ("gaussian", "exponential")
    first = _Case("solvable example", solvable(), "M_1_1", laws, 400, 4000 if full else 400, 0.02, 0.08)
    if not full:
        return (first,)
    bump = single_index(link="tanh(x) + exp(-x**2)", step=0.3, ridge=0.2, label_noise=0.5)
    return (
        first,
        _Case("tanh x + exp(−x²), squared loss", bump, "Q_1_1", ("gaussian", "exponential"), 800, 1500, 0.1, 0.15),
    )


def _run(task: Task, start: State, name: str, d: int, replicas: int, conditions: Conditions, label: str) -> Simulation:
    return simulate_sgd(
        task,
        _TIMES,
        d=d,
        replicas=replicas,
        seed=conditions.seed,
        laws=law(name),
        start=start,
        spread="flat",
        method="full",
        machine=conditions.machine,
        name=label,
    )


def _fluctuation(conditions: Conditions) -> Evidence:
    quantities: list[Quantity] = []
    plots = []
    for case in _cases(conditions.effort == "full"):
        at = fixed_point(case.task)
        skewed = fluctuations(case.task, at, laws=law("exponential"), truths=_FLAT)
        ends, curves = {}, []
        for name in case.laws:
            limit = fluctuations(case.task, at, laws=law(name), truths=_FLAT)
            run = _run(case.task, at, name, case.d, case.replicas, conditions, f"UN-4 {case.name}")
            column, k = run.names.index(case.statistic), limit.names.index(case.statistic)
            x = math.sqrt(case.d) * (run.values[:, :, column] - at.flat()[column])
            quantities += _moments(case, name, limit, x[:, -1], skewed)
            ends[name] = (float(limit.mean(_TIMES[-1])[k]), x[:, -1])
            grid = np.linspace(0.0, _TIMES[-1], 31)
            curves.append(Curve(name, grid.tolist(), [float(limit.mean(t)[k]) for t in grid]))
            curves.append(
                Curve(name, run.times, x.mean(axis=0).tolist(), [_stderr(column) for column in x.T], "points")
            )
        quantities.append(_difference(case, ends))
        alt = f"{case.name}: the mean of the rescaled statistic moves to a different value for each input law."
        plots.append(Plot(curves, "time nδ/d", f"mean of √d ({case.statistic} − its fixed point)", alt))
    return Evidence(quantities, plots)


def _moments(case: _Case, name: str, limit: Fluctuations, x: np.ndarray, skewed: Fluctuations) -> list[Quantity]:
    k = limit.names.index(case.statistic)
    mean, variance = float(limit.mean(_TIMES[-1])[k]), float(limit.covariance(_TIMES[-1])[k, k])
    other = 0.0 if abs(mean) > 1e-6 else float(skewed.mean(_TIMES[-1])[k])
    label = f"{case.name}, {name} inputs, √d ({case.statistic} − its fixed point) at time {_TIMES[-1]:g}"
    return [
        Quantity(
            name=f"mean, {label}",
            predicted=mean,
            measured=float(x.mean()),
            stderr=_stderr(x),
            stderr_bound=1.2 * math.sqrt(variance / len(x)),
            rival=other,
            rival_name="universal fluctuations" if other == 0.0 else "the shift of exponential inputs",
            allowance=case.mean_allowance,
        ),
        Quantity(
            name=f"variance, {label}",
            predicted=variance,
            measured=float(x.var(ddof=1)),
            stderr=_stderr((x - x.mean()) ** 2),
            stderr_bound=2.0 * variance * math.sqrt(2 / len(x)),
            rival=0.4 * variance,
            rival_name="the volatility of an aligned truth, two fifths (UN-5)",
            allowance=case.variance_allowance * variance,
        ),
    ]


def _difference(case: _Case, ends: dict[str, tuple[float, np.ndarray]]) -> Quantity:
    """Replica k of each law has the same stream, so the difference is taken pair by pair."""
    (first, x), (second, y) = ends["gaussian"], ends["exponential"]
    return Quantity(
        name=f"difference of means between exponential and gaussian inputs, {case.name} (five standard errors or more)",
        predicted=second - first,
        measured=float((y - x).mean()),
        stderr=_stderr(y - x),
        stderr_bound=abs(second - first) / 5,
        rival=0.0,
        rival_name="universal fluctuations",
        allowance=case.mean_allowance,
    )


def _stderr(x: np.ndarray) -> float:
    return float(x.std(ddof=1) / np.sqrt(len(x)))


def _volatility(conditions: Conditions) -> Evidence:
    """The solvable example with v = e_1 and with v delocalised, under the law 0, ±√3: drifts equal, noises not."""
    task, name, d = solvable(), "three-point", 400
    replicas = 4000 if conditions.effort == "full" else 400
    starts = {
        "v = e_1": start_state(task, {"M_1_1": 0.0, "Q_1_1": task.step, "p_1_1": 0.0, "s_1_1": 1.0}),
        "v delocalised": start_state(task, {"M_1_1": 0.0, "Q_1_1": task.step}),
    }
    # Ṁ = E[y u] − M is linear, so the variance from a fixed start is volatility·(1 − e^{−2t})/2.
    volatility = {
        where: float(step_covariance(Drift.of(task, laws=law(name), level=4), start)[0, 0])
        for where, start in starts.items()
    }
    measured, curves = {}, []
    for where, start in starts.items():
        run = _run(task, start, name, d, replicas, conditions, f"UN-5 {where}")
        squares = d * run.values[:, :, 0] ** 2
        measured[where] = squares[:, -1]
        grid = np.linspace(0.0, _TIMES[-1], 31)
        curves.append(Curve(where, grid.tolist(), (volatility[where] * (1 - np.exp(-2 * grid)) / 2).tolist()))
        bars = [_stderr(column) for column in squares.T]
        curves.append(Curve(where, run.times, squares.mean(axis=0).tolist(), bars, "points"))
    factor = (1 - math.exp(-2 * _TIMES[-1])) / 2
    quantities = []
    for where, other in (("v = e_1", "v delocalised"), ("v delocalised", "v = e_1")):
        predicted = volatility[where] * factor
        quantities.append(
            Quantity(
                name=f"variance of √d M at time {_TIMES[-1]:g}, {where}, law 0, ±√3",
                predicted=predicted,
                measured=float(measured[where].mean()),
                stderr=_stderr(measured[where]),
                stderr_bound=2.0 * predicted * math.sqrt(2 / replicas),
                rival=volatility[other] * factor,
                rival_name=f"the volatility of {other}",
                allowance=0.05 * predicted,
            )
        )
    alt = "The variance of the rescaled overlap falls to two fifths when the truth is a coordinate vector."
    return Evidence(quantities, (Plot(curves, "time nδ/d", "variance of √d M", alt),))


UN_FLUCTUATION = Claim(
    id="UN-4",
    statement="At a fixed point the √d-rescaled statistics follow a diffusion whose drift knows the third cumulant.",
    source="[U] (fluctuations), SDE limit and its counterexample",
    prediction="the linear diffusion: Jacobian and volatility of the ODE's step, shift from third cumulants; for the "
    "solvable example dx = (κ_3 − x)dt + √(10δ)dB",
    experiment="full-dimensional SGD started at the fixed point, truth (1, …, 1)/√d; mean and variance of "
    "√d(statistic − fixed point) over replicas, for inputs with and without a third cumulant",
    rule="mean and variance as predicted, within the stated finite-size allowance and four standard errors; the two "
    "laws' means differ as predicted, with a standard error below a fifth of the difference",
    power="fluctuations that were universal like the ODE are rejected",
    gather=_fluctuation,
)

UN_VOLATILITY = Claim(
    id="UN-5",
    statement="When the truth is a coordinate vector the volatility too depends on the law, though the ODE does not.",
    source="[U] (fluctuations), localised truth",
    prediction="covariance of one step at the fixed point, the localised coordinate integrated under the law 0, ±√3, "
    "whose moments to the fifth are Gaussian",
    experiment="full-dimensional SGD of the solvable example, v = e_1 against v = (1, …, 1)/√d",
    rule="the variance of √d M is as predicted within 5 % and four standard errors",
    power="the variance of the other truth is rejected: 4δ against 10δ",
    gather=_volatility,
)
