"""Time derivatives of the autoencoder's losses for given matrices, by Leibniz' rule on the flow itself.

No ring, no pairing and no expectation enters: the route is independent of the series it is compared with.
"""

from __future__ import annotations

from math import comb

import numpy as np
import numpy.typing as npt

from theory.errors import InputError

Array = npt.NDArray[np.float64]


def loss_derivatives(U: Array, X: Array, *, order: int) -> tuple[Array, Array]:
    """(−pm/η)^s d^sL̂/dt^s and (−pm/η)^s d^sL/dt^s at t = 0, s = 0 … order, without the constants' ½ of L.

    ``U`` has shape (draws, n, p), ``X`` (draws, p, m); the results have shape (order + 1, draws). With M = UᵀU and
    S = XXᵀ the flow is dM/dt = −(η/pm)(S(M² − 2M) + (M² − 2M)S + 2MSM). [P] §2. The losses returned are
    L̂ − Tr S/(2pm) and L − ½: their means are Ŷ_s and Y_s.

    >>> train, population = loss_derivatives(np.ones((1, 1, 1)), np.ones((1, 1, 1)), order=1)
    >>> float(population[0, 0]), float(population[1, 0])
    (-0.5, 0.0)
    """
    if U.ndim != 3 or X.ndim != 3 or U.shape[2] != X.shape[1]:
        raise InputError(
            "matrices",
            given=(U.shape, X.shape),
            expected="shapes (draws, n, p) and (draws, p, m)",
            remedy="put the draws first",
        )
    p, m = X.shape[1:]
    S = X @ X.transpose(0, 2, 1)
    M = [U.transpose(0, 2, 1) @ U]
    MS: list[Array] = []
    for k in range(order + 1):
        MS.append(M[k] @ S)
        if k < order:
            inner = sum((comb(k, i) * (M[i] @ M[k - i]) for i in range(k + 1)), start=-2 * M[k])
            side = S @ inner
            sandwich = sum((comb(k, i) * (MS[i] @ M[k - i]) for i in range(k + 1)), start=np.zeros_like(side))
            M.append(side + side.transpose(0, 2, 1) + 2 * sandwich)
    train, population = [], []
    for s in range(order + 1):
        squares = sum(comb(s, i) * _trace(M[i], M[s - i]) for i in range(s + 1))
        weighted = sum(comb(s, i) * _trace(MS[i], M[s - i]) for i in range(s + 1))
        population.append((squares / 2 - np.trace(M[s], axis1=1, axis2=2)) / p)
        train.append((weighted / 2 - np.trace(MS[s], axis1=1, axis2=2)) / (p * m))
    return np.array(train), np.array(population)


def by_weight_degree(U: Array, X: Array, *, order: int) -> tuple[Array, Array]:
    """The derivatives split into their parts of degree 2, 4, … in U: shapes (order + 1, order + 2, draws).

    The parts of one derivative have terms of one sign each for given s, so that nothing cancels in their means; they
    are found from the derivatives at U, √2 U, √3 U, … by solving for the coefficients of a polynomial.
    """
    scales = np.arange(1, order + 3)
    values = [loss_derivatives(np.sqrt(scale) * U, X, order=order) for scale in scales]
    powers = np.linalg.inv(scales[:, None] ** np.arange(1.0, order + 3)[None, :])
    train, population = (np.array([value[i] for value in values]) for i in (0, 1))
    return np.einsum("dc,csk->sdk", powers, train), np.einsum("dc,csk->sdk", powers, population)


def _trace(a: Array, b: Array) -> Array:
    total: Array = np.einsum("kij,kji->k", a, b)
    return total
