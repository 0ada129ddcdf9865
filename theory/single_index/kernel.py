"""Numbers for the two functions the population loss is made of: V(A) and K(A, C) = E f(x) f(y) at a fixed B.

Three routes, chosen by what the link allows: a closed form; the series Σ φ_k(A) φ_k(B) ρ^k; quadrature over x and y.
The series is sampled once and fitted; so is the quadrature where whole landscapes are wanted.
"""

from __future__ import annotations

import contextlib
import functools
import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
import numpy.typing as npt
import sympy

from theory.errors import ReachError
from theory.single_index import closed_forms
from theory.single_index.closed_forms import closed_form
from theory.single_index.link import Link
from theory.single_index.moments import polynomial_moments, quadrature_moments
from theory.single_index.panels import breaks, field_means, spread_needed
from theory.single_index.piecewise_linear import Bends, bends, straight
from theory.single_index.quadrature import correlated_means
from theory.single_index.series import FittedMoments, fit_moments

Floats = npt.NDArray[np.float64]
Pair = tuple[Floats, Floats]
Triple = tuple[Floats, Floats, Floats]

_MOST_TERMS = 160
_SERIES_ERROR = 1e-8
_WORST = 0.01
_VARIANCES = 18
_ANGLES = 40
_WIDTHS = (3.0, 1.5, 0.75)
_CORRELATIONS = (-0.97, 0.9)
_QUICK_ERROR = 1e-6
_LAST_POWER = 37.0
"""−log of the smallest |ρ|^k that counts."""
_MOST_COST = 3.5e4
"""Values of the link for one point of K, beyond which the hundreds of points of a fit would take minutes."""


class Kernel(Protocol):
    """V and K at a fixed target variance B, with derivatives, for arrays of A and C (of one shape)."""

    @property
    def method(self) -> str:
        """How the numbers are had, in words."""

    @property
    def error(self) -> float:
        """Error estimate, of V(A) relative to V(A) and of K relative to √(V(A)V(B)), for A from 1 to the largest."""

    def variance(self, A: Floats) -> Pair:
        """V(A), V′(A)."""

    def covariance(self, A: Floats, C: Floats) -> Triple:
        """K, ∂K/∂A, ∂K/∂C."""


@functools.lru_cache(maxsize=64)
def kernel(link: Link, B: float, largest: float) -> Kernel:
    """The best kernel for the link at target variance B, for prediction variances from 1 to ``largest``.

    Raises ``ReachError`` where quadrature does not settle to a hundredth of V.
    """
    if link.is_polynomial:
        return _polynomial_kernel(link, B)
    if form := closed_form(link):
        return ClosedKernel.of(form, B, largest)
    best = _numerical_kernel(link, B, largest)
    if not best.error <= _WORST:
        missed = f"not to {best.error:.0%}" if best.error < 1 else "not to any digit"
        raise ReachError(
            "population loss",
            given=link.text,
            reach=f"links whose quadrature settles to {_WORST:.0%}, {missed}",
            remedy="lower lambda, or take a link that is less steep or grows more slowly",
        )
    return best


def _numerical_kernel(link: Link, B: float, largest: float) -> Kernel:
    if line := straight(link):
        return StraightKernel("closed form (straight between kinks)", 1e-13, B, line)
    series = None if link.kinks else _series_kernel(link, B, largest)
    if series and series.error <= _SERIES_ERROR:
        return FittedKernel.of(series, B, largest)
    return QuadratureKernel.of(link, B, largest)


@functools.lru_cache(maxsize=64)
def quick_kernel(link: Link, B: float, largest: float) -> Kernel:
    """The same, but where that is quadrature point by point, a long series or a fit: cheap; its error tells the price.

    Raises ``ReachError`` where neither comes within a hundredth of V.
    """
    best = kernel(link, B, largest)
    if not isinstance(best, QuadratureKernel):
        return best
    candidates: list[Kernel] = []
    with contextlib.suppress(ReachError):
        candidates.append(LongSeries.of(link, B, largest))
        if candidates[0].error <= _QUICK_ERROR:
            return candidates[0]
    if best.cheaper.cost <= _MOST_COST:
        candidates.append(FittedKernel.of(best.cheaper, B, largest))
    chosen = min(candidates, key=lambda one: one.error, default=None)
    if chosen is None or not chosen.error <= _WORST:
        raise ReachError(
            "landscape of the link",
            given=link.text,
            reach=f"links of which a series or a fit comes within {_WORST:.0%} of the loss",
            remedy="lower lambda, or take a link that is less steep; the loss at one point may still be had",
        )
    return chosen


@dataclass(frozen=True, eq=False)
class StraightKernel:
    """Closed forms for links that are straight between kinks, wherever these lie."""

    method: str
    error: float
    B: float
    line: Bends

    def variance(self, A: Floats) -> Pair:
        return self.line.variance(A)

    def covariance(self, A: Floats, C: Floats) -> Triple:
        edge = np.sqrt(A * self.B)
        return self.line.covariance(A, self.B, np.clip(C, -edge, edge))


@dataclass(frozen=True, eq=False)
class LongSeries:
    """Σ φ_k(A) φ_k(B) ρ^k with up to 2048 terms; the bends of a link with kinks apart, in closed form."""

    method: str
    error: float
    B: float
    moments: FittedMoments
    target: Floats
    bend: Bends | None
    bend_moments: FittedMoments | None
    bend_target: Floats

    @classmethod
    def of(cls, link: Link, B: float, largest: float) -> LongSeries:
        """Fit the moments; the tails of the two fields bound the error (Cauchy–Schwarz)."""
        bend, top = bends(link), max(largest, B)
        functions = [link.value] if bend is None else [link.value, bend.value, lambda x: link.value(x) - bend.value(x)]
        fitted = fit_moments(link, functions, top)
        target = fitted[0].at(B)
        tail = fitted[0].tail
        error = tail**2 if bend is None else 2 * tail * fitted[2].tail
        error += 2 * fitted[0].misfit + 1e-14
        if bend is None:
            return cls("long Hermite series", error, B, fitted[0], target, None, None, target)
        return cls("bends, and a Hermite series", error, B, fitted[0], target, bend, fitted[1], fitted[1].at(B))

    def variance(self, A: Floats) -> Pair:
        A = np.asarray(A, dtype=np.float64)
        value, slope_A, slope_C = self._sums(A, A, A, own=True)
        return value, 2 * slope_A + slope_C

    def covariance(self, A: Floats, C: Floats) -> Triple:
        A, C = np.broadcast_arrays(np.asarray(A, dtype=np.float64), np.asarray(C, dtype=np.float64))
        return self._sums(A, np.full_like(A, self.B), C, own=False)

    def _sums(self, A: Floats, B: Floats, C: Floats, *, own: bool) -> Triple:
        """K and its slopes, with as many terms as each |ρ| asks for; ``own``: the second field is the first."""
        shape = A.shape
        A, B, C = A.ravel(), B.ravel(), C.ravel()
        rho = np.clip(C / np.sqrt(A * B), -1, 1)
        most = self.moments.count
        found = np.zeros((3, A.size))
        with np.errstate(divide="ignore"):
            asked = np.ceil(_LAST_POWER / np.maximum(-np.log(np.abs(rho)), 1e-300)) + 8
        bounds = [count for count in (48, 128, 512) if count < most] + [most]
        least = 0
        for count in bounds:
            some = np.flatnonzero((asked > least) & ((asked <= count) | (count == most)))
            least = count
            if some.size:
                found[:, some] = self._some(A[some], B[some], rho[some], count, own=own)
        value, slope_A, slope_C = (part.reshape(shape) for part in found)
        return value, slope_A, slope_C

    def _some(self, A: Floats, B: Floats, rho: Floats, count: int, *, own: bool) -> Floats:
        root = np.sqrt(A * B)
        here = self.moments.at(A, count)
        value, stretch, slope = _long_sums(here, here if own else self.target[:count], rho)
        if self.bend is None or self.bend_moments is None:
            return np.stack([value, stretch / (2 * A), slope / root])
        there = self.bend_moments.at(A, count)
        less = _long_sums(there, there if own else self.bend_target[:count], rho)
        more = self.bend.covariance(A, B, rho * root)
        rows = [value - less[0], (stretch - less[1]) / (2 * A), (slope - less[2]) / root]
        return np.stack([row + extra for row, extra in zip(rows, more, strict=True)])


def _long_sums(phi: Floats, target: Floats, rho: Floats) -> Triple:
    """Σ φ_k ψ_k ρ^k; Σ √((k+1)(k+2)) φ_{k+2} ψ_k ρ^k; Σ (k+1) φ_{k+1} ψ_{k+1} ρ^k: the last two are slopes, scaled."""
    k = np.arange(phi.shape[-1] - 2, dtype=np.float64)
    powers = np.cumprod(
        np.concatenate([np.ones((*np.shape(rho), 1)), np.repeat(np.asarray(rho)[..., None], len(k) - 1, -1)], -1), -1
    )
    value = (phi[..., :-2] * target[..., :-2] * powers).sum(axis=-1)
    stretch = (np.sqrt((k + 1) * (k + 2)) * phi[..., 2:] * target[..., :-2] * powers).sum(axis=-1)
    slope = ((k + 1) * phi[..., 1:-1] * target[..., 1:-1] * powers).sum(axis=-1)
    return value, stretch, slope


@dataclass(frozen=True, eq=False)
class SeriesKernel:
    """K = Σ_k φ_k(A) φ_k(B) ρ^k, ρ = C/√(AB); φ_k(A) = A^{k/2} F_k(A)/√k! and F_k′ = F_{k+2}/2.

    ``moments`` maps A of any shape to φ_0(A), …, φ_{K+1}(A), the last two serving the derivatives.
    """

    method: str
    error: float
    B: float
    moments: Callable[[Floats], Floats]

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

    @classmethod
    def of(cls, form: closed_forms.ClosedForm, B: float, largest: float) -> ClosedKernel:
        """Fix B and compile V, V′, K and its derivatives."""
        A, C = closed_forms.A, closed_forms.C
        moment = [form.second_moment, sympy.diff(form.second_moment, A)]
        slopes = [form.kernel, form.slope_variance, form.slope_covariance]
        parts = [part.subs(closed_forms.B, sympy.Float(B, 17)) for part in slopes]
        variance = sympy.lambdify([A], moment, modules=["scipy", "numpy"], cse=True)
        covariance = sympy.lambdify([A, C], parts, modules=["scipy", "numpy"], cse=True)
        bound = math.sqrt(B) * (1 - 1e-15)

        def safely(A: Floats, C: Floats) -> Triple:
            edge = bound * np.sqrt(A)  # C² ≤ AB, but rounding may step across
            return covariance(A, np.clip(C, -edge, edge))  # type: ignore[no-any-return]

        with np.errstate(over="ignore"):
            exponent = math.log(min(abs(float(np.real(variance(np.float64(largest))[0]))) + 1, 1e300))
        precision = 1e-14 * max(1.0, exponent)  # an exponential turns the rounding of its argument into its own
        if form.family == "absolute value":
            precision = 1e-9  # its root √(AB−C²) loses half the digits at C² = AB
        return cls(f"closed form ({form.family})", precision, variance, safely)

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
    width: float = 0.75

    @property
    def cheaper(self) -> QuadratureKernel:
        """The same with the widest panels, good to about 1e-9: for fits, whose own error is larger anyway."""
        return replace(self, width=_WIDTHS[0], error=self.error + _SERIES_ERROR)

    @property
    def cost(self) -> float:
        """About how many values of the link one point of K takes."""
        counts = []
        for size in (1.0, self.B):
            reach = spread_needed(self.link, size) * math.sqrt(size)
            counts.append(16 * (18 / self.width + len(breaks(self.link, self.width * math.sqrt(size), reach=reach))))
        return counts[0] * counts[1]

    @classmethod
    def of(cls, link: Link, B: float, largest: float) -> QuadratureKernel:
        """Halve the panels until V and K settle, at the least, the target's and the largest variance.

        The last change is the error.
        """
        rules = [cls("two-dimensional quadrature", 0.0, link, B, width) for width in _WIDTHS]
        variances = np.array(sorted({1.0, B, max(largest, B)}))
        scales = [_second_moment(link, float(A)) for A in (*variances, B)]
        A, rho = (part.ravel() for part in np.meshgrid(variances, _CORRELATIONS, indexing="ij"))
        size = np.sqrt(np.repeat([scale for scale, _ in scales[:-1]], len(_CORRELATIONS)) * scales[-1][0])
        values = [rule.covariance(A, rho * np.sqrt(A * B))[0] / size for rule in rules[:2]]
        if np.abs(values[1] - values[0]).max() > _SERIES_ERROR:
            values.append(rules[2].covariance(A, rho * np.sqrt(A * B))[0] / size)
        error = max(float(np.abs(values[-1] - values[-2]).max()), *(error / scale for scale, error in scales)) + 1e-14
        return replace(rules[len(values) - 1], error=error)

    def variance(self, A: Floats) -> Pair:
        pairs = [self._variance_at(float(a)) for a in np.ravel(A)]
        value, slope = (np.reshape([pair[i] for pair in pairs], np.shape(A)) for i in range(2))
        return value, slope

    def _variance_at(self, A: float) -> tuple[float, float]:
        f, slope, root = self.link.value, self.link.derivative, math.sqrt(A)

        def rows(g: Floats) -> Floats:
            level = f(root * g)
            return np.stack([level**2, level * slope(root * g) * g / root])  # f(√A g)² and its derivative in A

        value, change = field_means(self.link, A, rows)[0]
        return float(value), float(change)

    def covariance(self, A: Floats, C: Floats) -> Triple:
        A, C = np.broadcast_arrays(A, C)
        triples = [self._covariance_at(float(a), float(c)) for a, c in zip(np.ravel(A), np.ravel(C), strict=True)]
        value, slope_A, slope_C = (np.reshape([t[i] for t in triples], np.shape(A)) for i in range(3))
        return value, slope_A, slope_C

    def _covariance_at(self, A: float, C: float) -> tuple[float, float, float]:
        f, slope = self.link.value, self.link.derivative

        def inner(x: Floats) -> Floats:
            tilt = slope(x)
            return np.stack([f(x), x * tilt, tilt])

        def outer(y: Floats) -> Floats:
            level = f(y)
            return np.stack([level, level, slope(y)])

        parts = 1 + _WIDTHS.index(self.width)
        reach = max(spread_needed(self.link, size) * math.sqrt(size) for size in (A, self.B))
        value, stretch, slope_C = correlated_means(
            outer,
            inner,
            variances=(A, self.B),
            covariance=C,
            breaks=lambda scale: breaks(self.link, scale, reach=reach, parts=parts),
            width=self.width,
        )
        # stretch is 2A dK/dA at fixed correlation, which moves C by C/2A
        return float(value), float(stretch - C * slope_C) / (2 * A), float(slope_C)


@dataclass(frozen=True, eq=False)
class FittedKernel:
    """Chebyshev polynomials in log A and in φ, C = √(AB) sin φ, through samples of another kernel.

    In φ the kernel of a smooth f stays smooth up to C² = AB. Kinks of f away from 0 leave a layer there at A = B.
    """

    method: str
    error: float
    B: float
    span: float
    _variance: Floats
    _covariance: Floats

    @classmethod
    def of(cls, source: Kernel, B: float, largest: float) -> FittedKernel:
        """Sample, fit, and measure the misfit of V and K halfway between the samples."""
        span = math.log(max(largest, B, 1.001))
        t, angle = _nodes(_VARIANCES), _nodes(_ANGLES)
        A = np.exp(span * (t + 1) / 2)[:, None]
        samples = np.stack(source.covariance(A, np.sqrt(A * B) * np.sin(np.pi / 2 * angle)))
        moments = np.stack(source.variance(A[:, 0]))
        fit_t, fit_angle = _fit(_VARIANCES), _fit(_ANGLES)
        fitted = cls("", 0.0, B, span, fit_t @ moments.T, np.einsum("ij,sjk,lk->ils", fit_t, samples, fit_angle))
        between = (A[:-1] + A[1:]) / 2
        middle = np.sqrt(between * B) * np.sin(np.pi / 4 * (angle[1:] + angle[:-1]))
        some = slice(None, None, 3)
        exact, size = source.variance(between[:, 0])[0], float(source.variance(np.array(B))[0])
        misfit = source.covariance(between[some], middle[some, some])[0]
        misfit -= fitted.covariance(*np.broadcast_arrays(between[some], middle[some, some]))[0]
        worst = np.abs(misfit / np.sqrt(exact[some] * size)[:, None]).max()
        worst = max(worst, np.abs(fitted.variance(between[:, 0])[0] / exact - 1).max())
        return replace(fitted, method=f"{source.method}, fitted", error=source.error + float(worst))

    def variance(self, A: Floats) -> Pair:
        value, slope = np.polynomial.chebyshev.chebval(self._scaled(A), self._variance)
        return value, slope

    def covariance(self, A: Floats, C: Floats) -> Triple:
        angle = np.arcsin(np.clip(C / np.sqrt(A * self.B), -1, 1)) * 2 / np.pi
        value, slope_A, slope_C = np.polynomial.chebyshev.chebval2d(self._scaled(A), angle, self._covariance)
        return value, slope_A, slope_C

    def _scaled(self, A: Floats) -> Floats:
        return np.asarray(2 * np.log(A) / self.span - 1)


def _polynomial_kernel(link: Link, B: float) -> SeriesKernel:
    moments = functools.partial(polynomial_moments, link, count=link.degree + 3)
    return SeriesKernel("exact series", 1e-14, B, moments)


def _series_kernel(link: Link, B: float, largest: float) -> SeriesKernel:
    """φ_k(A) by quadrature. The tail of Σ φ_k² = V, relative to V, bounds the error (Cauchy–Schwarz)."""
    count = _MOST_TERMS + 2  # two more than are summed: derivatives of f look two orders ahead

    def moments(A: Floats) -> Floats:
        rows = [_moments(link, float(a), count) for a in np.ravel(A)]
        return np.moveaxis(np.reshape(rows, (*np.shape(A), count)), -1, 0)

    def tail(A: float) -> float:
        whole, error = _second_moment(link, A)
        return (max(whole - float((_moments(link, A, count)[:-2] ** 2).sum()), 0.0) + error) / whole + 1e-14

    return SeriesKernel("Hermite series", max(tail(1.0), tail(B), tail(max(largest, B))), B, moments)


def _second_moment(link: Link, A: float) -> tuple[float, float]:
    """V(A), with its error."""
    root = math.sqrt(A)
    value, error = field_means(link, A, lambda g: link.value(root * g) ** 2)
    return float(value), float(error)


@functools.lru_cache(maxsize=128)
def _moments(link: Link, A: float, count: int) -> Floats:
    values = quadrature_moments(link, A, count)[0]
    values.flags.writeable = False  # cached, so shared
    return values


def _nodes(count: int) -> Floats:
    """Chebyshev points of the first kind, increasing."""
    return -np.cos(np.pi * (np.arange(count) + 0.5) / count)


def _fit(count: int) -> Floats:
    """The matrix from values at ``_nodes(count)`` to Chebyshev coefficients."""
    angles = np.pi * (np.arange(count) + 0.5) / count
    matrix = 2 / count * np.cos(np.outer(np.arange(count), np.pi - angles))
    matrix[0] /= 2
    return np.asarray(matrix)


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
