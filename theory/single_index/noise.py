"""The strength of the gradient's noise: E[c²] and its error, c = 2(f(z) − y)f′(z) the slope of the loss in the field.

z = a·X and u = a·v_0 are normal with variances A, B and covariance C, y = f(u) + ε, so that

    E[c²]/4 = E f²f′²(z) − 2 E[ff′²(z) f(u)] + E[f′²(z) f²(u)] + Var ε E f′²(z),

each mean by rules that are broken where the link bends. Exact for polynomials.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from theory.errors import ReachError
from theory.single_index.link import Link
from theory.single_index.loss import PopulationLoss
from theory.single_index.panels import breaks, field_means, spread_needed
from theory.single_index.quadrature import Estimate, correlated_means

Floats = npt.NDArray[np.float64]
_WIDTHS = (3.0, 1.5)
_WORST = 1e-3
_VARIANCES = 8
_ANGLES = 18
_USELESS = 0.02


def gradient_noise(loss: PopulationLoss, m1: float, m2: float) -> Estimate:
    """E[c²] at overlaps (m_1, m_2), with its error.

    >>> gradient_noise(PopulationLoss(Link.parse("x"), lam=0.0, eta1=1.0), 0.0, 0.0).value
    8.0
    >>> round(gradient_noise(PopulationLoss(Link.parse("tanh(5*x)"), lam=30.0, eta1=0.5), 0.4, 0.1).value, 3)
    5.81

    Raises ``ReachError`` where the error is more than a thousandth.
    """
    _, A, C = (float(part) for part in loss.fields(m1, m2))
    return field_noise(loss.link, A, loss.B, C, loss.noise)


@functools.lru_cache(maxsize=4096)
def field_noise(link: Link, A: float, B: float, C: float, noise: float) -> Estimate:
    """The same for fields of these variances and this covariance."""
    if link.is_polynomial:
        return _polynomial(link, A, B, C, noise)
    (alone, slopes), (error, slopes_error) = _alone(link, A)
    pairs = [_pairs(link, A, B, C, width) for width in _WIDTHS]
    value = 4 * (alone + pairs[1] + noise * slopes)
    size = 4 * (abs(alone) + noise * abs(slopes))
    doubt = 4 * (abs(pairs[1] - pairs[0]) + error + noise * slopes_error) + 1e-14 * size
    if not doubt <= _WORST * max(size, abs(value)):
        raise ReachError(
            "gradient noise",
            given=link.text,
            reach=f"links whose quadrature settles to {_WORST:g}",
            remedy="lower lambda, or take a link that is less steep, or grows more slowly",
        )
    return Estimate(max(float(value), 0.0), float(doubt))


@functools.lru_cache(maxsize=256)
def _alone(link: Link, A: float) -> tuple[Floats, Floats]:
    """E f²f′² and E f′² of one field, with errors."""
    root = math.sqrt(A)

    def rows(g: Floats) -> Floats:
        level, square = link.value(root * g), link.derivative(root * g) ** 2
        return np.stack([level**2 * square, square])

    return field_means(link, A, rows)


def _pairs(link: Link, A: float, B: float, C: float, width: float) -> float:
    """−2 E[ff′²(z) f(u)] + E[f′²(z) f²(u)]."""

    def inner(x: Floats) -> Floats:
        square = link.derivative(x) ** 2
        return np.stack([link.value(x) * square, square])

    def outer(y: Floats) -> Floats:
        level = link.value(y)
        return np.stack([level, level**2])

    reach = max(spread_needed(link, size) * math.sqrt(size) for size in (A, B))
    first, second = correlated_means(
        outer,
        inner,
        variances=(A, B),
        covariance=C,
        breaks=lambda scale: breaks(link, scale, reach=reach, parts=1 + _WIDTHS.index(width)),
        width=width,
    )
    return float(second - 2 * first)


def _polynomial(link: Link, A: float, B: float, C: float, noise: float) -> Estimate:
    """Gauss–Hermite with nodes enough for the degree, 4·deg − 2 in either field: exact to rounding."""
    nodes, weights = _hermite_rule(max(8, 2 * link.degree + 1))
    z = math.sqrt(A) * nodes[:, None]
    label = C / A * z + math.sqrt(max(0.0, B - C * C / A)) * nodes[None, :]
    squares = ((link.value(z) - link.value(label)) ** 2 + noise) * link.derivative(z) ** 2
    value = float(4 * (weights @ squares @ weights))
    return Estimate(float(f"{value:.13g}"), 1e-12 * value)


@functools.lru_cache(maxsize=32)
def _hermite_rule(count: int) -> tuple[Floats, Floats]:
    nodes, weights = np.polynomial.hermite_e.hermegauss(count)
    return nodes, weights / weights.sum()


@dataclass(frozen=True, eq=False)
class FittedNoise:
    """E[c²] over the disc: exact for polynomials, otherwise Chebyshev polynomials in log A and in φ, C = √(AB) sin φ.

    What is fitted is E[c²] by its size at C = 0, whose logarithm is ``size``. ``misfit`` is the largest found between
    the samples, relative to the largest value; where it is large, points are computed one by one.
    """

    loss: PopulationLoss
    coefficients: Floats | None
    size: Floats
    span: float
    misfit: float

    def __call__(self, m1: float, m2: float) -> float:
        """E[c²] at overlaps."""
        _, A, C = (float(part) for part in self.loss.fields(m1, m2))
        if self.coefficients is None:
            return field_noise(self.loss.link, A, self.loss.B, C, self.loss.noise).value
        t = 2 * math.log(A) / self.span - 1 if self.span else 0.0
        angle = math.asin(min(max(C / math.sqrt(A * self.loss.B), -1.0), 1.0)) * 2 / math.pi
        size = math.exp(float(np.polynomial.chebyshev.chebval(t, self.size)))
        return size * max(float(np.polynomial.chebyshev.chebval2d(t, angle, self.coefficients)), 0.0)


@functools.lru_cache(maxsize=32)
def fitted_noise(loss: PopulationLoss) -> FittedNoise:
    """Sample and fit; a second or so for steep links."""
    if loss.link.is_polynomial:
        return FittedNoise(loss, None, np.zeros(1), 0.0, 0.0)
    span = math.log(1 + loss.lam) if loss.lam > 0 else 0.0
    t, angle = _nodes(_VARIANCES if span else 1), _nodes(_ANGLES)

    labels = float(loss.kernel.variance(np.array(loss.B))[0])

    def size(A: float) -> float:
        alone, slopes = _alone(loss.link, A)[0].tolist()
        return float(4 * (alone + (labels + loss.noise) * slopes))

    def sample(A: float, C: float) -> float:
        alone, slopes = _alone(loss.link, A)[0].tolist()
        value = 4 * (alone + _pairs(loss.link, A, loss.B, C, _WIDTHS[0]) + loss.noise * slopes)
        return float(max(value, 0.0)) / max(size(A), 1e-300)

    field_noise(loss.link, math.exp(span / 2), loss.B, 0.5 * loss.B, loss.noise)  # refuses what does not settle

    def at(places: Floats, angles: Floats) -> Floats:
        A = np.exp(span * (places + 1) / 2)
        C = np.sqrt(A * loss.B)[:, None] * np.sin(np.pi / 2 * angles)
        return np.array([[sample(float(a), float(c)) for c in row] for a, row in zip(A, C, strict=True)])

    samples = at(t, angle)
    coefficients = _fit(len(t)) @ samples @ _fit(len(angle)).T
    sizes = np.log([max(size(math.exp(span * (place + 1) / 2)), 1e-300) for place in t.tolist()])
    places = (t[:-1] + t[1:])[:1] / 2 if span else t
    angles = (angle[:-1] + angle[1:])[::5] / 2
    exact = at(places, angles)
    misfit = np.abs(np.polynomial.chebyshev.chebgrid2d(places, angles, coefficients) - exact).max()
    relative = float(misfit / max(float(samples.max()), 1e-300))
    good = coefficients if relative <= _USELESS else None
    return FittedNoise(loss, good, _fit(len(t)) @ sizes, span, relative)


def _nodes(count: int) -> Floats:
    return np.asarray(-np.cos(np.pi * (np.arange(count) + 0.5) / count))


def _fit(count: int) -> Floats:
    angles = np.pi * (np.arange(count) + 0.5) / count
    matrix = 2 / count * np.cos(np.outer(np.arange(count), np.pi - angles))
    matrix[0] /= 2
    return np.asarray(matrix)
