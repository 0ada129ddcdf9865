"""Numbers for the two functions the population loss is made of: V(A) and K(A, C) = E f(x) f(y) at a fixed B.

Three routes, chosen by what the link allows: a closed form; the series Σ φ_k(A) φ_k(B) ρ^k; quadrature over x and y.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
import numpy.typing as npt
import sympy

from theory.single_index import closed_forms
from theory.single_index.closed_forms import closed_form
from theory.single_index.link import Link
from theory.single_index.moments import polynomial_moments, quadrature_moments
from theory.single_index.quadrature import correlated_mean, normal_mean

Floats = npt.NDArray[np.float64]
Pair = tuple[Floats, Floats]
Triple = tuple[Floats, Floats, Floats]

_MOST_TERMS = 160
_SERIES_ERROR = 1e-8
_CHEBYSHEV = 24
_NEGLIGIBLE = 1e-28


class Kernel(Protocol):
    """V and K at a fixed target variance B, with derivatives, for arrays of A and C (of one shape)."""

    @property
    def method(self) -> str:
        """How the numbers are had, in words."""

    @property
    def error(self) -> float:
        """Absolute error estimate of V and K."""

    @property
    def cheap(self) -> bool:
        """Whether thousands of evaluations take no time."""

    def variance(self, A: Floats) -> Pair:
        """V(A), V′(A)."""

    def covariance(self, A: Floats, C: Floats) -> Triple:
        """K, ∂K/∂A, ∂K/∂C."""


@functools.lru_cache(maxsize=64)
def kernel(link: Link, B: float, largest: float) -> Kernel:
    """The best kernel for the link at target variance B, for prediction variances from 1 to ``largest``."""
    if link.is_polynomial:
        return _polynomial_kernel(link, B)
    if form := closed_form(link):
        return ClosedKernel.of(form, B)
    if link.kinks:
        return QuadratureKernel.of(link, B)
    series = _fitted_kernel(link, B, largest)
    scale = max(float(series.variance(np.array(largest))[0]), 1e-300)
    return series if series.error <= _SERIES_ERROR * scale else QuadratureKernel.of(link, B)


@dataclass(frozen=True, eq=False)
class SeriesKernel:
    """K = Σ_k φ_k(A) φ_k(B) ρ^k, ρ = C/√(AB); φ_k(A) = A^{k/2} F_k(A)/√k! and F_k′ = F_{k+2}/2.

    ``moments`` maps A of any shape to φ_0(A), …, φ_{K+1}(A), the last two serving the derivatives.
    """

    method: str
    error: float
    B: float
    moments: Callable[[Floats], Floats]
    cheap: bool

    @functools.cached_property
    def _target(self) -> Floats:
        return self.moments(np.array(self.B))

    def variance(self, A: Floats) -> Pair:
        """V = Σ φ_k²; V′ = ½E(f²)″ = E f′² + E f f″, which is Σ [(k+1)φ_{k+1}² + √((k+1)(k+2)) φ_k φ_{k+2}]/A."""
        phi = self.moments(A)
        k = _orders(len(phi) - 2, phi.ndim)
        value = (phi[:-2] ** 2).sum(axis=0)
        slope = ((k + 1) * phi[1:-1] ** 2 + np.sqrt((k + 1) * (k + 2)) * phi[:-2] * phi[2:]).sum(axis=0)
        return value, slope / A

    def covariance(self, A: Floats, C: Floats) -> Triple:
        phi = self.moments(A)
        k = _orders(len(phi) - 2, phi.ndim)
        target = self._target.reshape(-1, *([1] * (phi.ndim - 1)))
        root = np.sqrt(A * self.B)
        rho = C / root
        value = _power_sum(phi[:-2] * target[:-2], rho)
        slope_A = _power_sum(np.sqrt((k + 1) * (k + 2)) * phi[2:] * target[:-2], rho) / (2 * A)
        slope_C = _power_sum((k + 1) * phi[1:-1] * target[1:-1], rho) / root
        return value, slope_A, slope_C


@dataclass(frozen=True, eq=False)
class ClosedKernel:
    """The closed form, compiled."""

    method: str
    error: float
    _variance: Callable[[Floats], Pair]
    _covariance: Callable[[Floats, Floats], Triple]
    cheap: bool = True

    @classmethod
    def of(cls, form: closed_forms.ClosedForm, B: float) -> ClosedKernel:
        """Fix B and compile V, V′, K and its derivatives."""
        A, C = closed_forms.A, closed_forms.C
        moment = [form.second_moment, sympy.diff(form.second_moment, A)]
        slopes = [form.kernel, form.slope_variance, form.slope_covariance]
        parts = [part.subs(closed_forms.B, sympy.Float(B, 17)) for part in slopes]
        variance = sympy.lambdify([A], moment, modules=["scipy", "numpy"], cse=True)
        covariance = sympy.lambdify([A, C], parts, modules=["scipy", "numpy"], cse=True)
        scale = abs(float(np.real(variance(1.0)[0]))) + abs(float(np.real(covariance(1.0, 0.0)[0])))
        bound = math.sqrt(B) * (1 - 1e-15)

        def safely(A: Floats, C: Floats) -> Triple:
            edge = bound * np.sqrt(A)  # C² ≤ AB, but rounding may step across
            return covariance(A, np.clip(C, -edge, edge))  # type: ignore[no-any-return]

        precision = (
            1e-14 if form.family != "absolute value" else 1e-9
        )  # its root √(AB−C²) loses half the digits at C² = AB
        return cls(f"closed form ({form.family})", precision * scale, variance, safely)

    def variance(self, A: Floats) -> Pair:
        value, slope = (_real(part, A) for part in self._variance(A))
        return value, slope

    def covariance(self, A: Floats, C: Floats) -> Triple:
        value, slope_A, slope_C = (_real(part, A) for part in self._covariance(A, C))
        return value, slope_A, slope_C


@dataclass(frozen=True, eq=False)
class QuadratureKernel:
    """Quadrature over the two fields, point by point; ∂K/∂C = E f′(x) f′(y) (Price)."""

    method: str
    error: float
    link: Link
    B: float
    width: float = 1.0
    cheap: bool = False

    @classmethod
    def of(cls, link: Link, B: float) -> QuadratureKernel:
        """Halve the panels until V and K at a correlation of 0.9 settle; the last change is the error."""
        A, C = np.array(B), np.array(0.9 * B)
        rules = [cls("two-dimensional quadrature", 0.0, link, B, width) for width in (3.0, 1.5, 0.75)]
        values = [float(rule.covariance(A, C)[0]) for rule in rules[:2]]
        scale = float(rules[0].variance(A)[0])
        if abs(values[1] - values[0]) > _SERIES_ERROR * scale:
            values.append(float(rules[2].covariance(A, C)[0]))
        error = abs(values[-1] - values[-2]) + 1e-14 * scale
        return replace(rules[len(values) - 1], error=error)

    def variance(self, A: Floats) -> Pair:
        pairs = [self._variance_at(float(a)) for a in np.ravel(A)]
        value, slope = (np.reshape([pair[i] for pair in pairs], np.shape(A)) for i in range(2))
        return value, slope

    def _variance_at(self, A: float) -> tuple[float, float]:
        f, slope, root = self.link.value, self.link.derivative, math.sqrt(A)
        breaks = tuple(kink / root for kink in self.link.kinks)
        value = normal_mean(lambda g: f(root * g) ** 2, breaks=breaks)
        change = normal_mean(lambda g: f(root * g) * slope(root * g) * g / root, breaks=breaks)  # d/dA of f(√A g)²
        return value.value, change.value

    def covariance(self, A: Floats, C: Floats) -> Triple:
        triples = [self._covariance_at(float(a), float(c)) for a, c in zip(np.ravel(A), np.ravel(C), strict=True)]
        value, slope_A, slope_C = (np.reshape([t[i] for t in triples], np.shape(A)) for i in range(3))
        return value, slope_A, slope_C

    def _covariance_at(self, A: float, C: float) -> tuple[float, float, float]:
        f, slope = self.link.value, self.link.derivative
        mean = functools.partial(
            correlated_mean, variances=(A, self.B), covariance=C, breaks=self.link.kinks, width=self.width
        )
        slope_C = mean(slope, slope)
        stretch = mean(f, lambda x: x * slope(x))  # 2A dK/dA at fixed ρ, which moves C by C/2A
        return mean(f, f), (stretch - C * slope_C) / (2 * A), slope_C


def _polynomial_kernel(link: Link, B: float) -> SeriesKernel:
    count = link.degree + 3
    scale = float((polynomial_moments(link, np.array(B), count) ** 2).sum())
    moments = functools.partial(polynomial_moments, link, count=count)
    return SeriesKernel("exact series", 1e-14 * scale, B, moments, cheap=True)


def _fitted_kernel(link: Link, B: float, largest: float) -> SeriesKernel:
    """φ_k(A) by quadrature at Chebyshev points in A. The tail of Σ φ_k² = V bounds the error (Cauchy–Schwarz)."""
    count = _MOST_TERMS + 2  # two more than are summed: derivatives of f look two orders ahead
    low, high = 1.0, max(largest, B, 1.0 + 1e-3)
    angles = np.pi * (np.arange(_CHEBYSHEV) + 0.5) / _CHEBYSHEV
    samples = (low + high) / 2 + (high - low) / 2 * np.cos(angles)
    table = np.array([quadrature_moments(link, float(A), count)[0] for A in samples])
    energies = np.arange(1, count + 1) * (table**2).max(axis=0)
    count = min(count, 3 + int(np.flatnonzero(energies >= _NEGLIGIBLE * energies.max())[-1]))
    table = table[:, :count]
    cosines = np.cos(np.outer(np.arange(_CHEBYSHEV), angles))
    coefficients = 2 / _CHEBYSHEV * cosines @ table
    coefficients[0] /= 2

    def moments(A: Floats) -> Floats:
        return np.asarray(np.polynomial.chebyshev.chebval((2 * A - low - high) / (high - low), coefficients))

    def tail(A: float) -> float:
        root = math.sqrt(A)
        whole = normal_mean(lambda g: link.value(root * g) ** 2).value
        exact, _ = quadrature_moments(link, A, count)
        kept = exact[:-2] ** 2
        misfit = float(np.abs(moments(np.array(A)) - exact).max()) * math.sqrt(whole)
        return max(whole - float(kept.sum()), 0.0) + misfit + 1e-14 * whole

    return SeriesKernel("Hermite series", max(tail(low), tail(B), tail(high)), B, moments, cheap=False)


def _power_sum(coefficients: Floats, x: Floats) -> Floats:
    """Σ_k c_k x^k with coefficients of shape (K, …), by Horner's rule."""
    total = np.zeros(np.shape(x))
    for row in coefficients[::-1]:
        total = total * x + row
    return total


def _orders(count: int, dimensions: int) -> Floats:
    return np.arange(count, dtype=np.float64).reshape(-1, *([1] * (dimensions - 1)))


def _real(part: npt.ArrayLike, like: Floats) -> Floats:
    return np.broadcast_to(np.real(part), np.shape(like)).astype(np.float64)
