"""Run an experiment many times: seeded streams, workers, a store; results in replica order."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from functools import partial
from itertools import islice

import numpy as np

from numerics.runs.blas import one_thread
from numerics.runs.clock import Clock, Stopped
from numerics.runs.machine import HERE, Machine, check_machine
from numerics.runs.outcome import Batches, Experiment, Failure, Json, Outcome, Run, Values, lost
from numerics.runs.provenance import environment
from numerics.runs.seeds import replica_seed
from numerics.runs.store import Store
from theory.checks import whole
from theory.errors import InputError

MOST_REPLICAS = 10**7


def run_replicas(experiment: Experiment, *, replicas: int, seed: int, machine: Machine = HERE) -> Run:
    """The results of replicas 0 … K−1, in that order.

    They depend on the experiment and the seed alone: one worker, many, a Dask cluster and a run resumed from a store
    give the same bits. With a store each finished replica is written at once, and replicas found there are not run
    again. A replica whose worker dies is tried again on its own; one that fails numerically is in ``failures``. Ctrl-C
    loses nothing that finished: see ``Machine``.

    Raises ``InputError`` for a number of replicas that is none, a store that holds other parameters or cannot be
    written, a cluster that does not answer, or where no replica at all gave a result.
    """
    check_replicas(replicas)
    check_machine(machine)
    replica_seed(seed, 0)
    plan = replace(experiment, parameters=_plain(experiment))
    store = machine.store
    if store is None or isinstance(store, Store):
        return _run(plan, replicas, seed, machine, store)
    with Store.open(store) as opened:
        return _run(plan, replicas, seed, machine, opened)


def run_batch(experiment: Experiment, seed: int, batch: Sequence[int], clock: Clock | None = None) -> list[Outcome]:
    """Run some replicas here: the one function that every kind of worker calls. None at all where the run stopped."""
    start = time.perf_counter()
    seeds = [replica_seed(seed, replica) for replica in batch]
    run = experiment.run
    found: list[Values | Failure]
    try:
        if isinstance(run, Batches):
            found = list(run.run(experiment.parameters, seeds, clock or Clock(run.units * len(batch))))
        else:
            found = [run(experiment.parameters, one) for one in seeds]
    except Stopped:
        return []
    except (ArithmeticError, np.linalg.LinAlgError) as error:
        if len(batch) > 1:  # one of them; each is judged by itself
            return [outcome for replica in batch for outcome in run_batch(experiment, seed, [replica], clock)]
        found = [Failure(batch[0], f"{type(error).__name__}: {error}"[:500])]
    seconds = (time.perf_counter() - start) / len(batch)
    return [
        Outcome(replica, _checked(replica, result), seconds, environment())
        for replica, result in zip(batch, found, strict=True)
    ]


def _checked(replica: int, result: Values | Failure) -> Values | Failure:
    if isinstance(result, Failure):
        return result
    values = {str(name): [float(x) for x in row] for name, row in result.items()}
    bad = next((name for name, row in values.items() if not all(math.isfinite(x) for x in row)), None)
    return values if bad is None else Failure(replica, f"a value of {bad} is not finite")


def _run(experiment: Experiment, replicas: int, seed: int, machine: Machine, store: Store | None) -> Run:
    record = store.record(experiment.name, experiment.parameters, seed) if store else None
    found = record.load(replicas) if record else {}
    pending = record.pending(found, replicas) if record else iter(range(replicas))
    kind = experiment.run
    size, units = (kind.size, kind.units) if isinstance(kind, Batches) else (1, 1)
    clock = Clock(replicas * units, machine.progress)
    interrupted = False
    try:
        clock.settle(len(found) * units)
        with closing(_execute(experiment, _batches(pending, size), seed, machine, clock)) as outcomes:
            for outcome in outcomes:
                found[outcome.replica] = record.write(outcome) if record else outcome
                clock.settle(len(found) * units)
    except KeyboardInterrupt:
        if store or machine.whole or not any(not isinstance(outcome.result, Failure) for outcome in found.values()):
            raise
        interrupted = True
    finally:
        clock.stop()
    return _gather(experiment, found, replicas, record.warnings(found.values()) if record else (), interrupted)


def _batches(pending: Iterable[int], size: int) -> Generator[tuple[int, ...], None, None]:
    queue = iter(pending)
    while batch := tuple(islice(queue, size)):
        yield batch


def _execute(
    experiment: Experiment, batches: Iterable[Sequence[int]], seed: int, machine: Machine, clock: Clock
) -> Generator[Outcome, None, None]:
    if machine.dask is not None:
        from numerics.runs.cluster import on_cluster

        yield from on_cluster(partial(run_batch, experiment, seed), batches, machine.dask)
    elif machine.workers == 1:
        with one_thread():
            for batch in batches:
                yield from run_batch(experiment, seed, batch, clock)
    elif isinstance(experiment.run, Batches):
        from numerics.runs.threads import on_threads

        run = partial(run_batch, experiment, seed, clock=clock)
        with closing(on_threads(run, batches, machine.workers, poll=clock.report)) as found:
            for outcomes in found:
                yield from outcomes
    else:
        from numerics.runs.processes import on_workers

        with closing(on_workers(partial(run_batch, experiment, seed), batches, machine.workers, lost=_lost)) as found:
            for outcomes in found:
                yield from outcomes


def _lost(batch: Sequence[int], reason: str, seconds: float) -> list[Outcome]:
    return [lost(replica, reason, seconds / len(batch)) for replica in batch]


def _gather(
    experiment: Experiment,
    found: Mapping[int, Outcome],
    replicas: int,
    warnings: tuple[str, ...],
    interrupted: bool,
) -> Run:
    results = [found[k].result for k in range(replicas) if k in found]
    failures = tuple(result for result in results if isinstance(result, Failure))
    values = tuple(result for result in results if not isinstance(result, Failure))
    if not values:
        alone = all(failure.kind == "lost" for failure in failures)
        raise InputError(
            f"experiment {experiment.name}",
            given=failures[0].reason,
            expected=f"a result from at least one of {replicas} replicas",
            remedy="look at the workers' logs; give them more memory" if alone else experiment.remedy,
        )
    if interrupted:
        warnings += (f"interrupted with {len(results)} of {replicas} replicas finished: these are what is shown",)
    return Run(values, failures, warnings, interrupted)


def check_replicas(replicas: int) -> None:
    """Raise ``InputError`` for a number of replicas that is none."""
    whole("replicas", replicas, least=1, most=MOST_REPLICAS, remedy="use for example replicas=4")


def _plain(experiment: Experiment) -> dict[str, Json]:
    """The parameters as they read back from JSON, so that a run with a store sees the same ones as one without."""
    try:
        plain: dict[str, Json] = json.loads(json.dumps(dict(experiment.parameters), allow_nan=False))
    except (TypeError, ValueError) as error:
        raise InputError(
            f"parameters of {experiment.name}", given=experiment.parameters, expected="JSON data", remedy=str(error)
        ) from error
    return plain
