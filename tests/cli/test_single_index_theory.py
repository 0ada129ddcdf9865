"""``ringprism single-index loss`` and ``flow``: the interface's records, and what they refuse."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import sympy

from ringprism.cli import main

CUBIC = ("--link", "x**3-3*x")
SPIKE = ("--lambda", "1", "--eta1", "0.45")


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    """Exit code, stdout and stderr of ``ringprism single-index``."""
    with pytest.raises(SystemExit) as exit_info:
        main(["single-index", *arguments])
    captured = capsys.readouterr()
    assert isinstance(exit_info.value.code, int)
    return exit_info.value.code, captured.out, captured.err


def test_loss_record(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(capsys, "loss", *CUBIC, *SPIKE, "--m1", "0.3", "--m2", "-0.2", "--format", "json")
    assert (code, err) == (0, "")
    record = json.loads(out)
    assert {"link", "information_exponent", "population_loss", "taylor", "value", "gradient"} <= set(record)
    assert record["information_exponent"] == 3
    assert record["information_exponent_spiked"] == 1
    formula = sympy.sympify(record["population_loss"])
    at = {"m1": 0.3, "m2": -0.2}
    assert float(formula.subs(at)) == pytest.approx(record["value"], rel=1e-12)
    for symbol, slope in zip(("m1", "m2"), record["gradient"], strict=True):
        assert float(sympy.diff(formula, symbol).subs(at)) == pytest.approx(slope, rel=1e-10)
    assert record["trap"]["trapped"] is True
    assert sum(record["values"].values()) == pytest.approx(record["value"])


def test_loss_without_numbers_keeps_the_symbols(capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = run(capsys, "loss", *CUBIC, "--format", "json")
    record = json.loads(out)
    assert "value" not in record
    assert {str(s) for s in sympy.sympify(record["population_loss"]).free_symbols} == {"m1", "m2", "lamda", "eta1"}
    kept = [(t["order"], t["coefficient"]) for t in record["taylor"] if not t["vanishes"]]
    assert kept[:3] == [(2, "18*lamda"), (3, "-18*eta1**2*lamda**2"), (3, "-12")]


def test_loss_for_people_and_for_papers(capsys: pytest.CaptureFixture[str]) -> None:
    _, text, _ = run(capsys, "loss", "--link", "tanh(x)", *SPIKE)
    assert "information exponent 1" in text
    assert "V′(1)" in text
    _, latex, _ = run(capsys, "loss", *CUBIC, "--format", "latex")
    assert latex.startswith("\\begin{align*}")
    assert r"15 A^{3} - 18 A^{2} + 9 A" in latex
    assert "noise" not in latex


def test_flow_record(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    figure = tmp_path / "flow.svg"
    request = ("flow", *CUBIC, *SPIKE, "--start", "-0.3,0.3", "--times", "0,0.1,1", "--figure", str(figure))
    code, out, err = run(capsys, *request, "--format", "json")
    assert (code, err) == (0, "")
    record = json.loads(out)
    assert record["times"] == [0, 0.1, 1]
    assert (record["m1"][0], record["m2"][0]) == pytest.approx((-0.3, 0.3))
    assert len(record["m1"]) == len(record["m2"]) == 3
    kinds = [p["stability"] for p in record["fixed_points"]]
    assert sorted(kinds) == ["half-stable", "saddle", "stable", "unstable", "unstable"]
    assert record["reaches_target"] is False
    assert record["in_trapping_wedge"] is True
    assert figure.read_text().startswith("<?xml")


def test_flow_offers_text_and_json_and_says_where_it_ends(capsys: pytest.CaptureFixture[str]) -> None:
    assert "<text|json>" in run(capsys, "flow", "--help")[1]
    _, text, _ = run(capsys, "flow", "--link", "x**2", *SPIKE, "--start", "-0.4,0.1", "--times", "0,0.1,1")
    assert "ends at (m1, m2) = (-1, 0): minus the target, equivalent for an even link" in text


def test_loss_gives_a_verdict_on_the_spike_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    for eta1, answer, trap in (("0.45", "hard", "would be a trap"), ("1", "trapped", "is a trap")):
        _, text, _ = run(capsys, "loss", *CUBIC, "--lambda", "1", "--eta1", eta1)
        assert text.splitlines()[1].startswith(f"{answer}: ")
        assert trap in text
        assert "after the spike rescales the label's field to variance B = 1 + λη1²" in text
        record = json.loads(run(capsys, "loss", *CUBIC, "--lambda", "1", "--eta1", eta1, "--format", "json")[1])
        assert record["verdict"] == answer
    idle = run(capsys, "loss", *CUBIC, "--lambda", "0", "--eta1", "0.3")[1]
    assert "η1 is idle" in idle
    assert "at η1 = 1" not in idle


def test_loss_figures(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    for eta1 in ("0.45", "1"):
        figure = tmp_path / f"loss-{eta1}.png"
        code, _, _ = run(capsys, "loss", *CUBIC, "--lambda", "1", "--eta1", eta1, "--figure", str(figure))
        assert code == 0
        assert figure.stat().st_size > 10_000


FLOW = ("flow", *CUBIC, *SPIKE)


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["loss", "--link", "__import__('os')"], "character 12"),
        (["loss", "--link", "x.real"], "character 2"),
        (["loss", "--link", "x**999999"], "character 2"),
        (["loss", "--link", "x+" * 5_000_000 + "x"], "500 characters"),
        (["loss", "--link", "exp(x**2)"], "slower than exp(x**2)"),
        (["loss", "--link", "3"], "depends on x"),
        (["loss", *CUBIC, "--lambda", "1"], "eta1"),
        (["loss", *CUBIC, "--m1", "0.1", "--m2", "0.1"], "lambda"),
        (["loss", *CUBIC, *SPIKE, "--m1", "0.1"], "m2"),
        (["loss", *CUBIC, *SPIKE, "--m1", "0.9", "--m2", "0.9"], "disc"),
        (["loss", *CUBIC, "--lambda", "-1", "--eta1", "0.5"], "lambda"),
        (["loss", *CUBIC, "--lambda", "1", "--eta1", "2"], "eta1"),
        (["loss", *CUBIC, "--lambda", "nan", "--eta1", "0.5"], "lambda"),
        (["loss", *CUBIC, "--order", "0"], "order"),
        (["loss", *CUBIC, "--figure", "x.png"], "--lambda"),
        ([*FLOW, "--start", "1", "--times", "1"], "start"),
        ([*FLOW, "--start", "1,1", "--times", "1"], "disc"),
        ([*FLOW, "--start", "0.1,0.1", "--times", "1,0"], "increasing"),
        ([*FLOW, "--start", "0.1,0.1", "--times", "1", "--figure", "x.bmp"], "figure"),
        ([*FLOW, "--start", "0.1,0.1", "--times", "1", "--format", "latex"], "latex"),
    ],
    ids=lambda value: " ".join(value)[:40] if isinstance(value, list) else None,
)
def test_refusals(capsys: pytest.CaptureFixture[str], arguments: list[str], named: str) -> None:
    code, out, err = run(capsys, *arguments)
    assert code == 2
    assert out == ""
    assert err.startswith("error: ")
    assert err.count("\n") == 1
    assert named in err
