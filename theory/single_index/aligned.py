"""Φ where it depends on m = m_1 alone, λ = 0 or η_1 = 1: its slope, and where that vanishes. [S] §3.

For a polynomial link Φ′ is a polynomial in m with rational coefficients, and its zeros are had exactly, however close
they lie: at η_1 = 1 a trap's radius shrinks like λ for small λ and like λ⁻² for large.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
from flint import fmpq, fmpq_poly

from theory.single_index.exponent import signal_exponent, vanishes
from theory.single_index.loss import PopulationLoss
from theory.single_index.moments import hermite_basis

Floats = npt.NDArray[np.float64]
_EVEN = 4001
_CLOSE = 1e-3
_CLOSEST = 1e-8
_NEAR_ZERO = 120
_NOISE = 1e-11
_DIFFERENCE = 1e-4
_NODES = 24


@dataclass(frozen=True)
class Zero:
    """A zero of Φ′ inside (−1, 1), the signs of Φ′ on its two sides, and Φ″ there."""

    m: float
    before: int
    after: int
    curvature: float

    @property
    def kind(self) -> int:
        """−1 for a local minimum of Φ, 1 for a maximum, 0 for neither: the sign of small deviations' rate."""
        return -1 if self.before < 0 < self.after else 1 if self.after < 0 < self.before else 0


def aligned_slope(loss: PopulationLoss, m: npt.ArrayLike) -> Floats:
    """Φ′(m) for a loss that depends on m_1 alone."""
    return loss.gradient(m, np.zeros_like(np.asarray(m, dtype=np.float64)))[0]


def aligned_zeros(loss: PopulationLoss) -> tuple[Zero, ...]:
    """The zeros of Φ′ inside (−1, 1), increasing.

    Exact for polynomial links. For others those at which Φ′ changes sign between points of a grid, which is even
    but for a geometric part within 10⁻³ of 0, down to 10⁻⁸ or to the noise of Φ′; and 0 where Φ′ vanishes there.

    >>> from theory.single_index.link import Link
    >>> loss = PopulationLoss(Link.parse("x**3-3*x"), lam=1e-6, eta1=1.0)
    >>> [(f"{zero.m:.3g}", zero.kind) for zero in aligned_zeros(loss)]
    [('0', -1), ('1e-06', 1)]
    """
    return _exact_zeros(slope_polynomial(loss)) if loss.link.is_polynomial else _seen(loss)


def climb(loss: PopulationLoss, m: float) -> float:
    """Φ(m) − Φ(0), as the integral of Φ′: however small it is beside Φ."""
    if loss.link.is_polynomial:
        return _as_float(slope_polynomial(loss).integral()(_as_fmpq(m)))
    nodes, weights = np.polynomial.legendre.leggauss(_NODES)
    return float(m / 2 * (weights @ aligned_slope(loss, m * (nodes + 1) / 2)))


@functools.lru_cache(maxsize=64)
def slope_polynomial(loss: PopulationLoss) -> fmpq_poly:
    """Φ′(m) for a polynomial link: V = Σ_k F_k(A)²A^k/k!, K = Σ_k F_k(A)F_k(B)C^k/k!, A = 1+λm², B and C at m_2 = 0.

    >>> from theory.single_index.link import Link
    >>> slope_polynomial(PopulationLoss(Link.parse("x**3-3*x"), lam=1.0, eta1=1.0))
    90*x^5 + 108*x^3 + (-396)*x^2 + 36*x
    """
    basis = [_as_fmpq(number) for number in hermite_basis(loss.link)]
    lam = _as_fmpq(loss.lam)
    excess, target = fmpq_poly([0, 0, lam]), lam if loss.eta1 == 1 else fmpq(0)
    covariance = fmpq_poly([0, 1 + target])
    total = fmpq_poly([0])
    for k in range(len(basis)):
        orders = range((len(basis) - 1 - k) // 2 + 1)
        weights = [basis[k + 2 * j] / (2**j * math.factorial(j)) for j in orders]
        here = sum((weights[j] * excess**j for j in orders), start=fmpq_poly([0]))
        there = sum((weights[j] * target**j for j in orders), start=fmpq(0))
        total += here * (here * (1 + excess) ** k - 2 * there * covariance**k) / math.factorial(k)
    return total.derivative()


def _exact_zeros(slope: fmpq_poly) -> tuple[Zero, ...]:
    if slope.degree() < 1:
        return ()
    everywhere: Any = slope.numer().complex_roots()  # pairs of a root, its imaginary part exact where 0, and its order
    found = sorted(float(root.real) for root, _ in everywhere if root.imag == 0)
    roots = [_as_fmpq(root) for root in found if abs(root) < 1]
    corners = [fmpq(-1), *roots, fmpq(1)]
    signs = [_sign(slope((a + b) / 2)) for a, b in pairwise(corners)]
    bend = slope.derivative()
    return tuple(Zero(_as_float(root), signs[i], signs[i + 1], _as_float(bend(root))) for i, root in enumerate(roots))


def _seen(loss: PopulationLoss) -> tuple[Zero, ...]:
    from scipy.optimize import brentq

    near = np.geomspace(_CLOSEST, _CLOSE, _NEAR_ZERO)
    even = np.linspace(-1, 1, _EVEN) + 1e-5
    grid = np.concatenate([even[(even < -_CLOSE)], -near[::-1], near, even[(even > _CLOSE) & (even < 1)]])
    quick = replace(loss, quick=True)
    values = aligned_slope(quick, grid)
    scale = float(np.abs(values).max())
    noise = max(_NOISE * scale, 10 * quick.error)
    known = (np.abs(values) > noise) | (np.abs(grid) > _CLOSE)
    grid, values = grid[known], values[known]
    places = []
    for i in np.flatnonzero(values[:-1] * values[1:] < 0):
        low, high = float(grid[i]), float(grid[i + 1])
        root = brentq(lambda m: float(aligned_slope(quick, m)), low, high, xtol=1e-14, maxiter=1000)
        places.append((float(root), int(np.sign(values[i])), int(np.sign(values[i + 1]))))
    if _flat_at_zero(loss):
        beside = int(np.searchsorted(grid, 0.0))
        places = [place for place in places if not grid[beside - 1] <= place[0] <= grid[beside]]
        places.append((0.0, int(np.sign(values[beside - 1])), int(np.sign(values[beside]))))
    places.sort()
    corners = np.array([-1.0, *(m for m, _, _ in places), 1.0])
    steps = np.minimum(np.minimum(np.diff(corners)[:-1], np.diff(corners)[1:]) / 4, _DIFFERENCE)
    bends = [
        float((aligned_slope(loss, m + h) - aligned_slope(loss, m - h)) / (2 * h))
        for (m, _, _), h in zip(places, steps.tolist(), strict=True)
    ]
    return tuple(Zero(*place, bend) for place, bend in zip(places, bends, strict=True))


def _flat_at_zero(loss: PopulationLoss) -> bool:
    """Whether Φ′(0) = −2F_1(1)F_1(B)√… vanishes: known of the coefficients, not read off a small number."""
    return vanishes(loss.link, 1) or vanishes(loss.link, 1, variance=loss.B)


def planar_end(loss: PopulationLoss, m: float, zeros: tuple[Zero, ...]) -> float | None:
    """Where dm/dt = −Φ′(1 − m²) leads from m, by the sign of Φ′ there and the next zero; None where that is unknown.

    Without a spike Φ′ = −2Σ k F_k(1)² m^{k−1}/k! is negative for m > 0 whatever the link, and near 0 its sign for
    m < 0 is that of the first term.
    """
    slope = float(aligned_slope(loss, m))
    noise = 10 * loss.error + _NOISE * abs(float(aligned_slope(loss, 1.0)))
    sign = int(np.sign(slope)) if abs(slope) > noise or (loss.link.is_polynomial and slope) else 0
    if sign == 0 and loss.lam == 0:
        k = signal_exponent(loss.link, variance=1.0).exponent
        sign = -1 if m > 0 or k % 2 else 1
    if sign == 0:
        return None
    if sign < 0:
        return min((zero.m for zero in zeros if zero.m > m), default=1.0)
    return max((zero.m for zero in zeros if zero.m < m), default=-1.0)


def _as_fmpq(number: float) -> fmpq:
    exact = Fraction(number)
    return fmpq(exact.numerator, exact.denominator)


def _as_float(number: fmpq) -> float:
    return float(Fraction(int(number.p), int(number.q)))


def _sign(number: fmpq) -> int:
    return int(number > 0) - int(number < 0)
