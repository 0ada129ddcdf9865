"""Replicas on a Dask cluster of processes on this machine: same bits; dead workers and schedulers."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from numerics.replicas import Experiment, run_replicas
from numerics.store import Store
from tests.numerics.runs.experiments import killer, normals, odd, tiny
from theory.errors import InputError

distributed = pytest.importorskip("distributed")
pytestmark = pytest.mark.slow
ROOT = Path(__file__).parents[3]
SEED = 2


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A scheduler and two workers with two threads each, as processes that import this project."""
    with _cluster(tmp_path_factory.mktemp("cluster"), workers=2) as (found, _):
        yield found


class _cluster:  # noqa: N801 (used as a function)
    def __init__(self, folder: Path, *, workers: int) -> None:
        self.folder, self.workers, self.processes = folder, workers, list[subprocess.Popen[bytes]]()

    def __enter__(self) -> tuple[str, subprocess.Popen[bytes]]:
        described = self.folder / "scheduler.json"
        scheduler = self._start(
            "scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard", "--scheduler-file", str(described)
        )
        for _ in range(self.workers):
            self._start("worker", "--scheduler-file", str(described), "--nthreads", "2", "--no-dashboard")
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            if described.exists():
                with distributed.Client(scheduler_file=str(described), set_as_default=False) as client:
                    client.wait_for_workers(self.workers, timeout=60)
                    address: str = client.scheduler.address
                    return address, scheduler
            time.sleep(0.05)
        raise AssertionError("no cluster within a minute")

    def __exit__(self, *_: object) -> None:
        for process in self.processes:
            process.terminate()
        for process in self.processes:
            process.wait(30)

    def _start(self, kind: str, *options: str) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "dask", kind, *options]
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        log = (self.folder / f"{kind}-{len(self.processes)}.log").open("wb")
        process = subprocess.Popen(command, cwd=self.folder, env=environment, stdout=log, stderr=log)
        log.close()
        self.processes.append(process)
        return process


def test_a_cluster_gives_the_same_bits_and_fills_the_store(address: str, tmp_path: Path) -> None:
    large = Experiment("large", {"size": 150}, normals)
    expected = run_replicas(large, replicas=12, seed=SEED)
    seen: list[tuple[int, int]] = []
    path = tmp_path / "run.db"
    run_replicas(large, replicas=3, seed=SEED, store=path)
    run = run_replicas(
        large, replicas=12, seed=SEED, store=path, dask=address, progress=lambda *count: seen.append(count)
    )
    assert run == expected
    assert seen == [(k, 12) for k in range(3, 13)]
    assert run_replicas(large, replicas=12, seed=SEED, dask=address) == expected


def test_numerical_failures_come_back_from_a_cluster(address: str) -> None:
    experiment = tiny(fails=True)
    assert run_replicas(experiment, replicas=9, seed=SEED, dask=address) == run_replicas(
        experiment, replicas=9, seed=SEED
    )


def test_other_exceptions_end_the_run(address: str) -> None:
    with pytest.raises(KeyError, match="no such thing"):
        run_replicas(Experiment("odd", {"how": "raise"}, odd), replicas=3, seed=0, dask=address)


def test_a_worker_that_dies_is_replaced(address: str, tmp_path: Path) -> None:
    experiment = Experiment("killer", {"folder": str(tmp_path)}, killer)
    expected = run_replicas(experiment, replicas=9, seed=SEED)
    (tmp_path / "kill").write_text("once")
    assert run_replicas(experiment, replicas=9, seed=SEED, dask=address) == expected
    assert not (tmp_path / "kill").exists()


def test_a_lost_scheduler_loses_replicas_in_flight_only(tmp_path: Path) -> None:
    path, experiment = tmp_path / "run.db", tiny(size=8, sleep=0.05)
    with _cluster(tmp_path, workers=1) as (address, scheduler):

        def lose(finished: int, _: int) -> None:
            if finished == 6:
                os.kill(scheduler.pid, signal.SIGKILL)

        with pytest.raises(InputError, match="scheduler that stays"):
            run_replicas(experiment, replicas=200, seed=SEED, store=path, dask=address, progress=lose)
    with Store.open(path) as store:
        assert 6 <= store.verify() < 200
    resumed = run_replicas(experiment, replicas=20, seed=SEED, store=path)
    assert resumed == run_replicas(tiny(size=8), replicas=20, seed=SEED)


def test_no_scheduler_is_told() -> None:
    with pytest.raises(InputError, match="start one with: dask scheduler"):
        run_replicas(tiny(), replicas=2, seed=SEED, dask="nowhere")
