"""A task's gradients as one compiled function, of one type for all tasks."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numba
from numba import types

from theory.errors import InputError
from theory.sgd.compiled import on_scalars
from theory.sgd.task import Task

# One type for the gradients of all tasks, so that the kernels which call them are compiled once and cached on disk.
GRADIENT = types.void(types.float64[::1], types.float64[::1])
GRADIENT_TYPE = types.FunctionType(GRADIENT)
_KEPT = 64


def gradient_kernel(task: Task) -> Any:
    """Compiled ``(arguments, out) -> None``: out = (c_1 … c_K, ∂loss/∂b_1 …), arguments in ``task.arguments``' order.

    Raises ``InputError`` where the loss has a function that cannot be compiled.

    >>> import numpy as np
    >>> from theory.sgd.tasks import single_index
    >>> out = np.zeros(1)
    >>> gradient_kernel(single_index(loss="correlation"))(np.array([0.5, 2.0, 0.0]), out)
    >>> out
    array([-3.])
    """
    return _compiled(task)


@lru_cache(maxsize=_KEPT)
def _compiled(task: Task) -> Any:
    expressions = (*task.gradients.c, *task.gradients.b)
    inner = on_scalars(task, expressions)
    z = len(task.z)
    u = z + len(task.u)
    b = u + len(task.b)
    y = b + len(task.y)

    def gradient(x: Any, out: Any) -> None:
        inner(x[:z], x[z:u], x[u:b], x[b:y], x[y], out)

    try:
        return numba.njit(GRADIENT)(gradient)
    except numba.core.errors.NumbaError as error:
        raise InputError(
            f"task {task.name}: loss",
            given=str(task.loss),
            expected="a gradient made of elementary functions and erf",
            remedy="write it with exp, log, tanh, erf, powers",
        ) from error
