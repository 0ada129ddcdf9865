"""The tasks known by name. Each is a declaration of a few lines; ``TASKS`` maps a name to its builder."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from theory.errors import InputError
from theory.expressions import parse_expression
from theory.sgd.task import Task
from theory.sgd.tasks.committee import committee
from theory.sgd.tasks.logistic import logistic
from theory.sgd.tasks.mixture import mixture
from theory.sgd.tasks.single_index import single_index
from theory.sgd.tasks.xor import xor

TASKS: Mapping[str, Callable[..., Task]] = {
    "single-index": single_index,
    "committee": committee,
    "logistic": logistic,
    "xor": xor,
    "mixture": mixture,
}
"""Name → builder; options by keyword, each with a default."""


def build_task(name: str, **options: Any) -> Task:
    """The task of that name; an option that is ``None`` keeps the task's own default.

    Raises ``InputError`` for an unknown task, or an option the task does not have.

    >>> build_task("committee", students=3, link=None).parameters
    ('w1', 'w2', 'w3')
    """
    if not isinstance(name, str) or name not in TASKS:
        raise InputError("task", given=name, expected=f"one of {', '.join(TASKS)}", remedy="use committee")
    given = {option: value for option, value in options.items() if value is not None}
    takes = inspect.signature(TASKS[name]).parameters
    for option in given:
        if option not in takes:
            raise InputError(
                f"task {name}", given=option, expected=f"options among {', '.join(takes)}", remedy=f"drop {option}"
            )
    return TASKS[name](**given)


def with_steps(task: Task, *, batch: int | None = None, schedule: str | None = None) -> Task:
    """The task with minibatches, and with a step schedule read from a formula in t.

    >>> with_steps(committee(), batch=4, schedule="1/(1+t)").critical
    0.125
    """
    if schedule is not None:
        task = replace(task, schedule=parse_expression(schedule, ("t",), what="schedule"))
    return task if batch is None else replace(task, batch=batch)


__all__ = ["TASKS", "build_task", "committee", "logistic", "mixture", "single_index", "with_steps", "xor"]
