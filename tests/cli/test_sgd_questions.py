"""``ringprism sgd fluctuations`` and ``basins``, spectra, schedules and batches: JSON, figure, refusals."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import ringprism as rp
from ringprism.cli import main


def run(*arguments: str) -> int:
    with pytest.raises(SystemExit) as exit_:
        main(["sgd", *arguments])
    return int(exit_.value.code or 0)


def test_fluctuations(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """[U]'s solvable example: shift κ_3, volatility 10δ."""
    target = tmp_path / "f.svg"
    options = ("--set", "loss=correlation", "--set", "ridge=1", "--delta", "0.5", "--spread", "flat")
    laws = ("--law", "gaussian,exponential", "--figure", str(target))
    assert run("fluctuations", *options, *laws, "--format", "json") == 0
    data = json.loads(capsys.readouterr().out)
    assert {"at", "kind", "drift", "volatility", "shift", "covariance", "simulated", "warnings"} <= data.keys()
    assert (data["kind"], data["simulated"]) == ("stable", None)
    assert data["volatility"][0][0] == pytest.approx(5.0)
    assert data["laws"]["exponential"]["shift"][0] == pytest.approx(2.0)
    assert data["shift"][0] == pytest.approx(0.0, abs=1e-9)
    assert target.exists()


def test_basins(capsys: pytest.CaptureFixture[str]) -> None:
    options = ("--task", "single-index", "--delta", "0.02", "--time", "4", "--d", "60", "--replicas", "10")
    assert run("basins", *options, "--format", "json") == 0
    data = json.loads(capsys.readouterr().out)
    assert data["replicas"] == 10
    assert all({"statistics", "share", "low", "high", "loss"} <= end.keys() for end in data["ends"])
    assert run("basins", *options, "--starts", "cubic") == 2


def test_a_spectrum_a_schedule_and_batches(capsys: pytest.CaptureFixture[str]) -> None:
    """Ṁ^g = 2 s(t) λ_g (f_g − M^g) with s = 1/(1 + t): M = 1 − Σ f_g (1 + t)^{−2λ_g}."""
    options = ("--task", "single-index", "--link", "x", "--delta", "0.2", "--start", "M_1_1=0,Q_1_1=0")
    more = ("--spectrum", "values:2*1,0.5*1", "--schedule", "1/(1+t)", "--batch", "2", "--times", "0,1")
    assert run("ode", *options, *more, "--format", "json") == 0
    data = json.loads(capsys.readouterr().out)
    assert data["statistics"]["M_1_1"][1] == pytest.approx(1 - (2**-4 + 2**-1) / 2, abs=1e-6)
    assert data["groups"]["fractions"] == [0.5, 0.5]
    assert run("simulate", *options, *more, "--d", "7", "--replicas", "2") == 2
    assert "multiple of 2" in capsys.readouterr().err
    assert run("ode", *options, "--schedule", "1-t", "--times", "0,2") == 2


def test_the_same_from_python() -> None:
    task = rp.sgd.task("single-index", step=0.02)
    curve = rp.sgd.ode(task, [0, 5, 20], start={"M_1_1": 0.0, "Q_1_1": 0.6})
    assert (curve.values[:, 0] == 0).all()
    assert any("invariant" in text for text in curve.warnings)
    assert set(rp.sgd.__all__) == set(dir(rp.sgd))
