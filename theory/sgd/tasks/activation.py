"""Activations of the two-layer tasks."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import sympy

from theory.errors import InputError
from theory.single_index.link import Link
from theory.softplus import Softplus

ACTIVATIONS: Mapping[str, Callable[[sympy.Expr], sympy.Expr]] = {
    "erf": lambda x: sympy.erf(x / sympy.sqrt(2)),
    "tanh": sympy.tanh,
    "sigmoid": lambda x: (1 + sympy.tanh(x / 2)) / 2,
    "softplus": Softplus,
    "relu": lambda x: (x + sympy.Abs(x)) / 2,
}
"""Activations by name; ``erf`` is erf(x/√2), Saad and Solla's."""


def read_activation(text: str) -> Callable[[sympy.Expr], sympy.Expr]:
    """The activation named ``text``, or the expression in x that ``text`` is, if it has Gaussian expectations.

    >>> read_activation("x**2 - 1")(sympy.Symbol("z1", real=True))
    z1**2 - 1
    """
    if not isinstance(text, str):
        raise InputError(
            "link or activation",
            given=text,
            expected=f"an expression in x, or one of {', '.join(ACTIVATIONS)}",
            remedy="give for example tanh",
        )
    if text in ACTIVATIONS:
        return ACTIVATIONS[text]
    expression = Link.parse(text).expression
    return lambda field: expression.subs(dict.fromkeys(expression.free_symbols, field))
