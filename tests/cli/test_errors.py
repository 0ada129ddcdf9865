"""Bad input ends in one line on stderr and exit code 2; JSON has stdout to itself."""

from __future__ import annotations

import pytest

from ringprism.cli import main


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    """Exit code, stdout and stderr of the command line."""
    with pytest.raises(SystemExit) as exit_info:
        main(list(arguments))
    captured = capsys.readouterr()
    code = exit_info.value.code
    assert isinstance(code, int)
    return code, captured.out, captured.err


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["claims", "AE-9999"], "AE-9999"),
        (["claims", "--quick", "--full"], "--quick --full"),
        (["claims", "--format", "latex", "--list"], "latex"),
        (["claims", "--format", "yaml"], "yaml"),
        (["claims", "--workers", "0"], "0"),
        (["claims", "--seed", "-1", "--list"], "-1"),
        (["nonsense"], "nonsense"),
    ],
)
def test_bad_input(capsys: pytest.CaptureFixture[str], arguments: list[str], named: str) -> None:
    code, out, err = run(capsys, *arguments)
    assert code == 2
    assert out == ""
    assert err.startswith("error: ")
    assert err.count("\n") == 1
    assert named in err
