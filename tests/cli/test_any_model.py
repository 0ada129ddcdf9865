"""A model that nobody here has thought of, through the verbs of the command line."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

Run = Callable[..., tuple[int, str, str]]

NOISY = """
name = "noisy labels"
sizes = ["p", "q", "n", "m"]
[tensors]
U = { indices = ["n", "p"], variance = "sigma2", trained = true }
V = { indices = ["q", "n"], variance = "sigma2", trained = true }
T = { indices = ["q", "p"], variance = "tau2/p" }
E = { indices = ["q", "m"], variance = "noise" }
X = { indices = ["p", "m"] }
[losses]
train = "norm2(T X + E - V U X) / (2 q m)"
population = "norm2(T - V U) / (2 q)"
"""
SIZES = "p=12,q=6,n=8,m=20,sigma2=1/12,tau2=1,noise=1/10"


@pytest.fixture
def file(tmp_path: Path) -> str:
    path = tmp_path / "noisy.toml"
    path.write_text(NOISY)
    return str(path)


def test_validate_and_simulate(run: Run, file: str) -> None:
    code, out, _ = run(
        *("validate", "--model", file, "--sizes", SIZES, "--times", "0.3,0.6", "--replicas", "60", "--format", "json")
    )
    data = json.loads(out)
    assert code == 0
    assert data["verdict"] == {"train": "holds", "population": "holds"}
    assert (data["model"], data["face"], len(data["rows"])) == ("noisy labels", None, 4)
    code, out, _ = run("simulate", "--model", file, "--sizes", SIZES, "--times", "0,0.3", "--replicas", "2")
    assert code == 0
    assert "noisy labels" in out


def test_limit(run: Run) -> None:
    arguments = (
        "limit",
        "--model",
        "cp:2",
        "--sizes",
        "p=20,H=400,sigma2=1/800",
        "--times",
        "0,0.2",
        "--format",
        "json",
    )
    code, out, err = run(*arguments, "--face", "1,sigma2*H")
    data = json.loads(out)
    assert (code, data["model"], data["face"]) == (0, "cp:2", "1,sigma2*H")
    assert list(data["losses"]) == list(data["error_estimate"]) == ["train"]
    growth = 2.718281828459045 ** (4 * 0.2)  # the logistic flow, p times faster than the autoencoder's
    mu = 0.5 * growth / (1 + 0.5 * (growth - 1))
    assert data["losses"]["train"][1] == pytest.approx(20 * 0.5 * (1 - mu) ** 2, rel=1e-6)
    assert err == ""
    same = run(*arguments, "--scaling", "p=1,H=2,sigma2=-2")
    assert json.loads(same[1])["losses"] == data["losses"]
    code, out, err = run(*arguments)
    assert (code, out, err.count("\n")) == (2, "", 1)
    code, out, err = run(*arguments[:6], "0,1000", "--face", "1,sigma2*H")
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert "good up to" in err
