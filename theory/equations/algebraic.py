"""Algebraic equations of a series: rational and square-root generating functions."""

from __future__ import annotations

from fractions import Fraction
from math import lcm

import sympy as sp
from flint import fmpz_mat, nmod_mat

from theory.equations.first_order import rational, symbols_of
from theory.equations.operators import compositions
from theory.equations.reduced import Powers, ReducedSeries
from theory.equations.search import PRIMES

_HELD_OUT = Fraction(1, 5)


def solve_algebraic(series: ReducedSeries, *, most: int = 4) -> sp.Expr | None:
    """The series as a rational function or with one square root, its constant left out; ``None`` if it is neither.

    The polynomial P(M, z, …) = 0 is found by linear algebra from four fifths of the conditions and holds on all.
    """
    for power in (1, 2):
        for degree in range(1, most + 1):
            found = _relation(series, power, degree)
            if found is not None:
                return _branch(found, series)
    return None


def _relation(series: ReducedSeries, power: int, degree: int) -> list[dict[Powers, Fraction]] | None:
    """Coefficients of M^0, M^1, … of a polynomial of least degree that vanishes."""
    values = dict(series.coefficients)
    origin = (0,) * len(series.names)
    powers = [{origin: Fraction(1)}]
    for _ in range(power):
        powers.append(_product(powers[-1], values, series.order))
    columns: list[tuple[int, Powers]] = []
    tables: list[dict[Powers, Fraction]] = []
    for j, table in enumerate(powers):
        for monomial in compositions(len(series.names), degree):
            columns.append((j, monomial))
            tables.append(
                {
                    tuple(a + b for a, b in zip(key, monomial, strict=True)): c
                    for key, c in table.items()
                    if key[0] + monomial[0] <= series.order
                }
            )
    rows = sorted({key for table in tables for key in table})
    fit = [row for row in rows if row[0] <= series.order - 2]
    while fit and len(rows) - len(fit) < _HELD_OUT * len(rows):
        fit = [row for row in fit if row[0] < fit[-1][0]]
    if len(fit) < len(columns):
        return None
    scale = lcm(*(c.denominator for table in tables for c in table.values()))
    whole = [[int(table.get(row, Fraction(0)) * scale) for table in tables] for row in rows]
    ranks = {
        int(nmod_mat(len(m), len(columns), [c % PRIMES[0] for line in m for c in line], PRIMES[0]).rank())
        for m in (whole, whole[: len(fit)])
    }
    if len(ranks) > 1 or ranks == {len(columns)}:
        return None
    null, _ = fmpz_mat(whole).nullspace()
    for k in range(len(columns) - max(ranks)):
        found: list[dict[Powers, Fraction]] = [{} for _ in powers]
        for i, (j, monomial) in enumerate(columns):
            if int(null[i, k]):
                found[j][monomial] = Fraction(int(null[i, k]))
        if found[-1]:
            return found
    return None


def _branch(relation: list[dict[Powers, Fraction]], series: ReducedSeries) -> sp.Expr | None:
    """The root of the relation that the series is."""
    symbols = symbols_of(series.names)
    z = symbols[0]
    coefficients = [
        sp.Add(*(rational(c) * sp.Mul(*(v**k for v, k in zip(symbols, m, strict=True))) for m, c in table.items()))
        for table in relation
    ]
    if len(coefficients) == 2:
        return sp.factor(sp.cancel(-coefficients[0] / coefficients[1]))
    c, b, a = coefficients
    common = sp.gcd_list([a, b, c])
    a, b, c = (sp.cancel(value / common) for value in (a, b, c))
    root = sp.sqrt(sp.factor(sp.expand(b**2 - 4 * a * c)))
    point = {v: sp.Rational(1, 7 + 3 * k) for k, v in enumerate(symbols)} | {z: sp.Rational(1, 10**4)}
    target = sum(
        rational(value) * sp.Mul(*(point[v] ** k for v, k in zip(symbols, m, strict=True)))
        for m, value in series.coefficients.items()
    )
    branches = [(-b + sign * root) / (2 * a) for sign in (1, -1)]
    gaps = [abs(sp.N(branch.subs(point) - target, 40)) for branch in branches]
    best = branches[gaps.index(min(gaps))]
    return best if min(gaps) < sp.Float("1e-20") else None


def _product(a: dict[Powers, Fraction], b: dict[Powers, Fraction], order: int) -> dict[Powers, Fraction]:
    total: dict[Powers, Fraction] = {}
    for p, x in a.items():
        for q, y in b.items():
            if p[0] + q[0] <= order:
                key = tuple(i + j for i, j in zip(p, q, strict=True))
                total[key] = total.get(key, Fraction(0)) + x * y
    return total
