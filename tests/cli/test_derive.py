"""``ringprism derive``: JSON as the interface says, three formats, the cache, faces, refusals in one line."""

from __future__ import annotations

import json
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import pytest

from regimes.faces import FACES
from theory.autoencoder.series import loss_series

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture(autouse=True)
def _own_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("RINGPRISM_CACHE", str(tmp_path))


@pytest.mark.parametrize("loss", ["train", "population"])
def test_json_is_the_interface(run: Run, loss: str) -> None:
    code, out, err = run("derive", "--loss", loss, "--order", "2", "--format", "json")
    assert (code, err) == (0, "")
    data = json.loads(out)
    assert {"version": 1, "model": "autoencoder", "warnings": []}.items() <= data.items()
    assert (data["loss"], data["order"], [row["s"] for row in data["coefficients"]]) == (loss, 2, [0, 1, 2])
    assert {"p": 0, "n": 1, "m": 0, "sigma2": 1, "c": "-1"} in data["coefficients"][0]["terms"]
    series = loss_series("train" if loss == "train" else "population", order=2)
    for row, coefficient in zip(data["coefficients"], series.coefficients, strict=True):
        terms = {tuple(term[name] for name in coefficient.variables): Fraction(term["c"]) for term in row["terms"]}
        assert terms == coefficient.terms


def test_the_cache_changes_nothing_and_can_be_switched_off(run: Run, tmp_path: Path) -> None:
    arguments = ("derive", "--loss", "train", "--order", "2", "--format", "json")
    first = run(*arguments, "--no-cache")
    assert not list(tmp_path.iterdir())
    assert run(*arguments) == first
    (file,) = (tmp_path / "series").iterdir()
    assert run(*arguments) == first
    file.write_text("{")
    code, out, err = run(*arguments)
    assert (code, out) == first[:2]
    assert err.startswith(f"warning: cache file {file} ignored")
    assert err.count("\n") == 1


def test_faces_by_name_and_by_vertices(run: Run) -> None:
    for face in FACES:
        by_name = run("derive", "--loss", "population", "--order", "2", "--face", face.name)
        assert by_name == run("derive", "--loss", "population", "--order", "2", "--face", face.vertex_set)
        assert by_name[0] == 0
    code, out, _ = run("derive", "--loss", "train", "--order", "1", "--face", "R,N|m", "--format", "latex")
    assert code == 0
    assert r"\hat Y_{1} &= 4 n^{3} m \sigma^{6} - 8 n^{2} m \sigma^{4} + 4 n m \sigma^{2}" in out


def test_planar_is_less(run: Run) -> None:
    _, whole, _ = run("derive", "--loss", "train", "--order", "2")
    _, planar, _ = run("derive", "--loss", "train", "--order", "2", "--planar")
    assert "n^2 sigma2^2 - n sigma2" in planar
    assert len(planar) < len(whole)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--loss", "train", "--order", "-1"), ("order", "-1", "whole number from 0", "--order 6")),
        (("--loss", "train", "--order", "15"), ("order 15", "GiB", "--force")),
        (("--loss", "train", "--order", "99999999999999999999"), ("order", "years", "--force")),
        (("--loss", "train", "--order", "2", "--face", "cube"), ("face", "cube", "21 faces")),
        (("--loss", "test", "--order", "2"), ("test", "train")),
        (("--loss", "train", "--order", "two"), ("--order", "got 'two'", "whole number from 0")),
        (("--loss", "train", "--order", "2.5"), ("--order", "got '2.5'")),
        (("--loss", "train"), ("--order",)),
    ],
)
def test_bad_requests_are_one_line(run: Run, arguments: tuple[str, ...], words: tuple[str, ...]) -> None:
    code, out, err = run("derive", *arguments)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert err.startswith("error: ")
    assert all(word in err for word in words), err


def test_any_model_with_nothing_taken_out(run: Run, tmp_path: Path) -> None:
    """CP of order 2: the coefficients of [D], times the variables of the file."""
    code, out, err = run("derive", "--model", "cp:2", "--loss", "train", "--order", "1", "--format", "json")
    assert (code, err) == (0, "")
    data = json.loads(out)
    assert (data["model"], data["variables"]) == ("cp:2", ["p", "H", "sigma2"])
    terms = {(t["p"], t["H"], t["sigma2"]): t["c"] for t in data["coefficients"][1]["terms"]}
    assert terms == {
        (1, 1, 1): "4",
        **{(1, 1, 2): "-8", (2, 1, 2): "-8", (1, 2, 2): "-8"},
        **{(1, 1, 3): "16", (2, 1, 3): "12", (3, 1, 3): "4", (1, 2, 3): "12", (2, 2, 3): "12", (1, 3, 3): "4"},
    }
    code, text, _ = run("models", "cp:2")
    assert code == 0
    file = tmp_path / "mine.toml"
    file.write_text(text)
    assert run("derive", "--model", str(file), "--loss", "train", "--order", "1", "--format", "json") == (0, out, "")


def test_errors_in_a_model_file_are_one_line_with_a_caret(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "bad.toml"
    file.write_text(
        'name = "bad"\nsizes = ["p", "n"]\n[tensors]\nU = { indices = ["n", "p"], trained = true }\n'
        '[losses]\ntrain = "norm2(1 - U U) / 2"\n'
    )
    code, out, err = run("derive", "--model", str(file), "--loss", "train", "--order", "1")
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert "loss train, character 13" in err
    assert "did you mean U' U or U U'?" in err
    assert "norm2(1 - U [^]U) / 2" in err
