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
_SHIFTS = 4
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
    """Sobol points under four shifts, each with its mirror image; their mean is 0 and their covariance the identity.

    The shifts are multiples of √prime modulo 1, fixed once for all: the same rule everywhere, no random numbers.
    ``log2_points`` counts all of them (at least 2³).

    >>> rule = quasi_monte_carlo(5, 10)
    >>> bool(abs(rule.weights @ rule.nodes[:, 0] ** 2 - 1) < 1e-12), len(rule.weights)
    (True, 1024)
    """
    if dimension > len(_PRIMES) or 2**log2_points > 8 * MOST_NODES:
        raise BudgetError(
            "quasi-Monte Carlo rule",
            estimate=f"2^{log2_points} points in dimension {dimension}",
            limit=f"{8 * MOST_NODES} points in dimension {len(_PRIMES)}",
            remedy="take fewer units, or fewer points",
        )
    points = qmc.Sobol(dimension, scramble=False).random_base2(log2_points - 3)
    shifts = np.outer(np.arange(_SHIFTS) + 0.5, np.sqrt(_PRIMES[:dimension]))
    uniform = ((points[None] + shifts[:, None]) % 1.0).reshape(-1, dimension)
    half = ndtri(np.clip(uniform, 2.0**-40, 1 - 2.0**-40))
    half = half @ np.linalg.inv(np.linalg.cholesky(half.T @ half / len(half))).T
    nodes = np.concatenate([half, -half])
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
