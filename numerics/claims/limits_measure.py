"""What the claims about limits measure: losses of simulated replicas, one row a replica."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from numerics.claims.ledger import Conditions
from numerics.replicas import Experiment, Json, run_replicas
from numerics.simulate import TOLERANCE, replica
from theory.autoencoder.sizes import Sizes

FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Replicas:
    """Both losses, shape (replicas, times)."""

    train: FloatArray
    population: FloatArray

    def mean(self, values: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Mean over replicas (the first axis) and its standard error."""
        return values.mean(axis=0), values.std(axis=0, ddof=1) / np.sqrt(len(values))


def replicas_of(
    claim_id: str, sizes: Sizes, times: Sequence[float], *, replicas: int, conditions: Conditions
) -> Replicas:
    """Simulate under the claim's name, so that a killed run goes on from its store."""
    parameters: dict[str, Json] = {
        **sizes.to_json(),
        "times": [float(t) for t in times],
        "eta": 1.0,
        "tolerance": TOLERANCE,
    }
    run = run_replicas(
        Experiment(f"{claim_id} {sizes}", parameters, replica),
        replicas=replicas,
        seed=conditions.seed,
        workers=conditions.workers,
        store=conditions.store,
    )
    return Replicas(*(np.array([values[name] for values in run]) for name in ("train", "population")))
