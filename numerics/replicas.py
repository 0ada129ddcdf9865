"""Run an experiment many times: seeded streams, local workers, results in replica order."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass

import numpy as np

from numerics.seeds import replica_seed
from theory.errors import InputError

Json = None | bool | int | float | str | list["Json"] | dict[str, "Json"]
Values = dict[str, list[float]]
Progress = Callable[[int, int], None]
"""Called with (replicas finished, replicas in all)."""


@dataclass(frozen=True)
class Experiment:
    """What one replica does.

    ``run(parameters, seed)`` is a function at module level (workers import it by name); ``parameters`` is JSON data
    and, with the seed, determines the result, a dictionary of named lists of floats.
    """

    name: str
    parameters: Mapping[str, Json]
    run: Callable[[Mapping[str, Json], np.random.SeedSequence], Values]


def run_replicas(
    experiment: Experiment,
    *,
    replicas: int,
    seed: int,
    workers: int = 1,
    progress: Progress | None = None,
) -> Sequence[Values]:
    """The results of replicas 0 … K−1, in that order: they depend on the seed alone, not on ``workers``."""
    if replicas < 1:
        raise InputError("replicas", given=replicas, expected="a whole number from 1", remedy="use --replicas 16")
    seeds = [replica_seed(seed, k) for k in range(replicas)]
    results: list[Values | None] = [None] * replicas
    if workers == 1:
        for k in range(replicas):
            results[k] = experiment.run(experiment.parameters, seeds[k])
            if progress:
                progress(k + 1, replicas)
    else:
        with ProcessPoolExecutor(workers) as pool:
            futures = {pool.submit(experiment.run, experiment.parameters, seeds[k]): k for k in range(replicas)}
            for finished, future in enumerate(as_completed(futures), start=1):
                results[futures[future]] = future.result()
                if progress:
                    progress(finished, replicas)
    return [values for values in results if values is not None]
