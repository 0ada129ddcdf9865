"""Rules for expectations over a standard normal vector: tensor Gauss–Hermite in low dimension, Sobol points above."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri, roots_hermitenorm
from scipy.stats import qmc

from theory.errors import BudgetError

Array = NDArray[np.float64]

TENSOR_DIMENSION = 4
"""Up to here a tensor rule is the better one."""
MOST_NODES = 2**20
_NEGLIGIBLE = 1e-13
_BITS = 48
_PRIMES = (2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53, 59, 61, 67, 71, 73, 79, 83, 89, 97, 101, 103)


@dataclass(frozen=True, eq=False)
class GaussianRule:
    """Nodes (N × D) and weights (N, summing to 1) for the standard normal law in D dimensions."""

    nodes: Array
    weights: Array
    method: Literal["Gauss-Hermite", "quasi-Monte Carlo"]


@lru_cache(maxsize=32)
def gauss_hermite(dimension: int, order: int, *, pruned: bool = False) -> GaussianRule:
    """The tensor rule: exact for polynomials of degree 2·order − 1 in each variable.

    ``pruned`` drops the nodes of weight below 1e-13 (most of them, in high order): no loss unless the integrand grows.

    >>> rule = gauss_hermite(2, 3)
    >>> round(float(rule.weights @ (rule.nodes[:, 0] ** 4 * rule.nodes[:, 1] ** 2)), 12)
    3.0
    """
    x, w = roots_hermitenorm(order)
    w = w / w.sum()
    nodes, weights = np.zeros((1, 0)), np.ones(1)
    for _ in range(dimension):
        if len(weights) * order > 8 * MOST_NODES:
            raise BudgetError(
                "Gauss-Hermite rule",
                estimate=f"{order}^{dimension} nodes",
                limit=f"{8 * MOST_NODES} nodes",
                remedy="ask for a lower order, or take the quasi-Monte Carlo rule",
            )
        nodes = np.column_stack([np.repeat(nodes, order, axis=0), np.tile(x, len(weights))])
        weights = np.outer(weights, w).ravel()
        if pruned:
            kept = weights > _NEGLIGIBLE
            nodes, weights = nodes[kept], weights[kept]
    return GaussianRule(nodes, weights / weights.sum(), "Gauss-Hermite")


@lru_cache(maxsize=16)
def quasi_monte_carlo(dimension: int, log2_points: int) -> GaussianRule:
    """Sobol points under one digital shift, so that none of them lies at infinity.

    The shift's binary digits are those of √prime: fixed once for all, the same rule everywhere, no random numbers. Its
    error for smooth functions falls like one over the number of points, nearly; two levels tell how large it is.

    >>> rule = quasi_monte_carlo(5, 12)
    >>> bool(abs(rule.weights @ rule.nodes[:, 0] ** 2 - 1) < 1e-2), len(rule.weights)
    (True, 4096)
    """
    if dimension > len(_PRIMES) or 2**log2_points > 8 * MOST_NODES:
        raise BudgetError(
            "quasi-Monte Carlo rule",
            estimate=f"2^{log2_points} points in dimension {dimension}",
            limit=f"{8 * MOST_NODES} points in dimension {len(_PRIMES)}",
            remedy="take fewer units, or fewer points",
        )
    size = 2.0**_BITS
    digits = (qmc.Sobol(dimension, scramble=False, bits=_BITS).random_base2(log2_points) * size).astype(np.uint64)
    shift = (np.sqrt(_PRIMES[:dimension]) % 1 * size).astype(np.uint64)
    nodes = ndtri(((digits ^ shift) + 0.5) / size)
    return GaussianRule(nodes, np.full(len(nodes), 1 / len(nodes)), "quasi-Monte Carlo")


def gaussian_rule(dimension: int, level: int, *, smooth: bool = True) -> GaussianRule:
    """The rule of a level, 0 the coarsest: each level has roughly twice the nodes of the one before.

    Kinks slow Gauss–Hermite down more than they do Sobol points, so ``smooth=False`` takes these from dimension 2.

    >>> [len(gaussian_rule(6, level).weights) for level in range(3)]
    [1024, 2048, 4096]
    """
    if dimension == 0:
        return gauss_hermite(0, 1)
    if dimension <= (TENSOR_DIMENSION if smooth else 1):
        return gauss_hermite(dimension, round((12, 8, 6, 5)[dimension - 1] * 2 ** (level / dimension)), pruned=True)
    return quasi_monte_carlo(dimension, 10 + level)
