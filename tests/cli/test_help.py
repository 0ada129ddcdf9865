"""Help: summaries that fit a line, an example for each command that runs, and shell completion."""

from __future__ import annotations

import re

import pytest
import typer

from ringprism.cli import app, main
from ringprism.guide import GUIDES


@pytest.mark.parametrize("arguments", [["--help"], ["sgd", "--help"], ["single-index", "--help"], ["store", "--help"]])
def test_summaries_fit_a_line(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(arguments)
    lines = capsys.readouterr().out.partition("Commands:\n")[2].splitlines()
    assert lines
    assert [line for line in lines if line.endswith("...") or len(line) > 80] == []


def test_every_command_has_a_guide_and_its_example_names_options_that_exist() -> None:
    commands = typer.main.get_command(app).commands  # type: ignore[attr-defined]
    assert set(GUIDES) | {"store", "sgd", "single-index"} == set(commands)
    for name, guide in GUIDES.items():
        known = {option for parameter in commands[name].params for option in parameter.opts}
        example = guide["epilog"].partition("Faces:")[0].partition("Sizes are")[0]
        assert f"ringprism {name}" in example
        assert set(re.findall(r"--[a-z0-9-]+", example)) <= known


def test_completion_ends_well(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHELL", "/bin/bash")
    monkeypatch.setattr("shellingham.detect_shell", lambda: ("bash", "/bin/bash"))
    with pytest.raises(SystemExit) as ended:
        main(["--show-completion"])
    assert ended.value.code == 0
    assert "complete" in capsys.readouterr().out
