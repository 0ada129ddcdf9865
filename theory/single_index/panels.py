"""Where a link bends: the intervals on which a 16-point rule resolves it, found once, on the axis of the field.

A rule whose panels are so many standard deviations wide is blind to a link that bends within less: at variance 1000 a
panel of half a standard deviation covers 16 units of x. Rules are therefore broken at these intervals too. A link that
would take more than ``MOST_PANELS`` of them is refused: no number is given for a function that was not seen.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import sympy

from theory.errors import ReachError
from theory.single_index.link import Link, X
from theory.single_index.quadrature import normal_means

Floats = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]
_Test = tuple[Callable[[npt.ArrayLike], Floats], float, tuple[Floats, Floats]]

MOST_PANELS = 12_000
_POINTS = 16
_TOLERANCES = (1e-11, 1e-9)
"""For f and for f′, relative to the largest value up to there."""
_LEVELS = 60
_LARGEST = 1e150
_CENTRE = 3.0
"""No variance is below 1: what the function is up to here always weighs, and smaller values closer in do not."""
_REACHES = (12.0, 16.0, 20.0, 24.0, 34.0)
_NEGLIGIBLE = 45.0
_FOURTH = 4.0
"""Moments of f and f′ up to fourth order are taken: f(x)² f′(x)² in the gradient noise."""
_FIRST_WIDTH = 0.5
_CHECKS = 49
_ALIKE = 0.2
_BESIDE = 2.0 ** -np.arange(1, 52)


def breaks(link: Link, scale: float, *, reach: float = 20.0, parts: int = 1) -> tuple[float, ...]:
    """Where a rule on |x| ≤ ``reach`` with panels of width ``scale`` must be broken: kinks, and shorter intervals.

    Those are divided into ``parts`` each, so that rules can be compared.

    >>> 1.0 in breaks(Link.parse("abs(x-1)"), 16.0)
    True
    >>> len(breaks(Link.parse("tanh(x)"), 16.0)) > 4
    True

    Raises ``ReachError`` for a link that ``MOST_PANELS`` intervals do not resolve.
    """
    edges = _edges(link, _rounded(reach))
    narrow = np.flatnonzero(np.diff(edges) < scale)
    share = np.arange(parts + 1) / parts
    cuts = (edges[narrow, None] + np.diff(edges)[narrow, None] * share).ravel()
    return tuple(float(cut) for cut in np.unique(np.concatenate([link.kinks, cuts])) if abs(cut) <= reach)


@functools.lru_cache(maxsize=512)
def spread_needed(link: Link, variance: float) -> float:
    """How many standard deviations of the field carry its moments up to f²f′²: 12, or more for a link that grows."""
    root = math.sqrt(variance)
    for reach in _REACHES:
        x = root * np.linspace(-reach, reach, 2001)
        with np.errstate(all="ignore"):
            size = np.log(1 + np.maximum(np.abs(link.value(x)), np.abs(link.derivative(x))))
        logs = np.where(np.isfinite(size), size, np.inf)
        if _FOURTH * max(logs[0], logs[-1]) - reach**2 / 2 < _FOURTH * float(np.median(logs)) - _NEGLIGIBLE:
            return reach
    return _REACHES[-1]


def field_means(link: Link, variance: float, rows: Callable[[Floats], Floats]) -> tuple[Floats, Floats]:
    """E of the rows of a function of g made of f(√A g) and f′(√A g), A the variance; with errors.

    >>> link = Link.parse("tanh(5*x)")
    >>> value, error = field_means(link, 1000.0, lambda g: link.value(1000**0.5 * g) ** 2)
    >>> round(float(value), 9), bool(error < 1e-12)
    (0.994953818, True)
    """
    root = math.sqrt(variance)
    reach = spread_needed(link, variance) * root
    coarse, fine = (tuple(b / root for b in breaks(link, root, reach=reach, parts=parts)) for parts in (1, 2))
    return normal_means(rows, breaks=coarse, finer=fine)


def _rounded(reach: float) -> float:
    """The next of 20, 40, 80, …, so that few sets of panels are made."""
    return float(20.0 * 2.0 ** max(0, math.ceil(math.log2(reach / 20.0))))


@functools.lru_cache(maxsize=64)
def _edges(link: Link, reach: float) -> Floats:
    """Halve the intervals between kinks until each is resolved."""
    rows: tuple[Callable[[npt.ArrayLike], Floats], ...] = (link.value, link.derivative)
    hints = np.array([point for point in _hints(link) if abs(point) < reach])
    beside = (hints[:, None] + np.concatenate([-_BESIDE, [0.0], _BESIDE])).ravel()
    grid = np.concatenate([np.linspace(-reach, reach, 8001) + 1e-5, np.linspace(-20, 20, 4001) + 1e-5, beside])
    small = (np.abs([function(grid) for function in rows]) < _LARGEST).all(axis=0)
    reach = min([reach, *np.abs(grid[~small])]) - 1e-3
    grid = grid[np.abs(grid) < reach]
    sizes = [_running_largest(function, grid) for function in rows]
    kinks = np.array([kink for kink in link.kinks if abs(kink) < reach])
    corners = np.unique([*np.arange(-reach, reach, _first_width(reach)), reach, *kinks, *hints[np.abs(hints) < reach]])
    marked = np.setdiff1d(hints, kinks)
    pending = np.stack([corners[:-1], corners[1:]])
    accepted = [corners[-1:]]
    for _ in range(_LEVELS):
        good = np.ones(pending.shape[1], dtype=bool)
        for function, tolerance, size in zip(rows, _TOLERANCES, sizes, strict=True):
            good &= _resolved(pending, function, tolerance, size, marked)
        accepted.append(pending[0, good])
        (left, right), middle = pending[:, ~good], pending[:, ~good].mean(axis=0)
        if not left.size:
            break
        if sum(map(len, accepted)) + 2 * len(left) > MOST_PANELS:
            raise ReachError(
                "link",
                given=link.text,
                reach=f"links that {MOST_PANELS} intervals on |x| ≤ {reach:.3g} resolve",
                remedy="lower lambda, or take a link that is less steep and oscillates less",
            )
        pending = np.stack([np.concatenate([left, middle]), np.concatenate([middle, right])])
    else:
        accepted.append(pending[0])
    test = list(zip(rows, _TOLERANCES, sizes, strict=True))
    return _merged(np.unique(np.concatenate(accepted)), np.union1d(kinks, hints), test, marked)


def _merged(edges: Floats, fixed: Floats, test: list[_Test], marked: Floats) -> Floats:
    """Join neighbours, two at a time, as long as the panel of both is resolved too."""
    for _ in range(_LEVELS):
        before = len(edges)
        for first in (0, 1):
            left, middle, right = edges[first:-2:2], edges[first + 1 : -1 : 2], edges[first + 2 :: 2]
            left, middle = left[: len(right)], middle[: len(right)]
            ratio = (middle - left) / (right - left)
            alike = np.flatnonzero((ratio > _ALIKE) & (ratio < 1 - _ALIKE) & ~np.isin(middle, fixed))
            if not alike.size:
                continue
            joined = np.stack([left[alike], right[alike]])
            good = np.ones(alike.size, dtype=bool)
            for function, tolerance, size in test:
                good &= _resolved(joined, function, tolerance, size, marked)
            edges = np.setdiff1d(edges, middle[alike[good]])
        if len(edges) == before:
            break
    return edges


def _first_width(reach: float) -> float:
    return max(_FIRST_WIDTH, reach / 400)


def _hints(link: Link) -> list[float]:
    """Points beside which the link may bend within very little: zeros and turning points of what its functions are of.

    A bump exp(−c(x−9)²) bends at the turning point of its argument, tanh(c(x−3)) at the zero.
    """
    found: set[float] = set()
    for part in link.expression.atoms(sympy.Function, sympy.Pow):
        for argument in part.args:
            if not (argument.has(X) and argument.is_polynomial(X)):
                continue
            polynomial = sympy.Poly(argument, X)
            for one in (polynomial, polynomial.diff(X)):
                if 1 <= one.degree() <= 8:
                    roots = np.roots([float(c) for c in one.all_coeffs()])
                    found.update(float(root.real) + 0.0 for root in roots if abs(root.imag) <= 1e-6 * (1 + abs(root)))
    return sorted(found)


def _running_largest(function: Callable[[npt.ArrayLike], Floats], grid: Floats) -> tuple[Floats, Floats]:
    """Radii, increasing, and what |function| is to be measured by there: the largest on the grid up to each radius.

    Or the largest further out, less what it loses by the weight of a normal law of variance 1, the least there is.
    """
    order = np.argsort(np.abs(grid))
    radii, sizes = np.abs(grid)[order], np.abs(function(grid))[order]
    with np.errstate(divide="ignore"):
        weighed = np.log(sizes) - radii**2 / 2
    beyond = np.exp(np.maximum.accumulate(weighed[::-1])[::-1] + radii**2 / 2)
    return radii, np.maximum(np.maximum.accumulate(sizes), beyond)


def _resolved(
    panels: Floats,
    function: Callable[[npt.ArrayLike], Floats],
    tolerance: float,
    sizes: tuple[Floats, Floats],
    marked: Floats,
) -> Mask:
    """Whether the polynomial through 16 Gauss–Legendre points of each panel gives the function elsewhere in it."""
    nodes, transform, matrix, places = _legendre()
    left, right = panels
    half, middle = (right - left)[:, None] / 2, (left + right)[:, None] / 2
    coefficients = function(middle + half * nodes) @ transform.T
    misfit = np.abs(coefficients @ matrix.T - function(middle + half * places)).max(axis=1)
    for edge, sign in ((left, 1.0), (right, -1.0)):  # beside a marked point, look at all scales
        beside = np.flatnonzero(np.isin(edge, marked))
        if beside.size:
            near = sign * (2 * _BESIDE - 1)
            points = edge[beside, None] + sign * 2 * half[beside] * _BESIDE
            fit = coefficients[beside] @ np.polynomial.legendre.legvander(near, _POINTS - 1).T
            misfit[beside] = np.maximum(misfit[beside], np.abs(fit - function(points)).max(axis=1))
    radii, largest = sizes
    far = np.maximum(np.maximum(np.abs(left), np.abs(right)), _CENTRE)
    scale = largest[np.minimum(np.searchsorted(radii, far), len(largest) - 1)]
    tiny = (right - left) < 1e-13 * np.maximum(np.abs(left), np.abs(right))  # as close as floats go
    return np.asarray((misfit <= tolerance * scale) | tiny)


@functools.lru_cache(maxsize=1)
def _legendre() -> tuple[Floats, Floats, Floats, Floats]:
    """Nodes on [−1, 1], the matrix from values there to Legendre coefficients, that to values at the checks, these."""
    nodes, weights = np.polynomial.legendre.leggauss(_POINTS)
    orders = np.arange(_POINTS)
    transform = (2 * orders[:, None] + 1) / 2 * np.polynomial.legendre.legvander(nodes, _POINTS - 1).T * weights
    places = np.concatenate([np.linspace(-0.97, 0.97, _CHECKS), [-0.999, 0.999, 0.6180339887, -0.7548776662]])
    return nodes, transform, np.polynomial.legendre.legvander(places, _POINTS - 1), places
