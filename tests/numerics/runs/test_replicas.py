"""Replicas: the same bits from one worker, many, a cluster and a resumed run; deaths and failures kept apart."""

from __future__ import annotations

import gc
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from numerics.runs.blas import one_thread
from numerics.runs.clock import Clock
from numerics.runs.machine import Machine
from numerics.runs.outcome import Batches, Experiment, Run, Values
from numerics.runs.replicas import run_replicas
from numerics.runs.seeds import replica_seed
from numerics.runs.store import Store
from tests.numerics.runs.experiments import collecting, killer, normals, odd, tiny
from theory.errors import InputError

SEED = 11


def bits(run: Run) -> list[dict[str, list[str]]]:
    """Floats as hexadecimal: −0.0 and the last bit count."""
    return [{name: [value.hex() for value in row] for name, row in values.items()} for values in run]


def undisturbed(replicas: int = 12) -> Run:
    return run_replicas(tiny(), replicas=replicas, seed=SEED)


def test_replica_streams_are_their_own() -> None:
    run = undisturbed()
    with one_thread():
        assert run[5] == normals({"size": 40}, replica_seed(SEED, 5))
    assert len({values["product"][0] for values in run}) == len(run)


@pytest.mark.parametrize("workers", [2, 8])
def test_workers_give_the_same_bits(workers: int) -> None:
    assert bits(run_replicas(tiny(), replicas=12, seed=SEED, machine=Machine(workers=workers))) == bits(undisturbed())


def test_threads_of_the_caller_do_not_matter() -> None:
    from threadpoolctl import threadpool_limits

    large = Experiment("large", {"size": 300}, normals)
    with threadpool_limits(1):
        one = run_replicas(large, replicas=2, seed=SEED)
    with threadpool_limits(4):
        assert bits(run_replicas(large, replicas=2, seed=SEED)) == bits(one)


def test_a_resumed_run_gives_the_same_bits(tmp_path: Path) -> None:
    path = tmp_path / "run.db"
    seen: list[tuple[int, int]] = []
    first = run_replicas(tiny(), replicas=5, seed=SEED, machine=Machine(store=path))
    assert bits(first) == bits(undisturbed(5))
    second = run_replicas(
        tiny(), replicas=12, seed=SEED, machine=Machine(store=str(path), workers=2, progress=lambda *x: seen.append(x))
    )
    assert bits(second) == bits(undisturbed())
    assert seen == [(k, 12) for k in range(5, 13)]
    with Store.open(path, mode="read") as store:
        assert store.verify() == 12


def test_progress_counts_up() -> None:
    seen: list[tuple[int, int]] = []
    run_replicas(tiny(), replicas=3, seed=SEED, machine=Machine(workers=2, progress=lambda *x: seen.append(x)))
    assert seen == [(1, 3), (2, 3), (3, 3)]


@pytest.mark.parametrize("workers", [1, 2])
def test_numerical_failures_are_shown_and_kept(tmp_path: Path, workers: int) -> None:
    experiment = tiny(fails=True)
    run = run_replicas(experiment, replicas=20, seed=SEED, machine=Machine(workers=workers, store=tmp_path / "run.db"))
    assert 0 < len(run.failures) < 20
    assert len(run) + len(run.failures) == 20
    assert {failure.reason for failure in run.failures} == {"FloatingPointError: diverged at t = 3"}
    assert run == run_replicas(experiment, replicas=20, seed=SEED)
    never = Experiment("tiny", experiment.parameters, odd)  # nothing is run again, failed replicas neither
    assert run == run_replicas(never, replicas=20, seed=SEED, machine=Machine(store=tmp_path / "run.db"))


def test_values_that_are_not_finite_are_failures() -> None:
    run = run_replicas(Experiment("odd", {"how": "once"}, odd), replicas=3, seed=0)
    assert [(failure.replica, failure.reason) for failure in run.failures] == [(1, "a value of x is not finite")]
    with pytest.raises(InputError, match="all failed"):
        run_replicas(Experiment("odd", {"how": "always"}, odd), replicas=3, seed=0)


@pytest.mark.parametrize("workers", [1, 2])
def test_other_exceptions_end_the_run(workers: int) -> None:
    with pytest.raises(KeyError, match="no such thing"):
        run_replicas(Experiment("odd", {"how": "raise"}, odd), replicas=3, seed=0, machine=Machine(workers=workers))


def test_a_worker_that_dies_is_replaced(tmp_path: Path) -> None:
    experiment = Experiment("killer", {"folder": str(tmp_path)}, killer)
    expected = run_replicas(experiment, replicas=9, seed=SEED, machine=Machine(workers=2))
    (tmp_path / "kill").write_text("once")
    assert run_replicas(experiment, replicas=9, seed=SEED, machine=Machine(workers=2)) == expected
    assert not (tmp_path / "kill").exists()


def test_a_replica_that_keeps_killing_is_lost_until_it_stops(tmp_path: Path) -> None:
    experiment, path = Experiment("killer", {"folder": str(tmp_path)}, killer), tmp_path / "run.db"
    expected = run_replicas(experiment, replicas=9, seed=SEED)
    (tmp_path / "kill").write_text("always")
    run = run_replicas(experiment, replicas=9, seed=SEED, machine=Machine(workers=2, store=path))
    assert [(failure.replica, failure.kind) for failure in run.failures] == [(2, "lost")]
    assert "died 3 times" in run.failures[0].reason
    assert list(run) == [values for k, values in enumerate(expected) if k != 2]
    (tmp_path / "kill").unlink()
    assert run_replicas(experiment, replicas=9, seed=SEED, machine=Machine(workers=2, store=path)) == expected


def test_no_worker_outlives_its_run() -> None:
    run_replicas(tiny(), replicas=4, seed=SEED, machine=Machine(workers=3))
    children = Path(f"/proc/{os.getpid()}/task/{os.getpid()}/children")
    if children.exists():
        names = [Path(f"/proc/{pid}/comm") for pid in children.read_text().split()]
        assert not [name for name in names if name.exists() and "defunct" in name.read_text()]


class Owned:
    """In a cycle with itself; finalised in the process that made it, it does nothing, in another it ends that one.

    So it is with a Dask client, whose end waits for threads that a forked process has not.
    """

    def __init__(self) -> None:
        self.me, self.owner = self, os.getpid()

    def __del__(self) -> None:
        if os.getpid() != self.owner:
            os._exit(9)


def test_workers_leave_the_callers_garbage_alone() -> None:
    gc.disable()
    try:
        Owned()
        run = run_replicas(
            Experiment("tiny", {"size": 40}, collecting), replicas=4, seed=SEED, machine=Machine(workers=2)
        )
    finally:
        gc.enable()
    assert run == undisturbed(4)


def test_mean_and_standard_error() -> None:
    run = Run(({"x": [1.0]}, {"x": [2.0]}, {"x": [6.0]}))
    mean, stderr = run.mean("x")
    assert (mean[0], stderr[0]) == (3.0, pytest.approx(np.sqrt(7 / 3)))
    assert np.isnan(Run(({"x": [1.0]},)).mean("x")[1][0])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"replicas": 0}, "replicas: got 0"),
        ({"replicas": True}, "replicas: got True"),
        ({"replicas": 10**9}, "replicas: got 1000000000"),
        ({"seed": -1}, "seed: got -1"),
        ({"machine": 2}, "machine: got 2"),
    ],
)
def test_unusable_arguments_are_refused(options: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        run_replicas(tiny(), **{"replicas": 2, "seed": 0, **options})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"workers": 0}, "workers: got 0"),
        ({"workers": 1.5}, r"workers: got 1\.5"),
        ({"workers": 2, "dask": "tcp://127.0.0.1:1"}, "give one of the two"),
    ],
)
def test_impossible_machines_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        Machine(**options)


@pytest.mark.parametrize("workers", [1, 2])
def test_an_interruption_keeps_what_finished(tmp_path: Path, workers: int) -> None:
    def progress(done: int, _: int) -> None:
        if done == 5:
            raise KeyboardInterrupt

    machine = Machine(workers=workers, progress=progress)
    run = run_replicas(tiny(), replicas=30, seed=SEED, machine=machine)
    assert run.interrupted
    assert run.warnings == ("interrupted with 5 of 30 replicas finished: these are what is shown",)
    assert all(values in undisturbed(30).values for values in run)
    path = tmp_path / "run.db"
    with pytest.raises(KeyboardInterrupt):  # the store has them
        run_replicas(tiny(), replicas=30, seed=SEED, machine=replace(machine, store=path))
    with pytest.raises(KeyboardInterrupt):  # a part of a longer run
        run_replicas(tiny(), replicas=30, seed=SEED, machine=replace(machine, whole=True))
    with Store.open(path, mode="read") as store:
        assert store.verify() == 5
    run_replicas(tiny(), replicas=30, seed=SEED, machine=Machine(store=path))


def lockstep(parameters: Mapping[str, Any], seeds: Sequence[np.random.SeedSequence], clock: Clock) -> list[Values]:
    """Replicas together; replica 4 fails, and takes the call with it."""
    if any(seed.spawn_key[0] == 4 for seed in seeds):
        raise FloatingPointError("one of us")
    clock.add(10 * len(seeds))
    return [normals(parameters, seed) for seed in seeds]


@pytest.mark.parametrize("workers", [1, 3])
def test_batches_change_nothing_and_one_failure_is_its_own(tmp_path: Path, workers: int) -> None:
    seen: list[tuple[int, int]] = []
    experiment = Experiment("tiny", {"size": 40}, Batches(lockstep, size=3, units=10))
    machine = Machine(workers=workers, store=tmp_path / "run.db", progress=lambda *x: seen.append(x))
    run = run_replicas(experiment, replicas=12, seed=SEED, machine=machine)
    expected = undisturbed()
    assert [failure.replica for failure in run.failures] == [4]
    assert list(run) == [values for k, values in enumerate(expected) if k != 4]
    assert seen == sorted(set(seen))
    assert seen[-1] == (120, 120)


def test_parameters_must_be_json() -> None:
    with pytest.raises(InputError, match="JSON data"):
        run_replicas(tiny(nan=float("nan")), replicas=1, seed=0)
