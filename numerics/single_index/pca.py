"""Unsupervised pre-training: the first principal component of unlabelled samples, computed and in law. [S] §3.1"""

from __future__ import annotations

import math

import numpy as np
import scipy.linalg
from numpy.typing import NDArray
from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh

from numerics.kernels.normals import fill_normals, stream
from numerics.runs.seeds import child
from numerics.single_index.setting import Setting
from theory.errors import BudgetError, ReachError

Floats = NDArray[np.float64]

BLOCK_BYTES = 2**24
KEPT_BYTES = 2**28
"""Samples that take more memory than this are generated anew, block by block, at each multiplication."""
MOST_NUMBERS = 4 * 10**9
"""Samples × dimension beyond which a component would take the better part of an hour."""
_TOLERANCE = 1e-7


def principal_component(setting: Setting, samples: int, seed: np.random.SeedSequence) -> Floats:
    """The top eigenvector of (1/N_0) Σ aaᵀ over ``samples`` = N_0 draws, in coordinates with v_0 = e_1, v_⊥ = e_2.

    A unit vector of length d whose sign means nothing. Lanczos with products A(Aᵀx): memory stays below
    ``KEPT_BYTES`` plus a few vectors, the covariance matrix is never formed, and samples that do not fit are
    regenerated from their seed.

    Raises ``BudgetError`` beyond ``MOST_NUMBERS`` entries, ``ReachError`` where Lanczos does not converge.
    """
    if samples * setting.d > MOST_NUMBERS:
        raise BudgetError(
            "pca start",
            estimate=f"{samples * setting.d:.1e} random numbers a multiplication",
            limit=f"{MOST_NUMBERS:.0e}",
            remedy=f"use the exact law of the overlap, pca-law:{samples}",
        )
    data = _Samples(setting, samples, seed)
    operator = LinearOperator((setting.d, setting.d), matvec=data.covariance_times, dtype=np.float64)
    begin = np.random.default_rng(child(seed, 0)).standard_normal(setting.d)
    try:
        _, vectors = eigsh(operator, k=1, which="LA", v0=begin, tol=_TOLERANCE, maxiter=2000)
    except ArpackNoConvergence as error:
        raise ReachError(
            "pca start", given=samples, reach="spectra with a gap that 2000 restarts resolve", remedy="add samples"
        ) from error
    vector: Floats = vectors[:, 0] / np.linalg.norm(vectors[:, 0])
    return vector


class _Samples:
    """Unlabelled samples in blocks of rows, each with a stream of its own; kept where they fit."""

    def __init__(self, setting: Setting, samples: int, seed: np.random.SeedSequence) -> None:
        self._setting, self._samples, self._seed = setting, samples, seed
        self._rows = max(1, BLOCK_BYTES // (8 * setting.d))
        self._count = -(-samples // self._rows)
        fits = 8 * samples * setting.d <= KEPT_BYTES
        self._kept = [self._generate(k) for k in range(self._count)] if fits else None

    def covariance_times(self, x: Floats) -> Floats:
        total = np.zeros(self._setting.d)
        for k in range(self._count):
            block = self._kept[k] if self._kept is not None else self._generate(k)
            total += block.T @ (block @ x.ravel())
        return total / self._samples

    def _generate(self, k: int) -> Floats:
        rows = min(self._rows, self._samples - k * self._rows)
        flat = np.empty(rows * self._setting.d)
        fill_normals(stream(child(self._seed, k + 1)), flat)
        block: Floats = flat.reshape(rows, self._setting.d)
        eta = np.array([self._setting.eta1, self._setting.eta2])
        block[:, :2] += self._setting.stretch * np.outer(block[:, :2] @ eta, eta)
        return block


def overlap_in_law(setting: Setting, samples: int, seed: np.random.SeedSequence) -> float:
    """|v̂·v| of the same vector, exact in law, in O(min(d, N_0)) time and memory.

    Rotate the samples' N_0 × d matrix so that v = e_1. Householder reflections from the left and, fixing e_1, from the
    right make it upper bidiagonal without changing the law of what they have not touched yet: diagonal
    √(1+λ)χ_N, χ_{N−1}, χ_{N−2}, …, superdiagonal χ_{d−1}, χ_{d−2}, …, all independent (Dumitriu and Edelman 2002;
    Bloemendal and Virág 2013). The right reflections fix e_1, so the first entry of the top right singular vector is
    the overlap. What is left of v̂ is uniform on the sphere orthogonal to v.

    >>> from theory.single_index.link import Link
    >>> setting = Setting(Link.parse("x**3-3*x"), lam=1.0, eta1=0.45, d=10**5)
    >>> overlap = overlap_in_law(setting, 4 * 10**5, np.random.SeedSequence(0))
    >>> abs(overlap - limit_overlap(1.0, 0.25)) < 0.01
    True
    """
    size = min(setting.d, samples + 1)
    index = np.arange(size)
    rng = np.random.default_rng(seed)
    diagonal = np.sqrt(_chi_squares(rng, samples - index))
    diagonal[0] *= math.sqrt(1 + setting.lam)
    above = np.sqrt(_chi_squares(rng, setting.d - 1 - index[:-1]))
    main = diagonal**2
    main[1:] += above**2
    if size == 1:
        return 1.0
    _, vectors = scipy.linalg.eigh_tridiagonal(
        main / samples, diagonal[:-1] * above / samples, select="i", select_range=(size - 1, size - 1)
    )
    return float(abs(vectors[0, 0]))


def limit_overlap(strength: float, gamma: float) -> float:
    """lim |v̂·v| as d → ∞ with N_0 = d/``gamma`` samples: √[(1 − γ/λ²)/(1 + γ/λ)], and 0 for λ ≤ √γ.

    The transition of Baik, Ben Arous and Péché; [S] §3.1.

    >>> round(limit_overlap(1.0, 0.25) ** 2, 12), limit_overlap(0.5, 0.25)
    (0.6, 0.0)
    """
    if strength <= math.sqrt(gamma):
        return 0.0
    return math.sqrt((1 - gamma / strength**2) / (1 + gamma / strength))


def _chi_squares(rng: np.random.Generator, freedom: NDArray[np.int64]) -> Floats:
    squares = np.zeros(freedom.shape)
    squares[freedom > 0] = rng.chisquare(freedom[freedom > 0])
    return squares
