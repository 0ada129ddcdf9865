"""Ctrl-C: one line, exit code 130, and no promise of kept results where nothing keeps them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Run = Callable[..., tuple[int, str, str]]


def interrupted(*_: object, **__: Any) -> None:
    raise KeyboardInterrupt


def test_without_a_store_nothing_is_promised(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("numerics.sgd.simulate.simulate_sgd", interrupted)
    assert run("sgd", "simulate") == (130, "", "error: interrupted\n")


@pytest.mark.parametrize("store", [["--store", "run.db"], ["--store=run.db"]])
def test_a_store_keeps_what_was_finished(run: Run, monkeypatch: pytest.MonkeyPatch, store: list[str]) -> None:
    monkeypatch.setattr("numerics.gradient_flow.simulate.simulate", interrupted)
    sizes = ("--sizes", "p=20,n=10,m=30,sigma2=1/20", "--times", "1")
    assert run("simulate", *sizes, *store) == (130, "", "error: interrupted; what was finished is kept\n")


def test_a_report_keeps_what_was_finished(run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("numerics.claims.run.run_claims", interrupted)
    expected = (130, "", "error: interrupted; what was finished is kept\n")
    assert run("claims", "--quick", "--report", str(tmp_path)) == expected
