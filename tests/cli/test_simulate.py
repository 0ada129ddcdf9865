"""``ringprism simulate`` and ``ringprism store``: schema, exit codes, resuming, interrupting."""

from __future__ import annotations

import csv
import json
import math
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

Run = Callable[..., tuple[int, str, str]]
SIMULATE = ["simulate", "--sizes", "p=20,n=10,m=30,sigma2=1/20", "--times", "0,2,5", "--seed", "1"]


def test_json_schema(run: Run, tmp_path: Path) -> None:
    figure = tmp_path / "loss.svg"
    code, out, err = run(*SIMULATE, "--replicas", "3", "--format", "json", "--workers", "2", "--figure", str(figure))
    assert (code, err) == (0, "")
    result = json.loads(out)
    assert result["times"] == [0.0, 2.0, 5.0]
    assert result["replicas"] == 3
    for loss in ("train", "population"):
        assert set(result[loss]) == {"mean", "stderr"}
        assert len(result[loss]["mean"]) == len(result[loss]["stderr"]) == 3
        assert all(math.isfinite(value) for value in result[loss]["mean"] + result[loss]["stderr"])
    assert result["train"]["mean"][0] > result["train"]["mean"][2]
    assert figure.read_text().startswith("<?xml")


def test_one_replica_has_no_standard_error(run: Run) -> None:
    _, out, _ = run(*SIMULATE, "--replicas", "1", "--format", "json")
    assert json.loads(out)["train"]["stderr"] == [None, None, None]
    _, out, _ = run(*SIMULATE, "--replicas", "1")
    assert "—" in out


def test_store_resumes_shows_and_exports(run: Run, tmp_path: Path) -> None:
    store, table = str(tmp_path / "run.db"), str(tmp_path / "table.csv")
    _, whole, _ = run(*SIMULATE, "--replicas", "5", "--format", "json")
    assert run(*SIMULATE, "--replicas", "2", "--store", store)[0] == 0
    _, resumed, _ = run(*SIMULATE, "--replicas", "5", "--format", "json", "--store", store)
    assert resumed == whole
    code, out, _ = run("store", "show", store, "--format", "json")
    assert code == 0
    (found,) = json.loads(out)["runs"]
    assert (found["experiment"], found["seed"], found["replicas"]) == ("simulate", 1, {"finished": 5})
    assert found["parameters"]["sigma2"] == "1/20"
    verified = run("store", "verify", store)[1]
    assert "1 run, 5 rows, all checksums right\n  the file: every page" in verified
    assert "parameters {" not in verified
    assert "1 run, 5 rows" in run("store", "show", store)[1]
    told = f"{table}: 35 rows; parameters and versions in {table}.json\n"
    assert run("store", "export", store, table) == (0, "", told)
    with open(table, newline="") as stream:
        rows = [row for row in csv.DictReader(stream) if row["name"] == "train" and row["replica"] == "0"]
    assert [row["time"] for row in rows] == ["0.0", "2.0", "5.0"]
    described = json.loads(Path(f"{table}.json").read_text())
    assert described["simulate"]["parameters"]["sigma2"] == "1/20"
    assert described["simulate"]["environments"]
    code, _, err = run(*SIMULATE, "--replicas", "5", "--store", store, "--eta", "2")
    assert code == 2
    assert "got 'eta=2.0', expected the parameters stored for simulate, eta=1.0" in err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--replicas", "2", "--times", "2,1"], "strictly increasing"),
        (["--replicas", "2", "--times", "-1"], "finite times from 0"),
        (["--replicas", "2", "--eta", "nan"], "eta: got nan"),
        (["--replicas", "2", "--eta", "0"], "eta: got 0.0"),
        (["--replicas", "2", "--method", "descent"], "add for example --step 0.1"),
        (["--replicas", "2", "--step", "1"], "add --method descent"),
        (["--replicas", "2", "--method", "descent", "--step", "1e-12"], "take a longer step"),
        (["--replicas", "2", "--sizes", "p=100000,n=50000,m=50000,sigma2=1"], "GB, the limit is"),
        (["--replicas", "1000000", "--sizes", "p=500,n=500,m=500,sigma2=1"], "--force to go on"),
        (["--replicas", "2", "--format", "latex"], "'text', 'json'"),
        (["--replicas", "2", "--figure", "loss.bmp"], "a name ending in .png, .svg or .pdf"),
        (["--replicas", "2", "--dask", "tcp://127.0.0.1:1", "--workers", "2"], "give one of the two"),
        (["--replicas", "0"], "--replicas"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(run: Run, arguments: list[str], message: str) -> None:
    code, out, err = run(*SIMULATE, *arguments)
    assert (code, out) == (2, "")
    assert message in err
    assert err.startswith("error: ")
    assert err.count("\n") == 1


def test_ctrl_c_leaves_a_store_to_resume(tmp_path: Path) -> None:
    store = tmp_path / "run.db"
    command = [sys.executable, "-m", "ringprism", *SIMULATE, "--replicas", "100000", "--store", str(store)]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env={**os.environ, "OMP_NUM_THREADS": "1"}
    )
    deadline = time.monotonic() + 300
    while time.monotonic() < deadline and not (store.exists() and store.stat().st_size > 30_000):
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=300)
    assert (process.returncode, out) == (130, b"")
    assert err.endswith(b"error: interrupted; what was finished is kept\n")


def test_any_model(run: Run) -> None:
    code, out, err = run(
        *("simulate", "--model", "weight-decay", "--sizes", "p=4,n=2,m=5,sigma2=1/4,decay=1/10"),
        *("--times", "0,1", "--replicas", "3", "--seed", "1", "--format", "json"),
    )
    assert (code, err) == (0, "")
    data = json.loads(out)
    assert set(data["losses"]) == {"train", "data", "population"}
    assert data["losses"]["train"]["mean"][1] < data["losses"]["train"]["mean"][0]
    assert all(len(row["stderr"]) == 2 for row in data["losses"].values())
    assert (data["model"], data["sizes"]["decay"], data["replicas"], data["version"]) == ("weight-decay", "1/10", 3, 1)
