"""The commands that make up the main job, from the command line: outputs, exit codes, files."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

Run = Callable[..., tuple[int, str, str]]

SMALL = "p=20,n=2000,m=4000,sigma2=1/8000"


def test_demo_ends_with_a_verdict_and_a_figure(run: Run, tmp_path: Path) -> None:
    code, out, err = run("demo", "--sizes", SMALL, "--replicas", "16", "--out", str(tmp_path / "new"))
    assert code == 0
    assert "theory:  train holds, population holds" in out
    assert err == ""
    assert {path.name for path in (tmp_path / "new").iterdir()} == {"demo.png", "demo.svg"}


def test_validate_fails_with_exit_code_1_where_the_face_is_wrong(run: Run) -> None:
    arguments = ["validate", "--sizes", SMALL, "--times", "2,5", "--replicas", "16", "--format", "json"]
    code, out, _ = run(*arguments)
    assert (code, set(json.loads(out)["verdict"].values())) == (0, {"holds"})
    code, out, _ = run(*arguments, "--face", "R|m")
    assert (code, set(json.loads(out)["face_verdict"].values())) == (1, {"fails"})


def test_every_json_is_alone_on_stdout(run: Run) -> None:
    for arguments in (
        ["classify", "--p", "1", "--n", "1", "--m", "1", "--sigma2", "-1"],
        ["limit", "--face", "mean-field", "--sizes", SMALL, "--times", "0,1"],
        ["simulate", "--sizes", SMALL, "--times", "0,1", "--replicas", "2"],
        ["claims", "--list"],
    ):
        code, out, _ = run(*arguments, "--format", "json")
        assert code == 0, arguments
        json.loads(out, parse_constant=pytest.fail)
