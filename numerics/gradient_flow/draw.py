"""Draw U(0) and X in no more dimensions than the losses can see."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from theory.autoencoder.sizes import Sizes
from theory.spectrum import Spectrum


@dataclass(frozen=True)
class Draw:
    """U(0) and X of one replica, up to rotations that neither loss nor the flow can tell.

    ``weights`` is r × q, ``data`` q × k with q ≤ p: where the columns of U(0)ᵀ and X span less than R^p, the q
    coordinates are those of their span. ``p`` and ``m`` are the sizes that divide the losses. ``covariance`` holds the
    eigenvalues of the data's covariance, diagonal in these coordinates; ``None`` is the identity.
    """

    weights: np.ndarray
    data: np.ndarray
    p: int
    m: int
    covariance: np.ndarray | None = None


def draw(sizes: Sizes, generator: np.random.Generator, *, spectrum: Spectrum | None = None) -> Draw:
    """U(0) iid N(0, σ²) and X = C^½Z, Z iid N(0, 1), compressed without changing the law of the losses. [P] §2.

    The flow and both losses are unchanged under U → OU (O(n)), X → XO (O(m)), and a common rotation of R^p. A Gaussian
    matrix with more rows than columns is therefore replaced by the triangular factor of its QR decomposition, whose
    entries are independent: chi on the diagonal, normal above (Bartlett). Sizes far above the others cost nothing.
    A covariance C with a ``spectrum`` leaves the first two freedoms only, and all p coordinates are kept. THEORY H.

    >>> drawn = draw(Sizes.parse("p=1000000,n=2,m=3,sigma2=1e-6"), np.random.default_rng(0))
    >>> drawn.weights.shape, drawn.data.shape
    ((2, 5), (5, 3))
    """
    p, n, m = sizes.p, sizes.n, sizes.m
    sigma = math.sqrt(sizes.sigma2)
    if spectrum is None and n + m < p:
        joint = _triangular(p, n + m, generator)
        return Draw(sigma * joint[:, m:].T, joint[:, :m], p, m)
    weights = _triangular(n, p, generator) if n > p else generator.standard_normal((n, p))
    data = _triangular(m, p, generator).T if m > p else generator.standard_normal((p, m))
    if spectrum is None:
        return Draw(sigma * weights, data, p, m)
    eigenvalues = spectrum.eigenvalues()
    return Draw(sigma * weights, np.sqrt(eigenvalues)[:, None] * data, p, m, eigenvalues)


def _triangular(rows: int, columns: int, generator: np.random.Generator) -> np.ndarray:
    """The upper triangular R of A = QR, A ``rows`` × ``columns`` iid N(0, 1), ``rows`` ≥ ``columns``."""
    factor = np.triu(generator.standard_normal((columns, columns)), 1)
    np.fill_diagonal(factor, np.sqrt(generator.chisquare(rows - np.arange(columns))))
    return factor
