"""``ringprism limit`` and ``ringprism atlas`` on the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from regimes.faces import FACES
from ringprism.cli import main

SIZES = "p=200,n=100,m=300,sigma2=1/150"
FIT = {"interior"}
"""The face that does not miss clearly more than the best one at these sizes."""
WIDE = "p=80,n=8000,m=120,sigma2=1/40000"


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as exit_info:
        main(list(arguments))
    captured = capsys.readouterr()
    assert isinstance(exit_info.value.code, int)
    return exit_info.value.code, captured.out, captured.err


@pytest.mark.parametrize("face", [face.name for face in FACES])
def test_json_for_every_face(capsys: pytest.CaptureFixture[str], face: str) -> None:
    code, out, err = run(capsys, "limit", "--face", face, "--sizes", SIZES, "--times", "0,1,8", "--format", "json")
    assert code == 0
    result = json.loads(out)
    assert {"face", "sizes", "eta", "model", "version", "times", "train", "population", "losses"} <= set(result)
    assert {"method", "error_estimate", "errors", "warnings"} <= set(result)
    assert err == "".join(f"warning: {warning}\n" for warning in result["warnings"])
    assert any("early change" in warning for warning in result["warnings"]) == (face not in FIT)
    assert result["face"] == face
    assert result["times"] == [0, 1, 8]
    for name in ("train", "population", "error_estimate"):
        assert len(result[name]) == 3
    assert all(0 <= e < 1e-3 for e in result["error_estimate"])


def test_vertex_sets_and_names_are_the_same_face(capsys: pytest.CaptureFixture[str]) -> None:
    outputs = {
        run(capsys, "limit", "--face", face, "--sizes", SIZES, "--times", "1", "--format", "json")[1]
        for face in ("large-data", "R,N,P|m", "P,n,r|M")
    }
    assert len(outputs) == 1


def test_latex_gives_the_formula_and_text_a_table(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ("limit", "--face", "narrow-latent", "--sizes", SIZES, "--times", "0,5")
    code, out, _ = run(capsys, *arguments, "--format", "latex")
    assert code == 0
    assert r"\hat{L}(t) &= \frac{1}{2} + \frac{n}{pm}" in out
    code, out, _ = run(capsys, *arguments)
    assert code == 0
    assert "narrow-latent" in out
    assert "population" in out
    assert len(out.splitlines()) == 6


def test_a_wrong_face_is_warned_of_and_the_right_one_is_not(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ("--sizes", WIDE, "--times", "0,20,80")
    code, out, err = run(capsys, "limit", "--face", "large-data", *arguments)
    assert code == 0
    assert err.startswith("warning: at these sizes large-data misses the early change of a loss by 33 % of it")
    assert "warning" not in out
    assert "numerical error" in out
    for face in ("mean-field", "interior"):
        assert run(capsys, "limit", "--face", face, *arguments)[2] == ""


def test_a_correction_beyond_its_series_says_from_which_time(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ("limit", "--face", "mean-field", "--sizes", WIDE, "--corrected", "--format", "json", "--times")
    code, out, err = run(capsys, *arguments, "0,2,80")
    assert code == 0
    assert "from t = 80 on the series cannot vouch" in err
    assert any("from t = 80 on" in warning for warning in json.loads(out)["warnings"])
    assert "vouch" not in run(capsys, *arguments, "0,2")[2]


def test_a_formula_needs_no_sizes_and_anything_else_does(capsys: pytest.CaptureFixture[str]) -> None:
    for face in FACES:
        bare = run(capsys, "limit", "--face", face.name, "--format", "latex")
        assert (bare[0], bare[2]) == (0, "")
        assert bare[1].startswith(r"\begin{align*}")
    whole = run(capsys, "limit", "--face", "large-data", "--format", "latex", "--sizes", SIZES, "--times", "0")
    assert whole[:2] == run(capsys, "limit", "--face", "large-data", "--format", "latex")[:2]
    for arguments, missing in ((("--times", "0,1"), "--sizes"), (("--sizes", SIZES), "--times"), ((), "--sizes")):
        code, out, err = run(capsys, "limit", "--face", "large-data", *arguments)
        assert (code, out) == (2, "")
        assert f"no {missing}" in err


def test_corrected_and_eta(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ("limit", "--face", "mean-field", "--sizes", "p=50,n=1000,m=50,sigma2=1/2000", "--format", "json")
    slow = json.loads(run(capsys, *arguments, "--times", "0,5", "--corrected")[1])
    fast = json.loads(run(capsys, *arguments, "--times", "0,2.5", "--eta", "2", "--corrected")[1])
    bare = json.loads(run(capsys, *arguments, "--times", "0,5")[1])
    assert slow["population"] == pytest.approx(fast["population"])
    assert slow["population"][1] > 1.02 * bare["population"][1]
    assert "1/N" in slow["method"]


def test_figure(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "limit.svg"
    code, _, _ = run(capsys, "limit", "--face", "N|m", "--sizes", SIZES, "--times", "0,5,9", "--figure", str(path))
    assert code == 0
    assert path.read_text().startswith("<?xml")


@pytest.mark.parametrize(
    ("changed", "named"),
    [
        ({"--face": "R,Q|m"}, "face"),
        ({"--sizes": "p=0,n=1,m=1,sigma2=1"}, "size p"),
        ({"--sizes": "p=10,n=1,m=1"}, "sigma2"),
        ({"--times": "2,1"}, "times"),
        ({"--times": "0,nan"}, "times"),
        ({"--eta": "0"}, "eta"),
        ({"--eta": "inf"}, "eta"),
        ({"--degree": "8"}, "degree"),
        ({"--face": "free", "--degree": "40"}, "degree 40"),
        ({"--face": "interior", "--times": "1e7"}, "interior"),
        ({"--face": "R|m", "--times": "1e9"}, "overflows"),
        ({"--figure": "limit.bmp"}, "figure"),
    ],
)
def test_bad_input_is_one_line(capsys: pytest.CaptureFixture[str], changed: dict[str, str], named: str) -> None:
    options = {"--face": "large-data", "--sizes": SIZES, "--times": "0,1"} | changed
    code, out, err = run(capsys, "limit", *(word for pair in options.items() for word in pair))
    assert (code, out) == (2, "")
    assert err.startswith("error: ")
    assert err.count("\n") == 1
    assert named in err


def test_a_spectrum_is_repeated_or_refused(capsys: pytest.CaptureFixture[str]) -> None:
    wide = ("limit", "--face", "mean-field", "--sizes", WIDE, "--times", "0,10")
    code, out, err = run(capsys, *wide, "--spectrum", "values:1.5*1,0.5*1", "--format", "json")
    result = json.loads(out)
    assert (code, err, result["spectrum"], result["warnings"]) == (0, "", "values:1.5*1,0.5*1", [])
    code, out, _ = run(capsys, *wide, "--spectrum", "power:0", "--format", "json")
    assert (code, json.loads(out)["spectrum"]) == (0, "power:0")
    code, _, err = run(capsys, *wide, "--spectrum", "values:1.5*1,0.5*2")
    assert code == 2
    assert "multiple of 3" in err
    code, _, err = run(capsys, *wide, "--corrected", "--spectrum", "power:1")
    assert code == 2
    assert "isotropic" in err
    sizes = "p=8,n=4,m=6,sigma2_u=1,sigma2_v=1"
    code, _, err = run(
        capsys, "simulate", "--model", "untied", "--sizes", sizes, "--times", "0", "--spectrum", "power:1"
    )
    assert code == 2
    assert "covariance" in err
