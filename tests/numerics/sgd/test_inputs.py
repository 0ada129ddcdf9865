"""What users may get wrong in Python: each is an ``InputError`` that names it, never a raw error or a silent answer."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest

from numerics.sgd.simulate import simulate_sgd
from numerics.sgd.universality import universality
from theory.errors import InputError
from theory.sgd.laws import discrete_law, law, own_law, two_point_law
from theory.sgd.ode import effective_ode
from theory.sgd.state import start_state
from theory.sgd.task import Component, Task, symbols
from theory.sgd.tasks import build_task, committee, logistic, single_index, xor

NAN: Any = math.nan
TEXT: Any = "1"
NONE: Any = None
LIST: Any = [1]
HALF: Any = 2.5
WORDS: Any = ["x"]


def mixture(weight: float, mean: float) -> Task:
    z, u = symbols("z", 1)[0], symbols("u", 1)[0]
    clouds = (Component(weight, (mean,)), Component(0.5, (-mean,)))
    return Task(name="own", parameters=("w",), truths=("v",), loss=(z - u) ** 2, components=clouds)


def ode(**options: Any) -> object:
    return effective_ode(committee(), [0, 1], **options)


def simulated(**options: Any) -> object:
    return simulate_sgd(committee(), [0, 1], d=50, replicas=2, seed=0, **options)


def verdict(**options: Any) -> object:
    given: dict[str, Any] = {"laws": [law("uniform")], "dims": [50, 100], "replicas": 2, "seed": 0} | options
    return universality(committee(), [0, 1], **given)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: committee(students=TEXT), "committee students: got '1', expected a whole number from 1 to 16"),
        (lambda: committee(teachers=HALF), "committee teachers"),
        (lambda: committee(label_noise=TEXT), "label_noise"),
        (lambda: committee(ridge=NAN), "ridge"),
        (lambda: xor(students=HALF), "xor students"),
        (lambda: xor(activation=LIST), "link or activation"),
        (lambda: xor(separation=math.inf), "xor separation"),
        (lambda: logistic(classes=TEXT), "logistic classes"),
        (lambda: logistic(separation=TEXT), "logistic separation"),
        (lambda: logistic(separation=NAN), "logistic separation: got nan"),
        (lambda: logistic(separation=1e300), r"from -1e\+06 to 1e\+06"),
        (lambda: single_index(link=NONE), "link or activation"),
        (lambda: single_index(loss=LIST), "squared or correlation"),
        (lambda: build_task(LIST), "one of single-index"),
        (lambda: mixture(0.5, NAN), "means and labels"),
        (lambda: mixture(NAN, 1.0), "positive weight"),
        (lambda: law(NONE), "law: got None"),
        (lambda: two_point_law(TEXT), "two-point law"),
        (lambda: discrete_law("mine", LIST, NONE), "law mine"),
        (lambda: discrete_law("mine", WORDS, LIST), "values and weights as numbers"),
        (lambda: own_law("mine", mean=TEXT), "declared mean"),
        (lambda: ode(laws=TEXT), "read one by its name"),
        (lambda: ode(laws=LIST), "read one by its name"),
        (lambda: ode(start=LIST), "a State, or values by name"),
        (lambda: ode(start={"M_1_1": TEXT}), "M_1_1=1"),
        (lambda: ode(start=start_state(committee(students=3))), "expected shapes"),
        (lambda: ode(tolerance=NAN), "tolerance: got nan"),
        (lambda: ode(tolerance=0), "tolerance: got 0"),
        (lambda: ode(tolerance=TEXT), "tolerance"),
        (lambda: simulated(laws=TEXT), "read one by its name"),
        (lambda: simulated(start=LIST), "a State, or values by name"),
        (lambda: verdict(dims="ab"), "dims and laws"),
        (lambda: verdict(dims=[50.0, 100.0]), "dims: got 50.0"),
        (lambda: verdict(laws="gaussian"), "a list of Law"),
        (lambda: verdict(laws=["gaussian"]), "read each by its name"),
        (lambda: verdict(replicas=TEXT), "replicas"),
        (lambda: verdict(start=LIST), "a State, or values by name"),
    ],
)
def test_wrong_types_and_sizes_are_named(call: Callable[[], object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        call()
