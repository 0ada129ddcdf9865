"""Where a link bends: the intervals on which a 16-point rule resolves it, found once, on the axis of the field.

A rule whose panels are so many standard deviations wide is blind to a link that bends within less: at variance 1000 a
panel of half a standard deviation covers 16 units of x. Rules are therefore broken at these intervals too.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from theory.single_index.link import Link
from theory.single_index.quadrature import normal_means

Floats = npt.NDArray[np.float64]

_REACH = 1200.0
_POINTS = 16
_TOLERANCES = (1e-11, 1e-9)
"""For f and for f′, relative to the largest value up to there."""
_MOST = 200
_LEVELS = 24
_LARGEST = 1e150
_CENTRE = 3.0
"""No variance is below 1: what the function is up to here always weighs, and smaller values closer in do not."""


def breaks(link: Link, scale: float, *, parts: int = 1) -> tuple[float, ...]:
    """Where a rule with panels of width ``scale`` in x must be broken: at kinks, and around shorter intervals.

    Those are divided into ``parts`` each, so that rules can be compared.

    >>> breaks(Link.parse("abs(x-1)"), 16.0), breaks(Link.parse("tanh(x)"), 0.5)
    ((1.0,), ())
    >>> len(breaks(Link.parse("tanh(x)"), 16.0)) > 4
    True
    """
    edges = _edges(link)
    narrow = np.flatnonzero(np.diff(edges) < scale)
    share = np.arange(parts + 1) / parts
    cuts = (edges[narrow, None] + np.diff(edges)[narrow, None] * share).ravel()
    return tuple(float(cut) for cut in np.unique(np.concatenate([link.kinks, cuts])))


def field_means(link: Link, variance: float, rows: Callable[[Floats], Floats]) -> tuple[Floats, Floats]:
    """E of the rows of a function of g made of f(√A g) and f′(√A g), A the variance; with errors.

    >>> link = Link.parse("tanh(5*x)")
    >>> value, error = field_means(link, 1000.0, lambda g: link.value(1000**0.5 * g) ** 2)
    >>> round(float(value), 9), bool(error < 1e-12)
    (0.994953818, True)
    """
    root = math.sqrt(variance)
    coarse, fine = (tuple(b / root for b in breaks(link, root, parts=parts)) for parts in (1, 2))
    return normal_means(rows, breaks=coarse, finer=fine)


@functools.lru_cache(maxsize=64)
def _edges(link: Link) -> Floats:
    """Halve the intervals between kinks until each is resolved; where there would be too many, those nearest to 0."""
    near, far = np.arange(-50.0, 50.0, 0.01), np.arange(50.0, _REACH, 0.25)
    grid = np.concatenate([-far[::-1], near, far]) + 1e-5
    rows: tuple[Callable[[Floats], Floats], ...] = (link.value, link.derivative)
    small = (np.abs([function(grid) for function in rows]) < _LARGEST).all(axis=0)
    reach = min([_REACH, *np.abs(grid[~small])]) - 1e-3
    grid = grid[np.abs(grid) < reach]
    sizes = [_running_largest(function, grid) for function in rows]
    kinks = [kink for kink in link.kinks if abs(kink) < reach]
    corners = [-reach, *kinks, reach]
    accepted, pending = [corners[-1]], list(pairwise(corners))
    for _ in range(_LEVELS):
        split = [
            (a, b)
            for a, b in pending
            if not all(_resolved(grid, a, b, *test) for test in zip(rows, _TOLERANCES, sizes, strict=True))
        ]
        accepted += [a for a, b in pending if (a, b) not in set(split)]
        room = max(_MOST - len(accepted), 0) // 2
        split.sort(key=lambda panel: min(abs(panel[0]), abs(panel[1])))
        accepted += [a for a, _ in split[room:]]
        pending = [half for a, b in split[:room] for half in ((a, (a + b) / 2), ((a + b) / 2, b))]
    return np.unique([*accepted, *(a for a, _ in pending)])


def _running_largest(function: Callable[[Floats], Floats], grid: Floats) -> tuple[Floats, Floats]:
    """Radii, increasing, and the largest |function| on the grid up to each."""
    order = np.argsort(np.abs(grid))
    return np.abs(grid)[order], np.maximum.accumulate(np.abs(function(grid))[order])


def _resolved(
    grid: Floats,
    a: float,
    b: float,
    function: Callable[[Floats], Floats],
    tolerance: float,
    sizes: tuple[Floats, Floats],
) -> bool:
    """Whether the polynomial through 16 Gauss–Legendre points of [a, b] gives the function elsewhere in it."""
    nodes, transform = _legendre()
    inside = grid[np.searchsorted(grid, a, side="right") : np.searchsorted(grid, b)]
    places = np.concatenate([(2 * inside - a - b) / (b - a), np.linspace(-0.97, 0.97, 9)])
    values = function((a + b + (b - a) * nodes) / 2)
    misfit = np.abs(
        np.polynomial.legendre.legval(places, transform @ values) - function((a + b + (b - a) * places) / 2)
    )
    radii, largest = sizes
    scale = largest[min(int(np.searchsorted(radii, max(abs(a), abs(b), _CENTRE))), len(largest) - 1)]
    return bool(misfit.max() <= tolerance * scale)


@functools.lru_cache(maxsize=1)
def _legendre() -> tuple[Floats, Floats]:
    """The nodes on [−1, 1], and the matrix from values there to Legendre coefficients."""
    nodes, weights = np.polynomial.legendre.leggauss(_POINTS)
    orders = np.arange(_POINTS)
    return nodes, (2 * orders[:, None] + 1) / 2 * np.polynomial.legendre.legvander(nodes, _POINTS - 1).T * weights
