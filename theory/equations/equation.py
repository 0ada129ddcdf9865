"""Equations as one writes them: text, LaTeX, JSON."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from theory.equations.operators import Operator, parts_by_derivative, sorted_terms
from theory.equations.reduced import Powers

_TERMS_A_LINE = 5


@dataclass(frozen=True)
class Equation:
    """Σ c · monomial · ∂^derivative G + Σ c · monomial = 0, in the variables named.

    ``constant`` times the operator's part without a derivative is the inhomogeneous part: the operator annihilates
    G + ``constant``.

    >>> print(Equation(Operator({((1,), (0,)): Fraction(1), ((0,), (1,)): Fraction(-2)}), ("x",)))
    G_x - 2 x G = 0
    """

    operator: Operator
    names: tuple[str, ...]
    constant: Fraction = Fraction(0)

    @property
    def inhomogeneous(self) -> tuple[tuple[Powers, Fraction], ...]:
        """The terms free of G."""
        origin = (0,) * len(self.names)
        terms = [(m, c * self.constant) for (d, m), c in self.operator.terms.items() if d == origin and self.constant]
        return tuple(sorted_terms(terms))

    def to_json(self) -> dict[str, Any]:
        """Terms with exponents by name and exact coefficients as text."""
        return {
            "terms": [
                {"derivative": self._named(d), "monomial": self._named(m), "c": str(c)}
                for (d, m), c in self.operator.terms.items()
            ],
            "inhomogeneous": [{"monomial": self._named(m), "c": str(c)} for m, c in self.inhomogeneous],
        }

    def __str__(self) -> str:
        parts = []
        for derivative, polynomial in parts_by_derivative(self.operator):
            subscript = "".join(name * k for name, k in zip(self.names, derivative, strict=True))
            parts.append((_polynomial(polynomial, self.names, latex=False), f"G_{subscript}" if subscript else "G"))
        if self.inhomogeneous:
            parts.append((_polynomial(self.inhomogeneous, self.names, latex=False), ""))
        return _sum(parts, "({}) {}") + " = 0"

    def to_latex(self) -> tuple[str, ...]:
        r"""The left-hand side in rows of an ``align*``, then ``= 0``."""
        groups = [*parts_by_derivative(self.operator)]
        rows: list[str] = []
        for derivative, polynomial in groups:
            subscript = "".join(name * k for name, k in zip(self.names, derivative, strict=True))
            rows += _latex_rows(polynomial, self.names, f"G_{{{subscript}}}" if subscript else "G")
        if self.inhomogeneous:
            rows += _latex_rows(self.inhomogeneous, self.names, "")
        first = rows[0].removeprefix("+ ")
        lines = [f"& {first}", *(rf"& \quad {row}" for row in rows[1:])]
        return (*lines[:-1], f"{lines[-1]} = 0")

    def _named(self, powers: Powers) -> dict[str, int]:
        return {name: k for name, k in zip(self.names, powers, strict=True) if k}


def monomial_text(names: Iterable[str], powers: Iterable[int], *, latex: bool = False) -> str:
    """A monomial, empty for 1.

    >>> monomial_text(("x", "A"), (2, 1)), monomial_text(("sigma2",), (1,), latex=True)
    ('x^2 A', '\\\\sigma^{2}')
    """
    parts = []
    for name, k in zip(names, powers, strict=True):
        if k and latex:
            symbol, exponent = (r"\sigma", 2 * k) if name == "sigma2" else (name, k)
            parts.append(symbol if exponent == 1 else f"{symbol}^{{{exponent}}}")
        elif k:
            parts.append(name if k == 1 else f"{name}^{k}")
    return " ".join(parts)


def _polynomial(terms: Sequence[tuple[Powers, Fraction]], names: tuple[str, ...], *, latex: bool) -> str:
    text = ""
    for powers, c in sorted_terms(terms):
        monomial = monomial_text(names, powers, latex=latex)
        size = _number(abs(c), latex)
        body = monomial if monomial and abs(c) == 1 else f"{size} {monomial}".strip()
        sign = "-" if c < 0 else "+"
        text += f" {sign} {body}" if text else ("-" if c < 0 else "") + body
    return text


def _number(value: Fraction, latex: bool) -> str:
    if value.denominator == 1 or not latex:
        return str(value)
    return rf"\tfrac{{{value.numerator}}}{{{value.denominator}}}"


def _sum(parts: Sequence[tuple[str, str]], bracketed: str) -> str:
    text = ""
    for polynomial, symbol in parts:
        single = " + " not in polynomial and " - " not in polynomial
        if single or not symbol:
            sign, body = ("-", polynomial[1:]) if single and polynomial.startswith("-") else ("+", polynomial)
            if not single and polynomial.startswith("-"):
                sign, body = "+", polynomial
            body = f"{'' if body == '1' and symbol else body} {symbol}".strip()
        else:
            sign, body = "+", bracketed.format(polynomial, symbol)
        text += f" {sign} {body}" if text else ("-" if sign == "-" else "") + body
    return text.replace("+ -", "- ")


def _latex_rows(terms: Sequence[tuple[Powers, Fraction]], names: tuple[str, ...], symbol: str) -> list[str]:
    ordered = sorted_terms(terms)
    rows = []
    for start in range(0, len(ordered), _TERMS_A_LINE):
        body = _polynomial(ordered[start : start + _TERMS_A_LINE], names, latex=True)
        if not symbol:
            rows.append(f"+ {body}" if not body.startswith("-") else body)
        elif body in ("1", "-1"):
            rows.append(f"{'-' if body == '-1' else '+'} {symbol}")
        elif " + " in body or " - " in body:
            rows.append(rf"+ \left({body}\right) {symbol}")
        else:
            rows.append(f"+ {body} {symbol}" if not body.startswith("-") else f"- {body[1:]} {symbol}")
    return rows
