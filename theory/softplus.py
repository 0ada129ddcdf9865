"""log(1 + eˣ) as a SymPy function whose value and derivatives do not overflow."""

from __future__ import annotations

from typing import Any

import sympy


class Softplus(sympy.Function):  # type: ignore[misc]
    """log(1 + eˣ), with derivative (1 + tanh(x/2))/2: the logistic function, written so that it cannot overflow.

    >>> x = sympy.Symbol("x", real=True)
    >>> sympy.diff(Softplus(x), x)
    tanh(x/2)/2 + 1/2
    >>> sympy.lambdify(x, Softplus(x), "math")(1000.0)
    1000.0
    """

    nargs = 1

    def fdiff(self, argindex: int = 1) -> Any:
        """The derivative: the logistic function of the argument."""
        return (1 + sympy.tanh(self.args[argindex - 1] / 2)) / 2

    def _eval_is_real(self) -> Any:
        return self.args[0].is_real

    # Printers' hooks, looked up by these names; both spellings hold for arrays and for floats alike.

    def _numpycode(self, printer: Any) -> str:
        return f"{printer._module_format('numpy.logaddexp')}(0.0, {printer._print(self.args[0])})"

    _scipycode = _numpycode

    def _pythoncode(self, printer: Any) -> str:
        x, exp, log1p = printer._print(self.args[0]), *map(printer._module_format, ("math.exp", "math.log1p"))
        return f"(max({x}, 0.0) + {log1p}({exp}(-abs({x}))))"
