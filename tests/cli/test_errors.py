"""Bad input ends in one line on stderr and exit code 2; JSON has stdout to itself."""

from __future__ import annotations

from collections.abc import Callable

import pytest

Run = Callable[..., tuple[int, str, str]]


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
def test_bad_input(run: Run, arguments: list[str], named: str) -> None:
    code, out, err = run(*arguments)
    assert code == 2
    assert out == ""
    assert err.startswith("error: ")
    assert err.count("\n") == 1
    assert named in err
