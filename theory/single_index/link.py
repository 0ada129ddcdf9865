"""Link functions f of the single-index model y = f(a·v_0) + ε. [S] §2."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import sympy

from theory.errors import InputError
from theory.expressions import parse_expression, symbol

Floats = npt.NDArray[np.float64]

X = symbol("x")
"""The variable of every link."""

_TEMPERED = 1.9
"""f may grow like exp(|x|^r) with r up to this; r = 2 already leaves Gaussian expectations without a value."""
_REACH = 12.0
_LARGEST_VALUE = 1e75
"""Where f and f′ must be finite: a standard normal number goes further once in 10³² draws."""
_SLOW = 30.0
"""A logarithm of |f| below this is no sign of fast growth."""
_LONG_DEGREE = 8
_NEAR = 1.0
_EVEN = 1e-12
_TOUCHED = 1e-11
_FARTHEST = 1300.0
"""Kinks of abs(g(x)) are looked for up to here: 40 standard deviations at the largest spike."""


@dataclass(frozen=True)
class Link:
    """A link function: its text, and its formula in the symbol x.

    f and f′ are finite on the whole line and f grows slower than every exp(c x²), so that E f(√A G)² exists at every
    variance A; this is checked numerically when the link is made.

    >>> link = Link.parse("x**3 - 3*x")
    >>> link.expression, link.coefficients
    (x**3 - 3*x, (0, -3, 0, 1))
    >>> link.value(np.array([0.0, 2.0])), link.derivative(2.0)
    (array([0., 2.]), array(9.))

    Raises ``InputError`` for a link that is constant, has a pole or a value that is not real, or grows too fast.
    """

    text: str
    expression: sympy.Expr

    @classmethod
    def parse(cls, text: str) -> Link:
        """Read a formula in x, by the grammar of ``theory.expressions``."""
        expression = parse_expression(text, ("x",), what="link")
        return cls(" ".join(text.split()), expression)

    def __post_init__(self) -> None:
        if X not in self.expression.free_symbols:
            raise InputError("link", given=self.text, expected="a formula that depends on x", remedy="try x**3-3*x")
        _check_finite(self)
        _check_growth(self)

    def value(self, x: npt.ArrayLike) -> Floats:
        """f(x), elementwise."""
        return _evaluate(self.expression, x)

    def derivative(self, x: npt.ArrayLike) -> Floats:
        """f′(x), elementwise; at a kink, the mean of the two slopes."""
        return _evaluate(self.derivative_expression, x)

    @property
    def derivative_expression(self) -> sympy.Expr:
        """f′ as a formula; ``sign`` where f has an absolute value.

        >>> Link.parse("relu(x)").derivative_expression
        sign(x)/2 + 1/2
        """
        return _differentiate(self.expression)

    @property
    def is_polynomial(self) -> bool:
        """Whether the exact, symbolic route applies: a polynomial with rational coefficients, or of degree up to 8.

        Others (say, powers of πx + √2) multiply out to formulas too long to be of use, and are treated by quadrature.
        """
        return _is_polynomial(self.expression)

    @property
    def coefficients(self) -> tuple[sympy.Expr, ...]:
        """The coefficients of a polynomial link, from the constant term up, exact.

        Raises ``InputError`` for a link that is not a polynomial.
        """
        if not self.is_polynomial:
            raise InputError(
                "link", given=self.text, expected="a polynomial in x", remedy="its moments are had by quadrature"
            )
        return _coefficients(self.expression)

    @property
    def degree(self) -> int:
        """The degree of a polynomial link."""
        return len(self.coefficients) - 1

    @property
    def kinks(self) -> tuple[float, ...]:
        """Where f may fail to be smooth: zeros of the arguments of absolute values, in increasing order.

        >>> Link.parse("relu(x - 1) + abs(x)").kinks
        (0.0, 1.0)
        """
        return _kinks(self.expression)

    @property
    def is_even(self) -> bool:
        """Whether f(−x) = f(x), so that −v_0 explains the labels as well as v_0.

        >>> [Link.parse(text).is_even for text in ("x**2", "abs(x)", "x**3")]
        [True, True, False]
        """
        return _is_even(self.expression)

    def __str__(self) -> str:
        return self.text


def _evaluate(expression: sympy.Expr, x: npt.ArrayLike) -> Floats:
    points = np.asarray(x, dtype=np.float64)
    with np.errstate(all="ignore"):
        values = _compiled(expression)(points)
    return np.asarray(np.broadcast_to(values, points.shape), dtype=np.float64)


@functools.lru_cache(maxsize=256)
def _compiled(expression: sympy.Expr) -> Callable[[Floats], Floats]:
    function: Callable[[Floats], Floats] = sympy.lambdify(X, expression, modules=["scipy", "numpy"], cse=True)
    return function


@functools.lru_cache(maxsize=64)
def _is_even(expression: sympy.Expr) -> bool:
    if sympy.expand(expression.subs(X, -X) - expression) == 0:
        return True
    x = np.concatenate([np.linspace(0, _REACH, 1201), np.linspace(0, _NEAR, 1201)]) + math.pi * 1e-4
    there, back = _evaluate(expression, x), _evaluate(expression, -x)
    return bool(np.all(np.abs(there - back) <= _EVEN * (np.abs(there) + np.abs(back) + np.abs(x))))


@functools.lru_cache(maxsize=256)
def _is_polynomial(expression: sympy.Expr) -> bool:
    if not expression.is_polynomial(X):
        return False
    irrational = (
        not (part.is_Rational or part == X or part.is_Add or part.is_Mul or (part.is_Pow and part.exp.is_Integer))
        for part in sympy.preorder_traversal(expression)
    )
    return not any(irrational) or _degree_bound(expression) <= _LONG_DEGREE


def _degree_bound(expression: sympy.Expr) -> int:
    """The degree in x, without multiplying out."""
    if expression.is_Pow:
        return _degree_bound(expression.base) * (int(expression.exp) if expression.exp.is_Integer else 1)
    if expression.is_Add or expression.is_Mul:
        parts = [_degree_bound(part) for part in expression.args]
        return max(parts) if expression.is_Add else sum(parts)
    return int(expression == X)


class _Absolute(sympy.Function):  # type: ignore[misc]
    """|u| for differentiation: SymPy's own ``Abs`` splits u into real and imaginary parts where it cannot tell."""

    def fdiff(self, argindex: int = 1) -> sympy.Expr:  # noqa: ARG002
        return _Sign(self.args[0])


class _Sign(sympy.Function):  # type: ignore[misc]
    """sign(u), the derivative of |u|."""


@functools.lru_cache(maxsize=256)
def _differentiate(expression: sympy.Expr) -> sympy.Expr:
    slope = expression.replace(sympy.Abs, _Absolute).diff(X)
    return slope.replace(_Absolute, sympy.Abs).replace(_Sign, sympy.sign)


@functools.lru_cache(maxsize=256)
def _coefficients(expression: sympy.Expr) -> tuple[sympy.Expr, ...]:
    return tuple(reversed(sympy.Poly(expression, X).all_coeffs()))


@functools.lru_cache(maxsize=256)
def _kinks(expression: sympy.Expr) -> tuple[float, ...]:
    roots = (root for absolute in expression.atoms(sympy.Abs) for root in _roots(absolute.args[0]))
    return tuple(sorted(set(roots)))


def _roots(expression: sympy.Expr) -> list[float]:
    """Zeros at which the expression changes sign: all of a polynomial's, those up to |x| = 1300 of others."""
    if expression.is_polynomial(X):
        polynomial = sympy.Poly(expression, X)
        candidates = np.roots([float(c) for c in polynomial.all_coeffs()])
        real = [float(z.real) for z in candidates if abs(z.imag) <= _TOUCHED**0.5 * (1 + abs(z))]
        odd = [root for factor, power in polynomial.sqf_list()[1] if power % 2 for root in _real_roots(factor)]
        return sorted(round(root, 13) + 0.0 for root in (odd if _short(polynomial) else real))
    grid = np.concatenate([np.linspace(-50.0, 50.0, 20_001), np.linspace(-_FARTHEST, _FARTHEST, 60_001)])
    grid = np.unique(grid) + math.pi * 1e-4  # off the round numbers, where zeros like to sit
    values = _evaluate(expression, grid)
    changes = np.flatnonzero(np.sign(values[:-1]) * np.sign(values[1:]) < 0)
    low, high, sign = grid[changes], grid[changes + 1], np.sign(values[changes])
    for _ in range(60):
        middle = (low + high) / 2
        same = np.sign(_evaluate(expression, middle)) == sign
        low, high = np.where(same, middle, low), np.where(same, high, middle)
    return [round(float(root), 13) + 0.0 for root in (low + high) / 2]


def _short(polynomial: sympy.Poly) -> bool:
    """Whether exact roots are cheap: a low degree and rational coefficients."""
    return bool(polynomial.degree() <= _LONG_DEGREE and all(c.is_Rational for c in polynomial.all_coeffs()))


def _real_roots(polynomial: sympy.Poly) -> list[float]:
    return [float(root) for root in sympy.real_roots(polynomial)]


def _zeros(expression: sympy.Expr) -> list[float]:
    """Zeros of the expression, those of an absolute value or a power in it, which change no sign, included."""
    inside = {part.args[0] for part in expression.atoms(sympy.Abs, sympy.Pow) if part.args[0].has(X)}
    touched = [root for part in inside for root in _roots(part) if abs(float(_evaluate(expression, root))) < _TOUCHED]
    return sorted([*_roots(expression), *touched])


def _check_finite(link: Link) -> None:
    rational = np.linspace(-_REACH, _REACH, 4801)
    points = np.concatenate([rational, rational * math.sqrt(0.5)])
    for name, values in (("f", link.value(points)), ("f′", link.derivative(points))):
        bad = np.flatnonzero(~np.isfinite(values))
        if bad.size:
            raise InputError(
                "link",
                given=link.text,
                expected=f"a function with finite real {name} on the line, not at x = {points[bad[0]]:g}",
                remedy="keep roots, logarithms and quotients away from their singular points, as in log(1+x**2)",
            )
        if np.abs(values).max() > _LARGEST_VALUE:
            raise InputError(
                "link",
                given=link.text,
                expected=f"|{name}| up to {_LARGEST_VALUE:g} for |x| ≤ {_REACH:g}, so that its square is a number",
                remedy="rescale the link",
            )
    for power in link.expression.atoms(sympy.Pow):
        if power.exp.is_number and power.exp.is_negative and (poles := _zeros(power.base)):
            raise InputError(
                "link",
                given=link.text,
                expected=f"a function without poles, not with one at x = {poles[0]:g}",
                remedy="keep divisors away from zero, as in 1/(1+x**2)",
            )


def _check_growth(link: Link) -> None:
    """Refuse growth like exp(c x²): compare log|f| and log|f′| over one octave with the octave below."""
    rate = max(_growth(link.value), _growth(link.derivative))
    if rate > _TEMPERED:
        raise InputError(
            "link",
            given=link.text,
            expected=f"a function and a slope that grow slower than exp(x**2), not log|f| ~ |x|^{rate:.1f}",
            remedy="Gaussian expectations of this link do not exist; use a link such as exp(x) or tanh(x)",
        )


def _growth(function: Callable[[npt.ArrayLike], Floats]) -> float:
    """The r in log|function| ~ |x|^r, seen at the largest radius up to 10⁴ that does not overflow."""
    radius, last = _REACH, _log_growth(function, _REACH)
    while last < math.inf and radius < 1e4:
        radius, before = 1.1 * radius, last
        last = _log_growth(function, radius)
    if last == math.inf:
        radius, last = radius / 1.1, before
    return math.log2(last / _log_growth(function, radius / 2)) if last > _SLOW else 0.0


def _log_growth(function: Callable[[npt.ArrayLike], Floats], radius: float) -> float:
    """max log(2 + |function|) over radius/2 ≤ |x| ≤ radius; infinite where it, or its evaluation, overflows."""
    x = np.linspace(radius / 2, radius, 64)
    largest = np.abs(function(np.concatenate([-x, x]))).max()
    return math.log(2 + largest) if math.isfinite(largest) else math.inf
