"""``ringprism sgd ode``: its JSON, its figure, its warnings and refusals."""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from ringprism.cli import main
from ringprism.commands import sgd_options
from theory.sgd.task import Task
from theory.sgd.tasks import committee, logistic, single_index, xor

MOMENTS = "moments:mean=0,variance=1,kappa3=0,kappa4=0"


def run(*arguments: str) -> int:
    with pytest.raises(SystemExit) as exit_:
        main(["sgd", "ode", *arguments])
    return int(exit_.value.code or 0)


@pytest.mark.parametrize(
    "options",
    [
        ["--task", "single-index", "--link", "erf", "--label-noise", "0.1"],
        ["--task", "committee", "--K", "3", "--r", "1", "--train-second", "--delta", "0.7"],
        ["--task", "logistic", "--classes", "3", "--separation", "2", "--noise", "0.5"],
        ["--task", "xor", "--students", "2", "--ridge", "0.1"],
        ["--task", "single-index", "--link", "x", "--law", "two-point:0.2", "--start", "p_1_1=0.5,M_1_1=0"],
    ],
    ids=lambda options: options[1],
)
def test_json(options: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(*options, "--times", "0,0.5,1", "--format", "json") == 0
    data = json.loads(capsys.readouterr().out)
    classes = {"error_rate"} if options[1] in ("logistic", "xor") else set()
    said = {"loss", "invariant", "warnings"} | classes
    assert data.keys() == {"times", "statistics", "stderr", "task", "law", "delta", "method", "stderr_is"} | said
    assert len(data["loss"]) == 3
    assert all(0 <= rate <= 0.68 for rate in data.get("error_rate", []))  # two thirds of three classes by chance
    assert (data["task"], data["stderr_is"]) == (options[1], "estimated numerical error")
    assert data["times"] == [0, 0.5, 1]
    assert data["statistics"].keys() == data["stderr"].keys()
    assert all(len(values) == 3 for kind in ("statistics", "stderr") for values in data[kind].values())
    assert "M_1_1" in data["statistics"]


def test_the_numbers_are_the_solvable_cases(capsys: pytest.CaptureFixture[str]) -> None:
    run("--task", "single-index", "--link", "x", "--delta", "0.25", "--start", "M_1_1=0,Q_1_1=0", "--times", "0,1",
        "--format", "json")  # fmt: skip
    statistics = json.loads(capsys.readouterr().out)["statistics"]
    assert statistics["M_1_1"][1] == pytest.approx(0.864665, abs=1e-6)
    assert statistics["Q_1_1"][1] == pytest.approx(0.779117, abs=1e-6)


def test_text_latex_and_figure(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = tmp_path / "ode.svg"
    assert run("--task", "logistic", "--times", "0,1,2", "--figure", str(target)) == 0
    assert "estimated error" in capsys.readouterr().out
    assert target.read_text().startswith("<?xml")
    assert run("--task", "logistic", "--times", "0,1", "--format", "latex") == 0
    assert r"\dot M" in capsys.readouterr().out


def test_warnings_go_to_stderr(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--task", "single-index", "--link", "x", "--delta", "1.5", "--times", "0,1", "--format", "json") == 0
    captured = capsys.readouterr()
    assert json.loads(captured.out)
    assert "beyond stability" in captured.err
    assert run("--task", "committee", "--K", "1", "--r", "1", "--activation", "relu", "--times", "0,1") == 0
    assert "kink" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--task", "transformer"], "one of single-index"),
        (["--task", "logistic", "--link", "x"], "drop link"),
        (["--task", "logistic", "--law", "cauchy"], "law"),
        (["--task", "logistic", "--law", "moments:kappa3=1,kappa4=2"], "mean, variance"),
        (["--task", "logistic", "--law", "moments:mean=0,variance=2,kappa3=0,kappa4=0"], "variance 1"),
        (["--task", "logistic", "--law", MOMENTS, "--start", "p_1_1=0.4"], "localised"),
        (["--task", "logistic", "--start", "M_9_9=1"], "start"),
        (["--task", "logistic", "--start", "M_1_1"], "start"),
        (["--task", "logistic", "--start", "M_1_1=3"], "positive semi-definite"),
        (["--task", "single-index", "--link", "__import__('os')"], "error"),
        (["--task", "single-index", "--link", "x", "--delta", "9"], "beyond stability"),
        (["--task", "logistic", "--figure", "a.bmp"], ".svg"),
        (["--task", "committee", "--K", "40"], "students"),
        (["--task", "logistic", "--separation", "nan"], "logistic separation: got nan"),
        (["--task", "logistic", "--separation", "1e300"], "logistic separation: got 1e+300"),
        (["--task", "xor", "--separation", "inf"], "xor separation: got inf"),
        (["--task", "single-index", "--tolerance", "nan"], "--tolerance: got 'nan'"),
        (["--task", "single-index", "--link", "x**8"], "give --delta"),
        (["--task", "committee", "--start", "p_1_1=0.6,s_1_1=1,M_1_1=0.5"], "M_1_1 must contain p_1_1·s_1_1 = 0.6"),
    ],
)  # fmt: skip
def test_bad_input_is_one_line_and_exit_2(options: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(*options, "--times", "0,5") == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("error: ")
    assert captured.err.count("\n") == 1
    assert message in captured.err


@pytest.mark.parametrize("builder", [single_index, committee, logistic, xor])
def test_help_names_the_defaults_of_the_tasks(builder: Callable[..., Task]) -> None:
    (information,) = getattr(sgd_options.Settings, "__metadata__")  # noqa: B009
    name = builder.__name__.replace("_", "-")
    named = information.help.partition(f"{name}: ")[2].partition(". ")[0].rstrip(".")
    defaults = {key: parameter.default for key, parameter in inspect.signature(builder).parameters.items()}
    for item in re.findall(r"([a-z-, ]+) \(([^;)]*)[^)]*\)", named):
        for option in re.split(r", ", item[0].strip(", ")):
            default = defaults[option.strip().replace("-", "_")]
            shown = f"{default:g}" if isinstance(default, float) else str(default).lower()
            assert item[1].startswith(shown), (option, shown, item)
