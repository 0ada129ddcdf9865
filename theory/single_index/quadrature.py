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
    points, weights = np.polynomial.legendre.leggauss(_PER_PANEL)
    half = np.diff(corners)[:, None] / 2
    nodes = (corners[:-1, None] + half) + half * points
    density = np.exp(-(nodes**2) / 2) / np.sqrt(2 * np.pi)
    nodes, weights = nodes.ravel(), (half * weights * density).ravel()
    nodes.flags.writeable = weights.flags.writeable = False  # cached, so shared
    return nodes, weights


def normal_means(function: Callable[[Floats], Floats], *, breaks: Iterable[float] = ()) -> tuple[Floats, Floats]:
    """E g(G) for each row g of ``function``, which maps nodes of shape (N,) to values of shape (…, N); with errors.

    The error is the difference from a rule with panels twice as wide, plus a rounding allowance. Raises
    ``ReachError`` where the integrand has not died out 34 standard deviations from the centre.
    """
    kinks = tuple(breaks)
    for reach in _REACHES:
        nodes, weights = normal_rule(kinks, reach=reach, width=0.5)
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
    breaks: tuple[float, ...] = (),
    width: float = 1.0,
) -> Floats:
    """E inner_i(x) outer_i(y) for centred jointly normal x, y with the given variances and covariance.

    Both functions map an array to a stack of as many values of its shape, along a new first axis. ``breaks`` are the
    kinks of all of them. Given y, x is normal; the inner rule is broken where x meets a kink.

    >>> def square(x: Floats) -> Floats:
    ...     return np.stack([x**2])
    >>> correlated_means(square, square, variances=(2.0, 3.0), covariance=1.0).round(10)    # AB + 2C²
    array([8.])
    """
    A, B = variances
    y, weights = normal_rule(tuple(b / np.sqrt(B) for b in breaks), width=width)
    slope = covariance / np.sqrt(B)
    spread = np.sqrt(max(A - slope**2, 0.0))
    keep = weights > _LIGHTEST
    y, weights = y[keep], weights[keep]
    if spread < 1e-9 * np.sqrt(A):
        return np.asarray((inner(slope * y) * outer(np.sqrt(B) * y)) @ weights)
    corners = _corners(slope * y, spread, breaks, width)
    points, rule = np.polynomial.legendre.leggauss(_PER_PANEL)
    half = np.diff(corners, axis=1)[:, :, None] / 2
    g = corners[:, :-1, None] + half + half * points
    density = half * rule * np.exp(-(g**2) / 2) / np.sqrt(2 * np.pi)
    means = np.einsum("iypn,ypn->iy", inner(slope * y[:, None, None] + spread * g), density)
    return np.asarray((means * outer(np.sqrt(B) * y)) @ weights)


def correlated_mean(
    outer: Callable[[Floats], Floats],
    inner: Callable[[Floats], Floats],
    *,
    variances: tuple[float, float],
    covariance: float,
    breaks: tuple[float, ...] = (),
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


def _corners(centre: Floats, spread: float, breaks: tuple[float, ...], width: float) -> Floats:
    """Panel corners for each centre: an even grid on ±12 standard deviations, and the kinks seen from there."""
    reach = 12.0
    grid = np.broadcast_to(
        np.linspace(-reach, reach, 1 + round(2 * reach / width)), (len(centre), 1 + round(2 * reach / width))
    )
    if not breaks:
        return grid
    kinks = np.clip((np.asarray(breaks) - centre[:, None]) / spread, -reach, reach)
    return np.sort(np.concatenate([grid, kinks], axis=1), axis=1)
