"""Models of the user's own at the command line: what is asked comes back, and what cannot be computed is refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

Run = Callable[..., tuple[int, str, str]]


MODEL = """
name = "autoencoder of mine"
sizes = ["p", "n"]
parameters = ["k", "z", "tau"]
descend = "times"

[tensors]
U = { indices = ["n", "p"], variance = "s2", trained = true }
N = { indices = ["p", "p"], variance = "tau" }

[losses]
times = "norm2(1 + N - U' U) / (2 p) + k norm2(U) / 2 + tr(U' U) / z"
seed  = "tr(U' U)^2"
"""
SIZES = "p=2,n=2,s2=1/4,tau=1/100,k=1/10,z=1e3"


@pytest.fixture
def mine(tmp_path: Path) -> str:
    path = tmp_path / "mine.toml"
    path.write_text(MODEL)
    return str(path)


def test_losses_named_as_keys_of_the_result_hide_none_and_a_resumed_run_says_the_same(
    run: Run, mine: str, tmp_path: Path
) -> None:
    command = ["simulate", "--model", mine, "--sizes", SIZES, "--times", "0,0.05", "--format", "json"]
    stored = [*command, "--store", str(tmp_path / "runs.sqlite")]
    code, out, _ = run(*command, "--replicas", "4")
    whole = json.loads(out)
    assert code == 0
    assert (whole["times"], whole["seed"], set(whole["losses"])) == ([0.0, 0.05], 0, {"times", "seed"})
    assert run(*stored, "--replicas", "2")[0] == 0
    assert json.loads(run(*stored, "--replicas", "4")[1]) == whole
    assert json.loads(run(*stored, "--replicas", "4")[1]) == whole


@pytest.mark.parametrize("more", [[], ["--moment", "2"]])
def test_a_scaling_in_place_of_a_face(run: Run, mine: str, more: list[str]) -> None:
    common = ["derive", "--model", mine, "--loss", "times", "--order", "1", "--format", "json", *more]
    by_face = run(*common, "--face", "s2 n/p,1/p")
    by_scaling = run(*common, "--scaling", "p=1,n=2,s2=-2,tau=-5,k=-5,z=5")
    assert (by_face[0], by_scaling[0]) == (0, 0)
    assert json.loads(by_face[1]) == json.loads(by_scaling[1])
    assert json.loads(by_face[1])["face"] == "1/p,s2*n/p"
    code, out, err = run(*common, "--face", "1/p", "--scaling", "p=1")
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert "--scaling" in err


def test_a_scaling_in_place_of_a_face_of_the_prism(run: Run) -> None:
    common = ["derive", "--loss", "train", "--order", "1", "--format", "json"]
    data = json.loads(run(*common, "--scaling", "p=1,n=2,m=1,sigma2=-2")[1])
    assert data == json.loads(run(*common, "--face", "mean-field")[1])
    assert data["face"] == "mean-field"


def test_validate_judges_by_the_tolerance_given(run: Run, tmp_path: Path) -> None:
    """dw/dt = −(1 + k)w: the face "1" leaves k out, and misses a tenth of the early change at k = 1/10."""
    path = tmp_path / "decay.toml"
    path.write_text(
        'name = "decay"\nsizes = ["p"]\nparameters = ["k"]\n'
        '[tensors]\nw = { indices = ["p"], variance = "v", trained = true }\n'
        '[losses]\ntrain = "(1 + k) norm2(w) / 2"\n'
    )
    common = ["validate", "--model", str(path), "--sizes", "p=9,v=1,k=1/10", "--times", "0.01", "--face", "1"]
    common += ["--replicas", "2", "--format", "json"]
    found = [json.loads(run(*common, "--tolerance", tolerance)[1]) for tolerance in ("0.01", "0.9")]
    assert [data["tolerance"] for data in found] == [0.01, 0.9]
    assert 0.05 < found[0]["face_distance"]["train"] < 0.3
    assert [data["face_verdict"]["train"] for data in found] == ["fails", "holds"]
    for tolerance in ("-1", "nan"):
        code, out, err = run(*common, "--tolerance", tolerance)
        assert (code, out, err.count("\n")) == (2, "", 1)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (("z=1e3", "z=0"), "not 0: the model divides by it"),
        (("tau=1/100", "tau=-1/100"), "a positive number"),
        (("tau=1/100", "tau=0"), "a positive number"),
        (("s2=1/4", "s2=1e400"), "from 1e-100 to 1e100"),
        (("k=1/10", "k=-1e-400"), "from 1e-100 to 1e100"),
    ],
)
@pytest.mark.parametrize("verb", [["simulate"], ["limit", "--face", "1/p"], ["validate"]])
def test_values_that_no_number_can_come_of(
    run: Run, mine: str, verb: list[str], change: tuple[str, str], words: str
) -> None:
    sizes = SIZES.replace(*change)
    code, out, err = run(*verb, "--model", mine, "--sizes", sizes, "--times", "0,0.05")
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert words in err


@pytest.mark.parametrize("name", ["sizes", "variance", "parameters"])
def test_a_variable_is_not_taken_for_a_moment_of_a_fixed_matrix(run: Run, tmp_path: Path, name: str) -> None:
    """Two keys c_1 of one term would hide one another."""
    names = {"sizes": "p", "variance": "v", "parameters": "k"}
    old = names[name]
    text = (
        'name = "clash"\nsizes = ["p", "n"]\nparameters = ["k"]\n[tensors]\n'
        'U = { indices = ["n", "p"], variance = "v", trained = true }\nX = { indices = ["p", "n"], covariance = "C" }\n'
        '[losses]\ntrain = "k norm2(U X) / 2"\n'
    )
    path = tmp_path / "clash.toml"
    command = ["derive", "--model", str(path), "--loss", "train", "--order", "0", "--format", "json"]
    path.write_text(text)
    terms = json.loads(run(*command)[1])["coefficients"][0]["terms"]
    assert terms == [{"p": 1, "n": 2, "v": 1, "k": 1, "c_1": 1, "c": "1/2"}]
    path.write_text(text.replace(f'"{old}"', '"c_1"').replace("k norm2", "c_1 norm2" if old == "k" else "k norm2"))
    code, out, err = run(*command)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert "c_1" in err
    assert "begins with c_" in err


@pytest.mark.parametrize("loss", ["norm2(X)", "3"])
def test_a_loss_that_does_not_move_has_no_regimes(run: Run, tmp_path: Path, loss: str) -> None:
    path = tmp_path / "still.toml"
    path.write_text(
        'name = "still"\nsizes = ["p"]\n[tensors]\nU = { indices = ["p"], trained = true }\n'
        f'X = {{ indices = ["p"] }}\n[losses]\ntrain = "{loss}"\n'
    )
    code, out, err = run("classify", "--model", str(path), "--scaling", "p=1")
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert "a loss that moves" in err


@pytest.mark.parametrize(
    ("loss", "slope"),
    [("tr(Z)", None), ("tr(Z) + norm2(Z)", None), ("tr(Z)^2", None), ("tr(Z) + tr(Z')", "4"), ("tr(Z) tr(Z')", "4")],
)
def test_a_loss_that_is_not_real_is_refused(run: Run, tmp_path: Path, loss: str, slope: str | None) -> None:
    """By hand: 2 Re tr Z has a gradient of norm² 4p, and |tr Z|² one of mean norm² 4p·pv."""
    path = tmp_path / "complex.toml"
    path.write_text(
        'name = "complex"\nsizes = ["p"]\n[tensors]\n'
        'Z = { indices = ["p", "p"], kind = "complex", trained = true, variance = "v" }\n'
        f'[losses]\ntrain = "{loss}"\n'
    )
    code, out, err = run("derive", "--model", str(path), "--loss", "train", "--order", "1", "--format", "json")
    if slope is None:
        assert (code, out, err.count("\n")) == (2, "", 1)
        assert "a real number" in err
    else:
        (term,) = json.loads(out)["coefficients"][1]["terms"]
        assert term["c"] == slope
