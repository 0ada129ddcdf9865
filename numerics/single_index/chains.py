"""Many replicas of online spherical SGD: what one batch of them does, and what the run gives."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal

import numpy as np

from numerics.kernels.normals import LANES
from numerics.runs.clock import Clock
from numerics.runs.machine import HERE, Machine
from numerics.runs.outcome import Batches, Experiment, Json, Run, Values
from numerics.runs.replicas import check_replicas, run_replicas
from numerics.runs.seeds import child, replica_seed
from numerics.single_index.batches import Plan, full_batch, reduced_batch
from numerics.single_index.program import compile_link
from numerics.single_index.setting import Setting
from numerics.single_index.starts import Overlaps, Start
from theory.errors import BudgetError, InputError

Method = Literal["reduced", "full"]

_MOST_STEPS = {"reduced": 1e13, "full": 1e14}
"""Replicas × steps (× d) that take about a day and a half on one core."""


@dataclass(frozen=True)
class Replica:
    """One run: the overlaps it started and ended with, the step at which it reached the target, its path.

    ``hit`` is None where the target was not reached in time; ``end`` is the start itself where only the hit was kept.
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
    machine: Machine = HERE,
    name: str = "single-index",
) -> Runs:
    """Run replicas 0 … K−1; progress counts steps of all of them.

    Replica k depends on the seed and k alone, not on the batch it shares a kernel call with, nor on the machine. A
    store keeps replicas under ``name`` and the setting. On Ctrl-C what has finished is returned, see ``Machine``.

    Raises ``InputError`` for counts out of range or a store of another run, ``BudgetError`` for days of work.
    """
    check_replicas(replicas)
    replica_seed(seed, 0)
    if method not in _MOST_STEPS:
        raise InputError("method", given=method, expected="reduced or full", remedy="use method='reduced'")
    check_start(start)
    work = float(replicas) * plan.steps * (1 if method == "reduced" else setting.d)
    if work > _MOST_STEPS[method]:
        raise BudgetError(
            "train",
            estimate=f"{work:.1e} {'steps' if method == 'reduced' else 'coordinates of steps'}",
            limit=f"{_MOST_STEPS[method]:.0e}",
            remedy="take fewer steps or replicas" + ("" if method == "reduced" else ", or method='reduced'"),
        )
    compile_link(setting.link)
    size = LANES if method == "reduced" else 1
    experiment = Experiment(
        f"{name} {start.text} {setting.describe()}",
        _parameters(setting, start, plan, method),
        Batches(partial(_batch, _Job(setting, start, plan, method)), size, plan.steps),
        remedy="lower the step: the link overflows",
    )
    run = run_replicas(experiment, replicas=replicas, seed=seed, machine=machine)
    return Runs(tuple(Replica.of(values) for values in run), replicas, run.interrupted, _warnings(run, replicas))


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
    method: Method


def _parameters(setting: Setting, start: Start, plan: Plan, method: Method) -> dict[str, Json]:
    return {
        "link": str(setting.link.expression),
        "lambda": setting.lam,
        "eta1": setting.eta1,
        "noise": setting.noise,
        "d": setting.d,
        "start": start.text,
        "steps": plan.steps,
        "step": plan.step,
        "target": plan.target if math.isfinite(plan.target) else None,
        "stop": plan.stop,
        "every": plan.every,
        "method": method,
    }


def _batch(
    job: _Job,
    parameters: Mapping[str, Json],  # noqa: ARG001  the job says it all
    seeds: Sequence[np.random.SeedSequence],
    clock: Clock,
) -> list[Values]:
    starts = []
    for seed in seeds:
        clock.add()
        starts.append(job.start.draw(job.setting, child(seed, 0)))
    run = reduced_batch if job.method == "reduced" else full_batch
    return run(job.setting, starts, job.plan, seeds, compile_link(job.setting.link), clock)


def _warnings(run: Run, replicas: int) -> tuple[str, ...]:
    kinds = [failure.kind for failure in run.failures]
    warnings = []
    if overflowed := kinds.count("failed"):
        warnings.append(f"{overflowed} of {replicas} replicas overflowed and are left out: lower the step")
    if lost := kinds.count("lost"):
        warnings.append(f"{lost} of {replicas} replicas were lost with their workers: repeat the run to have them")
    return (*warnings, *run.warnings)
