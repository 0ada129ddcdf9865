"""Many replicas of online spherical SGD: batches for the kernels, seeds, threads, a cluster, interruption, a store."""

from __future__ import annotations

import math
import time
from collections.abc import Generator, Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Literal

import numpy as np

from numerics.kernels.normals import LANES
from numerics.runs.outcome import Failure, Json, Outcome, Progress, Values
from numerics.runs.provenance import environment
from numerics.runs.replicas import check_counts
from numerics.runs.seeds import replica_seed
from numerics.runs.store import Record, Store
from numerics.runs.threads import on_threads
from numerics.single_index.batches import Clock, Plan, Stopped, full_batch, reduced_batch
from numerics.single_index.program import Program, compile_link
from numerics.single_index.setting import Setting, child
from numerics.single_index.starts import Overlaps, Start
from theory.errors import BudgetError, InputError

Method = Literal["reduced", "full"]

_MOST_STEPS = {"reduced": 1e13, "full": 1e14}
"""Replicas × steps (× d) that take about a day and a half on one core."""


@dataclass(frozen=True)
class Replica:
    """One run: the overlaps it started and ended with, the step at which it reached the target, its path.

    ``hit`` is None where the target was not reached in time; ``end`` is the start itself where only hits were kept.
    ``path`` has a row (m_1, m_2) for each record.
    """

    start: Overlaps
    end: Overlaps
    hit: int | None
    path: np.ndarray

    @classmethod
    def of(cls, values: Values) -> Replica:
        """From the named lists that a store keeps."""
        (s1, s2), (e1, e2), (hit,) = values["start"], values["end"], values["hit"]
        return cls((s1, s2), (e1, e2), None if hit < 0 else int(hit), np.array([values["path1"], values["path2"]]).T)


@dataclass(frozen=True)
class Runs:
    """The replicas that finished, in order; ``warnings`` says what befell the others."""

    replicas: tuple[Replica, ...]
    asked: int
    interrupted: bool
    warnings: tuple[str, ...] = ()


def run_chains(
    setting: Setting,
    start: Start,
    plan: Plan,
    *,
    replicas: int,
    seed: int,
    method: Method = "reduced",
    workers: int = 1,
    progress: Progress | None = None,
    store: str | Path | None = None,
    dask: str | None = None,
    name: str = "single-index",
) -> Runs:
    """Run replicas 0 … K−1; ``progress`` counts steps of all of them.

    Replica k depends on the seed and k alone, not on the batch it shares a kernel call with, nor on ``workers``, which
    are threads (the kernels hold no lock), or ``dask``, the address of a cluster's scheduler. On Ctrl-C what has
    finished is returned with ``interrupted`` set, if anything has; with a ``store`` each batch is written under
    ``name`` and the setting as it ends, and not run again.

    Raises ``InputError`` for counts out of range or a store of another run, ``BudgetError`` for days of work.
    """
    check_counts(replicas=replicas, workers=workers, dask=dask)
    replica_seed(seed, 0)
    if method not in _MOST_STEPS:
        raise InputError("method", given=method, expected="reduced or full", remedy="use --method reduced")
    check_start(start)
    work = float(replicas) * plan.steps * (1 if method == "reduced" else setting.d)
    if work > _MOST_STEPS[method]:
        raise BudgetError(
            "train",
            estimate=f"{work:.1e} {'steps' if method == 'reduced' else 'coordinates of steps'}",
            limit=f"{_MOST_STEPS[method]:.0e}",
            remedy="take fewer steps or replicas" + ("" if method == "reduced" else ", or --method reduced"),
        )
    job = _Job(setting, start, plan, seed, method)
    if store is None:
        return _run(job, replicas, workers, dask, progress, None)
    name = f"{name} {start.text} {setting.describe()}"
    with Store.open(store) as opened:
        record = opened.record(name, job.parameters(), seed)
        return _run(job, replicas, workers, dask, progress, record)


def check_start(start: object) -> None:
    """``InputError`` for what is no start, such as the name of one."""
    if isinstance(start, str) or not hasattr(start, "draw"):
        raise InputError(
            "start", given=start, expected="a start, not its name", remedy='use for example parse_start("random")'
        )


@dataclass(frozen=True)
class _Job:
    """What a batch of replicas needs to know, wherever it runs."""

    setting: Setting
    start: Start
    plan: Plan
    seed: int
    method: Method

    def parameters(self) -> dict[str, Json]:
        setting, plan = self.setting, self.plan
        return {
            "link": str(setting.link.expression),
            "lambda": setting.lam,
            "eta1": setting.eta1,
            "noise": setting.noise,
            "d": setting.d,
            "start": self.start.text,
            "steps": plan.steps,
            "step": plan.step,
            "target": plan.target if math.isfinite(plan.target) else None,
            "stop": plan.stop,
            "every": plan.every,
            "method": self.method,
        }


def _run(
    job: _Job, replicas: int, workers: int, dask: str | None, progress: Progress | None, record: Record | None
) -> Runs:
    found: dict[int, Outcome] = record.load(replicas) if record else {}
    missing = [k for k in range(replicas) if k not in found]
    size = LANES if job.method == "reduced" else 1
    batches = [missing[i : i + size] for i in range(0, len(missing), size)]
    clock = Clock(job.plan.steps, replicas, job.plan.steps * len(found), progress)
    interrupted = False
    try:
        with closing(_outcomes(job, batches, workers, dask, clock)) as outcomes:
            for outcome in outcomes:
                found[outcome.replica] = record.write(outcome) if record else outcome
    except KeyboardInterrupt:
        interrupted = True
        if not found:
            raise
    finally:
        clock.stopped.set()
    clock.report()
    return _gather(found, replicas, interrupted, job.plan.step)


def _outcomes(
    job: _Job, batches: Iterable[Sequence[int]], workers: int, dask: str | None, clock: Clock
) -> Generator[Outcome, None, None]:
    if dask is None:
        run = partial(_batch, job, compile_link(job.setting.link), clock)
        for outcomes in on_threads(run, batches, workers, poll=clock.report):
            yield from outcomes
        return
    from numerics.runs.cluster import on_cluster

    for outcome in on_cluster(partial(_batch_far, job), batches, dask):
        yield outcome
        clock.add(job.plan.steps)
        clock.report()


def _gather(found: dict[int, Outcome], replicas: int, interrupted: bool, step: float) -> Runs:
    kept = [found[k].result for k in sorted(found) if k < replicas]
    runs = tuple(Replica.of(result) for result in kept if not isinstance(result, Failure))
    kinds = [result.kind for result in kept if isinstance(result, Failure)]
    warnings = []
    if overflowed := kinds.count("failed"):
        warnings.append(f"{overflowed} of {replicas} replicas overflowed and are left out: lower the step")
    if lost := kinds.count("lost"):
        warnings.append(f"{lost} of {replicas} replicas were lost with their workers: repeat the command to run them")
    if interrupted:
        warnings.append(f"interrupted with {len(kept)} of {replicas} replicas finished: these are what is shown")
    if not runs and lost:
        raise InputError(
            "dask", given=warnings[-1], expected="workers that live", remedy="look at the workers' logs; more memory"
        )
    if not runs:
        raise InputError(
            "step", given=step, expected="a step with which the link does not overflow", remedy="lower --step"
        )
    return Runs(runs, replicas, interrupted, tuple(warnings))


def _batch_far(job: _Job, batch: Sequence[int]) -> list[Outcome]:
    """A batch on a cluster: nobody watches its clock."""
    return _batch(job, compile_link(job.setting.link), Clock(job.plan.steps, len(batch), 0, None), batch)


def _batch(job: _Job, program: Program, clock: Clock, batch: Sequence[int]) -> list[Outcome]:
    began = time.perf_counter()
    seeds = [replica_seed(job.seed, k) for k in batch]
    starts = []
    for s in seeds:
        if clock.stopped.is_set():
            return []
        starts.append(job.start.draw(job.setting, child(s, 0)))
    run = reduced_batch if job.method == "reduced" else full_batch
    try:
        values = run(job.setting, starts, job.plan, seeds, program, clock)
    except Stopped:
        return []
    seconds = (time.perf_counter() - began) / len(batch)
    return [_outcome(k, one, seconds) for k, one in zip(batch, values, strict=True)]


def _outcome(replica: int, values: Values, seconds: float) -> Outcome:
    if all(math.isfinite(x) for row in values.values() for x in row):
        return Outcome(replica, values, seconds, environment())
    return Outcome(replica, Failure(replica, "an overlap is not finite: the link overflows"), seconds, environment())
