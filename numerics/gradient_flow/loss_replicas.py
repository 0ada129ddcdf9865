"""Losses of simulated replicas, one row a replica, for what only differences within a replica show."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from numerics.gradient_flow.control_variate import estimate_change, expected_start
from numerics.gradient_flow.simulate import TOLERANCE, replica
from numerics.judge import mean_and_error
from numerics.runs.machine import HERE, Machine
from numerics.runs.outcome import Experiment, Json
from numerics.runs.replicas import run_replicas
from theory.autoencoder.sizes import Sizes

FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Replicas:
    """Both losses, shape (replicas, times); ``start`` is E L at the first time where that is known."""

    train: FloatArray
    population: FloatArray
    start: float | None = None

    def change(self, loss: str) -> tuple[FloatArray, FloatArray]:
        """Mean change of a loss since the first time, and its standard error, as ``estimate_change`` finds them."""
        change = estimate_change(getattr(self, loss), self.start)
        return change.mean, change.stderr

    def mean(self, values: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Mean over replicas (the first axis) and its standard error."""
        return mean_and_error(values)


def loss_replicas(
    name: str,
    sizes: Sizes,
    times: Sequence[float],
    *,
    replicas: int,
    seed: int,
    machine: Machine = HERE,
) -> Replicas:
    """Gradient flow at η = 1 from ``replicas`` draws; a store keeps them under ``name`` and the sizes."""
    parameters: dict[str, Json] = {
        **sizes.to_json(),
        "times": [float(t) for t in times],
        "eta": 1.0,
        "tolerance": TOLERANCE,
    }
    run = run_replicas(
        Experiment(f"{name} {sizes}", parameters, replica),
        replicas=replicas,
        seed=seed,
        machine=machine.silent(),
    )
    start = expected_start(sizes) if times[0] == 0 and not run.failures else None
    return Replicas(run.stack("train"), run.stack("population"), start)
