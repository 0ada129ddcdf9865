"""Replicas of one-pass SGD: what one of them does, and what the run gives."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from numerics.runs.clock import Clock
from numerics.runs.machine import Machine
from numerics.runs.outcome import Batches, Experiment, Json, Run, Values
from numerics.runs.replicas import run_replicas
from numerics.sgd.run import Setting, run_replica

Array = NDArray[np.float64]


def run_setting(
    setting: Setting, *, name: str, replicas: int, seed: int, machine: Machine
) -> tuple[Array, tuple[str, ...], bool]:
    """The statistics, replicas × marks × statistics (NaN from where one has diverged); warnings; whether interrupted.

    Progress counts the recorded times of all replicas.
    """
    marks = len(setting.marks)
    experiment = Experiment(name, _parameters(setting), Batches(partial(_replica, setting), units=marks))
    found = run_replicas(experiment, replicas=replicas, seed=seed, machine=machine)
    return _values(found, marks, len(setting.start.flat())), _notes(found), found.interrupted


def _replica(
    setting: Setting,
    parameters: Mapping[str, Json],  # noqa: ARG001  the setting says it all
    seeds: Sequence[np.random.SeedSequence],
    clock: Clock,
) -> list[Values]:
    """The rows of statistics, one a mark, until the first that is not finite."""
    (seed,) = seeds
    with np.errstate(all="ignore"):
        values = run_replica(setting, seed, clock.add)
    finite = np.isfinite(values).all(axis=1)
    count = len(values) if finite.all() else int(np.argmin(finite))
    return [{"rows": [float(count)], "statistics": values[:count].ravel().tolist()}]


def _values(run: Run, marks: int, statistics: int) -> Array:
    values = np.full((len(run), marks, statistics), np.nan)
    for filled, found in zip(values, run, strict=True):
        count = int(found["rows"][0])
        filled[:count] = np.reshape(found["statistics"], (count, statistics))
    return values


def _notes(run: Run) -> tuple[str, ...]:
    lost = [f"{len(run.failures)} replicas were lost with their workers and are left out"] if run.failures else []
    return (*run.warnings, *lost)


def _parameters(setting: Setting) -> dict[str, Json]:
    task, start = setting.task, setting.start
    return {
        "loss": str(task.loss),
        "truth_gram": [list(row) for row in task.truth_gram],
        "components": [[k.weight, list(k.mean), list(k.labels)] for k in task.components],
        "noise": task.noise,
        "label_noise": task.label_noise,
        "ridge": task.ridge,
        "delta": task.step,
        "batch": task.batch,
        "schedule": None if task.schedule is None else str(task.schedule),
        "train_second": task.train_second,
        "laws": [[law.name, law.kappa3, law.kappa4, list(law.values), list(law.weights)] for law in setting.laws],
        "start": {part: getattr(start, part).tolist() for part in ("M", "Q", "b", "p", "s")},
        "spread": setting.spread,
        "deviations": setting.deviations.tolist(),
        "steps": list(setting.marks),
        "method": setting.method,
    }
