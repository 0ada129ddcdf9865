"""``--set``: the options of a task, in place of a flag for each."""

from __future__ import annotations

from collections.abc import Callable

import pytest

Run = Callable[..., tuple[int, str, str]]
ODE = ("sgd", "ode", "--times", "0,1", "--format", "json", "--delta", "0.5")


def test_it_says_what_the_flags_said(run: Run) -> None:
    flags = run(*ODE, "--task", "committee", "--students", "2", "--teachers", "1", "--train-second")
    assert flags[0] == 0
    settings = ("--set", "students=2", "--set", "teachers=1", "--set", "train-second=true")
    assert run(*ODE, "--task", "committee", *settings) == flags


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (("--set", "students=two"), "expected a whole number for students"),
        (("--set", "students"), "expected OPTION=VALUE"),
        (("--set", "students=2", "--set", "students=3"), "each option once"),
        (("--set", "students=2", "--students", "3"), "each option once"),
        (("--set", "train-second=maybe"), "expected true or false"),
        (("--set", "rank=3"), "got 'rank', expected options among"),
    ],
)
def test_what_cannot_be_is_refused(run: Run, settings: tuple[str, ...], message: str) -> None:
    code, out, err = run(*ODE, "--task", "committee", *settings)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert message in err
