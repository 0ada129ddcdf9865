"""``sgd simulate`` and ``sgd universality``: schema, exit codes, one-line errors, figures."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from ringprism.commands.sgd_simulate import read_laws

Run = Callable[..., tuple[int, str, str]]

ABOUT = {
    "task": "logistic",
    "law": "uniform",
    "delta": 0.5,
    "d": 60,
    "replicas": 3,
    "seed": 5,
    "method": "full",
}


def test_simulate_schema(run: Run, tmp_path: Path) -> None:
    picture = tmp_path / "run.svg"
    options = ("--law", "uniform", "--d", "60", "--replicas", "3", "--times", "0,1", "--seed", "5")
    code, out, err = run(
        "sgd", "simulate", "--task", "logistic", *options, "--format", "json", "--figure", str(picture)
    )
    assert (code, err) == (0, "")
    result = json.loads(out)
    assert set(result) == {"times", "statistics", "stderr", "warnings", *ABOUT}
    assert {key: result[key] for key in ABOUT} == ABOUT
    assert result["times"] == [0.0, 1.0]
    assert set(result["statistics"]) == set(result["stderr"]) == {"M_1_1", "Q_1_1"}
    assert picture.read_text().count("<svg") == 1
    again = run("sgd", "simulate", "--task", "logistic", *options, "--format", "json", "--workers", "2")
    assert json.loads(again[1]) == result


def test_universality_schema(run: Run, tmp_path: Path) -> None:
    picture = tmp_path / "verdict.png"
    options = ("--laws", "rademacher,two-point:0.2", "--dims", "30,90", "--replicas", "3", "--times", "0,1")
    code, out, err = run(
        "sgd", "universality", "--task", "committee", *options, "--format", "json", "--figure", str(picture)
    )
    assert (code, err) == (0, "")
    result = json.loads(out)
    assert result.pop("warnings") == []
    assert list(result) == ["rademacher", "two-point:0.2"]
    for law in result.values():
        assert set(law) == {"sup_error", "stderr", "slope", "slope_stderr", "dims", "verdict"}
        assert len(law["sup_error"]) == len(law["stderr"]) == 2
    assert picture.stat().st_size > 1000


def test_the_names_are_explained_and_the_rule_is_printed(run: Run) -> None:
    out = run("sgd", "simulate", "--task", "xor", "--d", "50", "--replicas", "2", "--times", "0,1")[1]
    assert "M_i_a = w_i·v_a" in out.splitlines()[-1]
    assert "b_i second-layer weight" in out.splitlines()[-1]
    out = run("sgd", "universality", "--dims", "20,30", "--replicas", "2", "--times", "1", "--laws", "uniform")[1]
    assert "rule: a law converges where its power of d is −1/2 within 0.1 and 4 standard errors" in out
    assert out.splitlines()[-1].startswith("undecided: more dims or replicas")


def test_where_every_replica_diverges_a_step_is_named(run: Run) -> None:
    options = ("--link", "x**3-3*x", "--delta", "0.02", "--times", "0,1", "--d", "200", "--replicas", "4")
    code, out, err = run("sgd", "simulate", "--task", "single-index", *options)
    assert (code, out) == (2, "")
    assert "all 4 replicas diverged" in err
    assert err.endswith("use --delta 0.001\n")
    code, _, err = run("sgd", "simulate", "--task", "single-index", *options[:2], *options[4:])
    assert (code, err) == (0, "")


def test_divergence_is_null_and_a_warning(run: Run) -> None:
    options = ("--delta", "0.07", "--times", "0,20", "--d", "50", "--replicas", "12")
    code, out, err = run("sgd", "simulate", "--task", "single-index", *options, "--format", "json")
    assert code == 0
    assert "beyond stability" in err
    assert json.loads(out)["statistics"]["Q_1_1"][1] is None


def test_a_rising_loss_is_a_warning(run: Run) -> None:
    code, _, err = run(
        "sgd", "simulate", "--task", "logistic", "--delta", "60", "--times", "0,2", "--d", "200", "--replicas", "4"
    )
    assert code == 0
    assert "the expected loss rises" in err


def test_a_kink_is_a_warning(run: Run) -> None:
    options = ("--activation", "relu", "--laws", "uniform", "--dims", "20,40", "--times", "0,0.5", "--replicas", "2")
    code, _, err = run("sgd", "universality", "--task", "xor", *options)
    assert code == 0
    assert "kink" in err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("simulate", "--law", "moments:mean=0,variance=1"), "declared kappa3, kappa4"),
        (("simulate", "--law", "moments:mean=0,variance=1,kappa3=0,kappa4=0"), "can be drawn"),
        (("simulate", "--law", "cauchy"), "law: got 'cauchy'"),
        (("simulate", "--method", "reduced", "--law", "uniform"), "Gaussian inputs"),
        (("simulate", "--spread", "wide"), "random or flat"),
        (("simulate", "--d", "2"), "d: got 2"),
        (("simulate", "--delta", "0"), "positive step"),
        (("simulate", "--times", "1,0"), "strictly increasing"),
        (("simulate", "--start", "M_9_9=1"), "start of committee"),
        (("simulate", "--figure", "x.bmp"), ".png, .svg or .pdf"),
        (("simulate", "--format", "latex", "--times", "0", "--d", "20"), "'text', 'json'"),
        (("universality", "--dims", "100"), "two dimensions"),
        (("universality", "--dims", "a,b"), "whole numbers"),
        (("universality", "--laws", ""), "one law or more"),
        (("universality", "--task", "logistic", "--students", "3"), "drop students"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(run: Run, arguments: tuple[str, ...], message: str) -> None:
    code, out, err = run("sgd", *arguments)
    assert (code, out) == (2, "")
    assert err.startswith("error: ")
    assert err.count("\n") == 1
    assert message in err


def test_laws_may_hold_commas_between_semicolons() -> None:
    assert [law.name for law in read_laws("gaussian;atoms:-1:0.5,1:0.5")] == ["gaussian", "atoms:-1:0.5,1:0.5"]
