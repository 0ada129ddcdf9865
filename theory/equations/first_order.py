"""First-order linear equations in the time and at most one drive, solved by characteristics. [D] §4."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import sympy as sp

from theory.equations.operators import Operator
from theory.equations.reduced import ReducedSeries
from theory.equations.search import search


def symbols_of(names: Sequence[str]) -> list[sp.Symbol]:
    """Positive symbols of these names."""
    return [sp.Symbol(name, positive=True) for name in names]


def rational(value: Fraction) -> sp.Rational:
    """An exact SymPy number."""
    return sp.Rational(value.numerator, value.denominator)


def solve_series(series: ReducedSeries) -> sp.Expr | None:
    """G as an elementary function where a first-order equation of G, or of its derivative in the time, gives it."""
    found = _first_order(series)
    if found is not None:
        return found
    derived = {(p[0] - 1, *p[1:]): c * p[0] for p, c in series.coefficients.items() if p[0]}
    slope = ReducedSeries(series.names, series.variables, {}, (), derived, series.order - 1)
    rate = _first_order(slope)
    if rate is None:
        return None
    x = symbols_of(series.names)[0]
    whole = _integral(rate, x)
    return None if whole is None else _start(series) - rational(series.constant) + whole


def _first_order(series: ReducedSeries) -> sp.Expr | None:
    if len(series.names) > 2 or series.order < 5:
        return None
    found = search(series, order=1, degree=3, time_degree=1)
    for operator in found.operators:
        if operator.evolves:
            solution = along_characteristics(operator, series)
            if solution is not None:
                return sp.simplify(solution) - rational(series.constant)
    return None


def along_characteristics(operator: Operator, series: ReducedSeries) -> sp.Expr | None:
    """The solution of a first-order operator that starts as the series does, its constant included.

    The drive flows back along the characteristic to its value at time 0, where the series is known.
    """
    symbols = symbols_of(series.names)
    x = symbols[0]
    parts: dict[tuple[int, ...], sp.Expr] = {}
    for (derivative, monomial), c in operator.terms.items():
        power = sp.Mul(*(v**k for v, k in zip(symbols, monomial, strict=True)))
        parts[derivative] = parts.get(derivative, sp.Integer(0)) + rational(c) * power
    origin = (0,) * len(symbols)
    speed = parts.get((1, *origin[1:]))
    if speed is None or speed.subs(x, 0) == 0:
        return None
    decay = sp.cancel(parts.get(origin, sp.Integer(0)) / speed)
    start = _start(series)
    if len(symbols) == 1 or (0, 1) not in parts:
        return sp.Mul(start, _exponential(-decay, x))
    y = symbols[1]
    split = sp.separatevars(sp.factor(sp.cancel(parts[0, 1] / speed)), symbols=(x, y), dict=True)
    if split is None:
        return None
    clock = sp.integrate(split["coeff"] * split[x], (x, 0, x))
    back = flow(sp.Poly(sp.expand(split[y]), y), -clock, y) if split[y].is_polynomial(y) else None
    if back is None:
        return None
    along = sp.cancel(parts.get(origin, sp.Integer(0)) / parts[0, 1])
    if not decay.has(y):
        factor = _exponential(-decay, x)
    elif not along.has(x):
        inner = sp.exp(-sp.integrate(sp.apart(along, y), y))
        factor = sp.simplify(inner / inner.subs(y, back))
    else:
        return None
    return start.subs(y, back) * factor


def flow(speed: sp.Poly, time: sp.Expr, start: sp.Expr) -> sp.Expr | None:
    """Where dy/dτ = speed(y), of degree 2 at most, leads from ``start`` in ``time``."""
    if speed.degree() > 2:
        return None
    c, b, a = ([*reversed(speed.all_coeffs())] + [sp.Integer(0)] * 3)[:3]
    if a == 0:
        return start + c * time if b == 0 else (start + c / b) * sp.exp(b * time) - c / b
    if c != 0:
        root = sp.sqrt(b**2 - 4 * a * c)
        if not root.is_rational:
            return None
        shift = (-b + root) / (2 * a)  # a fixed point
        moved = flow(sp.Poly(a * speed.gen**2 + root * speed.gen, speed.gen), time, start - shift)
        return None if moved is None else moved + shift
    if b == 0:
        return start / (1 - a * start * time)
    grown = sp.exp(b * time)
    return b * start * grown / (b + a * start * (1 - grown))


def _start(series: ReducedSeries) -> sp.Expr:
    symbols = symbols_of(series.names)
    return sp.Add(
        rational(series.constant),
        *(
            rational(c) * sp.Mul(*(v**k for v, k in zip(symbols, powers, strict=True)))
            for powers, c in series.coefficients.items()
            if powers[0] == 0
        ),
    )


def _exponential(rate: sp.Expr, x: sp.Symbol) -> sp.Expr:
    """exp ∫_0^x rate."""
    total = sp.integrate(sp.apart(rate, x), x)
    return sp.simplify(sp.exp(sp.expand_log(total - total.subs(x, 0))))


def _integral(rate: sp.Expr, x: sp.Symbol) -> sp.Expr | None:
    """∫_0^x of a multiple of an exponential, or of a rational function."""
    slope = sp.simplify(sp.diff(rate, x) / rate)
    if not slope.has(x):
        return rate.subs(x, 0) * (sp.exp(sp.expand(slope * x)) - 1) / slope if slope != 0 else rate * x
    if rate.is_rational_function(x):
        total = sp.integrate(sp.apart(rate, x), x)
        return total - total.subs(x, 0)
    return None
