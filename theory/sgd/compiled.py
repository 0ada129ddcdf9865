"""Symbolic gradients as functions of numbers: on arrays of fields for quadrature, in numba for simulation."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import sympy
from numpy.typing import NDArray
from sympy.printing.pycode import PythonCodePrinter

from theory.sgd.task import Task

Array = NDArray[np.float64]


def on_arrays(task: Task, expressions: Sequence[sympy.Expr]) -> Callable[..., list[Array]]:
    """A function of arrays, in the order of ``task.arguments``, that returns one array for each expression.

    The arguments broadcast; so does each result. Common subexpressions are computed once.

    >>> from theory.sgd.tasks import committee
    >>> task = committee(students=1, teachers=1, activation="x")
    >>> on_arrays(task, task.gradients.c)(np.array([1.0, 2.0]), 0.5, 1.0, 0.0)
    [array([0.5, 1.5])]
    """
    compute = _lambdified(task.arguments, tuple(expressions))

    def evaluate(*fields: Any) -> list[Array]:
        shape = np.broadcast_shapes(*(np.shape(x) for x in fields))
        return [np.broadcast_to(np.asarray(value, dtype=float), shape) for value in compute(*fields)]

    return evaluate


@lru_cache(maxsize=64)
def _lambdified(arguments: tuple[sympy.Symbol, ...], expressions: tuple[sympy.Expr, ...]) -> Callable[..., list[Any]]:
    compute: Callable[..., list[Any]] = sympy.lambdify(
        arguments, list(expressions), modules=["scipy", "numpy"], cse=True
    )
    return compute


def on_scalars(task: Task, expressions: Sequence[sympy.Expr]) -> Callable[..., None]:
    """A numba function ``(z, u, b, y, e, out)`` that writes the expressions into ``out``; the rest but e are vectors.

    Generated from the SymPy expressions, in plain ``math`` calls; a simulator's step calls it from its own kernel.

    >>> from theory.sgd.tasks import logistic
    >>> task = logistic()
    >>> out = np.empty(1)
    >>> on_scalars(task, task.gradients.c)(np.zeros(1), np.zeros(1), np.zeros(0), np.ones(1), 0.0, out)
    >>> out
    array([-0.5])
    """
    import numba

    printer = PythonCodePrinter({"fully_qualified_modules": True, "standard": "python3"})
    shared, results = sympy.cse(list(expressions), symbols=sympy.numbered_symbols("t_"))
    vectors = (("z", task.z), ("u", task.u), ("b", task.b), ("y", task.y))
    lines = [f"{symbol} = {name}[{i}]" for name, vector in vectors for i, symbol in enumerate(vector)]
    lines += [f"{symbol} = {printer.doprint(value)}" for symbol, value in shared]
    lines += [f"out[{i}] = {printer.doprint(value)}" for i, value in enumerate(results)]
    source = "def gradients(z, u, b, y, e, out):\n" + "\n".join(f"    {line}" for line in (*lines, "return"))
    scope: dict[str, Any] = {"math": math}
    exec(source, scope)  # the source is printed from SymPy objects, never typed by a user
    return numba.njit(scope["gradients"])  # type: ignore[no-any-return]
