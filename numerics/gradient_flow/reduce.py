"""From U(0) and X to coordinates where S is diagonal: all of them, or the few that the flow reaches."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import numpy as np

from numerics.gradient_flow.draw import Draw
from numerics.gradient_flow.problem import Problem

_SPENT = 1e-12
"""Relative size below which a new Krylov block holds nothing but rounding."""


def full(drawn: Draw) -> Problem:
    """All coordinates, in the eigenbasis of S = XXᵀ."""
    spectrum, basis = np.linalg.eigh(drawn.data @ drawn.data.T)
    q = len(spectrum)
    factor = _compressed(drawn.weights @ basis)
    covariance = None if drawn.covariance is None else (basis.T * drawn.covariance) @ basis
    return Problem(factor, np.maximum(spectrum, 0.0), 0.0, float(drawn.p - q), drawn.p, drawn.m, True, covariance)


def thin_latent(drawn: Draw, blocks: Iterable[int]) -> Iterator[Problem]:
    """The Krylov spaces of S at the rows of U(0), with so many ``blocks`` of n coordinates each.

    dU/dt = −(η/pm)(UMS + USM − 2US) keeps the rows of U in span{S^k u}: few rows reach few coordinates, and what S^k
    adds beyond some k is below rounding (as in any Lanczos approximation of exp(St)).
    """
    weights, data = drawn.weights, drawn.data
    trace = float(np.vdot(data, data))
    for basis, projected, exact in _krylov(weights.T, lambda block: data @ (data.T @ block), blocks):
        spectrum, rotation = np.linalg.eigh(projected)
        factor = _compressed(weights @ basis @ rotation)
        rest_train, rest_population = trace - float(spectrum.sum()), float(drawn.p - len(spectrum))
        yield Problem(factor, np.maximum(spectrum, 0.0), rest_train, rest_population, drawn.p, drawn.m, exact)


def few_data(drawn: Draw, blocks: Iterable[int]) -> Iterator[Problem]:
    """The Krylov spaces of M(0) at the span of the data, with so many ``blocks`` of m coordinates each.

    Every term of dM/dt holds S: M − M(0) stays in span{M(0)^k x}, the small-data picture of [P] §4. What M(0) has
    elsewhere is constant, and the train loss does not see it.
    """
    weights, data = drawn.weights, drawn.data
    eigenvalues, rotation = np.linalg.eigh(data.T @ data)
    kernel = weights @ weights.T
    everything = float(np.vdot(kernel, kernel)) - 2 * float(np.trace(kernel)) + drawn.p
    start = data @ (rotation / np.sqrt(eigenvalues))
    for basis, projected, exact in _krylov(start, lambda block: weights.T @ (weights @ block), blocks):
        q = len(projected)
        # The basis begins with the data's own directions, where S is diagonal; it vanishes on the others.
        spectrum = np.concatenate([eigenvalues, np.zeros(q - len(eigenvalues))])
        rest = everything - (float(np.vdot(projected, projected)) - 2 * float(np.trace(projected)) + q)
        yield Problem(_compressed(weights @ basis), spectrum, 0.0, rest, drawn.p, drawn.m, exact)


def _krylov(
    start: np.ndarray, apply: Callable[[np.ndarray], np.ndarray], blocks: Iterable[int]
) -> Iterator[tuple[np.ndarray, np.ndarray, bool]]:
    """Orthonormal bases Q of span{A^k start}, with QᵀAQ, at the given numbers of blocks; and whether A maps into Q.

    Block Lanczos with full reorthogonalisation; the first columns of Q are ``start``'s own when it is orthonormal.
    """
    basis = _orthonormal(start, start[:, :0])
    images = np.empty_like(basis[:, :0])
    newest = basis
    for count, wanted in _up_to(blocks):
        image = apply(newest)
        images = np.hstack([images, image])
        newest = _orthonormal(image, basis)
        exact = newest.shape[1] == 0
        if wanted == count or exact:
            projected = basis.T @ images
            yield basis, (projected + projected.T) / 2, exact
        if exact:
            return
        basis = np.hstack([basis, newest])


def _up_to(blocks: Iterable[int]) -> Iterator[tuple[int, int]]:
    """Count from one, with the next number of blocks at which to stop."""
    count = 0
    for wanted in blocks:
        while count < wanted:
            count += 1
            yield count, wanted


def _orthonormal(vectors: np.ndarray, basis: np.ndarray) -> np.ndarray:
    """An orthonormal basis of what ``vectors`` add to the span of ``basis``; in their order when they all do."""
    size = np.linalg.norm(vectors, 2) if vectors.size else 0.0
    for _ in range(2):  # twice is enough (Kahan–Parlett)
        vectors = vectors - basis @ (basis.T @ vectors)
    q, r = np.linalg.qr(vectors)
    if vectors.shape[1] <= vectors.shape[0] and np.abs(np.diag(r)).min(initial=np.inf) > _SPENT * size:
        return q
    left, singular, _ = np.linalg.svd(vectors, full_matrices=False)
    kept: np.ndarray = left[:, singular > _SPENT * size]
    return kept


def _compressed(weights: np.ndarray) -> np.ndarray:
    """No more rows than columns: the losses see UᵀU alone."""
    if weights.shape[0] <= weights.shape[1]:
        return weights
    triangular: np.ndarray = np.linalg.qr(weights).R
    return triangular
