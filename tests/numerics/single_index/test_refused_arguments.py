"""Arguments of the wrong kind are refused by the verbs themselves."""

from __future__ import annotations

from typing import Any

import pytest

from numerics.single_index.complexity import complexity
from numerics.single_index.setting import Setting
from numerics.single_index.starts import FixedStart
from numerics.single_index.train import train
from theory.errors import InputError
from theory.single_index.link import Link

SETTING = Setting(Link.parse("x**3-3*x"), lam=1.0, eta1=0.45, d=10)
START = FixedStart(0.3, 0.4)


@pytest.mark.parametrize(
    "changes",
    [
        {"step": "a"},
        {"step": None},
        {"step": float("nan")},
        {"target": "a"},
        {"target": float("nan")},
        {"method": "foo"},
        {"every": 2.5},
        {"start": "random"},
        {"start": None},
    ],
)
def test_train(changes: dict[str, Any]) -> None:
    given: dict[str, Any] = {"start": START, "steps": 10, "step": 0.1, "replicas": 2, **changes}
    with pytest.raises(InputError):
        train(SETTING, given.pop("start"), **given)


@pytest.mark.parametrize(
    "changes", [{"dims": None}, {"dims": "ab"}, {"target": "a"}, {"start": "random"}, {"budget": float("nan")}]
)
def test_complexity(changes: dict[str, Any]) -> None:
    given: dict[str, Any] = {"start": START, "dims": [50, 100], "target": 0.9, "replicas": 2, **changes}
    with pytest.raises(InputError):
        complexity(SETTING, given.pop("start"), **given)


def test_overlaps_of_the_wrong_kind() -> None:
    for bad in ("a", float("nan")):
        with pytest.raises(InputError):
            FixedStart(bad, 0)  # type: ignore[arg-type]
