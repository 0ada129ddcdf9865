"""Replicas of one-pass SGD: on threads, on a cluster, out of a store."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from numerics.runs.outcome import Experiment, Json, Progress, Run, Values
from numerics.runs.replicas import run_replicas
from numerics.sgd.run import Setting, Tick, run_replica

if TYPE_CHECKING:
    from numerics.runs.store import Store

Array = NDArray[np.float64]


def run_setting(
    setting: Setting,
    *,
    name: str,
    replicas: int,
    seed: int,
    workers: int,
    progress: Progress | None,
    store: Store | str | Path | None,
    dask: str | None,
) -> tuple[Array, tuple[str, ...]]:
    """The statistics, replicas × marks × statistics (NaN from where one has diverged), and what befell the run.

    The kernels hold no interpreter lock and are compiled once: local workers are threads.
    """
    marks = len(setting.marks)
    clock = _Clock(replicas * marks, progress)
    run = partial(_replica, setting, None if dask else clock.tick)
    experiment = Experiment(name, _parameters(setting), run, threads=True)
    try:
        found = run_replicas(
            experiment,
            replicas=replicas,
            seed=seed,
            workers=workers,
            progress=clock.finished,
            store=store,
            dask=dask,
        )
    finally:
        clock.stopped.set()
    return _values(found, marks, len(setting.start.flat())), _notes(found)


class _Clock:
    """Recorded times of all replicas: counted as they come where that can be seen, else replica by replica."""

    def __init__(self, total: int, progress: Progress | None) -> None:
        self.stopped = threading.Event()
        self._total, self._done = total, 0
        self._progress = progress
        self._lock = threading.Lock()

    def tick(self, count: int) -> None:
        """For the threads; raises where the run was stopped."""
        if self.stopped.is_set():
            raise KeyboardInterrupt
        with self._lock:
            self._done += count
            if count and self._progress:
                self._progress(self._done, self._total)

    def finished(self, replicas: int, of: int) -> None:
        """For replicas that were found in a store, or ended far away."""
        with self._lock:
            behind = replicas * self._total // of
            if behind > self._done and self._progress:
                self._done = behind
                self._progress(self._done, self._total)


def _replica(
    setting: Setting,
    tick: Tick | None,
    parameters: Mapping[str, Json],  # noqa: ARG001  the setting says it all
    seed: np.random.SeedSequence,
) -> Values:
    """The rows of statistics, one a mark, until the first that is not finite."""
    with np.errstate(all="ignore"):
        values = run_replica(setting, seed, tick or _ignore)
    finite = np.isfinite(values).all(axis=1)
    count = len(values) if finite.all() else int(np.argmin(finite))
    return {"rows": [float(count)], "statistics": values[:count].ravel().tolist()}


def _ignore(_: int) -> None:
    """No one watches."""


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
        "train_second": task.train_second,
        "laws": [[law.name, law.kappa3, law.kappa4, list(law.values), list(law.weights)] for law in setting.laws],
        "start": {part: getattr(start, part).tolist() for part in ("M", "Q", "b", "p", "s")},
        "spread": setting.spread,
        "steps": list(setting.marks),
        "method": setting.method,
    }
