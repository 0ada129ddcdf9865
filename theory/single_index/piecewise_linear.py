"""K for links that are straight between kinks: f = γ + αx + Σ_i ½J_i|x − a_i|. Closed forms by Owen's function.

With h = a/√A, k = b/√B, s² = 1 − ρ², the means are those of a bivariate normal law:
P(x>a, y>b) = L(h, k; ρ) and E (x−a)₊(y−b)₊ = √(AB)[(ρ+hk)L − kφ(h)Q((k−ρh)/s) − hφ(k)Q((h−ρk)/s) + s/(2π) e^{−q/2}],
q = (h² − 2ρhk + k²)/s²; |u| = 2u₊ − u gives the rest.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt
from scipy.special import ndtr, owens_t

from theory.single_index.link import Link

Floats = npt.NDArray[np.float64]
MOST_KINKS = 12
_STRAIGHT = 1e-12
_SMALLEST = 1e-30


@dataclass(frozen=True)
class Bends:
    """Σ_i ½J_i|x − a_i| + αx + γ: the places a_i, the jumps J_i of the slope, α and γ."""

    places: tuple[float, ...]
    jumps: tuple[float, ...]
    slope: float = 0.0
    shift: float = 0.0

    def value(self, x: npt.ArrayLike) -> Floats:
        """The function, elementwise."""
        x = np.asarray(x, dtype=np.float64)
        bends = sum((j / 2 * np.abs(x - a) for a, j in zip(self.places, self.jumps, strict=True)), start=0.0 * x)
        return np.asarray(bends + self.slope * x + self.shift)

    def derivative(self, x: npt.ArrayLike) -> Floats:
        """Its slope, elementwise."""
        x = np.asarray(x, dtype=np.float64)
        bends = sum((j / 2 * np.sign(x - a) for a, j in zip(self.places, self.jumps, strict=True)), start=0.0 * x)
        return np.asarray(bends + self.slope)

    def variance(self, A: npt.ArrayLike) -> tuple[Floats, Floats]:
        """V(A) = E f(√A G)² and V′(A) = E f′² + Σ J_i f(a_i) p(a_i), p the density of √A G."""
        A = np.asarray(A, dtype=np.float64)
        root = np.sqrt(A)
        corners = [-math.inf, *self.places, math.inf]
        total, slopes = np.zeros_like(A), np.zeros_like(A)
        for low, high in pairwise(corners):
            middle = _inside(low, high)
            m = float(self.derivative(middle))
            c = float(self.value(middle)) - m * middle
            p0, p1, p2 = _partial_moments(low / root, high / root)
            total += c * c * p0 + 2 * c * m * root * p1 + m * m * A * p2
            slopes += m * m * p0
        for a, j in zip(self.places, self.jumps, strict=True):
            slopes += j * float(self.value(a)) * _density(a / root) / root
        return total, slopes

    def covariance(self, A: npt.ArrayLike, B: npt.ArrayLike, C: npt.ArrayLike) -> tuple[Floats, Floats, Floats]:
        """K = E f(x)f(y), ∂K/∂A and ∂K/∂C."""
        A, B, C = np.broadcast_arrays(*(np.asarray(part, dtype=np.float64) for part in (A, B, C)))
        first = [_absolute(a, A) for a in self.places]
        second = [_absolute(b, B) for b in self.places]
        value = self.slope**2 * C + self.shift**2
        change_A, change_C = np.zeros_like(A), np.full_like(A, self.slope**2)
        for (mean, sign), (other, other_sign), a, j in zip(first, second, self.places, self.jumps, strict=True):
            half = j / 2
            value = value + half * (self.slope * C * (sign + other_sign) + self.shift * (mean + other))
            change_C = change_C + half * self.slope * (sign + other_sign)
            density = _density(a / np.sqrt(A)) / np.sqrt(A)
            change_A = change_A + half * density * (self.shift + self.slope * C * a / A)
        spread = np.sqrt(np.maximum(B - C**2 / A, 0.0))
        for a, j in zip(self.places, self.jumps, strict=True):
            density = _density(a / np.sqrt(A)) / np.sqrt(A)
            for b, other_jump in zip(self.places, self.jumps, strict=True):
                pair, signs = _pair(a, b, A, B, C)
                weight = j * other_jump / 4
                value = value + weight * pair
                change_C = change_C + weight * signs
                change_A = change_A + weight * density * _folded(C * a / A - b, spread)
        return value, change_A, change_C


def bends(link: Link) -> Bends | None:
    """The kinks of a link as bends of a straight line, jumps measured; α = γ = 0. None where there are too many."""
    if not link.kinks or len(link.kinks) > MOST_KINKS:
        return None
    places = link.kinks
    gaps = [1.0, *np.diff(places), 1.0]
    jumps = []
    for i, a in enumerate(places):
        h = 1e-9 * min(gaps[i], gaps[i + 1], 1.0) * (1 + abs(a))
        left, right = link.derivative(np.array([a - h, a + h]))
        jumps.append(float(right - left))
    if not np.isfinite(jumps).all():
        return None
    return Bends(places, tuple(jumps))


def straight(link: Link) -> Bends | None:
    """The whole link in that form, if it is straight between its kinks.

    >>> straight(Link.parse("relu(x-1)"))
    Bends(places=(1.0,), jumps=(1.0,), slope=0.5, shift=-0.5)
    """
    found = bends(link)
    if found is None:
        return None
    corners = [found.places[0] - 40, *found.places, found.places[-1] + 40]
    x = np.concatenate([np.linspace(a, b, 41)[1:-1] for a, b in pairwise(corners)])
    jumps = tuple(float(round(j, 12)) for j in found.jumps)
    rounded = Bends(found.places, jumps)
    rest = link.derivative(x) - rounded.derivative(x)
    scale = float(np.abs(link.derivative(x)).max())
    if float(np.ptp(rest)) > _STRAIGHT * max(scale, 1e-300):
        return None
    slope = float(np.median(rest))
    shift = float(np.median(link.value(x) - rounded.value(x) - slope * x))
    whole = Bends(found.places, jumps, slope, shift)
    return whole if np.allclose(whole.value(x), link.value(x), rtol=1e-12, atol=1e-12 * (1 + scale)) else None


def _inside(low: float, high: float) -> float:
    if math.isinf(low):
        return high - 1.0
    return low + 1.0 if math.isinf(high) else (low + high) / 2


def _density(g: npt.ArrayLike) -> Floats:
    return np.asarray(np.exp(-(np.asarray(g) ** 2) / 2) / math.sqrt(2 * math.pi))


def _partial_moments(low: Floats, high: Floats) -> tuple[Floats, Floats, Floats]:
    """P, E G, E G² over low < G < high."""
    p0 = np.where(low > 0, ndtr(-low) - ndtr(-high), ndtr(high) - ndtr(low))
    edge_low, edge_high = _density(low), _density(high)
    with np.errstate(invalid="ignore"):
        tail_low = np.where(np.isfinite(low), low * edge_low, 0.0)
        tail_high = np.where(np.isfinite(high), high * edge_high, 0.0)
    return p0, edge_low - edge_high, p0 + tail_low - tail_high


def _folded(mean: Floats, spread: Floats) -> Floats:
    """E|N(mean, spread²)|."""
    t = mean / np.maximum(spread, _SMALLEST)
    return np.asarray(mean * (1 - 2 * ndtr(-t)) + 2 * spread * _density(t))


def _absolute(a: float, A: Floats) -> tuple[Floats, Floats]:
    """E|x − a| and E sign(x − a)."""
    root = np.sqrt(A)
    return _folded(np.full_like(A, -a), root), 1 - 2 * ndtr(a / root)


def _pair(a: float, b: float, A: Floats, B: Floats, C: Floats) -> tuple[Floats, Floats]:
    """E|x−a||y−b| and E sign(x−a)sign(y−b)."""
    root_A, root_B = np.sqrt(A), np.sqrt(B)
    h, k = a / root_A, b / root_B
    rho = np.clip(C / (root_A * root_B), -1, 1)
    s = np.sqrt(np.maximum((1 - rho) * (1 + rho), _SMALLEST))  # of the same ρ, so that ρ = 1 is met exactly
    both = _upper(h, k, rho, s)
    left, right = (k - rho * h) / s, (h - rho * k) / s
    q = h**2 + left**2
    plus = (rho + h * k) * both - k * _density(h) * ndtr(-left) - h * _density(k) * ndtr(-right)
    plus = plus + s * np.exp(-q / 2) / (2 * math.pi)
    one = _density(h) - h * ndtr(-h)  # E (X−h)₊
    other = _density(k) - k * ndtr(-k)
    # |u||w| = 4u₊w₊ − 2u₊w − 2uw₊ + uw, E u₊w = ρQ(h) − k E u₊
    mixed = rho * ndtr(-h) - k * one
    mixed_too = rho * ndtr(-k) - h * other
    value = 4 * plus - 2 * mixed - 2 * mixed_too + rho + h * k
    signs = 4 * both - 2 * ndtr(-h) - 2 * ndtr(-k) + 1
    return value * root_A * root_B, signs


def _upper(h: Floats, k: Floats, rho: Floats, s: Floats) -> Floats:
    """P(X > h, Y > k) at correlation ρ, s = √(1−ρ²). D. B. Owen, Ann. Math. Stat. 27 (1956) 1075."""
    h, k = -h, -k
    zero = (h == 0) & (k == 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        first = np.where(h == 0, np.where(k > 0, np.inf, -np.inf), (k / h - rho) / s)
        second = np.where(k == 0, np.where(h > 0, np.inf, -np.inf), (h / k - rho) / s)
    apart = np.where((h * k > 0) | ((h * k == 0) & (h + k >= 0)), 0.0, 0.5)
    general = (ndtr(h) + ndtr(k)) / 2 - owens_t(h, first) - owens_t(k, second) - apart
    return np.asarray(np.where(zero, 0.25 + np.arctan2(rho, s) / (2 * math.pi), general))
