"""Run an experiment many times: seeded streams, workers, a store; results in replica order."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np

from numerics.runs.blas import one_thread
from numerics.runs.outcome import Experiment, Failure, Json, Outcome, Progress, Run, Values, lost
from numerics.runs.provenance import environment
from numerics.runs.seeds import replica_seed
from numerics.runs.store import Store
from theory.checks import whole
from theory.errors import InputError

MOST_REPLICAS = 10**7
MOST_WORKERS = 1024


def run_replicas(
    experiment: Experiment,
    *,
    replicas: int,
    seed: int,
    workers: int = 1,
    progress: Progress | None = None,
    store: Store | str | Path | None = None,
    dask: str | None = None,
) -> Run:
    """The results of replicas 0 … K−1, in that order.

    They depend on the experiment and the seed alone: one worker, many, a Dask cluster (``dask`` is its scheduler's
    address) and a run resumed from ``store`` give the same bits. With a ``store`` each finished replica is written at
    once, and replicas found there are not run again. A replica whose worker dies is tried again on its own; one that
    fails numerically is in ``failures``.

    Raises ``InputError`` for a number of replicas or workers that is none, a store that holds other parameters or
    cannot be written, a cluster that does not answer, or where no replica at all gave a result.
    """
    check_counts(replicas=replicas, workers=workers, dask=dask)
    replica_seed(seed, 0)
    plan = replace(experiment, parameters=_plain(experiment))
    if store is None:
        found: dict[int, Outcome] = {}
        with closing(_execute(plan, range(replicas), seed, workers, dask)) as outcomes:
            _collect(found, outcomes, replicas, progress)
        return _run(plan, found, replicas, ())
    if not isinstance(store, Store):
        with Store.open(store) as opened:
            return run_replicas(
                plan, replicas=replicas, seed=seed, workers=workers, progress=progress, store=opened, dask=dask
            )
    record = store.record(plan.name, plan.parameters, seed)
    found = record.load(replicas)
    with closing(_execute(plan, record.pending(found, replicas), seed, workers, dask)) as outcomes:
        _collect(found, (record.write(outcome) for outcome in outcomes), replicas, progress)
    return _run(plan, found, replicas, record.warnings(found.values()))


def run_one(experiment: Experiment, replica: int, seed: int) -> Outcome:
    """Run one replica here: the one function that every kind of worker calls."""
    start = time.perf_counter()
    result: Values | Failure
    try:
        values = experiment.run(experiment.parameters, replica_seed(seed, replica))
        result = {str(name): [float(x) for x in row] for name, row in values.items()}
        bad = [name for name, row in result.items() if not all(math.isfinite(x) for x in row)]
        if bad:
            result = Failure(replica, f"a value of {bad[0]} is not finite")
    except (ArithmeticError, np.linalg.LinAlgError) as error:
        result = Failure(replica, f"{type(error).__name__}: {error}"[:500])
    return Outcome(replica, result, time.perf_counter() - start, environment())


def _execute(
    experiment: Experiment, pending: Iterable[int], seed: int, workers: int, dask: str | None
) -> Generator[Outcome, None, None]:
    if dask is not None:
        from numerics.runs.cluster import on_cluster

        return on_cluster(partial(_run_batch, experiment, seed), ((replica,) for replica in pending), dask)
    if workers > 1 and experiment.threads:
        from numerics.runs.threads import on_threads

        return on_threads(partial(run_one, experiment, seed=seed), pending, workers)
    if workers > 1:
        from numerics.runs.processes import on_workers

        return on_workers(partial(run_one, experiment, seed=seed), pending, workers, lost=lost)
    return _here(experiment, pending, seed)


def _run_batch(experiment: Experiment, seed: int, batch: Sequence[int]) -> list[Outcome]:
    return [run_one(experiment, replica, seed) for replica in batch]


def _here(experiment: Experiment, pending: Iterable[int], seed: int) -> Generator[Outcome, None, None]:
    with one_thread():
        for replica in pending:
            yield run_one(experiment, replica, seed)


def _collect(found: dict[int, Outcome], outcomes: Iterable[Outcome], replicas: int, progress: Progress | None) -> None:
    if progress and found:
        progress(len(found), replicas)
    for outcome in outcomes:
        found[outcome.replica] = outcome
        if progress:
            progress(len(found), replicas)


def _run(experiment: Experiment, found: Mapping[int, Outcome], replicas: int, warnings: tuple[str, ...]) -> Run:
    results = [found[k].result for k in range(replicas)]
    failures = tuple(result for result in results if isinstance(result, Failure))
    values = tuple(result for result in results if not isinstance(result, Failure))
    if not values:
        raise InputError(
            f"experiment {experiment.name}",
            given=failures[0].reason,
            expected=f"a result from at least one of {replicas} replicas",
            remedy="all failed: change the sizes, times or steps",
        )
    return Run(values, failures, warnings)


def check_counts(*, replicas: int, workers: int = 1, dask: str | None = None) -> None:
    """Raise ``InputError`` for a number of replicas or workers that is none, or workers beside a cluster."""
    whole("replicas", replicas, least=1, most=MOST_REPLICAS, remedy="use for example --replicas 4")
    whole("workers", workers, least=1, most=MOST_WORKERS, remedy="use for example --workers 4")
    if dask is not None and workers != 1:
        raise InputError("workers", given=workers, expected="no --workers beside --dask", remedy="give one of the two")


def _plain(experiment: Experiment) -> dict[str, Json]:
    """The parameters as they read back from JSON, so that a run with a store sees the same ones as one without."""
    try:
        plain: dict[str, Json] = json.loads(json.dumps(dict(experiment.parameters), allow_nan=False))
    except (TypeError, ValueError) as error:
        raise InputError(
            f"parameters of {experiment.name}", given=experiment.parameters, expected="JSON data", remedy=str(error)
        ) from error
    return plain
