"""What finite sizes add to the interior's solution, from the genus expansion of the exact series, resummed. [P] §3–4.

Of each exact coefficient Y_s the terms of highest degree in the sizes make the interior's limit; the others come from
pairings with twists and handles. The face's own error in its ratios does not shrink with N, so the interior stands in
the face's place. The series of the rest is known to order 7. It is summed, and so is its quotient by the interior's own
series, by Padé approximants of several shapes in w = 1 − e^{−y} and in w = y/(1 + y), y = 4ηt/min(p, m): the median is
the correction, and the median distance from it, threefold, the error estimate. A spurious pole of one approximant moves
neither.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import NamedTuple

import mpmath as mp
import numpy as np
import numpy.typing as npt

from theory.autoencoder.limits.exact import exact_coefficients
from theory.autoencoder.limits.solution import Curves, FloatArray, Loss
from theory.autoencoder.sizes import Sizes
from theory.engine.laurent import Laurent
from theory.errors import ReachError

BoolArray = npt.NDArray[np.bool_]

ORDER = 7
_SHAPES = ((3, 3), (3, 4), (4, 3), (2, 5), (5, 2), (2, 4), (4, 2))
_SHAPES_RATIONAL = _SHAPES[:3]
_MOST_SPREAD = 0.5
_DIGITS = 60
_INTERIOR = {"p": Fraction(1), "n": Fraction(1), "m": Fraction(1), "sigma2": Fraction(-1)}


class Correction(NamedTuple):
    """What to add to both losses, how far the resummations disagree, and at which times they can vouch for it."""

    train: FloatArray
    population: FloatArray
    train_error: FloatArray
    population_error: FloatArray
    certain: BoolArray


def first_correction(loss: Loss, weights: Mapping[str, Fraction], *, order: int = ORDER) -> tuple[Laurent, ...]:
    """The terms of Y_0 … Y_order one degree below the leading one; for Y_0 all but the leading ones.

    ``weights`` are the exponents of N of p, n, m, sigma2; the initial value is kept whole since it costs nothing.

    >>> interior = {"p": Fraction(1), "n": Fraction(1), "m": Fraction(1), "sigma2": Fraction(-1)}
    >>> print(first_correction("population", interior, order=0)[0])
    1/2 n sigma2^2
    """
    kept = []
    for s, whole in enumerate(exact_coefficients(loss, order)):
        rest = whole - whole.leading(weights)
        if s and rest:
            rest = _of_degree(rest, weights, whole.degree(weights) - 1)
        kept.append(rest)
    return tuple(kept)


def _of_degree(polynomial: Laurent, weights: Mapping[str, Fraction], degree: Fraction) -> Laurent:
    names = polynomial.variables
    terms = {
        exponents: c
        for exponents, c in polynomial.terms.items()
        if sum(e * weights[name] for e, name in zip(exponents, names, strict=True)) == degree
    }
    return Laurent(names, terms)


def resum(
    coefficients: Sequence[Fraction], base: Sequence[Fraction], base_values: FloatArray, y: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Σ c_k y^k from c_0 … c_7: a value and an error estimate.

    ``base`` is the series of a function with values ``base_values`` at ``y`` that may share the sum's singularities.

    >>> geometric = [Fraction((-1) ** k) for k in range(8)]
    >>> value, error = resum(geometric, [Fraction(1), *[Fraction(0)] * 7], np.ones(1), np.array([1.0]))
    >>> round(float(value[0]), 3), float(error[0]) < 0.001
    (0.5, True)

    Raises ``ReachError`` where fewer than three approximants exist.
    """
    if not any(coefficients):
        return np.zeros_like(y), np.zeros_like(y)
    candidates = _approximants(coefficients, y)
    if base[0]:
        candidates += [found * base_values for found in _approximants(_quotient(coefficients, base), y)]
    if len(candidates) < 3:
        raise ReachError(
            "1/N correction",
            given=float(y[-1]),
            reach="no time: the Padé approximants do not exist at these sizes",
            remedy="change the sizes a little, or ask for the bare limit",
        )
    best = np.median(candidates, axis=0)
    return best, 3 * np.median(np.abs(np.array(candidates) - best), axis=0)


def _quotient(a: Sequence[Fraction], b: Sequence[Fraction]) -> list[Fraction]:
    out: list[Fraction] = []
    for k, value in enumerate(a):
        out.append((value - sum((out[j] * b[k - j] for j in range(k)), start=Fraction(0))) / b[0])
    return out


def _approximants(coefficients: Sequence[Fraction], y: FloatArray) -> list[FloatArray]:
    found = []
    with mp.workdps(_DIGITS):
        outer = [mp.mpf(c.numerator) / c.denominator for c in coefficients]
        for saturating, shapes in ((True, _SHAPES), (False, _SHAPES_RATIONAL)):
            inner = [mp.mpf(0)] + [mp.mpf(1) / k if saturating else mp.mpf(1) for k in range(1, len(outer))]
            w = [-mp.expm1(-mp.mpf(v)) if saturating else mp.mpf(v) / (1 + mp.mpf(v)) for v in y]
            series = _compose(outer, inner)
            found += [_pade(series, *shape, w) for shape in shapes]
    return [values for values in found if values is not None]


def _compose(outer: list[mp.mpf], inner: list[mp.mpf]) -> list[mp.mpf]:
    size = len(outer)
    total, power = [mp.mpf(0)] * size, [mp.mpf(1)] + [mp.mpf(0)] * (size - 1)
    for c in outer:
        total = [a + c * b for a, b in zip(total, power, strict=True)]
        power = [sum(power[j] * inner[k - j] for j in range(k + 1)) for k in range(size)]
    return total


def _pade(series: list[mp.mpf], top: int, bottom: int, w: list[mp.mpf]) -> FloatArray | None:
    """The [top/bottom] approximant; in a square block of equal entries of the Padé table, the block's corner."""
    try:
        numerator, denominator = mp.pade(series[: top + bottom + 1], top, bottom)
        values = [mp.polyval(numerator[::-1], x) / mp.polyval(denominator[::-1], x) for x in w]
    except ZeroDivisionError:
        return _pade(series, top - 1, bottom - 1, w) if min(top, bottom) > 1 else None
    return np.array([float(value) for value in values])


def correction(sizes: Sizes, times: FloatArray, interior: Curves, *, eta: float) -> Correction:
    """What finite sizes add to ``interior``, the interior's curves at these sizes, at every time.

    All orders in 1/N that the exact coefficients hold are kept, not the first alone: with n = 4 the second counts.
    Where
    the approximants disagree by more than half of their median, or of what was certain before, nothing is added, and
    the error is the largest correction seen so far.
    """
    rate = 4 * eta / min(sizes.p, sizes.m)
    found = []
    certain = np.full(times.shape, True)
    for loss, values in (("train", interior.train), ("population", interior.population)):
        coefficients, base = _finite_size_series(sizes, loss)  # type: ignore[arg-type]
        try:
            value, error = resum(coefficients, base, values, rate * times)
        except ReachError:
            value, error = np.zeros(times.shape), np.full(times.shape, np.inf)
        largest = np.maximum.accumulate(np.where(np.isfinite(value), np.abs(value), 0.0))
        with np.errstate(invalid="ignore"):
            sure = np.isfinite(value) & (error <= _MOST_SPREAD * largest + 1e-12 * np.abs(values))
        sure = np.logical_and.accumulate(sure)
        start = np.abs(float(coefficients[0])) if coefficients else 0.0
        seen = max(
            start,
            float(np.max(largest[sure], initial=0.0)),
            float(np.max(np.abs(values))) / min(sizes.p, sizes.n, sizes.m),
        )
        found.append((np.where(sure, value, 0.0), np.where(sure, error, seen)))
        certain &= sure
    (train, train_error), (population, population_error) = found
    return Correction(train, population, train_error, population_error, certain)


def _finite_size_series(sizes: Sizes, loss: Loss) -> tuple[list[Fraction], list[Fraction]]:
    """One loss at these sizes: the exact coefficients less the interior's, and the interior's, in 4ηt/min(p, m)."""
    unit = Fraction(min(sizes.p, sizes.m), 4 * sizes.p * sizes.m)
    point: dict[str, Fraction | int] = {"p": sizes.p, "n": sizes.n, "m": sizes.m, "sigma2": sizes.sigma2}
    rest, base = [], []
    for s, whole in enumerate(exact_coefficients(loss, ORDER)):
        leading = Fraction(whole.leading(_INTERIOR).evaluate(point))
        factor = (-unit) ** s / math.factorial(s)
        rest.append((Fraction(whole.evaluate(point)) - leading) * factor)
        base.append(leading * factor)
    base[0] += Fraction(1, 2)
    return rest, base
