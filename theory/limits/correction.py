"""The first 1/N correction to a face's limit, from the genus expansion of the exact series, resummed. [P] §3–4.

Let the sizes be powers of N inside the face's cone. Of each exact coefficient Y_s the terms of highest degree make the
limit; those one degree lower come from pairings with one twist, and from the faces next to this one. Their series in t
is known to order 7. It is summed, and so is its quotient by the limit's own series, by Padé approximants of several
shapes in w = 1 − e^{−y} and in w = y/(1 + y), y = 4ηt/min(p, m): the median is the correction, and the median distance
from it, threefold, the error estimate. A spurious pole of one approximant moves neither.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import NamedTuple

import mpmath as mp
import numpy as np

from theory.autoencoder.sizes import Sizes
from theory.engine.laurent import Laurent
from theory.errors import ReachError
from theory.limits.exact import exact_coefficients
from theory.limits.solution import Curves, FloatArray, Loss

ORDER = 7
_SHAPES = ((3, 3), (3, 4), (4, 3), (2, 5), (5, 2), (2, 4), (4, 2))
_SHAPES_RATIONAL = _SHAPES[:3]
_MOST_SPREAD = 0.5
_DIGITS = 60


class Correction(NamedTuple):
    """What to add to both losses, and how far the resummations disagree (terms of order 1/N² are not in it)."""

    train: FloatArray
    population: FloatArray
    error: FloatArray


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


def correction(
    sizes: Sizes,
    times: FloatArray,
    limit: Curves,
    *,
    eta: float,
    weights: Mapping[str, Fraction],
    target: bool,
    progress: Callable[[int, int], None] | None = None,
) -> Correction:
    """The first 1/N correction at actual sizes, to be added to ``limit``, the curves of the face of ``weights``.

    Raises ``ReachError`` for times at which the approximants differ by more than 50 % of the correction's size.
    """
    scale = min(sizes.p, sizes.m)
    y = 4 * eta * times / scale
    unit = Fraction(scale, 4 * sizes.p * sizes.m)
    point: dict[str, Fraction | int] = {"p": sizes.p, "n": sizes.n, "m": sizes.m, "sigma2": sizes.sigma2}

    def at_sizes(polynomials: Sequence[Laurent]) -> list[Fraction]:
        return [Fraction(c.evaluate(point)) * (-unit) ** s / math.factorial(s) for s, c in enumerate(polynomials)]

    found = []
    losses: tuple[tuple[Loss, FloatArray], ...] = (("train", limit.train), ("population", limit.population))
    for k, (loss, values) in enumerate(losses):
        base = at_sizes([whole.leading(weights) for whole in exact_coefficients(loss, ORDER)])
        if target:
            base[0] += Fraction(1, 2)
        value, error = resum(at_sizes(first_correction(loss, weights)), base, values, y)
        uncertain = error > _MOST_SPREAD * np.maximum.accumulate(np.abs(value)) + 1e-12 * np.abs(values)
        if np.any(uncertain):
            good = times[: int(np.argmax(uncertain))]
            raise ReachError(
                f"1/N correction of the {loss} loss",
                given=float(times[-1]),
                reach=f"t = {float(good[-1]) if good.size else 0.0:g} among these, from the series to order {ORDER}",
                remedy="ask for earlier times, or for the bare limit",
            )
        found.append((value, error))
        if progress is not None:
            progress(k + 1, len(losses))
    (train, train_error), (population, population_error) = found
    return Correction(train, population, np.maximum(train_error, population_error))
