"""Monte Carlo of the gradient flow (or gradient descent) of any declared model."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from numerics.gradient_flow.compiled import CompiledModel, compile_model, compiled_from
from numerics.gradient_flow.control_variate import Change, estimate_change
from numerics.gradient_flow.formulation import HOURS, memory_of_machine
from numerics.gradient_flow.model_flow import ISOTROPIC, ModelFlow, descend, draw_tensors, follow_flow
from numerics.gradient_flow.simulate import MOST_TIMES, TOLERANCE, Estimate, Method, checked_step
from numerics.runs.machine import HERE, Machine, check_machine
from numerics.runs.outcome import Experiment, Failure, Json
from numerics.runs.outcome import Values as Rows
from numerics.runs.replicas import check_replicas, run_replicas
from theory.checks import positive
from theory.errors import BudgetError, InputError
from theory.models.model import Model
from theory.models.values import Values, read_values, to_json
from theory.spectrum import read_spectrum
from theory.times import time_grid

VERSION = 1
_FLOPS_PER_SECOND = 1.5e10
_CALLS = 200
"""Evaluations of the gradient that a run is expected to take."""


@dataclass(frozen=True)
class ModelSimulation:
    """The losses of a model over time, averaged over ``replicas`` draws of its random tensors.

    ``changes`` estimate the mean changes since the first time, within each replica. ``samples`` are the losses of each
    replica, one row each.
    """

    model: str
    sizes: Values
    times: tuple[float, ...]
    eta: float
    spectrum: str
    losses: Mapping[str, Estimate]
    changes: Mapping[str, Change]
    replicas: int
    seed: int
    method: str
    tolerance: float
    failures: tuple[Failure, ...] = ()
    warnings: tuple[str, ...] = ()
    interrupted: bool = False
    reused: int = 0
    samples: Mapping[str, np.ndarray] = field(default_factory=dict, repr=False, compare=False)

    def to_json(self) -> dict[str, Any]:
        """One entry a loss, and beside it what was run."""
        losses = {name: estimate.to_json() for name, estimate in self.losses.items()}
        autoencoder = self.model.startswith("autoencoder")
        return {
            "version": VERSION,
            "model": self.model,
            "sizes": to_json(self.sizes),
            "times": list(self.times),
            "losses": losses,
            **{name: losses[name] for name in ("train", "population") if autoencoder and name in losses},
            "changes": {name: change.to_json() for name, change in self.changes.items()},
            "replicas": self.replicas,
            "eta": self.eta,
            "spectrum": self.spectrum,
            "seed": self.seed,
            "method": self.method,
            "tolerance": self.tolerance,
            "failures": [{"replica": failure.replica, "reason": failure.reason} for failure in self.failures],
            "warnings": list(self.warnings),
        }

    def to_text(self) -> str:
        """A table of the losses with their standard errors."""
        sizes = ", ".join(f"{name}={value}" for name, value in self.sizes.items())
        lines = [
            f"{self.model}, {sizes}, η = {self.eta:g}: {self.method}",
            f"{self.replicas} replicas, seed {self.seed}",
        ]
        lines += ["", f"{'time':>12}" + "".join(f"  {name:>14} {'± s.e.':>10}" for name in self.losses)]
        for k, t in enumerate(self.times):
            row = "".join(
                f"  {estimate.mean[k]:>14.6g} {_error(estimate.stderr[k]):>10}" for estimate in self.losses.values()
            )
            lines.append(f"{t:>12.6g}{row}")
        lines += [f"replica {failure.replica} {failure.kind}: {failure.reason}" for failure in self.failures]
        return "\n".join(lines)


def simulate_model(
    model: Model,
    sizes: object,
    times: Iterable[float],
    *,
    replicas: int,
    seed: int,
    eta: float = 1.0,
    method: Method = "flow",
    step: float | None = None,
    tolerance: float = TOLERANCE,
    spectrum: str = ISOTROPIC,
    machine: Machine = HERE,
    force: bool = False,
    name: str = "simulate",
) -> ModelSimulation:
    """Follow a model's flow from ``replicas`` independent draws; mean losses with standard errors.

    ``sizes`` are values of all the model's variables, a text or a mapping. ``spectrum`` holds the eigenvalues of fixed
    matrices and covariances, as ``theory.spectrum`` reads them. Everything else is as for the autoencoder.

    >>> sizes = "p=8,n=4,m=12,sigma2_u=1/8,sigma2_v=1/8"
    >>> result = simulate_model(Model.named("untied"), sizes, [0, 5], replicas=4, seed=0)
    >>> bool(result.losses["train"].mean[1] < result.losses["train"].mean[0])
    True
    """
    values = read_values(model, sizes)
    grid = time_grid(times)
    if len(grid) > MOST_TIMES:
        raise InputError("times", given=len(grid), expected=f"at most {MOST_TIMES} times", remedy="thin them out")
    check_replicas(replicas)
    check_machine(machine)
    eta = positive("eta", eta, remedy="use for example --eta 1")
    if not 1e-12 <= tolerance <= 1e-2:
        raise InputError("tolerance", given=tolerance, expected="a number from 1e-12 to 1e-2", remedy="use 1e-4")
    given: dict[str, Json] = {key: str(value) for key, value in values.items()}
    parameters: dict[str, Json] = {
        "model": model.to_toml(),
        "values": given,
        "times": list(grid),
        "eta": eta,
        "tolerance": tolerance,
    }
    _check_spectrum(model, values, spectrum)
    if spectrum != ISOTROPIC:
        parameters["spectrum"] = spectrum
    if method == "descent":
        parameters["step"] = checked_step(step, grid)
    elif step is not None:
        raise InputError("step", given=step, expected="no step with the flow", remedy="add --method descent")
    _refuse_memory(model, values)
    compiled = compile_model(model, values)
    _refuse(compiled, replicas=replicas, workers=machine.workers, force=force, steps=_steps(parameters))
    run = run_replicas(Experiment(name, parameters, replica), replicas=replicas, seed=seed, machine=machine)
    return ModelSimulation(
        model=model.name,
        sizes=values,
        times=grid,
        eta=eta,
        spectrum=spectrum,
        losses={loss: Estimate.of(run.stack(loss)) for loss in model.loss_names},
        changes={loss: estimate_change(run.stack(loss), None) for loss in model.loss_names},
        replicas=len(run),
        seed=seed,
        method="gradient flow" if method == "flow" else f"gradient descent, step {parameters['step']:g}",
        tolerance=tolerance,
        failures=run.failures,
        warnings=run.warnings,
        interrupted=run.interrupted,
        reused=run.reused,
        samples={loss: run.stack(loss) for loss in model.loss_names},
    )


def replica(parameters: Mapping[str, Any], seed: np.random.SeedSequence) -> Rows:
    """One replica: draw the tensors, follow the flow; each loss at the times asked for."""
    compiled = compiled_from(parameters["model"], tuple(parameters["values"].items()))
    spectrum = str(parameters.get("spectrum", ISOTROPIC))
    arrays = draw_tensors(compiled, np.random.default_rng(seed), spectrum)
    flow = ModelFlow(compiled, arrays, parameters["eta"])
    if "step" in parameters:
        rows = descend(flow, parameters["times"], step=parameters["step"])
    else:
        rows = follow_flow(flow, parameters["times"], tolerance=parameters["tolerance"])
    return {loss: [row[k] for row in rows] for k, loss in enumerate(compiled.losses)}


def _check_spectrum(model: Model, values: Values, spectrum: str) -> None:
    """Refuse a spectrum that does not fit the fixed matrices and covariances, or where there are none."""
    legs = [t.legs[0] for t in (*model.tensors, *model.implied) if t.fixed]
    for leg in dict.fromkeys(legs):
        read_spectrum(spectrum, int(values[leg]))
    if spectrum != ISOTROPIC and not legs:
        raise InputError(
            "spectrum",
            given=spectrum,
            expected="a model with a fixed matrix or a covariance",
            remedy='declare one: covariance = "C"',
        )


def _steps(parameters: Mapping[str, Any]) -> float:
    return float(parameters["times"][-1] / parameters["step"]) if "step" in parameters else _CALLS


def _refuse_memory(model: Model, values: Values) -> None:
    """Refuse tensors that would not fit, before anything is compiled."""
    entries = sum(
        math.prod(float(values[leg]) for leg in t.legs) for t in (*model.tensors, *model.implied) if not t.average
    )
    _check_bytes(16.0 * entries)


def _refuse(compiled: CompiledModel, *, replicas: int, workers: int, force: bool, steps: float) -> None:
    _check_bytes(compiled.bytes * workers)
    hours = steps * (compiled.flops / _FLOPS_PER_SECOND + 1e-4) * replicas / workers / 3600
    if hours > HOURS and not force:
        raise BudgetError(
            "simulate",
            estimate=f"about {hours:.3g} hours",
            limit=f"{HOURS} hours",
            remedy="take smaller sizes, earlier times, fewer replicas or more workers, or --force to go on",
        )


def _check_bytes(needed: float) -> None:
    memory = memory_of_machine() / 2
    if needed > memory:
        raise BudgetError(
            "simulate",
            estimate=f"{needed / 1e9:.3g} GB",
            limit=f"{memory / 1e9:.3g} GB, half of this machine's memory",
            remedy="take smaller sizes, or fewer workers",
        )


def _error(stderr: float) -> str:
    return f"{stderr:.2g}" if math.isfinite(stderr) else "—"
