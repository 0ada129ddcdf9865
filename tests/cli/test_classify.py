"""``ringprism classify``: exponents or sizes, three formats, a figure, and bad input in one line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ringprism.cli import main
from tests.regimes.test_scaling import INSIDE


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as exit_info:
        main(["classify", *arguments])
    captured = capsys.readouterr()
    code = exit_info.value.code
    assert isinstance(code, int)
    return code, captured.out, captured.err


def exponents(name: str) -> list[str]:
    return [
        text for option, value in zip(("p", "n", "m", "sigma2"), INSIDE[name], strict=True)
        for text in (f"--{option}", str(value))
    ]  # fmt: skip


@pytest.mark.parametrize("name", INSIDE)
def test_every_face_from_exponents(capsys: pytest.CaptureFixture[str], name: str) -> None:
    code, out, err = run(capsys, *exponents(name), "--format", "json")
    assert (code, err) == (0, "")
    assert json.loads(out)["face"] == name


def test_json_has_the_margin_of_every_term(capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = run(capsys, "--p", "1", "--n", "3/2", "--m", "2", "--sigma2", "-2", "--format", "json")
    assert json.loads(out)["terms"] == [
        {"vertex": "R|m", "rate_exponent": "-1", "margin": "0"},
        {"vertex": "R|p", "rate_exponent": "-2", "margin": "1"},
        {"vertex": "N|m", "rate_exponent": "-3/2", "margin": "1/2"},
        {"vertex": "N|p", "rate_exponent": "-5/2", "margin": "3/2"},
        {"vertex": "P|m", "rate_exponent": "-2", "margin": "1"},
        {"vertex": "P|p", "rate_exponent": "-3", "margin": "2"},
    ]


def test_the_words_of_the_ranking_are_explained(capsys: pytest.CaptureFixture[str]) -> None:
    lines = run(capsys, "--sizes", "p=80,n=8000,m=120,sigma2=1/40000")[1].splitlines()
    assert lines[-1].startswith("within: at most 5 % off the interior at these ratios")
    ranked = [line for line in lines if line.endswith("within")]
    assert ranked[0].startswith("mean-field")
    assert ranked[-1].startswith("interior")


def test_sizes_are_ranked(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(capsys, "--sizes", "p=100,n=100,m=100000,sigma2=1/100", "--format", "json")
    data = json.loads(out)
    assert (code, err) == (0, "")
    assert (data["face"], data["rate_exponent"]) == ("large-data", None)
    assert len(data["ranking"]) == 21
    assert {"vertices", "dimension", "train_scale", "population_scale", "solution", "warnings"} <= set(data)


def test_warnings_leave_json_alone(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(capsys, "--p", "1", "--n", "0", "--m", "1", "--sigma2", "-1", "--format", "json")
    assert code == 0
    assert err.startswith("warning: n does not grow")
    assert json.loads(out)["warnings"]


@pytest.mark.parametrize("format", ["text", "latex"])
def test_other_formats(capsys: pytest.CaptureFixture[str], format: str) -> None:
    for arguments in (exponents("free"), ["--sizes", "p=50,n=50,m=50,sigma2=1"]):
        code, out, _ = run(capsys, *arguments, "--format", format)
        assert code == 0
        assert "free" in out


def test_a_figure_is_written(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    for name, arguments in (("a.png", exponents("free")), ("b.svg", ["--sizes", "p=50,n=50,m=50,sigma2=1"])):
        code, _, _ = run(capsys, *arguments, "--figure", str(tmp_path / name))
        assert code == 0
        assert (tmp_path / name).stat().st_size > 5000


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["--p", "nan", "--n", "1", "--m", "1", "--sigma2", "0"], "exponent of p: got 'nan'"),
        (["--p", "1", "--n", "1e400", "--m", "1", "--sigma2", "0"], "exponent of n"),
        (["--p", "1", "--n", "1", "--m", "inf", "--sigma2", "0"], "exponent of m"),
        (["--p", "1", "--n", "1", "--m", "1", "--sigma2", "9" * 5000], "(5002 characters)"),
        (["--p", "1"], "no --n"),
        ([], "no --p"),
        (["--p", "1", "--sizes", "p=1,n=1,m=1,sigma2=1"], "one of the two"),
        (["--sizes", "p=0,n=1,m=1,sigma2=1"], "size p"),
        (["--sizes", "p=1,n=1,m=1"], "also sigma2"),
        (["--sizes", "p=9,n=9,m=9,sigma2=1", "--figure", "x.bmp"], ".png, .svg or .pdf"),
    ],
)
def test_bad_input(capsys: pytest.CaptureFixture[str], arguments: list[str], named: str) -> None:
    code, out, err = run(capsys, *arguments)
    assert (code, out) == (2, "")
    assert err.startswith("error: ")
    assert err.count("\n") == 1
    assert named in err


def test_any_model_by_scaling_and_by_sizes(capsys: pytest.CaptureFixture[str]) -> None:
    """All formats, the autoencoder by the same option, and what cannot be asked together."""
    decayed = ("--model", "weight-decay", "--scaling", "p=1,n=1,m=1,sigma2=-1,decay=1")
    code, out, err = run(capsys, *decayed, "--format", "json")
    assert (code, err) == (0, "")
    record = json.loads(out)
    assert (record["face"], record["rate_exponent"], record["scales"]["train"]) == ("decay", "1", "2")
    assert "wins" in run(capsys, *decayed)[1]
    assert run(capsys, *decayed, "--format", "latex")[1].startswith(r"\begin{align*}")
    code, out, _ = run(capsys, "--scaling", "p=1,n=2,m=1,sigma2=-2", "--format", "json")
    assert (code, json.loads(out)["face"]) == (0, "mean-field")
    for arguments, complaint in (
        (("--model", "weight-decay", "--p", "1"), "also n, m, sigma2, decay"),
        ((*decayed, "--sizes", "p=1"), "one of the ways"),
        (("--model", "weight-decay", "--scaling", "p=x"), "also n, m, sigma2, decay"),
        (("--model", "nothing", "--scaling", "p=1"), "model"),
        ((*decayed, "--figure", "x.png"), "prism"),
    ):
        code, out, err = run(capsys, *arguments)
        assert (code, out) == (2, "")
        assert err.count("\n") == 1
        assert complaint in err
