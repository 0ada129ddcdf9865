"""Quadrature rules for the continuous laws of one input coordinate."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.special import roots_hermitenorm

Array = NDArray[np.float64]

CONTINUOUS = ("gaussian", "uniform", "exponential", "laplace")
_LARGEST_GAUSS = 96  # beyond it the weights of Gauss–Laguerre rules leave the floating-point range
_A_PANEL = 12
_TAIL = 45.0  # e^{−45} is below every rounding error


@lru_cache(maxsize=64)
def continuous_rule(recipe: str, order: int) -> tuple[Array, Array]:
    """Nodes and weights for a law of ``CONTINUOUS``, mean 0 and variance 1.

    To order 96 the Gauss rule, exact for polynomials to degree 2·order − 1. Beyond, for uniform and one-sided laws,
    twelve Gauss–Legendre nodes on each of order/12 panels, which are denser where there is more of the law: a function
    with a steep place wants many nodes, not a high degree. Laplace takes two one-sided rules, so that its kink at 0
    costs nothing.

    >>> x, w = continuous_rule("exponential", 192)
    >>> [round(float(w @ x**k), 9) for k in range(5)]
    [1.0, 0.0, 1.0, 2.0, 9.0]
    """
    if recipe == "gaussian":
        x, w = roots_hermitenorm(order)
        w = w / w.sum()
    elif recipe == "uniform":
        x, w = _unit_panels(order)
        x = math.sqrt(3) * (2 * x - 1)
    else:
        x, w = _one_sided(order)
        x, w = (x - 1, w) if recipe == "exponential" else (np.append(-x[::-1], x), np.append(w[::-1], w) / 2)
        x = x / math.sqrt(2) if recipe == "laplace" else x
    for array in (x, w):
        array.flags.writeable = False  # one array serves every caller
    return x, w


def _unit_panels(order: int) -> tuple[Array, Array]:
    """A rule on [0, 1] with the weight 1."""
    panels = max(1, order // _A_PANEL) if order > _LARGEST_GAUSS else 1
    x, w = np.polynomial.legendre.leggauss(order if panels == 1 else _A_PANEL)
    nodes: Array = ((np.arange(panels)[:, None] + (x + 1) / 2) / panels).ravel()
    return nodes, np.tile(w / 2 / panels, panels)


def _one_sided(order: int) -> tuple[Array, Array]:
    """A rule for Exp(1): by Gauss–Laguerre, or on panels in the root of the variable, which are densest near 0."""
    if order <= _LARGEST_GAUSS:
        x, w = np.polynomial.laguerre.laggauss(order)
        return x, w
    s, w = _unit_panels(order)
    x = _TAIL * s**2
    w = w * 2 * _TAIL * s * np.exp(-x)
    return x, w / w.sum()
