"""Monte Carlo over U(0) and X of the autoencoder's gradient flow (or gradient descent), [P] §2."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from numerics.gradient_flow.control_variate import Change, estimate_change, expected_start
from numerics.gradient_flow.draw import draw
from numerics.gradient_flow.formulation import Formulation, choose, follow, refuse_beyond
from numerics.gradient_flow.integrate import Losses, gradient_descent, gradient_flow
from numerics.gradient_flow.problem import Problem
from numerics.judge import mean_and_error
from numerics.runs.machine import HERE, Machine, check_machine
from numerics.runs.outcome import Experiment, Failure, Json, Values
from numerics.runs.replicas import check_replicas, run_replicas
from theory.autoencoder.covariance import covariance_spectrum, is_isotropic
from theory.autoencoder.sizes import Sizes, check_sizes
from theory.checks import positive
from theory.errors import InputError
from theory.spectrum import Spectrum, read_spectrum
from theory.times import time_grid

Method = Literal["flow", "descent"]

TOLERANCE = 1e-4
"""Relative tolerance of the solver: it leaves losses wrong by that part of the largest at worst, mostly by 1e-7 of it;
far below the Monte Carlo error."""

MOST_TIMES = 10**5
MOST_STEPS = 10**8
_STEP_ROUNDING = 1e-6
"""A time may be off a whole number of steps by this part of one, as 0.3 is off three steps of 0.1."""


@dataclass(frozen=True)
class Estimate:
    """Mean over replicas at each time, and its standard error (NaN where there is one replica only)."""

    mean: np.ndarray
    stderr: np.ndarray

    @classmethod
    def of(cls, sample: np.ndarray) -> Estimate:
        """The estimate from a sample with one row a replica."""
        return cls(*mean_and_error(sample))

    def to_json(self) -> dict[str, list[float | None]]:
        """Lists of numbers; a standard error that is not there is null."""
        return {"mean": _numbers(self.mean), "stderr": _numbers(self.stderr)}


@dataclass(frozen=True)
class Simulation:
    """Train and population loss over time, averaged over ``replicas`` draws of U(0) and X.

    ``train_change`` and ``population_change`` estimate the mean changes since the first time, as ``estimate_change``
    says: where that time is 0 the exact E L(0) is a control variate. ``formulation`` says in which coordinates the flow
    was followed, ``failures`` which replicas gave no result and why. ``spectrum`` names the data's covariance.
    """

    sizes: Sizes
    times: tuple[float, ...]
    eta: float
    train: Estimate
    population: Estimate
    train_change: Change
    population_change: Change
    replicas: int
    seed: int
    method: str
    formulation: str
    tolerance: float
    failures: tuple[Failure, ...] = ()
    warnings: tuple[str, ...] = ()
    interrupted: bool = False
    reused: int = 0
    spectrum: str = "isotropic"

    @property
    def losses(self) -> dict[str, Estimate]:
        """The losses by name, as for any model."""
        return {"train": self.train, "population": self.population}

    def to_json(self) -> dict[str, Any]:
        """DESIGN's ``simulate`` schema, and beside it what was run."""
        train, population = self.train.to_json(), self.population.to_json()
        return {
            "version": 1,
            "model": "autoencoder",
            "times": list(self.times),
            "losses": {"train": train, "population": population},
            "train": train,
            "population": population,
            "replicas": self.replicas,
            "train_change": self.train_change.to_json(),
            "population_change": self.population_change.to_json(),
            "sizes": self.sizes.to_json(),
            "eta": self.eta,
            "spectrum": self.spectrum,
            "seed": self.seed,
            "method": self.method,
            "formulation": self.formulation,
            "tolerance": self.tolerance,
            "failures": [{"replica": failure.replica, "reason": failure.reason} for failure in self.failures],
            "warnings": list(self.warnings),
        }

    def to_text(self) -> str:
        """A table of both losses with their standard errors."""
        reused = f" ({self.reused} reused from the store)" if self.reused else ""
        spectrum = "" if self.spectrum == "isotropic" else f", spectrum {self.spectrum}"
        lines = [
            f"autoencoder, {self.sizes}{spectrum}, η = {self.eta:g}: {self.method}",
            f"{self.replicas} replicas{reused}, seed {self.seed}; {self.formulation}",
            "",
            f"{'time':>12}  {'train loss':>14} {'± s.e.':>10}  {'population loss':>15} {'± s.e.':>10}",
        ]
        columns = (self.times, self.train.mean, self.train.stderr, self.population.mean, self.population.stderr)
        for t, train, train_error, population, population_error in zip(*columns, strict=True):
            lines.append(
                f"{t:>12.6g}  {train:>14.6g} {_error(train_error):>10}  {population:>15.6g}"
                f" {_error(population_error):>10}"
            )
        lines += [f"replica {failure.replica} {failure.kind}: {failure.reason}" for failure in self.failures]
        return "\n".join(lines)


def simulate(
    sizes: Sizes,
    times: Iterable[float],
    *,
    replicas: int,
    seed: int,
    eta: float = 1.0,
    method: Method = "flow",
    step: float | None = None,
    tolerance: float = TOLERANCE,
    spectrum: str | Spectrum = "isotropic",
    machine: Machine = HERE,
    force: bool = False,
    name: str = "simulate",
) -> Simulation:
    """Follow the flow from ``replicas`` independent draws of U(0) and X; mean losses with standard errors. [P] §2.

    ``method="descent"`` makes gradient-descent steps of length ``step`` (in units of time) in place of the flow.
    ``spectrum`` gives the data a covariance C (``power:0.7``, ``values:2*1,0.5*1``, ``file:PATH``): X = C^½Z, and the
    population loss is Tr[(I − M)²C]/2p. The result depends on the seed alone, not on the ``machine``; its store keeps
    replicas under ``name``, one set of parameters under each.

    Raises ``InputError`` for unusable arguments, ``BudgetError`` for sizes that do not fit in memory or would take most
    of a day (``force=True`` to go on).

    >>> result = simulate(Sizes.parse("p=20,n=10,m=30,sigma2=1/20"), [0, 5], replicas=4, seed=0)
    >>> bool(result.train.mean[1] < result.train.mean[0])
    True
    """
    check_sizes(sizes)
    grid = time_grid(times)
    if len(grid) > MOST_TIMES:
        raise InputError("times", given=len(grid), expected=f"at most {MOST_TIMES} times", remedy="thin them out")
    check_replicas(replicas)
    check_machine(machine)
    eta = positive("eta", eta, remedy="use for example eta=1")
    if not 1e-12 <= tolerance <= 1e-2:
        raise InputError("tolerance", given=tolerance, expected="a number from 1e-12 to 1e-2", remedy="use 1e-4")
    parameters: dict[str, Json] = {**sizes.to_json(), "times": list(grid), "eta": eta, "tolerance": tolerance}
    if method == "descent":
        parameters["step"] = checked_step(step, grid)
    elif step is not None:
        raise InputError("step", given=step, expected="no step with the flow", remedy="add method='descent'")
    if not 0 < float(sizes.sigma2) * eta * max(grid[-1], 1.0) < math.inf:
        raise InputError(
            "sigma2, eta and times",
            given=f"σ² = {float(sizes.sigma2):g}, η = {eta:g}, times to {grid[-1]:g}",
            expected="products within the range of floating-point numbers",
            remedy="bring them closer to 1",
        )
    known = covariance_spectrum(spectrum, sizes)
    if not is_isotropic(known):
        parameters["spectrum"] = _stored(known)
    formulation = _formulation(parameters)
    refuse_beyond(formulation, replicas=replicas, workers=machine.workers, force=force)
    run = run_replicas(
        Experiment(name, parameters, replica),
        replicas=replicas,
        seed=seed,
        machine=machine,
    )
    taken = round(max(values["coordinates"][0] for values in run))
    described = str(formulation) if taken == formulation.coordinates else f"{formulation}; up to {taken} taken"
    start = expected_start(sizes) if grid[0] == 0 and not run.failures else None  # E L(0) is over all draws
    if start is not None:
        start *= float(known.values @ known.fractions)  # E (I − M(0))² is a multiple of the identity
    return Simulation(
        sizes=sizes,
        times=grid,
        eta=eta,
        train=Estimate.of(run.stack("train")),
        population=Estimate.of(run.stack("population")),
        train_change=estimate_change(run.stack("train"), start),
        population_change=estimate_change(run.stack("population"), start),
        replicas=len(run),
        seed=seed,
        method="gradient flow" if method == "flow" else f"gradient descent, step {parameters['step']:g}",
        formulation=described,
        tolerance=tolerance,
        failures=run.failures,
        warnings=run.warnings,
        interrupted=run.interrupted,
        reused=run.reused,
        spectrum=known.text,
    )


def replica(parameters: Mapping[str, Any], seed: np.random.SeedSequence) -> Values:
    """One replica: draw, choose coordinates, follow the flow; losses at the times asked for."""
    drawn = draw(_sizes(parameters), np.random.default_rng(seed), spectrum=_spectrum(parameters))
    times, eta, tolerance = parameters["times"], parameters["eta"], parameters["tolerance"]

    def solver(problem: Problem) -> Losses:
        if "step" in parameters:
            return gradient_descent(problem, times, eta=eta, step=parameters["step"])
        return gradient_flow(problem, times, eta=eta, tolerance=tolerance)

    losses, coordinates = follow(_formulation(parameters), drawn, solver, tolerance=tolerance)
    return {"train": losses[0].tolist(), "population": losses[1].tolist(), "coordinates": [float(coordinates)]}


def _formulation(parameters: Mapping[str, Any]) -> Formulation:
    end = parameters["times"][-1]
    steps = end / parameters["step"] if "step" in parameters else None
    return choose(
        _sizes(parameters),
        end=end,
        eta=parameters["eta"],
        tolerance=parameters["tolerance"],
        evaluations=steps,
        spectrum=_spectrum(parameters),
    )


def _stored(spectrum: Spectrum) -> Json:
    """What tells a spectrum from others: the text of a power law, all numbers of the rest (a file may change)."""
    if spectrum.text.startswith("power:"):
        return spectrum.text
    return {"values": spectrum.values.tolist(), "counts": spectrum.counts.tolist()}


def _spectrum(parameters: Mapping[str, Any]) -> Spectrum | None:
    """The spectrum of the parameters of a run; ``None`` where C is the identity."""
    stored = parameters.get("spectrum")
    if stored is None or isinstance(stored, str):
        return None if stored is None else read_spectrum(stored, parameters["p"])
    values, counts = np.array(stored["values"], dtype=float), np.array(stored["counts"], dtype=np.int64)
    return Spectrum("stored", values, counts)


def _sizes(parameters: Mapping[str, Any]) -> Sizes:
    return Sizes(parameters["p"], parameters["n"], parameters["m"], parameters["sigma2"])


def checked_step(step: float | None, grid: Sequence[float]) -> float:
    """The step of gradient descent, of which all times are multiples."""
    if step is None:
        raise InputError("step", given=None, expected="the step of gradient descent", remedy="add for example step=0.1")
    step = positive("step", step, remedy="use for example step=0.1")
    if grid[-1] / step > MOST_STEPS:
        raise InputError("step", given=step, expected=f"at most {MOST_STEPS:.0e} steps", remedy="take a longer step")
    off = next((t for t in grid if abs(t / step - round(t / step)) > _STEP_ROUNDING), None)
    if off is not None:
        raise InputError(
            "step",
            given=step,
            expected=f"a step of which every time is a multiple, as t = {off:g} is not",
            remedy=f"use step={off / math.ceil(off / step):.12g}, or other times=",
        )
    return step


def _numbers(values: np.ndarray) -> list[float | None]:
    return [float(value) if math.isfinite(value) else None for value in values]


def _error(stderr: float) -> str:
    return f"{stderr:.2g}" if math.isfinite(stderr) else "—"
