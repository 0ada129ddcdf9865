"""Power series in time, resummed: Padé approximants, plain and after Borel, and an error by two independent means."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from statistics import median

import mpmath
import numpy as np

FEWEST_ORDERS = 4
SAFETY = 1.5
"""Errors are estimated as this many times the larger of the two differences seen."""
_DIGITS = 60
_STEPS = 60
_LATEST = 1e6
_NODES, _WEIGHTS = np.polynomial.laguerre.laggauss(60)

Rational = tuple[tuple[Fraction, ...], tuple[Fraction, ...]]


@dataclass(frozen=True)
class Resummed:
    """A value with the error that held-out orders and neighbouring approximants show; infinite where they show none."""

    value: float
    error: float


@dataclass(frozen=True)
class Resummation:
    """F(t) = Σ_s c_s t^s from its exact coefficients.

    The change F(t) − F(0) is approximated by near-diagonal Padé approximants, of itself and of its Borel transform
    Σ c_s z^s/s! (means over Gaussian matrices have coefficients that grow like a factorial). The value is the median of
    those without a pole on the way. Its error is ``SAFETY`` times the larger of two differences: from the same with the
    last one or two orders held out, and between the approximants of the last order.

    >>> decay = Resummation(tuple(Fraction((-1) ** s, math.factorial(s)) for s in range(9)))
    >>> found = decay(3.0)
    >>> abs(found.value - math.exp(-3.0)) <= found.error < 1e-2
    True
    """

    coefficients: tuple[Fraction, ...]

    @property
    def order(self) -> int:
        """The highest order."""
        return len(self.coefficients) - 1

    @property
    def start(self) -> float:
        """F(0)."""
        return float(self.coefficients[0])

    def __call__(self, t: float) -> Resummed:
        """The value at a time, and its error."""
        if t == 0 or not any(self.coefficients[1:]):
            return Resummed(self.start, 0.0)
        if self.order < FEWEST_ORDERS:
            return Resummed(math.nan, math.inf)
        found = [self._approximants(order, t) for order in (self.order, self.order - 1, self.order - 2)]
        if len(found[0]) < 2 or not (found[1] and found[2]):
            return Resummed(math.nan, math.inf)
        last, before, earlier = (median(values) for values in found)
        held_out = max(abs(last - before), abs(before - earlier) / 4)
        spread = max(found[0]) - min(found[0])
        return Resummed(self.start + last, SAFETY * max(held_out, spread))

    def reach(self, *, tolerance: float, until: float = _LATEST) -> float:
        """The latest time up to which the error stays below ``tolerance`` of the largest change by then."""
        speed = abs(float(self.coefficients[1])) if self.order else 0.0
        if not any(self.coefficients[1:]):
            return until
        turn = next((s for s in range(2, self.order + 1) if self.coefficients[s]), 1)
        scale = abs(float(self.coefficients[turn])) / speed if speed else 1.0
        unit = 1 / scale ** (1 / max(turn - 1, 1)) if scale else 1.0
        low, largest = 0.0, 0.0
        for t in np.geomspace(unit / 100, unit * 1000, _STEPS):
            time = min(float(t), until)
            found = self(time)
            largest = max(largest, abs(found.value - self.start)) if math.isfinite(found.value) else largest
            if not found.error <= tolerance * largest:
                return low
            low = time
            if time >= until:
                break
        return low

    def _approximants(self, order: int, t: float) -> list[float]:
        """The change at t by each approximant of the coefficients up to an order."""
        plain, borel = self._pairs[order]
        values = [t * value for pair in plain if (value := _evaluate(pair, t)) is not None]
        values += [value for pair in borel if (value := _laplace(pair, t)) is not None]
        return values

    @cached_property
    def _pairs(self) -> dict[int, tuple[list[Rational], list[Rational]]]:
        """Approximants of the change over t, and of its Borel transform over z, for the last three orders."""
        change = self.coefficients[1:]
        borel = [c / math.factorial(s) for s, c in enumerate(change, start=1)]
        orders = (self.order, self.order - 1, self.order - 2)
        return {order: (list(_pades(change[:order])), list(_pades(borel[:order]))) for order in orders}


def _pades(series: Sequence[Fraction]) -> Iterable[Rational]:
    """Two near-diagonal approximants that stay bounded, or almost."""
    degree = len(series) - 1
    half = degree // 2
    shapes = [(half, half), (half - 1, half + 1)] if degree % 2 == 0 else [(half, half + 1), (half + 1, half)]
    for above, below in shapes:
        if above >= 0 and (found := pade(series, above, below)) is not None:
            yield found


def pade(series: Sequence[Fraction], above: int, below: int) -> Rational | None:
    """The approximant of given degrees, exactly; ``None`` where it does not exist.

    >>> pade([Fraction(1), Fraction(-1), Fraction(1)], 0, 1)
    ((Fraction(1, 1),), (Fraction(1, 1), Fraction(1, 1)))
    """

    def c(k: int) -> Fraction:
        return series[k] if 0 <= k < len(series) else Fraction(0)

    rows = [[c(above + i - j) for j in range(1, below + 1)] + [-c(above + i)] for i in range(1, below + 1)]
    solved = _solve(rows)
    if solved is None:
        return None
    bottom = (Fraction(1), *solved)
    top = tuple(sum((bottom[j] * c(i - j) for j in range(min(i, below) + 1)), Fraction(0)) for i in range(above + 1))
    return top, bottom


def _solve(rows: list[list[Fraction]]) -> list[Fraction] | None:
    count = len(rows)
    for k in range(count):
        pivot = next((i for i in range(k, count) if rows[i][k]), None)
        if pivot is None:
            return None
        rows[k], rows[pivot] = rows[pivot], rows[k]
        rows[k] = [x / rows[k][k] for x in rows[k]]
        for i in range(count):
            if i != k and rows[i][k]:
                rows[i] = [x - rows[i][k] * y for x, y in zip(rows[i], rows[k], strict=True)]
    return [row[-1] for row in rows]


def _evaluate(approximant: Rational, at: float) -> float | None:
    """The value, or ``None`` where a pole lies between 0 and there."""
    top, bottom = approximant
    with mpmath.workdps(_DIGITS):
        x = mpmath.mpf(at)
        scaled = [_mp(b) * x**k for k, b in enumerate(bottom)]
        size = max(abs(b) for b in scaled)
        floats = [float(b / size) for b in scaled]
        if len(floats) > 1 and any(abs(r.imag) < 1e-9 and 0 < r.real <= 1.02 for r in np.roots(floats[::-1])):
            return None
        below = mpmath.fsum(scaled)
        if not below:
            return None
        value = float(mpmath.fsum(_mp(a) * x**k for k, a in enumerate(top)) / below)
    return value if math.isfinite(value) else None


def _mp(value: Fraction) -> mpmath.mpf:
    return mpmath.mpf(value.numerator) / value.denominator


def _laplace(approximant: Rational, t: float) -> float | None:
    """∫ e^(−u) z G(z) du at z = ut, G the approximant; ``None`` where it has a pole on the way."""
    top, bottom = ([float(c) for c in part] for part in approximant)
    z = t * _NODES
    with np.errstate(over="ignore", invalid="ignore"):
        scaled = np.array(bottom) * float(z[-1]) ** np.arange(len(bottom))
        if not np.all(np.isfinite(scaled)) or not np.abs(scaled).max() > 0:
            return None
        roots = np.roots((scaled / np.abs(scaled).max())[::-1]) if len(bottom) > 1 else np.zeros(0)
        if any(abs(r.imag) < 1e-6 * abs(r) and r.real > 0 for r in roots):
            return None
        value = float(np.sum(_WEIGHTS * z * np.polyval(top[::-1], z) / np.polyval(bottom[::-1], z)))
    return value if math.isfinite(value) else None
