"""The eigenvalues of S/m for data of covariance C, and what they weigh in the population loss. THEORY H.

S = XXᵀ with X = C^½Z, Z p × m iid N(0, 1). With the companion transform m̲ of the law and w = −1/m̲,

    z(w) = w + (1/m) Σ_j λ_j w/(w − λ_j).

Above each real u there is one v(u) ≥ 0 at which z(u + iv) is real: the root of (1/m) Σ λ_j²/((u − λ_j)² + v²) = 1, or 0
where this sum is below 1 already at v = 0 (Silverstein and Choi 1995). So u, not x, runs over the support: x(u) = z
increases, its edges are found on the real line, and nothing imaginary is added. There

    dF = v/(π γ |w|²) dx,   δ(x) = |w|²/x,   γ = p/m,

where δ(x) is the mean of vᵀCv over eigenvectors v at x (Ledoit and Péché 2011). The kernel of S has the mass
1 − min(p₊, m)/p, p₊ the number of positive λ; it carries the part 1/(γ m̲(0)) of Tr C/p where p₊ > m.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.optimize import brentq

from theory.errors import BudgetError
from theory.spectrum import Spectrum

FloatArray = npt.NDArray[np.float64]
Values = Callable[[FloatArray], FloatArray]

MOST_VALUES = 20_000
"""Distinct eigenvalues of C: every node sums over all of them."""
_NODES = 16
_ACCURACY = 1e-13
_AT_ONCE = 2**21
_DEEPEST = 60
_BREAKS = 32
_STEPS = 200
_NEAR = 0.01
_CLOSE = 1e-8
"""Newton's next step is the square of this one."""
_EPSILON = 2.0**-52


class Rule(NamedTuple):
    """Nodes ``x``, their weights under the law F of S/m, and under δ dF; the masses sum to 1 and to Tr C/p."""

    x: FloatArray
    weights: FloatArray
    population: FloatArray


@dataclass(frozen=True, eq=False)
class SpectralLaw:
    """The law of the eigenvalues of S/m, for p = ``spectrum.size`` coordinates and ``points`` m data points.

    >>> from theory.spectrum import read_spectrum
    >>> law = SpectralLaw(read_spectrum("values:4*1,0.25*1", 200), 4000)
    >>> [tuple(round(float(edge), 3) for edge in interval) for interval in law.support]
    [(0.172, 0.327), (2.842, 5.372)]
    """

    spectrum: Spectrum
    points: int

    def __post_init__(self) -> None:
        if len(self.spectrum.values) > MOST_VALUES:
            raise BudgetError(
                "the law of S",
                estimate=f"{len(self.spectrum.values)} distinct eigenvalues of C",
                limit=f"{MOST_VALUES}",
                remedy="take a smaller p, or group the eigenvalues: values:V1*K1,V2*K2,…",
            )

    @cached_property
    def _atoms(self) -> tuple[FloatArray, FloatArray]:
        """The positive eigenvalues of C in increasing order, equal ones together, and their numbers over m."""
        values, place = np.unique(self.spectrum.values, return_inverse=True)
        counts = np.bincount(place, weights=self.spectrum.counts.astype(float)) / self.points
        return values[values > 0], counts[values > 0]

    @property
    def _rank(self) -> int:
        return int(self.spectrum.counts[self.spectrum.values > 0].sum())

    @property
    def gamma(self) -> float:
        """p/m."""
        return self.spectrum.size / self.points

    @property
    def mean(self) -> float:
        """Tr C/p, the mean of x and of δ."""
        return float(self.spectrum.values @ self.spectrum.counts) / self.spectrum.size

    @property
    def atom(self) -> float:
        """The mass of the kernel of S."""
        return 1 - min(self._rank, self.points) / self.spectrum.size

    @cached_property
    def atom_population(self) -> float:
        """∫ δ dF over the kernel of S: what no data point has seen of Tr C/p."""
        if self._rank <= self.points:
            return 0.0
        values, shares = self._atoms

        def excess(log: float) -> float:
            product = values * math.exp(log)
            return float(shares @ (product / (1 + product))) - 1

        # the sum is at most Σ share·λ·m̲, and at least (Σ share)·m̲λ₁/(1 + m̲λ₁)
        low = -math.log(float(shares @ values))
        high = -math.log(float(values[0]) * (float(shares.sum()) - 1)) + 1e-9
        return math.exp(-float(brentq(excess, low - 1e-9, high, xtol=1e-15, rtol=1e-15))) / self.gamma

    @cached_property
    def _intervals(self) -> tuple[FloatArray, FloatArray]:
        """Where v(u) > 0: the left and the right ends."""
        values, shares = self._atoms
        weights = shares * values**2
        reach = math.sqrt(float(weights.sum()))

        def excess(u: FloatArray) -> FloatArray:
            return self._sum(u, lambda gap: weights / gap**2) - 1

        left = _bisect(excess, np.array([values[0] - reach]), values[:1])
        right = _bisect(excess, np.array([values[-1] + reach]), values[-1:])
        # Two neighbours alone exceed 1 throughout the gap between them, or it is looked into.
        bound = (np.cbrt(weights[:-1]) + np.cbrt(weights[1:])) ** 3 / np.diff(values) ** 2
        gaps = np.flatnonzero(bound < 1)
        bottom, top = values[gaps], values[gaps + 1]
        lowest = _bisect(lambda u: -self._sum(u, lambda gap: weights / gap**3), bottom, top)
        split = excess(lowest) < 0
        bottom, top, lowest = bottom[split], top[split], lowest[split]
        falls, rises = _bisect(excess, lowest, bottom), _bisect(excess, lowest, top)
        starts, stops = np.concatenate([left, rises]), np.concatenate([falls, right])
        if self._rank == self.points:  # the hard edge
            starts[0] = 0.0
        return starts, stops

    @property
    def support(self) -> tuple[tuple[float, float], ...]:
        """The intervals of the continuous part, from the lowest."""
        ends = [self._curve(u, np.zeros_like(u))[1] for u in self._intervals]
        return tuple((float(a), float(b)) for a, b in zip(*ends, strict=True))

    def density(self, x: FloatArray) -> FloatArray:
        """The density of the continuous part."""
        found = np.zeros_like(x)
        for (low, high), a, b in zip(self.support, *self._intervals, strict=True):
            inside = (x > low) & (x < high)
            wanted = x[inside]

            edge = np.full_like(wanted, a)

            def below(away: FloatArray, wanted: FloatArray = wanted, edge: FloatArray = edge) -> FloatArray:
                return self._curve(edge, away)[1] - wanted

            away = _bisect(below, np.zeros_like(wanted), np.full_like(wanted, b - a))
            v = self._curve(edge, away)[0]
            found[inside] = v / (math.pi * self.gamma * ((edge + away) ** 2 + v**2))
        return found

    def rule(self, values: Values) -> tuple[Rule, FloatArray]:
        """A quadrature that is good for ``values``, and its error for each of them.

        ``values`` takes nodes (k,) to functions (…, k). Panels are halved until each function agrees, under F and under
        δ dF, with the sum over the halves. An atom at 0 comes last.

        >>> from theory.spectrum import read_spectrum
        >>> law = SpectralLaw(read_spectrum("values:2*1,0.5*1", 60), 30)
        >>> rule, error = law.rule(lambda x: np.stack([x, x**2]))
        >>> (rule.weights @ rule.x**2).round(10).item()  # Tr C²/p + γ (Tr C/p)²
        5.25
        """
        pieces, error = self._adapt(values)
        x = np.concatenate([piece.x.ravel() for piece in pieces] + [np.zeros(1)])
        weights = np.concatenate([piece.weights.ravel() for piece in pieces] + [np.array([self.atom])])
        population = np.concatenate([piece.population.ravel() for piece in pieces] + [np.array([self.atom_population])])
        found = Rule(x, weights, population)
        moved = np.where(x > 0, x + 2 * _EPSILON * (x + self.gamma * self.mean), 0.0)
        change, size = np.abs(values(moved) - values(x)), np.abs(values(x))
        error = error + np.maximum(change @ weights, change @ population)
        miss = abs(float(weights.sum()) - 1) + abs(float(population.sum()) / self.mean - 1) + 4 * _EPSILON
        return found, error + miss * np.maximum(size @ weights, size @ population)

    def _adapt(self, values: Values) -> tuple[list[Rule], FloatArray]:
        place, left, right = self._panels()
        coarse = self._on(place, left, right)
        known = _integrals(values, coarse)
        size = np.abs(known).sum(axis=-1, keepdims=True) + np.finfo(float).tiny
        accepted: list[Rule] = []
        error: FloatArray = np.zeros(known.shape[1:-1])
        for depth in range(_DEEPEST):
            middle = (left + right) / 2
            place, left, right = np.tile(place, 2), np.concatenate([left, middle]), np.concatenate([middle, right])
            halves = self._on(place, left, right)
            found = _integrals(values, halves)
            first, second = np.split(found, 2, axis=-1)
            difference = np.abs(first + second - known)
            axes = tuple(range(difference.ndim - 1))
            done = np.all(difference <= _ACCURACY * size, axis=axes) | (depth == _DEEPEST - 1)
            error = error + difference[..., done].sum(axis=-1).max(axis=0)
            both = np.tile(done, 2)
            accepted.append(Rule(*(part[both] for part in halves)))
            place, left, right, known = place[~both], left[~both], right[~both], found[..., ~both]
            if not place.size:
                break
            size = np.maximum(size, np.abs(known).sum(axis=-1, keepdims=True))
        return accepted, error

    def _panels(self) -> tuple[npt.NDArray[np.int64], FloatArray, FloatArray]:
        """Panels of the angle θ, u = a + (b − a) sin²(θ/2), broken at eigenvalues of C."""
        values, _ = self._atoms
        place, left, right = [], [], []
        for k, (a, b) in enumerate(zip(*self._intervals, strict=True)):
            inside = values[(values > a) & (values < b)]
            inside = inside[:: max(1, len(inside) // _BREAKS)]
            breaks = 2 * np.arcsin(np.sqrt((inside - a) / (b - a)))
            ends = np.unique(np.concatenate([[0.0, math.pi], breaks]))
            place.append(np.full(len(ends) - 1, k))
            left.append(ends[:-1])
            right.append(ends[1:])
        return np.concatenate(place), np.concatenate(left), np.concatenate(right)

    def _on(self, place: npt.NDArray[np.int64], left: FloatArray, right: FloatArray) -> Rule:
        """Gauss–Legendre on each panel; arrays of shape (panels, nodes)."""
        points, gauss = _legendre(_NODES)
        half = (right - left)[:, None] / 2
        angle = left[:, None] + half * (1 + points)
        a, b = (np.broadcast_to(ends[place][:, None], angle.shape) for ends in self._intervals)
        lower = angle < math.pi / 2
        edge = np.where(lower, a, b)
        away = (b - a) * np.where(lower, np.sin(angle / 2) ** 2, -(np.cos(angle / 2) ** 2))
        v, x, slope = (part.reshape(angle.shape) for part in self._curve(edge.ravel(), away.ravel()))
        measure = half * gauss * (b - a) / 2 * np.sin(angle) * slope * v / (math.pi * self.gamma)
        return Rule(x, measure / ((edge + away) ** 2 + v**2), measure / x)

    def _curve(self, edge: FloatArray, away: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """v, x and dx/du at u = ``edge`` + ``away``, from differences to that edge, where cancellation is worst."""
        values, shares = self._atoms
        weights = shares * values**2
        found = []
        for ends, some in zip(_chunks(edge, len(values)), _chunks(away, len(values)), strict=True):
            d, outer = some[:, None], ends[:, None] - values
            gap = outer + d
            squares, square = gap**2, outer**2
            s = _height_squared(squares, weights)[:, None]
            near = s < _NEAR * square.min(axis=1, keepdims=True)
            # The sum less the same at the edge, where it is 1: exact to all digits of s, and a contraction near by.
            for _ in range(2):
                share = weights / (square * (squares + s))
                better = -d * (share * (2 * outer + d)).sum(axis=1, keepdims=True) / share.sum(axis=1, keepdims=True)
                s = np.where(near, np.maximum(better, 0.0), s)
            share = weights / (squares + s)
            start = ends * (1 + (shares * values / outer).sum(axis=1))
            rise = d * share * (gap * d + s) / square - s * share / outer
            x = np.maximum(start, 0.0) + rise.sum(axis=1)
            share = share / (squares + s)
            fourth, turned = share.sum(axis=1), (share * gap).sum(axis=1)
            found.append((np.sqrt(s[:, 0]), x, 2 * s[:, 0] * fourth + 2 * turned**2 / fourth))
        v, x, slope = (np.concatenate(parts) for parts in zip(*found, strict=True))
        return v, x, slope

    def _sum(self, u: FloatArray, terms: Callable[[FloatArray], FloatArray]) -> FloatArray:
        values, _ = self._atoms
        with np.errstate(divide="ignore", over="ignore"):
            return np.concatenate([terms(some[:, None] - values).sum(axis=1) for some in _chunks(u, len(values))])


def _integrals(values: Values, rule: Rule) -> FloatArray:
    """∫ values dF and ∫ values δ dF over each panel; shape (2, …, panels)."""
    f = values(rule.x.ravel())
    f = f.reshape(*f.shape[:-1], *rule.x.shape)
    return np.stack([(f * rule.weights).sum(axis=-1), (f * rule.population).sum(axis=-1)])


def _height_squared(squares: FloatArray, weights: FloatArray) -> FloatArray:
    """v², by Newton's iteration for 1/Σ = 1, a concave function: it rises to the root from below."""
    s: FloatArray = np.maximum((weights - squares).max(axis=1), 0.0)
    left = np.arange(len(s))
    for _ in range(_STEPS):
        distance = squares[left] + s[left, None]
        terms = weights / distance
        total = terms.sum(axis=1)
        step = (total - 1) * total / (terms / distance).sum(axis=1)
        s[left] = np.maximum(s[left] + step, 0.0)
        left = left[(step > _CLOSE * s[left]) & (total - 1 > _CLOSE**2)]
        if not left.size:
            break
    return s


def _chunks(u: FloatArray, width: int) -> list[FloatArray]:
    step = max(1, _AT_ONCE // width)
    return [u[start : start + step] for start in range(0, max(len(u), 1), step)]


def _bisect(excess: Callable[[FloatArray], FloatArray], low: FloatArray, high: FloatArray) -> FloatArray:
    """Where an array of functions turns from negative, at ``low``, to positive, at ``high`` (on either side of it)."""
    if not low.size:
        return low
    low, high = low.copy(), high.copy()
    for _ in range(_STEPS):
        middle = (low + high) / 2
        if np.all((middle == low) | (middle == high)):
            break
        above = excess(middle) > 0
        high = np.where(above, middle, high)
        low = np.where(above, low, middle)
    return (low + high) / 2


@lru_cache(maxsize=8)
def _legendre(nodes: int) -> tuple[FloatArray, FloatArray]:
    x, w = np.polynomial.legendre.leggauss(nodes)
    return x, w
