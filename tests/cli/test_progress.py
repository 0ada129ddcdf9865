"""Progress: a bar on a terminal, a line now and then elsewhere, nothing on what is quick."""

from __future__ import annotations

import pytest

from ringprism import console


def test_a_line_now_and_then(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    times = iter([0.0, 1.0, 30.0, 61.0, 70.0, 130.0])
    monkeypatch.setattr(console.time, "monotonic", lambda: next(times))
    with console.progress_bar("replicas") as advance:
        for finished in (5, 6, 66, 70, 135):
            advance(finished, 265)
    out, err = capsys.readouterr()
    assert out == ""
    assert err == "replicas: 66 of 265, 1/s, 3 min left\nreplicas: 135 of 265, 1/s, 2 min left\n"


def test_what_is_quick_says_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    with console.progress_bar("replicas") as advance:
        advance(1, 1)
    assert capsys.readouterr() == ("", "")
