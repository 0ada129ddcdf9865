"""``single-index train`` and ``single-index complexity``: the agreed JSON, bad input, figures, stores."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

Run = Callable[..., tuple[int, str, str]]

MODEL = ("--link", "x**3-3*x", "--lambda", "1", "--eta1", "0.45")
TRAIN = ("single-index", "train", *MODEL, "--d", "50", "--steps", "400", "--step", "4e-5", "--replicas", "3")
COMPLEXITY = ("single-index", "complexity", *MODEL, "--dims", "20,40", "--target", "0.6", "--replicas", "8")


@pytest.mark.parametrize("method", ["reduced", "full"])
def test_training_prints_the_agreed_record(run: Run, method: str) -> None:
    code, out, _ = run(*TRAIN, "--start", "pca:200", "--method", method, "--format", "json")
    record = json.loads(out)
    assert code == 0
    assert list(record)[:5] == ["m1", "m2", "success_fraction", "start", "method"]
    assert {"link", "lambda", "eta1", "d", "steps", "step", "seed", "hits", "success_stderr"} <= set(record)
    assert len(record["m1"]) == len(record["m2"]) == 3
    assert record["start"] == "pca:200 (sign: oracle)"
    assert record["method"] == method


def test_the_same_seed_gives_the_same_result_with_any_number_of_threads(run: Run) -> None:
    outs = [
        run(*TRAIN, "--workers", w, "--seed", s, "--format", "json")[1] for w, s in (("1", "4"), ("3", "4"), ("1", "5"))
    ]
    assert outs[0] == outs[1] != outs[2]


def test_complexity_prints_the_agreed_record_and_its_choices(run: Run) -> None:
    code, out, err = run(*COMPLEXITY, "--start", "pca-law:4d", "--format", "json")
    record = json.loads(out)
    assert code == 0
    assert list(record)[:7] == ["dims", "n_star", "stderr", "censored", "slope", "slope_stderr", "theory_exponent"]
    assert {"link", "lambda", "eta1", "start", "target", "steps", "replicas", "method", "seed"} <= set(record)
    assert record["theory_exponent"] == 1.0
    assert "oracle" in err
    text = run(*COMPLEXITY, "--start", "0.5,0.2", "--steps", "1e-4,5e-5")[1]
    assert "5e-05" in text
    assert "theory: N* ~ d^1" in text


def test_figures_and_stores_are_written(run: Run, tmp_path: Path) -> None:
    figure, store = tmp_path / "a.svg", tmp_path / "runs.db"
    arguments = (*TRAIN, "--figure", str(figure), "--store", str(store))
    first = run(*arguments, "--format", "json")
    assert first[0] == 0
    assert figure.read_text().startswith("<?xml")
    assert run(*arguments, "--format", "json")[1] == first[1]
    code, _, err = run(*arguments, "--step", "1e-4")
    assert code == 2
    assert "store" in err
    sweep = (*COMPLEXITY, "--start", "0.5,0.2", "--store", str(tmp_path / "sweep.db"))
    finished = run(*sweep, "--figure", str(tmp_path / "b.png"))
    assert finished[0] == 0
    assert run(*sweep) == finished
    code, _, err = run(*sweep, "--target", "0.7", "--steps", "1e-4,5e-5")
    assert code == 2
    assert "store" in err


@pytest.mark.parametrize(("command", "formats"), [("train", "<text|json>"), ("complexity", "<text|json|latex>")])
def test_help_offers_what_there_is(run: Run, command: str, formats: str) -> None:
    shown = run("single-index", command, "--help")[1]
    assert "--method <reduced|full>" in " ".join(shown.split())
    assert formats in shown


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ((*TRAIN, "--start", "nowhere"), "nowhere"),
        ((*TRAIN, "--start", "0.9,0.9"), "0.9"),
        ((*TRAIN, "--method", "quick"), "quick"),
        ((*TRAIN, "--pca-sign", "labels:x"), "labels:x"),
        ((*TRAIN, "--step", "-1"), "-1"),
        ((*TRAIN, "--figure", "a.bmp"), "a.bmp"),
        ((*TRAIN, "--format", "latex"), "latex"),
        (("single-index", "train", "--link", "__import__('os')", "--lambda", "1", "--eta1", "1"), "import"),
        (("single-index", "train", "--link", "x", "--lambda", "1", "--eta1", "2"), "eta1"),
        ((*COMPLEXITY, "--dims", "a,b"), "a,b"),
        ((*COMPLEXITY, "--dims", "40,20"), "40"),
        ((*COMPLEXITY, "--target", "1.5"), "1.5"),
    ],
)
def test_bad_input(run: Run, arguments: tuple[str, ...], named: str) -> None:
    code, out, err = run(*arguments)
    assert code == 2
    assert out == ""
    assert err.startswith("error: ")
    assert named in err
