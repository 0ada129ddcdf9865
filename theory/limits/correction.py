"""The first 1/N correction to a face's limit, from the genus expansion of the exact series, resummed. [P] §3–4.

Let the sizes be powers of N inside the face's cone. Of each exact coefficient Y_s the terms of highest degree make the
limit; those one degree lower come from pairings with one twist, and from the faces next to this one. Their series in t
is known to order 7 and is summed by Padé approximants, the median of three, in w = 1 − e^{−y} with the target and
w = y/(1 + y) without, y = 4ηt/min(p, m). Shorter approximants and the other variable say how far to trust it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple

import mpmath as mp
import numpy as np

from theory.autoencoder.series import loss_series
from theory.autoencoder.sizes import Sizes
from theory.engine.laurent import Laurent
from theory.errors import ReachError
from theory.limits.solution import FloatArray, Loss

ORDER = 7
_APPROXIMANTS = ((3, 3), (3, 4), (4, 3))
_SHORTER = ((3, 2), (2, 3))
_MOST_SPREAD = 0.3
_DIGITS = 60


class Correction(NamedTuple):
    """What to add to both losses, and the spread of the resummations (terms of order 1/N² are not in it)."""

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
    for s, whole in enumerate(_series(loss, order)):
        rest = whole - whole.leading(weights)
        if s and rest:
            next_degree = whole.degree(weights) - 1
            rest = _of_degree(rest, weights, next_degree)
        kept.append(rest)
    return tuple(kept)


@lru_cache(maxsize=8)
def _series(loss: Loss, order: int) -> tuple[Laurent, ...]:
    return loss_series(loss, order=order).coefficients


def _of_degree(polynomial: Laurent, weights: Mapping[str, Fraction], degree: Fraction) -> Laurent:
    names = polynomial.variables
    terms = {
        exponents: c
        for exponents, c in polynomial.terms.items()
        if sum(e * weights[name] for e, name in zip(exponents, names, strict=True)) == degree
    }
    return Laurent(names, terms)


def resum(coefficients: Sequence[Fraction], y: FloatArray, *, saturating: bool) -> tuple[FloatArray, FloatArray]:
    """Sum Σ c_k y^k, k = 0 … 7, by Padé approximants in w(y): a value and how far other approximants are from it.

    The value is the median of three of degree 6 and 7 in w = 1 − e^{−y} (``saturating``) or w = y/(1 + y).

    >>> value, spread = resum([Fraction((-1) ** k) for k in range(8)], np.array([3.0]), saturating=False)
    >>> round(float(value[0]), 9), float(spread[0]) < 1e-9
    (0.25, True)
    """
    if not any(coefficients):
        return np.zeros_like(y), np.zeros_like(y)
    values = _approximants(coefficients, y, _APPROXIMANTS, saturating=saturating)
    others = [
        *_approximants(coefficients, y, _SHORTER, saturating=saturating),
        *_approximants(coefficients, y, _APPROXIMANTS, saturating=not saturating),
    ]
    if len(values) < 2 or not others:
        raise ReachError(
            "1/N correction",
            given=float(y[-1]),
            reach="no time: the Padé approximants do not exist at these sizes",
            remedy="change the sizes a little, or ask for the bare limit",
        )
    best = np.median(values, axis=0)
    inner = np.max(np.abs(np.array(values) - best), axis=0)
    outer = np.median(np.abs(np.array(others) - best), axis=0)
    return best, np.maximum(inner, outer)


def _approximants(
    coefficients: Sequence[Fraction], y: FloatArray, shapes: Sequence[tuple[int, int]], *, saturating: bool
) -> list[FloatArray]:
    with mp.workdps(_DIGITS):
        inner = [mp.mpf(0)] + [mp.mpf(1) / k if saturating else mp.mpf(1) for k in range(1, len(coefficients))]
        series = _compose([mp.mpf(c.numerator) / c.denominator for c in coefficients], inner)
        w = [-mp.expm1(-mp.mpf(v)) if saturating else mp.mpf(v) / (1 + mp.mpf(v)) for v in y]
        return [found for shape in shapes if (found := _pade(series, *shape, w)) is not None]


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
    except ZeroDivisionError:
        return _pade(series, top - 1, bottom - 1, w) if min(top, bottom) > 1 else None
    values = [mp.polyval(numerator[::-1], x) / mp.polyval(denominator[::-1], x) for x in w]
    return np.array([float(value) for value in values])


def correction(
    sizes: Sizes,
    times: FloatArray,
    *,
    eta: float,
    weights: Mapping[str, Fraction],
    target: bool,
    progress: Callable[[int, int], None] | None = None,
) -> Correction:
    """The first 1/N correction at actual sizes, to be added to the limit of the face that ``weights`` select.

    Raises ``ReachError`` for times at which the approximants differ by more than 30 % of the correction's size.
    """
    scale = min(sizes.p, sizes.m)
    y = 4 * eta * times / scale
    unit = Fraction(scale, 4 * sizes.p * sizes.m)
    point: dict[str, Fraction | int] = {"p": sizes.p, "n": sizes.n, "m": sizes.m, "sigma2": sizes.sigma2}
    found = []
    losses: tuple[Loss, Loss] = ("train", "population")
    for k, loss in enumerate(losses):
        polynomials = first_correction(loss, weights)
        exact = [Fraction(c.evaluate(point)) * (-unit) ** s / math.factorial(s) for s, c in enumerate(polynomials)]
        value, spread = resum(exact, y, saturating=target)
        uncertain = spread > _MOST_SPREAD * np.maximum.accumulate(np.abs(value)) + 1e-12
        if np.any(uncertain):
            good = times[: int(np.argmax(uncertain))]
            raise ReachError(
                f"1/N correction of the {loss} loss",
                given=float(times[-1]),
                reach=f"t = {float(good[-1]) if good.size else 0.0:g} among these, from the series to order {ORDER}",
                remedy="ask for earlier times, or for the bare limit",
            )
        found.append((value, spread))
        if progress is not None:
            progress(k + 1, len(losses))
    (train, train_error), (population, population_error) = found
    return Correction(train, population, np.maximum(train_error, population_error))
