"""log(1 + eˣ) as a SymPy function whose derivatives do not overflow."""

from __future__ import annotations

from typing import Any

import sympy


class Softplus(sympy.Function):  # type: ignore[misc]
    """log(1 + eˣ), with derivative (1 + tanh(x/2))/2: the logistic function, written so that it cannot overflow.

    >>> x = sympy.Symbol("x", real=True)
    >>> sympy.diff(Softplus(x), x)
    tanh(x/2)/2 + 1/2
    """

    nargs = 1

    def fdiff(self, argindex: int = 1) -> Any:
        """The derivative: the logistic function of the argument."""
        return (1 + sympy.tanh(self.args[argindex - 1] / 2)) / 2

    def _eval_is_real(self) -> Any:
        return self.args[0].is_real
