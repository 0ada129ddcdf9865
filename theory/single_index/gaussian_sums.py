"""Links that are sums of polynomial × exp(quadratic): polynomials, exp, sin, cos, Gaussians, and their products.

Their Gaussian means are finite sums in closed form, taken here with 150 digits: a mean of 10⁻²⁰⁰ is a number like any
other, and a sum that vanishes to 60 digits of its own terms counts as zero.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import mpmath
import sympy

from theory.expressions import symbol

X = symbol("x")
DIGITS = 150
_ZERO_DIGITS = 60
_MOST_TERMS = 400
_HIGHEST_POWER = 32
_HIGHEST_DEGREE = 128

Number = Any
"""An mpmath number, real or complex."""


@dataclass(frozen=True)
class Summand:
    """P(x) exp(q x² + l x): the coefficients of P from the constant term up, q and l."""

    polynomial: tuple[Number, ...]
    quadratic: Number
    linear: Number


@dataclass(frozen=True)
class Mean:
    """A mean in closed form: its value, and whether it is zero to 60 digits of the terms that it is the sum of."""

    value: Number
    vanishes: bool


@functools.lru_cache(maxsize=256)
def summands(expression: sympy.Expr) -> tuple[Summand, ...] | None:
    """The formula as such a sum; ``None`` where it is none.

    >>> [len(summands(part) or ()) for part in (sympy.sin(3 * X) * X, X**3 - 3 * X, X * sympy.exp(-(X**2)))]
    [2, 1, 1]
    >>> summands(sympy.tanh(X)) is None
    True
    """
    with mpmath.workdps(DIGITS):
        return _read(expression)


def derivative_mean_exact(expression: sympy.Expr, k: int, variance: Fraction) -> Mean | None:
    """F_k(A) = E f^(k)(√A G) = A^{−k/2} E f(√A G) He_k(G); ``None`` where f is no such sum.

    >>> one = derivative_mean_exact(sympy.sin(8 * X), 1, Fraction(1))
    >>> mpmath.nstr(one.value, 5), one.vanishes
    ('1.0131e-13', False)

    Raises ``ValueError`` where the mean does not exist.
    """
    terms = summands(expression)
    if terms is None:
        return None
    with mpmath.workdps(DIGITS):
        A = mpmath.mpf(variance.numerator) / variance.denominator
        root = mpmath.sqrt(A)
        hermite = _hermite(k)
        total, size = mpmath.mpc(0), mpmath.mpf(0)
        for term in terms:
            alpha = 1 - 2 * term.quadratic * A
            if alpha.real <= 0:
                raise ValueError
            centre = term.linear * root / alpha
            factor = mpmath.exp(term.linear**2 * A / (2 * alpha)) / mpmath.sqrt(alpha)
            scaled = [c * root**i for i, c in enumerate(term.polynomial)]
            product = _multiply(scaled, hermite)
            for c, moment in zip(product, _moments(centre, 1 / alpha, len(product)), strict=True):
                total += factor * c * moment
                size += abs(factor * c * moment)
        value = total.real / root**k
        return Mean(value, bool(abs(total.real) <= size * mpmath.mpf(10) ** -_ZERO_DIGITS))


def _hermite(k: int) -> list[int]:
    """The coefficients of He_k, from the constant term up."""
    before, now = [0], [1]
    for j in range(k):
        shifted = [0, *now]
        before, now = (
            now,
            [a - j * b for a, b in zip(shifted, [*before, *[0] * (len(shifted) - len(before))], strict=True)],
        )
    return now


def _moments(mean: Number, variance: Number, count: int) -> list[Number]:
    """E g^0, …, E g^{count−1} of a normal law, whose mean and variance may be complex."""
    found = [mpmath.mpf(1), mean]
    for n in range(2, count):
        found.append(mean * found[-1] + (n - 1) * variance * found[-2])
    return found[:count]


def _multiply(first: list[Number], second: list[Any]) -> list[Number]:
    product = [mpmath.mpc(0)] * (len(first) + len(second) - 1)
    for i, a in enumerate(first):
        if a:
            for j, b in enumerate(second):
                if b:
                    product[i + j] += a * b
    return product


def _number(value: sympy.Expr) -> Number:
    return mpmath.mpmathify(sympy.N(value, DIGITS + 10))


def _read(expression: sympy.Expr) -> tuple[Summand, ...] | None:
    if not expression.has(X):
        return (Summand((_number(expression),), mpmath.mpf(0), mpmath.mpf(0)),)
    if expression == X:
        return (Summand((mpmath.mpf(0), mpmath.mpf(1)), mpmath.mpf(0), mpmath.mpf(0)),)
    if expression.is_Add:
        parts = [_read(part) for part in expression.args]
        if any(part is None for part in parts):
            return None
        return _checked([term for part in parts if part is not None for term in part])
    if expression.is_Mul:
        return _product([_read(part) for part in expression.args])
    if isinstance(expression, sympy.exp):
        return _exponential(expression.args[0], mpmath.mpf(1))
    if isinstance(expression, sympy.sin | sympy.cos):
        return _wave(expression)
    if expression.is_Pow:
        base, power = expression.args
        if not base.has(X):
            return _exponential(sympy.expand(power * sympy.log(base)), mpmath.mpf(1))
        if power.is_Integer and 1 <= power <= _HIGHEST_POWER:
            return _product([_read(base)] * int(power))
        if base.func is sympy.exp and power.is_Integer:
            return _exponential(base.args[0] * power, mpmath.mpf(1))
    return None


def _exponential(argument: sympy.Expr, weight: Number) -> tuple[Summand, ...] | None:
    """weight · e^argument for an argument of degree up to 2."""
    argument = sympy.expand(argument)
    if not argument.is_polynomial(X) or sympy.degree(argument, X) > 2:
        return None
    shift, linear, quadratic = (_number(argument.coeff(X, i)) for i in range(3))
    return (Summand((weight * mpmath.exp(shift),), quadratic, linear),)


def _wave(expression: sympy.Expr) -> tuple[Summand, ...] | None:
    argument = sympy.expand(expression.args[0])
    if not argument.is_polynomial(X) or sympy.degree(argument, X) > 1:
        return None
    half = mpmath.mpf(1) / 2
    weights = (half, half) if isinstance(expression, sympy.cos) else (half / mpmath.mpc(0, 1), -half / mpmath.mpc(0, 1))
    parts = [_exponential(sign * sympy.I * argument, w) for sign, w in zip((1, -1), weights, strict=True)]
    return tuple(term for part in parts if part is not None for term in part)


def _product(parts: list[tuple[Summand, ...] | None]) -> tuple[Summand, ...] | None:
    total: tuple[Summand, ...] | None = (Summand((mpmath.mpf(1),), mpmath.mpf(0), mpmath.mpf(0)),)
    for part in parts:
        if part is None or total is None:
            return None
        total = _checked(
            [
                Summand(
                    tuple(_multiply(list(a.polynomial), list(b.polynomial))),
                    a.quadratic + b.quadratic,
                    a.linear + b.linear,
                )
                for a in total
                for b in part
            ]
        )
    return total


def _checked(terms: list[Summand]) -> tuple[Summand, ...] | None:
    """Terms of equal exponents joined; ``None`` where there are too many."""
    joined: dict[tuple[str, str], Summand] = {}
    for term in terms:
        key = (mpmath.nstr(term.quadratic, 60), mpmath.nstr(term.linear, 60))
        if key in joined:
            old = joined[key]
            length = max(len(old.polynomial), len(term.polynomial))
            added = tuple(_at(old.polynomial, i) + _at(term.polynomial, i) for i in range(length))
            joined[key] = Summand(added, old.quadratic, old.linear)
        else:
            joined[key] = term
    found = tuple(joined.values())
    small = len(found) <= _MOST_TERMS and all(len(term.polynomial) <= _HIGHEST_DEGREE for term in found)
    return found if small else None


def _at(polynomial: tuple[Number, ...], i: int) -> Number:
    return polynomial[i] if i < len(polynomial) else mpmath.mpf(0)


def as_float(value: Number) -> float:
    """The nearest float; 0 where it is below all of them."""
    return float(value)


def log10(value: Number) -> float:
    """log₁₀|value|, of a number however small."""
    convert: Callable[[Number], Number] = mpmath.log10
    return float(convert(abs(value)))
