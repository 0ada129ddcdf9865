"""A plateau does not pass for an end: the ODE leaves it, and the result says so."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from numerics.sgd.basins import basins
from numerics.sgd.outlook import outlook
from theory.sgd.laws import LAWS
from theory.sgd.state import start_state
from theory.sgd.task import TIME
from theory.sgd.tasks import single_index, xor


def test_the_plateau_of_xor_is_no_end() -> None:
    """At t = 40 the loss is that of guessing, log 2; at t = 300 most starts are at less than half of it."""
    early = basins(xor(), time=40.0, replicas=3, seed=0, d=200)
    assert early.ends[0].kind == "plateau"
    assert early.ends[0].loss == pytest.approx(math.log(2), abs=0.05)
    assert early.ends[0].leaves_at is not None
    assert 40 < early.ends[0].leaves_at < 300
    assert any("plateau at t = 40" in text for text in early.warnings)
    payload = early.to_json()
    assert payload["warnings"] == list(early.warnings)
    assert {"kind", "drift", "leaves_at"} <= payload["ends"][0].keys()  # type: ignore[index]
    assert "plateau, left at t ≈" in early.to_text()


def test_ends_are_ends() -> None:
    found = basins(single_index(step=0.02), time=5.0, replicas=8, seed=1, d=100)
    assert {end.kind for end in found.ends} == {"end"}
    assert not any("plateau" in text for text in found.warnings)


@pytest.mark.parametrize(("step", "kind"), [(0.05, "plateau"), (1e-6, "end")])
def test_a_schedule_goes_on_where_it_was(step: float, kind: str) -> None:
    """Link x: Ṁ = 2 s(t) (1 − M). From M = 0 at t = 1 with s = step/t², M ends at 1 − e^{−2·step·(1 − 1/11)}."""
    factor = step * 40
    task = replace(single_index(link="x", step=0.001), schedule=factor / TIME**2)
    start = start_state(task, {"M_1_1": 0.0, "Q_1_1": 0.5})
    assert 1 - math.exp(-2 * factor * (1 - 1 / 11)) > 0.5 or kind == "end"
    assert outlook(task, LAWS["gaussian"], start, time=1.0, close=0.5).kind == kind
