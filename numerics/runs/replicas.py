"""Run an experiment many times: seeded streams, workers, a store; results in replica order."""

from __future__ import annotations

import json
import math
import time
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from functools import partial
from itertools import islice

import numpy as np

from numerics.runs.blas import one_thread
from numerics.runs.clock import Clock, Stopped
from numerics.runs.machine import HERE, Machine, check_machine
from numerics.runs.outcome import Batches, Experiment, Failure, Json, Outcome, Run, Single, Values, lost
from numerics.runs.places import PlaceError
from numerics.runs.provenance import UNKNOWN, code_in, code_version, environment
from numerics.runs.seeds import replica_seed
from numerics.runs.store import Record, Store
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


def run_batch(
    experiment: Experiment, seed: int, stamped: bool, batch: Sequence[int], clock: Clock | None = None
) -> list[Outcome]:
    """Run some replicas here: the one function that every kind of worker calls. None at all where the run stopped.

    With ``stamped``, each carries the environment of this process, as a store wants it.
    """
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
            return [outcome for replica in batch for outcome in run_batch(experiment, seed, stamped, [replica], clock)]
        found = [Failure(batch[0], f"{type(error).__name__}: {error}"[:500])]
    seconds = (time.perf_counter() - start) / len(batch)
    made_by = environment(experiment.function) if stamped else UNKNOWN
    return [
        Outcome(replica, _checked(replica, result), seconds, made_by)
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
    if record:
        _check_code(record, experiment, found.values(), machine)
    reused = len(found)
    kind = experiment.run
    size, units = (kind.size, kind.units) if isinstance(kind, Batches) else (1, 1)
    clock = Clock(replicas * units, machine.progress)
    interrupted = False
    try:
        clock.settle(len(found) * units)
        run = partial(run_batch, experiment, seed, store is not None)
        with closing(_execute(run, experiment.run, _batches(pending, size), machine, clock)) as outcomes:
            for outcome in outcomes:
                if record:
                    _check_code(record, experiment, [outcome], machine)
                found[outcome.replica] = record.write(outcome) if record else outcome
                clock.settle(len(found) * units)
    except KeyboardInterrupt:
        if store or machine.whole or not any(not isinstance(outcome.result, Failure) for outcome in found.values()):
            raise
        interrupted = True
    finally:
        clock.stop()
    warnings: tuple[str, ...] = ()
    if record:
        warnings = (*_check_code(record, experiment, found.values(), machine), *record.warnings(found.values()))
    if machine.warn:
        for line in warnings:
            machine.warn(line)
    return _gather(experiment, found, replicas, warnings, interrupted, reused)


def _check_code(
    record: Record, experiment: Experiment, outcomes: Iterable[Outcome], machine: Machine
) -> tuple[str, ...]:
    """What to say of replicas that other code made; ``PlaceError`` unless the machine is told to reuse them."""
    mine = code_version(experiment.function)
    theirs = Counter(code_in(outcome.environment) for outcome in outcomes if outcome.environment != UNKNOWN)
    total = theirs.total()
    del theirs[mine]
    if not theirs:
        return ()
    others = ", ".join(str(code) for code in sorted(theirs, key=str))
    if not machine.reuse:
        raise PlaceError(
            f"store {record.path}",
            given=f"replicas of {experiment.name} made by other code, {others}",
            expected=f"those of the code that runs, {mine}",
            remedy="use another store=, or reuse=True to take them as they are",
        )
    return (f"store {record.path}: {theirs.total()} of {total} replicas were made by other code ({others}), reused",)


def _batches(pending: Iterable[int], size: int) -> Generator[tuple[int, ...], None, None]:
    queue = iter(pending)
    while batch := tuple(islice(queue, size)):
        yield batch


def _execute(
    run: Callable[..., list[Outcome]],
    kind: Single | Batches,
    batches: Iterable[Sequence[int]],
    machine: Machine,
    clock: Clock,
) -> Generator[Outcome, None, None]:
    if machine.dask is not None:
        from numerics.runs.cluster import on_cluster

        yield from on_cluster(run, batches, machine.dask)
    elif machine.workers == 1:
        with one_thread():
            for batch in batches:
                yield from run(batch, clock)
    elif isinstance(kind, Batches):
        from numerics.runs.threads import on_threads

        with closing(on_threads(partial(run, clock=clock), batches, machine.workers, poll=clock.report)) as found:
            for outcomes in found:
                yield from outcomes
    else:
        from numerics.runs.processes import on_workers

        with closing(on_workers(run, batches, machine.workers, lost=_lost)) as found:
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
    reused: int,
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
    return Run(values, failures, warnings, interrupted, reused)


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
