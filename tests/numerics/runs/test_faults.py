"""Faults: whatever dies or fills up, nothing is lost but replicas in flight; the resumed run is the undisturbed one.

Writers are forked from this process, with everything imported: a kill hits them at work, not while they start. Their
stores lie in memory where the system has a folder for that: a kill leaves what was written, on any disk, so waiting
for a slow one shows nothing.
"""

from __future__ import annotations

import gc
import itertools
import json
import multiprocessing
import os
import resource
import signal
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from numerics.runs import rows
from numerics.runs.machine import Machine
from numerics.runs.outcome import Experiment, Run, Values
from numerics.runs.replicas import run_replicas
from numerics.runs.store import Store
from tests.numerics.runs.experiments import normals, tiny
from theory.errors import InputError

SEED = 5
FORK = multiprocessing.get_context("fork")
MEMORY = Path("/dev/shm")
PATIENCE = 300.0
"""Seconds until something that should come is given up: only a hang takes so long."""

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")


@pytest.fixture(autouse=True, scope="module")
def garbage() -> Iterator[None]:
    """Leave what there is by now to this process to collect: the end of other tests' Dask clients waits for threads."""
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """A folder in memory, or an ordinary one."""
    if not os.access(MEMORY, os.W_OK):
        yield tmp_path
        return
    with tempfile.TemporaryDirectory(dir=MEMORY, prefix="ringprism-") as name:
        yield Path(name)


def stored(path: Path) -> dict[int, str]:
    """The results in the store, after a check of the whole file."""
    with Store.open(path, mode="write") as store:  # as a resumed run opens it: SQLite undoes what was half written
        store.verify()
        return {row.replica: row.result for _, found in store.runs() for row in found}


def forked(body: Callable[[], Any]) -> BaseProcess:
    process = FORK.Process(target=body)
    process.start()
    return process


def reported(body: Callable[[], Any]) -> str:
    """The message of the ``InputError`` that ``body`` raises in a process of its own; empty when it raises none."""
    receiver, sender = FORK.Pipe(duplex=False)

    def child() -> None:
        try:
            body()
            sender.send("")
        except InputError as error:
            sender.send(str(error))

    process = forked(child)
    process.join(PATIENCE)
    assert process.exitcode == 0
    message: str = receiver.recv()
    return message


def slowly(parameters: Mapping[str, Any], seed: np.random.SeedSequence) -> Values:
    """The usual experiment, with time for others to interfere."""
    time.sleep(0.01)
    return normals(parameters, seed)


@pytest.mark.slow
def test_sixty_kills_at_random_moments_lose_nothing(folder: Path) -> None:
    """Three writers share a run; one after another is killed with SIGKILL, at any moment, and replaced."""
    path, kills = folder / "run.db", 60
    generator = np.random.default_rng(SEED)
    first = Experiment("tiny", {"size": 8}, slowly)
    run_replicas(first, replicas=1, seed=SEED, machine=Machine(store=path))  # imports all before the first fork
    known = stored(path)

    def writer(place: int) -> BaseProcess:
        experiment, replicas = Experiment("tiny", {"size": 8}, slowly), len(known) + 200
        workers = 2 if place == 2 else 1
        return forked(
            lambda: run_replicas(experiment, replicas=replicas, seed=SEED, machine=Machine(workers=workers, store=path))
        )

    writers = [writer(place) for place in range(3)]
    killed = turn = 0
    while killed < kills:
        process, seen = writers[turn % 3], path.stat().st_mtime_ns
        assert process.pid is not None
        _moved(path, seen, process)
        time.sleep(float(generator.uniform(0.0, 0.06)))
        if process.is_alive():
            os.kill(process.pid, signal.SIGKILL)
            killed += 1
        process.join()
        assert process.exitcode in (-signal.SIGKILL, 0)
        found = stored(path)
        assert known.items() <= found.items()
        known = found
        writers[turn % 3] = writer(turn % 3)
        turn += 1
    assert len(known) > kills // 2  # the kills hit writers at work
    for process in writers:
        process.join(PATIENCE)
        assert process.exitcode == 0
    replicas = 1 + max(stored(path))
    assert replicas == len(stored(path)) >= len(known) + 200
    resumed = run_replicas(first, replicas=replicas, seed=SEED, machine=Machine(store=path))
    assert resumed == run_replicas(first, replicas=replicas, seed=SEED)
    assert known.items() <= stored(path).items()


def test_writers_share_the_work(folder: Path) -> None:
    path, replicas = folder / "run.db", 60
    experiment = tiny(size=8, sleep=0.01)
    run_replicas(experiment, replicas=1, seed=SEED, machine=Machine(store=path))
    writers = [
        forked(lambda: run_replicas(experiment, replicas=replicas, seed=SEED, machine=Machine(store=path)))
        for _ in range(3)
    ]
    for process in writers:
        process.join(PATIENCE)
        assert process.exitcode == 0
    assert len(stored(path)) == replicas


def test_no_worker_outlives_a_killed_parent(folder: Path) -> None:
    experiment = tiny(size=8, sleep=0.05)
    process = forked(
        lambda: run_replicas(experiment, replicas=400, seed=SEED, machine=Machine(workers=2, store=folder / "run.db"))
    )
    assert process.pid is not None
    children = list(_waited(lambda: _children(process.pid), at_least=2))
    os.kill(process.pid, signal.SIGKILL)
    process.join()
    _waited(lambda: [None] if not any(_running(pid) for pid in children) else None, at_least=1)


def test_no_starting_worker_outlives_a_killed_parent(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Killed while the workers still load their libraries, which a busy machine draws out."""
    monkeypatch.setattr("numerics.runs.processes.pin_one_thread", lambda: time.sleep(2 * PATIENCE))
    test_no_worker_outlives_a_killed_parent(folder)


def test_ctrl_c_keeps_what_was_finished(folder: Path) -> None:
    path, experiment = folder / "run.db", tiny(size=8, sleep=0.02)

    def interrupted() -> None:
        try:
            run_replicas(experiment, replicas=200, seed=SEED, machine=Machine(workers=2, store=path))
        except KeyboardInterrupt:
            os._exit(130)

    process = forked(interrupted)
    assert process.pid is not None
    _waited(lambda: path.exists() and stored(path), at_least=3)
    os.kill(process.pid, signal.SIGINT)
    process.join(PATIENCE)
    assert process.exitcode == 130
    kept = stored(path)
    assert 3 <= len(kept) < 200
    resumed = run_replicas(experiment, replicas=40, seed=SEED, machine=Machine(store=path))
    assert resumed == run_replicas(tiny(size=8), replicas=40, seed=SEED)
    assert kept.items() <= stored(path).items()


def test_a_full_disk_is_told_and_loses_nothing(folder: Path) -> None:
    path, experiment = folder / "run.db", tiny(size=8)
    run_replicas(experiment, replicas=3, seed=SEED, machine=Machine(store=path))

    def limited() -> Run:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        room = path.stat().st_size + 8192
        resource.setrlimit(resource.RLIMIT_FSIZE, (room, room))
        return run_replicas(experiment, replicas=150, seed=SEED, machine=Machine(store=path))

    message = reported(limited)
    assert "expected room on its disk" in message
    assert "repeat the command to go on" in message
    kept = stored(path)
    assert 3 < len(kept) < 150
    resumed = run_replicas(experiment, replicas=150, seed=SEED, machine=Machine(store=path))
    assert resumed == run_replicas(experiment, replicas=150, seed=SEED)
    assert kept.items() <= stored(path).items()


def test_a_full_database_is_told(tmp_path: Path) -> None:
    with Store.open(tmp_path / "run.db") as store:
        with store.transaction() as cursor:
            pages = cursor.execute("PRAGMA page_count").fetchone()[0]
        store._connection.execute(f"PRAGMA max_page_count = {pages + 1}")
        with pytest.raises(InputError, match="expected room on its disk"):
            run_replicas(tiny(size=8), replicas=400, seed=SEED, machine=Machine(store=store))
        assert store.verify() > 0


@pytest.fixture
def public() -> Iterator[Path]:
    """A folder that every user can enter."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        yield folder
        folder.chmod(0o755)


def test_a_read_only_store_is_told_before_any_work(public: Path, tmp_path: Path) -> None:
    path = public / "run.db"
    run_replicas(tiny(size=8), replicas=3, seed=SEED, machine=Machine(store=path))
    before = path.read_bytes()
    path.chmod(0o444)
    public.chmod(0o555)
    started = tmp_path / "started"

    def as_nobody() -> Run:
        if os.getuid() == 0:
            os.setuid(65534)
        return run_replicas(
            tiny(size=8), replicas=9, seed=SEED, machine=Machine(store=path, progress=lambda *_: started.touch())
        )

    def reading() -> int:
        if os.getuid() == 0:
            os.setuid(65534)
        with Store.open(path, mode="read") as store:
            return store.verify()

    message = reported(as_nobody)
    assert "expected a file and folder that can be written" in message
    assert reported(reading) == ""
    assert not started.exists()
    assert path.read_bytes() == before


def test_a_clock_that_goes_back_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hours = itertools.count(23, -1)
    monkeypatch.setattr(rows, "_now", lambda: f"2026-01-01T{next(hours):02d}:00:00+00:00")
    monkeypatch.setattr(time, "time", lambda: float(next(hours)))
    path, experiment = tmp_path / "run.db", tiny(size=8)
    run_replicas(experiment, replicas=4, seed=SEED, machine=Machine(store=path))
    assert run_replicas(experiment, replicas=9, seed=SEED, machine=Machine(store=path)) == run_replicas(
        experiment, replicas=9, seed=SEED
    )
    with Store.open(path, mode="read") as store:
        ((_, found),) = store.runs()
        written = [row.written for row in found]
    assert written != sorted(written)
    assert [json.loads(row.result) for row in found] == list(run_replicas(experiment, replicas=9, seed=SEED))


def _waited(probe: Callable[[], Any], *, at_least: int) -> Any:
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        found = probe()
        if found and len(found) >= at_least:
            return found
        time.sleep(0.02)
    raise AssertionError(f"nothing came within {PATIENCE:g} s")


def _moved(path: Path, seen: int, process: BaseProcess) -> None:
    """Wait until someone has written, or the process has ended."""
    _waited(lambda: [None] if path.stat().st_mtime_ns != seen or not process.is_alive() else None, at_least=1)


def _children(parent: int) -> list[int]:
    return [pid for pid, ppid in _processes() if ppid == parent]


def _running(pid: int) -> bool:
    return any(found == pid for found, _ in _processes())


def _processes() -> Iterator[tuple[int, int]]:
    """Living processes with their parents, from /proc; zombies are dead."""
    for entry in Path("/proc").glob("[0-9]*/stat"):
        try:
            _, _, rest = entry.read_text().rpartition(")")
        except OSError:
            continue
        state, parent = rest.split()[:2]
        if state != "Z":
            yield int(entry.parent.name), int(parent)
