"""The first 1/N correction to a face's limit, from the genus expansion of the exact series, resummed. [P] §3–4.

Let the sizes be powers of N inside the face's cone. Of each exact coefficient Y_s the terms of highest degree make the
limit; those one degree lower come from pairings with one twist, and from the faces next to this one. Their series in t
is known to order 7. It is summed, and so is its quotient by the limit's own series, by Padé approximants of several
shapes in w = 1 − e^{−y} and in w = y/(1 + y), y = 4ηt/min(p, m): the median is the correction, and the median distance
from it, threefold, the error estimate. A spurious pole of one approximant moves neither.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple, NoReturn

import mpmath as mp
import numpy as np
import numpy.typing as npt

from theory.autoencoder.limits.exact import exact_coefficients
from theory.autoencoder.limits.solution import Curves, FloatArray, Loss
from theory.autoencoder.sizes import Sizes
from theory.engine.laurent import Laurent
from theory.errors import ReachError

At = Callable[[FloatArray], Curves]
BoolArray = npt.NDArray[np.bool_]

ORDER = 7
_SHAPES = ((3, 3), (3, 4), (4, 3), (2, 5), (5, 2), (2, 4), (4, 2))
_SHAPES_RATIONAL = _SHAPES[:3]
_MOST_SPREAD = 0.5
_DIGITS = 60
_PROBES = np.geomspace(1e-3, 1.0, 161)
"""Where, in units of the first time that fails, the latest time that can be vouched for is looked for."""


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
    at: At,
    eta: float,
    weights: Mapping[str, Fraction],
    target: bool,
    progress: Callable[[int, int], None] | None = None,
) -> Correction:
    """The first 1/N correction at actual sizes, to be added to ``limit``, the curves of the face of ``weights``.

    ``at`` evaluates the same curves at other times. It is called only where the correction cannot vouch for some of
    ``times``, to find the latest time for which it can.

    Raises ``ReachError`` for times at which the approximants differ by more than 50 % of the correction's size.
    """
    series = _Series.of(sizes, eta=eta, weights=weights, target=target)
    found: list[tuple[FloatArray, FloatArray]] = []
    certain = np.full(times.shape, True)
    for value, error, sure in series.resummed(times, limit):
        found.append((value, error))
        certain &= sure
        if progress is not None:
            progress(len(found), 2)
    if not np.all(certain):
        _refuse(series, float(times[np.argmin(certain)]), at)
    (train, train_error), (population, population_error) = found
    return Correction(train, population, np.maximum(train_error, population_error))


@dataclass(frozen=True)
class _Series:
    """Of each loss at actual sizes the correction's coefficients and the limit's own, in powers of y = ``rate`` t."""

    rate: float
    parts: tuple[tuple[list[Fraction], list[Fraction]], ...]

    @classmethod
    def of(cls, sizes: Sizes, *, eta: float, weights: Mapping[str, Fraction], target: bool) -> _Series:
        scale = min(sizes.p, sizes.m)
        unit = Fraction(scale, 4 * sizes.p * sizes.m)
        point: dict[str, Fraction | int] = {"p": sizes.p, "n": sizes.n, "m": sizes.m, "sigma2": sizes.sigma2}

        def at_sizes(polynomials: Sequence[Laurent]) -> list[Fraction]:
            return [Fraction(c.evaluate(point)) * (-unit) ** s / math.factorial(s) for s, c in enumerate(polynomials)]

        parts = []
        losses: tuple[Loss, ...] = ("train", "population")
        for loss in losses:
            base = at_sizes([whole.leading(weights) for whole in exact_coefficients(loss, ORDER)])
            if target:
                base[0] += Fraction(1, 2)
            parts.append((at_sizes(first_correction(loss, weights)), base))
        return cls(4 * eta / scale, tuple(parts))

    def resummed(self, times: FloatArray, limit: Curves) -> Iterator[tuple[FloatArray, FloatArray, BoolArray]]:
        """For train and population loss the correction, its error, and at which times it is certain enough."""
        for (coefficients, base), values in zip(self.parts, (limit.train, limit.population), strict=True):
            value, error = resum(coefficients, base, values, self.rate * times)
            size = np.maximum.accumulate(np.abs(value))
            finite = np.isfinite(value) & np.isfinite(error)
            yield value, error, finite & (error <= _MOST_SPREAD * size + 1e-12 * np.abs(values))


def _refuse(series: _Series, failed: float, at: At) -> NoReturn:
    """Say up to which time before ``failed`` the correction of both losses can be vouched for."""
    probes = failed * _PROBES
    certain, alone = np.full((2, probes.size), True)
    limit = at(probes)
    for (value, error, sure), values in zip(
        series.resummed(probes, limit), (limit.train, limit.population), strict=True
    ):
        certain &= sure
        alone &= error <= _MOST_SPREAD * np.abs(value) + 1e-12 * np.abs(values)
    good = probes[np.logical_and.accumulate(certain) & alone]  # asked for by itself, such a time is not refused
    if not good.size:
        reach, remedy = f"no time from t = {probes[0]:.2g} on", "ask for the bare limit"
    else:
        last = _floor(float(good[-1]))
        reach, remedy = f"about t = {last:g}", f"ask for times up to {last:g}, or for the bare limit"
    raise ReachError("1/N correction", given=failed, reach=f"{reach}, from the series to order {ORDER}", remedy=remedy)


def _floor(value: float) -> float:
    """Down to two digits.

    >>> _floor(17.96), _floor(0.0299)
    (17.0, 0.029)
    """
    unit = 10.0 ** (math.floor(math.log10(value)) - 1)
    return float(f"{math.floor(value / unit) * unit:.2g}")
