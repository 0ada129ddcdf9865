"""Claim UN-6: steps of size 1/d are critical: there the ODE has a correction, below there is none to see."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from numerics.claims.ledger import Claim, Conditions, Curve, Evidence, Plot
from numerics.judge import Quantity
from numerics.sgd.law_error import power_of_d
from numerics.sgd.simulate import Simulation, simulate_sgd
from numerics.sgd.universality import sup_distance
from theory.sgd.ode import effective_ode
from theory.sgd.tasks import committee

_TIMES = (0.0, 0.5, 1.0, 2.0, 4.0)
_STATISTIC, _ROW = "Q_1_1", 4
_BELOW = 1.0
"""Below the critical scale the step is (δ/d)/d: both the correction and the fluctuations are then of order 1/d."""


def _gather(conditions: Conditions) -> Evidence:
    full = conditions.effort == "full"
    dims = (50, 200, 800, 3200) if full else (50, 200, 800)
    replicas = {"at": 256, "below": 16} if full else {"at": 32, "below": 8}
    critical = committee(step=1.0)
    corrected, plain = (effective_ode(task, _TIMES) for task in (critical, replace(critical, step=0.0)))
    column = corrected.names.index(_STATISTIC)

    def run(where: str, d: int, step: float) -> Simulation:
        return simulate_sgd(
            replace(critical, step=step),
            _TIMES,
            d=d,
            replicas=replicas[where],
            seed=conditions.seed,
            machine=conditions.machine,
            name=f"UN-6 {where}",
        )

    at = [run("at", d, critical.step) for d in dims]
    below = [run("below", d, critical.step * d**-_BELOW) for d in dims]
    values = [float(curve.values[_ROW, column]) for curve in (corrected, plain)]
    d = dims[-1]
    last = below[-1]
    quantities = [
        Quantity(
            name=f"{_STATISTIC} at time {_TIMES[_ROW]:g}, step δ/d, d = {d}",
            predicted=values[0],
            measured=float(at[-1].mean[_ROW, column]),
            stderr=float(at[-1].stderr[_ROW, column]),
            stderr_bound=0.01,
            rival=values[1],
            rival_name="the ODE without its correction",
            allowance=4.0 / d,
        ),
        Quantity(
            name=f"{_STATISTIC} at time {_TIMES[_ROW]:g}, step δ/d², d = {d}",
            predicted=values[1],
            measured=float(last.mean[_ROW, column]),
            stderr=float(last.stderr[_ROW, column]),
            stderr_bound=0.003,
            rival=values[0],
            rival_name="the ODE with the critical correction",
            allowance=4.0 / d,
        ),
        _power("at the critical step, from the corrected ODE", dims, at, corrected.values, -0.5, 0.0),
        _power("at the critical step, from the uncorrected ODE", dims, at, plain.values, 0.0, -0.5),
        _power("below the critical step, from the uncorrected ODE", dims, below, plain.values, -1.0, 0.0),
    ]
    return Evidence(quantities, (_plot(corrected.values, plain.values, column, at[-1], last),))


def _power(
    name: str, dims: tuple[int, ...], runs: list[Simulation], curve: np.ndarray, predicted: float, rival: float
) -> Quantity:
    distances = [sup_distance(run, curve) for run in runs]
    means = [float(distance.mean()) for distance in distances]
    bars = [float(distance.std(ddof=1) / np.sqrt(len(distance))) for distance in distances]
    slope, stderr = power_of_d(dims, means, bars)
    return Quantity(
        name=f"power of d in the sup-distance {name}",
        predicted=predicted,
        measured=slope,
        stderr=stderr,
        stderr_bound=0.06,
        rival=rival,
        rival_name="the other ODE is the limit",
        allowance=0.1,
    )


def _plot(corrected: np.ndarray, plain: np.ndarray, column: int, at: Simulation, below: Simulation) -> Plot:
    curves = []
    for label, curve, run in (("step δ/d", corrected, at), ("step δ/d²", plain, below)):
        curves.append(Curve(label, _TIMES, curve[:, column].tolist()))
        curves.append(Curve(label, run.times, run.mean[:, column].tolist(), run.stderr[:, column].tolist(), "points"))
    alt = "Steps of critical size follow the ODE with its correction, smaller ones the ODE without."
    return Plot(curves, "time", _STATISTIC, alt)


UN_CRITICAL = Claim(
    id="UN-6",
    statement="At steps of order 1/d the ODE needs its correction δτ² E[c cᵀ]; at smaller steps none is seen.",
    source="[E] §2 (critical step size); [U] §2",
    prediction="the ODE with δ, and with δ = 0",
    experiment="the reduced chain of a two-unit committee with steps δ/d and δ/d², δ = 1, at equal times",
    rule="each lies on its own ODE within 4/d and four standard errors; the sup-distance has power −1/2 at the "
    "critical step, −1 at the smaller one, and 0 from the wrong ODE, each within 0.1",
    power="each ODE is the other's rival",
    gather=_gather,
)
