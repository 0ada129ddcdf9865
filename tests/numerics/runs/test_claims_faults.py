"""The ledger under faults: nobody is left working, no claim is lost, and a bad place is no verdict."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from numerics.claims.run import run_claims
from numerics.runs.machine import Machine
from numerics.runs.places import PlaceError
from numerics.runs.store import Store

PATIENCE = 300.0
"""Seconds until something that should come is given up: only a hang takes so long."""

pytestmark = [pytest.mark.slow, pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="needs /proc")]


def started(report: Path, *ids: str) -> subprocess.Popen[str]:
    """A run of claims in a process of its own, with two workers."""
    command = [sys.executable, "-m", "ringprism", "claims", *ids, "--quick", "--workers", "2", "--report", str(report)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def until(what: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not what():
        assert time.monotonic() < deadline, "it did not come"
        time.sleep(0.05)


def said(err: str) -> str:
    """What a command said on stderr, but for the line a minute that tells how far it is."""
    lines = [line for line in err.splitlines(keepends=True) if not re.match(r"[\w ,]+: \d+ of \d+", line)]
    return "".join(lines)


def workers(process: subprocess.Popen[str]) -> list[int]:
    """Its children, but for multiprocessing's own resource tracker."""
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text(encoding="utf-8").split()
    return [int(child) for child in children if b"resource_tracker" not in Path(f"/proc/{child}/cmdline").read_bytes()]


def rows(report: Path) -> int:
    found = list(report.glob("*.sqlite"))
    if not found:
        return 0
    with Store.open(found[0], mode="read") as store:
        return sum(len(rows) for _, rows in store.runs())


def gone(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_workers_end_with_the_run_that_started_them(tmp_path: Path, how: signal.Signals) -> None:
    process = started(tmp_path, "SI-TRAP", "UN-2", "SI-EXPONENT")
    until(lambda: rows(tmp_path) > 0)
    at_work = workers(process)
    assert len(at_work) == 2
    os.kill(process.pid, how)  # and not its group, as a terminal would
    _, err = process.communicate(timeout=PATIENCE)
    if how is signal.SIGINT:
        assert (process.returncode, said(err)) == (130, "error: interrupted; what was finished is kept\n")
    until(lambda: all(gone(pid) for pid in at_work))


def test_a_claim_whose_worker_is_killed_is_run_again(tmp_path: Path) -> None:
    ids = ["SI-LINEAR", "SI-CHAIN"]
    process = started(tmp_path, *ids)
    until(lambda: rows(tmp_path) > 0)
    os.kill(workers(process)[0], signal.SIGKILL)
    out, err = process.communicate(timeout=PATIENCE)
    assert (process.returncode, said(err)) == (0, ""), out
    for result in run_claims(ids):
        record = json.loads((tmp_path / f"{result.claim.id}.json").read_text(encoding="utf-8"))
        assert [q["measured"] for q in record["quantities"]] == [q.measured for q in result.evidence.quantities]


def test_a_store_that_cannot_be_used_is_no_verdict(tmp_path: Path) -> None:
    process = started(tmp_path, "SI-CHAIN", "SI-LINEAR")
    process.communicate(timeout=PATIENCE)
    (store,) = tmp_path.glob("*.sqlite")
    store.write_text("something else")
    (tmp_path / "SI-CHAIN.json").unlink()
    with pytest.raises(PlaceError, match="a results store of ringprism"):
        run_claims(["SI-CHAIN"], keep=tmp_path)
    process = started(tmp_path, "SI-CHAIN", "SI-PCA", "SI-FIG-1")
    _, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 2
    assert said(err).startswith("error: store: got")
    assert not (tmp_path / "SI-CHAIN.json").exists()


def test_a_cluster_that_does_not_answer_is_no_verdict() -> None:
    for address in ("", "tcp://127.0.0.1:99999", "nowhere"):
        with pytest.raises(PlaceError, match="dask"):
            run_claims(["AE-PRISM"], machine=Machine(dask=address))
