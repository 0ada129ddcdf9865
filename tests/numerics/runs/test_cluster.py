"""Replicas on a Dask cluster of processes on this machine: same bits; dead workers and schedulers."""

from __future__ import annotations

import contextlib
import gc
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from numerics.claims.run import run_claims
from numerics.runs.machine import Machine
from numerics.runs.outcome import Experiment
from numerics.runs.replicas import run_replicas
from numerics.runs.store import Store
from numerics.sgd.simulate import simulate_sgd
from numerics.single_index.setting import Setting
from numerics.single_index.starts import parse_start
from numerics.single_index.train import train
from tests.numerics.runs.experiments import killer, normals, odd, tiny
from theory.errors import InputError
from theory.sgd.laws import law
from theory.sgd.tasks import committee
from theory.single_index.link import Link

distributed = pytest.importorskip("distributed")
pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("cluster")]
ROOT = Path(__file__).parents[3]
SEED = 2
PATIENCE = 300.0
"""Seconds until something that should come is given up: only a hang takes so long."""


class Cluster:
    """A scheduler and one worker with two threads, as processes that import this project; again once it was killed."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._processes = list[subprocess.Popen[bytes]]()
        self._address = ""

    @property
    def address(self) -> str:
        """Where the scheduler listens; it is started where none runs."""
        if not self._processes or self._processes[0].poll() is not None:
            self.kill()
            self._address = self._start()
        return self._address

    def kill_scheduler(self) -> None:
        self._processes[0].kill()

    def kill(self) -> None:
        """End all at once: nothing they could still do is wanted, and on a busy machine they would take their time."""
        for process in self._processes:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)  # with the processes that a worker starts
            process.wait()
        self._processes.clear()

    def _start(self) -> str:
        described = self._folder / "scheduler.json"
        described.unlink(missing_ok=True)
        self._run(
            "scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard", "--scheduler-file", str(described)
        )
        self._run("worker", "--scheduler-file", str(described), "--nthreads", "2", "--no-dashboard")
        deadline = time.monotonic() + PATIENCE
        while not described.exists():
            assert time.monotonic() < deadline, "no scheduler came"
            time.sleep(0.05)
        with distributed.Client(scheduler_file=str(described), set_as_default=False, timeout=PATIENCE) as client:
            client.wait_for_workers(1, timeout=PATIENCE)
            address: str = client.scheduler.address
            return address

    def _run(self, kind: str, *options: str) -> None:
        command = [sys.executable, "-m", "dask", kind, *options]
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        with (self._folder / f"{kind}.log").open("ab") as log:
            self._processes.append(
                subprocess.Popen(
                    command, cwd=self._folder, env=environment, stdout=log, stderr=log, start_new_session=True
                )
            )


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    found = Cluster(tmp_path_factory.mktemp("cluster"))
    yield found
    found.kill()
    gc.collect()  # clients end here, with their threads, and not in a process forked by a later test


@pytest.fixture
def address(cluster: Cluster) -> str:
    return cluster.address


def test_a_cluster_gives_the_same_bits_and_fills_the_store(address: str, tmp_path: Path) -> None:
    large = Experiment("large", {"size": 150}, normals)
    expected = run_replicas(large, replicas=12, seed=SEED)
    seen: list[tuple[int, int]] = []
    path = tmp_path / "run.db"
    run_replicas(large, replicas=3, seed=SEED, machine=Machine(store=path))
    run = run_replicas(
        large,
        replicas=12,
        seed=SEED,
        machine=Machine(store=path, dask=address, progress=lambda *count: seen.append(count)),
    )
    assert run == expected
    assert seen == [(k, 12) for k in range(3, 13)]
    assert run_replicas(large, replicas=12, seed=SEED, machine=Machine(dask=address)) == expected


def test_numerical_failures_come_back_from_a_cluster(address: str) -> None:
    experiment = tiny(fails=True)
    assert run_replicas(experiment, replicas=9, seed=SEED, machine=Machine(dask=address)) == run_replicas(
        experiment, replicas=9, seed=SEED
    )


def test_other_exceptions_end_the_run(address: str) -> None:
    with pytest.raises(KeyError, match="no such thing"):
        run_replicas(Experiment("odd", {"how": "raise"}, odd), replicas=3, seed=0, machine=Machine(dask=address))


def test_a_worker_that_dies_is_replaced(address: str, tmp_path: Path) -> None:
    experiment = Experiment("killer", {"folder": str(tmp_path)}, killer)
    expected = run_replicas(experiment, replicas=9, seed=SEED)
    (tmp_path / "kill").write_text("once")
    assert run_replicas(experiment, replicas=9, seed=SEED, machine=Machine(dask=address)) == expected
    assert not (tmp_path / "kill").exists()


def test_a_lost_scheduler_loses_replicas_in_flight_only(cluster: Cluster, tmp_path: Path) -> None:
    path, experiment = tmp_path / "run.db", tiny(size=8, sleep=0.05)

    def lose(finished: int, _: int) -> None:
        if finished == 6:
            cluster.kill_scheduler()

    with pytest.raises(InputError, match="scheduler that stays"):
        run_replicas(
            experiment, replicas=200, seed=SEED, machine=Machine(store=path, dask=cluster.address, progress=lose)
        )
    with Store.open(path) as store:
        assert 6 <= store.verify() < 200
    resumed = run_replicas(experiment, replicas=20, seed=SEED, machine=Machine(store=path))
    assert resumed == run_replicas(tiny(size=8), replicas=20, seed=SEED)


def test_single_index_chains_are_the_same_on_a_cluster(address: str, tmp_path: Path) -> None:
    setting = Setting(Link.parse("x**3-3*x"), lam=1.0, eta1=0.45, d=40)
    for method in ("reduced", "full"):
        arguments = {"steps": 200, "step": 1e-4, "every": 50, "replicas": 40, "seed": SEED, "method": method}
        here = train(setting, parse_start("pca:100"), **arguments)  # type: ignore[arg-type]
        seen: list[tuple[int, int]] = []
        path = tmp_path / f"{method}.db"
        there = train(
            setting,
            parse_start("pca:100"),
            **arguments,  # type: ignore[arg-type]
            machine=Machine(dask=address, store=path, progress=lambda *count, seen=seen: seen.append(count)),  # type: ignore[misc]
        )
        np.testing.assert_array_equal(there.paths, here.paths)
        assert seen[-1] == (8000, 8000)
        with Store.open(path, mode="read") as store:
            assert store.verify() == 40


def test_one_pass_sgd_is_the_same_on_a_cluster(address: str, tmp_path: Path) -> None:
    for method, law_name in (("reduced", "gaussian"), ("full", "exponential")):
        arguments = {"d": 50, "replicas": 6, "seed": SEED, "method": method, "laws": law(law_name)}
        here = simulate_sgd(committee(), [0, 1, 2], **arguments)  # type: ignore[arg-type]
        path = tmp_path / f"{method}.db"
        there = simulate_sgd(committee(), [0, 1, 2], **arguments, machine=Machine(dask=address, store=path))  # type: ignore[arg-type]
        np.testing.assert_array_equal(there.values, here.values)
        with Store.open(path, mode="read") as store:
            assert store.verify() == 6


def test_claims_are_the_same_on_a_cluster(address: str, tmp_path: Path) -> None:
    ids = ["AE-D1", "SI-PCA", "UN-6"]
    there = run_claims(ids, machine=Machine(dask=address), keep=tmp_path)
    here = run_claims(ids)
    assert [result.error for result in there] == [None] * 3
    assert [result.evidence for result in there] == [result.evidence for result in here]


def test_no_scheduler_is_told() -> None:
    with pytest.raises(InputError, match="start one with: dask scheduler"):
        run_replicas(tiny(), replicas=2, seed=SEED, machine=Machine(dask="nowhere"))
