"""The Marchenko–Pastur law: density, atom, moments, Jacobi matrix, Gauss quadrature. [P] §4 uses it for M(0) and S.

Everything is about the eigenvalues of GᵀG/p for G with r·p rows, p columns and iid N(0, 1) entries, p → ∞. The
eigenvalues of M(0) = UᵀU are σ²p times such a law with r = n/p, those of S = XXᵀ are p times one with r = m/p.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
import numpy.typing as npt
from scipy.linalg import eigh_tridiagonal

from theory.errors import InputError

FloatArray = npt.NDArray[np.float64]

FEWEST_NODES = 32
MOST_NODES = 1024
_ACCURACY = 1e-13


@dataclass(frozen=True)
class MarchenkoPastur:
    """The law with ``ratio`` r = rows / columns > 0; mean r, variance r, an atom 1 − r at zero when r < 1.

    >>> law = MarchenkoPastur(0.25)
    >>> law.lower_edge, law.upper_edge, law.atom
    (0.25, 2.25, 0.75)
    """

    ratio: float

    def __post_init__(self) -> None:
        if not (math.isfinite(self.ratio) and self.ratio > 0):
            raise InputError(
                "Marchenko–Pastur ratio", given=self.ratio, expected="a positive number", remedy="give rows / columns"
            )

    @property
    def lower_edge(self) -> float:
        """(1 − √r)², where the continuous part begins."""
        return float((1 - math.sqrt(self.ratio)) ** 2)

    @property
    def upper_edge(self) -> float:
        """(1 + √r)², where it ends."""
        return float((1 + math.sqrt(self.ratio)) ** 2)

    @property
    def atom(self) -> float:
        """The mass at zero, max(0, 1 − r)."""
        return max(0.0, 1 - self.ratio)

    @property
    def lower_edge_density(self) -> float:
        """C in density ≈ C·√(x − lower edge) at the lower edge; ``inf`` at r = 1, where density ≈ 1/(π√x)."""
        return math.inf if self.ratio == 1 else self._edge_density(self.lower_edge)

    @property
    def upper_edge_density(self) -> float:
        """C in density ≈ C·√(upper edge − x) at the upper edge."""
        return self._edge_density(self.upper_edge)

    def _edge_density(self, edge: float) -> float:
        return math.sqrt(4 * math.sqrt(self.ratio)) / (2 * math.pi * edge)

    def density(self, x: FloatArray) -> FloatArray:
        """The density of the continuous part.

        >>> float(MarchenkoPastur(1.0).density(np.array([2.0]))[0]) * 2 * np.pi
        1.0
        """
        inside = (x > self.lower_edge) & (x < self.upper_edge)
        safe = np.where(inside, x, (self.lower_edge + self.upper_edge) / 2)
        root = np.sqrt((self.upper_edge - safe) * (safe - self.lower_edge))
        return np.where(inside, root / (2 * np.pi * safe), 0.0)

    def moment(self, k: int) -> float:
        """The k-th moment, Σ_j N(k, j) r^j with Narayana numbers N.

        >>> MarchenkoPastur(2.0).moment(2)
        6.0
        """
        return math.fsum(count * self.ratio**j for j, count in enumerate(narayana(k)))

    @cached_property
    def inverse_moments(self) -> tuple[float, float]:
        """∫ dMP/x and ∫ dMP/x² over the continuous part; infinite at r = 1."""
        r = self.ratio
        if r == 1:
            return math.inf, math.inf
        return min(r, 1.0) / abs(r - 1), min(r, 1.0) * max(r, 1.0) / abs(r - 1) ** 3

    def jacobi(self, size: int) -> tuple[FloatArray, FloatArray]:
        """Diagonal r, r+1, r+1, … and off-diagonal √r, … of the first ``size`` rows of the Jacobi matrix."""
        diagonal = np.full(size, self.ratio + 1.0)
        diagonal[0] = self.ratio
        return diagonal, np.full(size - 1, math.sqrt(self.ratio))

    def gauss(self, nodes: int) -> tuple[FloatArray, FloatArray]:
        """Nodes and weights of the Gauss rule, exact for polynomials of degree 2·``nodes`` − 1, the atom included."""
        return _gauss(self.ratio, nodes)

    def expectation(self, values: Callable[[FloatArray], FloatArray]) -> tuple[FloatArray, FloatArray]:
        """∫ f dMP and an error estimate, for f analytic near the support.

        ``values(x)`` takes nodes of shape (k,) and returns shape (..., k). Nodes are doubled until two rules agree to
        13 digits of the integral of |f|, or there are 1024; the estimate is the last difference and rounding.

        >>> value, error = MarchenkoPastur(0.5).expectation(lambda x: x**2)
        >>> round(float(value), 12), float(error) < 1e-12
        (0.75, True)
        """
        nodes = FEWEST_NODES
        x, w = self.gauss(nodes)
        coarse = values(x) @ w
        while True:
            nodes *= 2
            x, w = self.gauss(nodes)
            f = values(x)
            fine = f @ w
            rounding = 1e-15 * (np.abs(f) @ w)
            error = np.abs(fine - coarse) + rounding
            if nodes >= MOST_NODES or np.all(error <= 100 * rounding):
                return fine, error
            coarse = fine


@lru_cache(maxsize=256)
def narayana(k: int) -> tuple[int, ...]:
    """N(k, 0), …, N(k, k), the planar pairings of (GᵀG)^k by the number of row nodes; N(0, 0) = 1.

    >>> narayana(3)
    (0, 1, 3, 1)
    """
    if k == 0:
        return (1,)
    return (0, *(math.comb(k, j) * math.comb(k, j - 1) // k for j in range(1, k + 1)))


@lru_cache(maxsize=64)
def _gauss(ratio: float, nodes: int) -> tuple[FloatArray, FloatArray]:
    diagonal, off_diagonal = MarchenkoPastur(ratio).jacobi(nodes)
    x, vectors = eigh_tridiagonal(diagonal, off_diagonal)
    x, w = np.maximum(x, 0.0), vectors[0] ** 2
    x.setflags(write=False)
    w.setflags(write=False)
    return x, w
