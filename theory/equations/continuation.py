"""What equations give beyond the coefficients that they came from: more of them, and the curve at any time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import Any

import mpmath as mp
from flint import fmpq, fmpq_mat, nmod_mat

from theory.equations.operators import Operator, falling
from theory.equations.reduced import Powers, ReducedSeries
from theory.equations.search import PRIMES, search
from theory.errors import InputError, ReachError

_STEP = 3
"""A Taylor step goes one part in so many of the way to the nearest singularity."""


def extend(operators: Sequence[Operator], series: ReducedSeries, order: int) -> ReducedSeries:
    """The series to a higher order, exactly: each order follows from those before by the equations.

    Raises ``ReachError`` where the equations leave a coefficient open, or contradict one another.

    >>> from theory.equations.reduced import plain_series
    >>> grow = Operator({((1,), (0,)): Fraction(1), ((0,), (0,)): Fraction(-1)})
    >>> extend([grow], plain_series([1, 1]), 3).coefficients[3,]
    Fraction(1, 6)
    """
    values = series.with_constant()
    for s in range(series.order + 1, order + 1):
        values |= _next(operators, values, s, _support(series, s))
    origin = (0,) * len(series.names)
    values[origin] = values.get(origin, Fraction(0)) - series.constant
    kept = {powers: c for powers, c in values.items() if c}
    return ReducedSeries(
        series.names,
        series.variables,
        series.prefactor,
        series.scalings,
        kept,
        max(order, series.order),
        series.constant,
    )


def _support(series: ReducedSeries, s: int) -> list[Powers]:
    """Where coefficients of order s may stand: the ranges of the last two orders, continued in a straight line."""
    last, before = ([p for p in series.coefficients if p[0] == k] for k in (series.order, series.order - 1))
    if not last or not before:
        return [(s, *([0] * (len(series.names) - 1)))] if len(series.names) == 1 else []
    ranges = []
    for i in range(1, len(series.names)):
        growth = max(p[i] for p in last) - max(p[i] for p in before)
        fall = min(p[i] for p in last) - min(p[i] for p in before)
        steps = s - series.order
        low, high = min(p[i] for p in last) + fall * steps, max(p[i] for p in last) + growth * steps
        ranges.append(range(max(0, low), high + 1))
    return [(s, *rest) for rest in product(*ranges)]


def _next(
    operators: Sequence[Operator], values: Mapping[Powers, Fraction], s: int, unknown: Sequence[Powers]
) -> dict[Powers, Fraction]:
    place = {powers: j for j, powers in enumerate(unknown)}
    rows: dict[tuple[int, Powers], dict[int, int]] = {}
    for k, operator in enumerate(operators):
        top = [term for term in operator.terms if term[0][0] - term[1][0] == operator.shift]
        for powers, j in place.items():
            for derivative, monomial in top:
                factor = falling(powers, derivative)
                if factor:
                    key = tuple(p - d + m for p, d, m in zip(powers, derivative, monomial, strict=True))
                    row = rows.setdefault((k, key), {})
                    row[j] = row.get(j, 0) + int(operator.terms[derivative, monomial]) * factor
    lines = [(row, _known(operators[k], key, values, s)) for (k, key), row in rows.items()]
    solved: dict[int, Fraction] = {}
    left = [({j: c for j, c in row.items() if c}, right) for row, right in lines]
    while True:
        single = [(row, right) for row, right in left if len(row) == 1]
        if not single:
            break
        for row, right in single:
            ((j, c),) = row.items()
            if solved.setdefault(j, right / c) != right / c:
                raise ReachError("equations", given="a contradiction", reach=f"order {s - 1}", remedy="search again")
        left = [
            (
                {j: c for j, c in row.items() if j not in solved},
                right - sum((c * solved[j] for j, c in row.items() if j in solved), Fraction(0)),
            )
            for row, right in left
        ]
        left = [(row, right) for row, right in left if row]
    solved |= _dense(left, [j for j in range(len(unknown)) if j not in solved], s)
    return {unknown[j]: c for j, c in solved.items() if c}


def _known(operator: Operator, key: Powers, values: Mapping[Powers, Fraction], s: int) -> Fraction:
    """Minus what lower orders contribute to a monomial of the operator's output."""
    total = Fraction(0)
    for (derivative, monomial), c in operator.terms.items():
        powers = tuple(k - m + d for k, m, d in zip(key, monomial, derivative, strict=True))
        if 0 <= powers[0] < s and powers in values:
            total -= c * falling(powers, derivative) * values[powers]
    return total


def _dense(rows: Sequence[tuple[dict[int, int], Fraction]], unknown: Sequence[int], s: int) -> dict[int, Fraction]:
    if not unknown:
        return {}
    place = {j: k for k, j in enumerate(unknown)}
    matrix = nmod_mat(len(unknown), max(len(rows), 1), PRIMES[0])
    for i, (row, _) in enumerate(rows):
        for j, c in row.items():
            matrix[place[j], i] = c % PRIMES[0]
    reduced, rank = matrix.rref()
    if rank < len(unknown):
        raise ReachError("equations", given=f"order {s}", reach=f"order {s - 1}", remedy="find more equations")
    pivots = [next(i for i in range(len(rows)) if int(reduced[k, i])) for k in range(rank)]
    left = fmpq_mat(rank, rank)
    right = fmpq_mat(rank, 1)
    for k, i in enumerate(pivots):
        row, value = rows[i]
        for j, c in row.items():
            left[k, place[j]] = c
        right[k, 0] = fmpq(value.numerator, value.denominator)
    answer = left.solve(right)
    return {j: Fraction(int(answer[k, 0].p), int(answer[k, 0].q)) for j, k in place.items()}


@dataclass(frozen=True)
class Continued:
    """Values at the times, and how much two precisions differ."""

    operator: Operator
    values: tuple[float, ...]
    errors: tuple[float, ...]


def ordinary_equation(series: ReducedSeries, *, order: int = 4, time_degree: int = 6) -> Operator:
    """The ordinary equation in the time of a series of numbers, of least order. ``ReachError`` if there is none."""
    found = search(series, order=order, degree=0, time_degree=time_degree)
    if not found.operators:
        raise ReachError(
            "ordinary equation",
            given=f"{series.order + 1} coefficients",
            reach=f"order {order} and degree {time_degree}",
            remedy="extend the series, or search further",
        )
    return found.operators[0]


def continue_curve(series: ReducedSeries, times: Sequence[Fraction], *, digits: int = 30) -> Continued:
    """The sum of a series of numbers at any times of one sign, through its ordinary equation, by Taylor steps.

    >>> from theory.equations.reduced import plain_series
    >>> curve = continue_curve(plain_series([Fraction((-1) ** s) for s in range(12)]), [Fraction(9)])
    >>> round(curve.values[0], 12)
    0.1
    """
    if len(series.names) > 1:
        raise InputError(
            "series", given=", ".join(series.names), expected="the time alone", remedy="give the drives numbers first"
        )
    operator = ordinary_equation(series)
    rough, fine = (_integrate(operator, series, times, d) for d in (digits, digits + 15))
    constant = series.constant
    return Continued(
        operator,
        tuple(float(v - mp.mpf(constant.numerator) / constant.denominator) for v in fine),
        tuple(float(abs(a - b) + abs(b) * mp.mpf(2) ** -52) for a, b in zip(rough, fine, strict=True)),
    )


def _integrate(operator: Operator, series: ReducedSeries, times: Sequence[Fraction], digits: int) -> list[Any]:
    with mp.workdps(digits + 10):
        polynomials = _polynomials(operator)
        singular = _singularities(polynomials[-1])
        order = len(polynomials) - 1
        length = int(2.2 * (digits + 10)) + 20
        longer = extend([operator], series, max(series.order, length))
        local = [_mpf(longer.with_constant().get((s,), Fraction(0))) for s in range(length + 1)]
        at = mp.mpf(0)
        reach = min((abs(z) for z in singular if abs(z) > mp.eps), default=mp.mpf(1))
        results = []
        for time in sorted(times, key=abs):
            target = _mpf(time)
            while abs(target - at) > reach / _STEP:
                step = reach / _STEP * mp.sign(target - at)
                start = [mp.polyval(_derivative(local, k)[::-1], step) for k in range(order)]
                at += step
                distance = min((abs(z - at) for z in singular), default=mp.inf)
                reach = min(distance, 1 + abs(at))
                local = _taylor(polynomials, start, at, length)
            results.append((time, mp.polyval(local[::-1], target - at)))
        found = dict(results)
        return [found[time] for time in times]


def _polynomials(operator: Operator) -> list[list[Any]]:
    """Coefficient polynomials of y, y′, …, each from the constant up."""
    table: list[list[Any]] = [[mp.mpf(0)] * (operator.time_degree + 1) for _ in range(operator.order + 1)]
    for ((k,), (i,)), c in operator.terms.items():
        table[k][i] = _mpf(c)
    return table


def _singularities(leading: list[Any]) -> list[Any]:
    top = len(leading)
    while top > 1 and leading[top - 1] == 0:
        top -= 1
    return list(mp.polyroots(leading[:top][::-1], maxsteps=500, extraprec=200)) if top > 1 else []


def _taylor(polynomials: list[list[Any]], start: list[Any], at: Any, length: int) -> list[Any]:
    """Taylor coefficients around a regular point from the first derivatives."""
    order = len(polynomials) - 1
    moved = [_shifted(p, at) for p in polynomials]
    local = [value / mp.factorial(k) for k, value in enumerate(start)]
    for s in range(length + 1 - order):
        total = mp.mpf(0)
        for k, polynomial in enumerate(moved):
            for i, c in enumerate(polynomial):
                n = s - i + k
                if n >= k and c and n < s + order:
                    total += c * local[n] * mp.ff(n, k)
        local.append(-total / (moved[-1][0] * mp.ff(s + order, order)))
    return local


def _shifted(polynomial: list[Any], at: Any) -> list[Any]:
    result = [mp.mpf(0)] * len(polynomial)
    for i, c in enumerate(polynomial):
        for j in range(i + 1):
            result[j] += c * mp.binomial(i, j) * at ** (i - j)
    return result


def _derivative(local: list[Any], times: int) -> list[Any]:
    return [c * mp.ff(k, times) for k, c in enumerate(local)][times:]


def _mpf(value: Fraction) -> Any:
    return mp.mpf(value.numerator) / value.denominator
