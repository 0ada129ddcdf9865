"""The Marchenko–Pastur law: density, atom, moments, Jacobi matrix, quadrature. [P] §4 uses it for M(0) and S.

Everything is about the eigenvalues of GᵀG/p for G with r·p rows, p columns and iid N(0, 1) entries, p → ∞. The
eigenvalues of M(0) = UᵀU are σ²p times such a law with r = n/p, those of S = XXᵀ are p times one with r = m/p.

At late times a loss lives on the atom at zero, or on a sliver at an edge, which Gauss rules of the whole law miss
without a sign of it: two of them agree on nothing. So the atom is kept apart, and the continuous part is cut into
panels that halve towards both edges until the integrand is smooth on the last.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from theory.errors import InputError

FloatArray = npt.NDArray[np.float64]

FEWEST_NODES = 16
MOST_NODES = 1024
"""On one panel."""
_ACCURACY = 1e-14
_AT_ONCE = 4096
_STEEPEST = 1e300
_EPSILON = 2.0**-52


class Rule(NamedTuple):
    """Nodes ``x`` of shape (k,), their distances ``below`` the upper edge (good to all digits), and their weights."""

    x: FloatArray
    below: FloatArray
    weights: FloatArray


class _Panels(NamedTuple):
    """Intervals of the angle from the lower edge (``upper`` 0) or from the upper edge (1); shape (panels,) each."""

    left: FloatArray
    right: FloatArray
    upper: FloatArray


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
        return float(((1 - self.ratio) / (1 + math.sqrt(self.ratio))) ** 2)

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

    def rule(self, *, scale: float, nodes: int) -> Rule:
        """A quadrature with ``nodes`` nodes a panel, for functions of ``scale``·x; an atom comes last.

        >>> x, _, w = MarchenkoPastur(0.5).rule(scale=1e6, nodes=12)
        >>> float(x[-1]), float(w[-1]), round(float(w @ x**2), 12)
        (0.0, 0.5, 0.75)
        """
        x, below, weights = (part.ravel() for part in self._on(self._panels(scale), nodes))
        if not self.atom:
            return Rule(x, below, weights)
        return Rule(np.append(x, 0.0), np.append(below, self.upper_edge), np.append(weights, self.atom))

    def expectation(
        self, values: Callable[[FloatArray], FloatArray], *, scale: float = 1.0
    ) -> tuple[FloatArray, FloatArray]:
        """∫ f dMP and an error estimate, for f a function of ``scale``·x analytic near the support.

        ``values(x)`` takes nodes of shape (k,) and returns shape (..., k). On each panel nodes are doubled until two
        rules agree to 14 digits of the integral of |f|, or there are 1024. The estimate is the sum of the last
        differences, and what the rounding of r and x does to the integral.

        >>> value, error = MarchenkoPastur(0.5).expectation(lambda x: np.exp(-1e12 * x), scale=1e12)
        >>> float(value), float(error) < 1e-14
        (0.5, True)
        """
        panels = self._panels(scale)
        value, size, error = (part * self.atom for part in self._at_zero(values))
        coarse, sizes, _ = self._integrals(values, panels, FEWEST_NODES)
        size = size + sizes.sum(axis=-1)
        nodes = FEWEST_NODES
        while panels.left.size:
            nodes *= 2
            fine, _, rounding = self._integrals(values, panels, nodes)
            difference = np.abs(fine - coarse)
            agree = np.all(difference <= _ACCURACY * size[..., None], axis=tuple(range(difference.ndim - 1)))
            done = agree if nodes < MOST_NODES else np.full_like(agree, True)
            value = value + fine[..., done].sum(axis=-1)
            error = error + (difference + rounding)[..., done].sum(axis=-1)
            panels, coarse = _Panels(*(part[~done] for part in panels)), fine[..., ~done]
        return value, error + np.finfo(float).tiny

    def _at_zero(self, values: Callable[[FloatArray], FloatArray]) -> tuple[FloatArray, FloatArray, FloatArray]:
        """f and |f| at the atom, and the error in units of the atom, whose mass is 1 − r with the rounding of r."""
        if not self.atom:
            nothing = np.zeros(values(np.array([self.ratio])).shape[:-1])
            return nothing, nothing, nothing
        at = values(np.zeros(1))[..., 0]
        return at, np.abs(at), _EPSILON * np.abs(at) * (1 + self.ratio / self.atom)

    def _panels(self, scale: float) -> _Panels:
        """The last panel at an edge is as short as the integrand is there: 1/√scale, or the pole 1/x near it."""
        spread = math.sqrt(4 * math.sqrt(self.ratio))
        smooth = min(1.0, 1 / (spread * math.sqrt(min(scale, _STEEPEST)))) if scale > 0 else 1.0
        pole = 2 * math.sqrt(self.lower_edge) / spread
        left, right, upper = [], [], []
        for side, finest in ((0.0, min(smooth, pole) if pole else smooth), (1.0, smooth)):
            halvings = np.arange(max(0, math.ceil(math.log2(math.pi / 2 / finest))), -1, -1)
            ends = math.pi / 2 * 2.0**-halvings
            left.append(np.concatenate([[0.0], ends[:-1]]))
            right.append(ends)
            upper.append(np.full(ends.size, side))
        return _Panels(*(np.concatenate(parts) for parts in (left, right, upper)))

    def _on(self, panels: _Panels, nodes: int) -> Rule:
        """x = lower edge + 4√r sin²(θ/2) has the density 2r sin²θ/(πx) in θ; arrays of shape (panels, nodes)."""
        points, weights = _legendre(nodes)
        half = (panels.right - panels.left)[:, None] / 2
        angle = panels.left[:, None] + half * (1 + points)
        width = 4 * math.sqrt(self.ratio)
        near, far = width * np.sin(angle / 2) ** 2, width * np.cos(angle / 2) ** 2
        from_above = panels.upper[:, None] == 1
        x = self.lower_edge + np.where(from_above, far, near)
        return Rule(
            x, np.where(from_above, near, far), half * weights * 2 * self.ratio * np.sin(angle) ** 2 / (math.pi * x)
        )

    def _integrals(
        self, values: Callable[[FloatArray], FloatArray], panels: _Panels, nodes: int
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """∫ f and ∫ |f| over each panel, and what rounding does to the former; shape (..., panels)."""
        found = []
        step = max(1, _AT_ONCE // nodes)
        for start in range(0, panels.left.size, step):
            some = _Panels(*(part[start : start + step] for part in panels))
            x, _, w = self._on(some, nodes)
            f = values(x.ravel())
            shift = 2 * _EPSILON * (2 * x + math.sqrt(self.ratio * self.lower_edge))
            moved = np.abs(values((x + shift).ravel()) - f)
            shape = (*f.shape[:-1], *x.shape)
            f, moved = f.reshape(shape), moved.reshape(shape)
            lost = ((moved + np.abs(f) * (4 * _EPSILON + shift / x)) * w).sum(axis=-1)
            found.append(((f * w).sum(axis=-1), (np.abs(f) * w).sum(axis=-1), lost))
        whole, size, rounding = (np.concatenate(parts, axis=-1) for parts in zip(*found, strict=True))
        return whole, size, rounding


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
def _legendre(nodes: int) -> tuple[FloatArray, FloatArray]:
    x, w = np.polynomial.legendre.leggauss(nodes)
    x.setflags(write=False)
    w.setflags(write=False)
    return x, w
