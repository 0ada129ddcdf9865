"""Expectations over standard normal numbers: piecewise Gauss–Legendre rules, broken where the integrand has kinks."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from theory.errors import ReachError

Floats = npt.NDArray[np.float64]

_PER_PANEL = 16
_REACHES = (12.0, 16.0, 24.0, 34.0)
_NEGLIGIBLE = 1e-18
_LIGHTEST = 1e-40
_INNER_REACH = 12.0
_MOST_POINTS = 1_000_000
_LAYER = 0.5
"""Where x given y spreads less than this, in units of y's, the mean of f(x) given y shows what f itself shows."""
_LAYER_CORNERS = (-7.0, -4.0, -2.0, -0.7, 0.7, 2.0, 4.0, 7.0)
"""A kink is smoothed over a layer: the panels that resolve an error function."""

Breaks = tuple[float, ...] | Callable[[float], tuple[float, ...]]


@dataclass(frozen=True)
class Estimate:
    """A number had by quadrature, and how far two rules of different fineness disagree about it."""

    value: float
    error: float


@functools.lru_cache(maxsize=64)
def normal_rule(breaks: tuple[float, ...], *, reach: float = 12.0, width: float = 0.5) -> tuple[Floats, Floats]:
    """Nodes and weights with Σ w g(x) ≈ E g(G), G standard normal, exact to rounding for g smooth between ``breaks``.

    Panels of at most ``width`` cover [−reach, reach]; each carries a 16-point Gauss–Legendre rule.

    >>> nodes, weights = normal_rule((0.0,))
    >>> bool(abs(weights @ abs(nodes) - np.sqrt(2 / np.pi)) < 1e-14)
    True
    """
    inside = [b for b in breaks if -reach < b < reach]
    corners = np.unique(np.concatenate([np.linspace(-reach, reach, 1 + round(2 * reach / width)), inside]))
    points, weights = _legendre_rule()
    half = np.diff(corners)[:, None] / 2
    nodes = (corners[:-1, None] + half) + half * points
    density = np.exp(-(nodes**2) / 2) / np.sqrt(2 * np.pi)
    nodes, weights = nodes.ravel(), (half * weights * density).ravel()
    nodes.flags.writeable = weights.flags.writeable = False  # cached, so shared
    return nodes, weights


def normal_means(
    function: Callable[[Floats], Floats], *, breaks: Iterable[float] = (), finer: Iterable[float] | None = None
) -> tuple[Floats, Floats]:
    """E g(G) for each row g of ``function``, which maps nodes of shape (N,) to values of shape (…, N); with errors.

    The error is the difference from a rule with panels twice as wide, plus a rounding allowance. Where ``breaks`` are
    closer than that, ``finer`` are those of the finer rule. Raises ``ReachError`` where the integrand has not died out
    34 standard deviations from the centre.
    """
    kinks = tuple(breaks)
    halved = kinks if finer is None else tuple(finer)
    for reach in _REACHES:
        nodes, weights = normal_rule(halved, reach=reach, width=0.5)
        terms = np.abs(function(nodes) * weights)
        edge = np.maximum(terms[..., :_PER_PANEL].max(axis=-1), terms[..., -_PER_PANEL:].max(axis=-1))
        if np.all(np.isfinite(terms)) and np.all(edge <= _NEGLIGIBLE * np.maximum(terms.sum(axis=-1), 1e-300)):
            break
    else:
        raise ReachError(
            "Gaussian expectation of the link",
            given="an integrand still large 34 standard deviations out",
            reach="integrands that die out before",
            remedy="lower lambda, or take a link that grows more slowly",
        )
    fine = function(nodes) @ weights
    coarse_nodes, coarse_weights = normal_rule(kinks, reach=reach, width=1.0)
    errors = np.abs(fine - function(coarse_nodes) @ coarse_weights) + 4e-16 * terms.sum(axis=-1)
    return np.asarray(fine), np.asarray(errors)


def normal_mean(function: Callable[[Floats], Floats], *, breaks: Iterable[float] = ()) -> Estimate:
    """E g(G) for one function.

    >>> round(normal_mean(lambda x: x**4).value, 12)
    3.0
    """
    value, error = normal_means(function, breaks=breaks)
    return Estimate(float(value), float(error))


def correlated_means(
    outer: Callable[[Floats], Floats],
    inner: Callable[[Floats], Floats],
    *,
    variances: tuple[float, float],
    covariance: float,
    breaks: Breaks = (),
    width: float = 1.0,
) -> Floats:
    """E inner_i(x) outer_i(y) for centred jointly normal x, y with the given variances and covariance.

    Both functions map an array to a stack of as many values of its shape, along a new first axis. ``breaks`` are the
    kinks of all of them, or a function that tells where a rule must be broken whose panels have a given width in x;
    at width 0, at the kinks. Given y, x is normal; the inner rule is broken where x meets a break, and the outer one
    where y or, if the two fields almost agree, the mean of x does.

    >>> def square(x: Floats) -> Floats:
    ...     return np.stack([x**2])
    >>> correlated_means(square, square, variances=(2.0, 3.0), covariance=1.0).round(10)    # AB + 2C²
    array([8.])
    """
    A, B = variances
    root = np.sqrt(B)
    slope = covariance / root
    spread = np.sqrt(max(A - slope**2, 0.0))
    cuts = breaks if callable(breaks) else lambda _: breaks
    corners = [b / root for b in cuts(width * root)]
    if spread < _LAYER * abs(slope):
        layer = spread / abs(slope)
        corners += [b / slope for b in cuts(width * abs(slope))]
        corners += [b / slope + layer * step for b in cuts(0.0) for step in _LAYER_CORNERS]
    y, weights = normal_rule(tuple(corners), width=width)
    keep = weights > _LIGHTEST
    y, weights = y[keep], weights[keep]
    if spread < 1e-9 * np.sqrt(A):
        return np.asarray((inner(slope * y) * outer(root * y)) @ weights)
    seen = cuts(width * spread)
    rows = max(1, _MOST_POINTS // (_PER_PANEL * (len(seen) + round(2 * _INNER_REACH / width))))
    blocks = [_conditional_means(inner, slope * y[i : i + rows], spread, seen, width) for i in range(0, len(y), rows)]
    return np.asarray((np.concatenate(blocks, axis=1) * outer(root * y)) @ weights)


def correlated_mean(
    outer: Callable[[Floats], Floats],
    inner: Callable[[Floats], Floats],
    *,
    variances: tuple[float, float],
    covariance: float,
    breaks: Breaks = (),
    width: float = 1.0,
) -> float:
    """E inner(x) outer(y) for one pair of functions; the rest as in ``correlated_means``."""
    means = correlated_means(
        lambda y: outer(y)[None],
        lambda x: inner(x)[None],
        variances=variances,
        covariance=covariance,
        breaks=breaks,
        width=width,
    )
    return float(means[0])


def _conditional_means(
    inner: Callable[[Floats], Floats], centre: Floats, spread: float, breaks: tuple[float, ...], width: float
) -> Floats:
    """E inner_i(centre + spread·G), for each centre."""
    corners = _corners(centre, spread, breaks, width)
    points, rule = _legendre_rule()
    half = np.diff(corners, axis=1)[:, :, None] / 2
    g = corners[:, :-1, None] + half + half * points
    density = half * rule * np.exp(-(g**2) / 2) / np.sqrt(2 * np.pi)
    return np.asarray(np.einsum("iypn,ypn->iy", inner(centre[:, None, None] + spread * g), density))


def _corners(centre: Floats, spread: float, breaks: tuple[float, ...], width: float) -> Floats:
    """Panel corners for each centre: an even grid on ±12 standard deviations, and the breaks seen from there."""
    count = 1 + round(2 * _INNER_REACH / width)
    grid = np.broadcast_to(np.linspace(-_INNER_REACH, _INNER_REACH, count), (len(centre), count))
    if not breaks:
        return grid
    seen = np.clip((np.asarray(breaks) - centre[:, None]) / spread, -_INNER_REACH, _INNER_REACH)
    corners = np.sort(np.concatenate([grid, seen], axis=1), axis=1)
    used = np.append((np.diff(corners, axis=1) > 0).any(axis=0), True)
    return np.asarray(corners[:, used])


@functools.lru_cache(maxsize=1)
def _legendre_rule() -> tuple[Floats, Floats]:
    points, weights = np.polynomial.legendre.leggauss(_PER_PANEL)
    return points, weights
