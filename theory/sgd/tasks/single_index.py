"""One vector, one ground truth, any link."""

from __future__ import annotations

from typing import Literal

import sympy

from theory.errors import InputError
from theory.sgd.stability import with_default_step
from theory.sgd.task import Task, symbols
from theory.sgd.tasks.activation import read_activation

LARGEST_DEFAULT_STEP = 0.5


def single_index(
    *,
    link: str = "x**2 - 1",
    loss: Literal["squared", "correlation"] = "squared",
    label_noise: float = 0.0,
    ridge: float = 0.0,
    step: float | None = None,
) -> Task:
    """Labels y = f(v·a) + e. ``squared``: (f(w·a) − y)², as in [S] and [O]; ``correlation``: −y w·a, of [U]'s example.

    ``link`` is an expression in x or a name such as ``erf``. Left out, the ``step`` is a stable one for this link,
    at most 0.5.

    >>> single_index(link="x**2 - 1", loss="correlation", ridge=1.0).gradients.c
    (-e - u1**2 + 1,)
    """
    (z,), (u,) = symbols("z", 1), symbols("u", 1)
    f = read_activation(link)
    label = f(u) + sympy.Symbol("e", real=True)
    losses = {"squared": (f(z) - label) ** 2, "correlation": -label * z}
    if not isinstance(loss, str) or loss not in losses:
        raise InputError("single-index loss", given=loss, expected="squared or correlation", remedy="use squared")
    task = Task(
        name="single-index",
        parameters=("w",),
        truths=("v",),
        loss=losses[loss],
        label_noise=label_noise,
        ridge=ridge,
        step=LARGEST_DEFAULT_STEP if step is None else step,
        start={"M_1_1": 0.3, "Q_1_1": 0.5},
    )
    return with_default_step(task, most=LARGEST_DEFAULT_STEP) if step is None else task
