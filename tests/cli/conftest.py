"""The command line, called in this process."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from ringprism.cli import main

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    """Exit code, stdout and stderr of ``ringprism`` with the given arguments."""

    def call(*arguments: str) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as exit_info:
            main(list(arguments))
        captured = capsys.readouterr()
        code = exit_info.value.code
        assert isinstance(code, int)
        return code, captured.out, captured.err

    return call
