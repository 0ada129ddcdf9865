"""Losses whose gradient is c_i = p_i(z_i)·S, S a sum of functions of one field each: recognised in the loss."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import sympy
from numpy.typing import NDArray

from theory.sgd.task import Task

Array = NDArray[np.float64]
Function = Callable[..., Array]
"""``(x, *b, *y) -> values``, on arrays x."""

_KINKED = (sympy.Abs, sympy.sign, sympy.Heaviside)
_OTHERWISE = (sympy.Max, sympy.Min, sympy.Piecewise)


@dataclass(frozen=True, eq=False)
class Additive:
    """c_i = p_i(z_i)·S and ∂loss/∂b_k = g_k·S·weight, with S = Σ_f s_f(x_f) + s_0 + (label noise, variance as given).

    ``terms`` are the s_f by field (``None``: not read), ``factors`` the p_i, ``second`` the summands of g_k (field by
    field, then the constant), ``kinks`` the places, field by field, where any of them is not smooth. ``quadratic`` is q
    where the loss is q S², and ``None`` where the loss is no square.
    """

    terms: tuple[Function | None, ...]
    constant: Function
    factors: tuple[Function, ...]
    second: tuple[tuple[tuple[int, Function], ...], ...]
    second_constant: tuple[Function, ...]
    kinks: tuple[tuple[float, ...], ...]
    quadratic: float | None


def recognise_additive(task: Task) -> Additive | None:
    """Read the loss as q·(Σ_f s_f(x_f) + s_0 ± e)², or as linear in the one field of the one parameter.

    ``None`` for anything else: a mixture's softplus of a sum among them, or a kink that is not at a fixed place.

    >>> from theory.sgd.tasks import committee, logistic
    >>> recognise_additive(committee(activation="relu")).kinks
    ((0.0,), (0.0,), (0.0,), (0.0,))
    >>> recognise_additive(logistic()) is None
    True
    """
    return _recognise(task)


@lru_cache(maxsize=64)
def _recognise(task: Task) -> Additive | None:
    factor, square = task.loss.as_coeff_Mul()
    residual, exponent = square.as_base_exp()
    fields = (*task.z, *task.u)
    if exponent == 2 and factor.is_positive:
        split = _split(task, residual)
        if split is None:
            return None
        parts, rest = split
        factors = [2 * factor * sympy.diff(parts[i], z) for i, z in enumerate(task.z)]
        quadratic: float | None = float(factor)
    else:
        (first, *others) = task.gradients.c
        if others or task.gradients.b or first.has(task.z[0]):
            return None
        split = _split(task, first)
        if split is None:
            return None
        parts, rest = split
        factors, quadratic = [sympy.Integer(1)], None
    second, second_constant = [], []
    for b in task.b if task.train_second else ():
        slopes = [(f, sympy.diff(part, b)) for f, part in enumerate(parts)]
        second.append(tuple((f, _compile(task, 2 * factor * slope, fields[f])) for f, slope in slopes if slope != 0))
        second_constant.append(_compile(task, 2 * factor * sympy.diff(rest, b), task.e))
    kinks = []
    for f, part in enumerate(parts):
        found = _kinks(part, fields[f])
        if found is None:
            return None
        kinks.append(found)
    return Additive(
        tuple(_compile(task, part, fields[f]) if part != 0 else None for f, part in enumerate(parts)),
        _compile(task, rest, task.e),
        tuple(_compile(task, p, z) for p, z in zip(factors, task.z, strict=True)),
        tuple(second),
        tuple(second_constant),
        tuple(kinks),
        quadratic,
    )


def _split(task: Task, residual: sympy.Expr) -> tuple[list[sympy.Expr], sympy.Expr] | None:
    """The summands by the field they read, and the rest; the label noise is taken off."""
    fields = (*task.z, *task.u)
    parts: list[sympy.Expr] = [sympy.Integer(0)] * len(fields)
    rest: sympy.Expr = sympy.Integer(0)
    noise: sympy.Expr = sympy.Integer(0)
    for term in sympy.Add.make_args(sympy.expand(residual)):
        read = [f for f, field in enumerate(fields) if term.has(field)]
        if term.has(task.e):
            noise += term
        elif len(read) > 1:
            return None
        elif read:
            parts[read[0]] += term
        else:
            rest += term
    if noise not in ((0,) if task.label_noise == 0 else ()) + (task.e, -task.e):
        return None
    return parts, rest


def _kinks(part: sympy.Expr, field: sympy.Symbol) -> tuple[float, ...] | None:
    """Where a function of one field is not smooth; ``None`` where that cannot be said."""
    if part.has(*_OTHERWISE):
        return None
    places = set()
    for atom in part.atoms(*_KINKED):
        inner = atom.args[0]
        if not inner.has(field):
            continue
        slope = sympy.diff(inner, field)
        if not slope.is_number or slope == 0 or inner.free_symbols != {field}:
            return None
        places.add(float(-inner.subs(field, 0) / slope))
    return tuple(sorted(places))


def _compile(task: Task, expression: sympy.Expr, variable: sympy.Symbol) -> Function:
    expression = expression.replace(sympy.DiracDelta, lambda *_: sympy.Integer(0))
    compute: Any = sympy.lambdify([variable, *task.b, *task.y], expression, modules=["scipy", "numpy"], cse=True)

    def evaluate(x: Array, *parameters: float) -> Array:
        return np.broadcast_to(np.asarray(compute(x, *parameters), dtype=float), np.shape(x))

    return evaluate
