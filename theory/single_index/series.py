"""E g(x) h(y) = Σ_k φ_k[g](A) φ_k[h](B) ρ^k for functions made of a link, with up to 2048 terms. Mehler's formula.

φ_k[g](A) = E g(√A G) he_k(G) is had by quadrature at Chebyshev points in log A and fitted in between. Where a link has
kinks, the terms of its straight bends ½J|x − a| are taken out and summed in closed form (``piecewise_linear``): what is
left falls faster by a power of k.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from theory.errors import ReachError
from theory.single_index.link import Link
from theory.single_index.panels import breaks, spread_needed
from theory.single_index.quadrature import normal_rule

Floats = npt.NDArray[np.float64]
Function = Callable[[Floats], Floats]

COUNTS = (40, 80, 160, 320, 640, 1280, 2048)
_SIZES = (12, 24, 48, 96)
_ENOUGH = 1e-12
_FLOOR = 1e-15
_WIDEST = 0.5
_WAVES = 12.0
_GROWTH = 1.15
_MOST_WORK = 1.5e8
"""Nodes × variances × terms of a table: a few seconds."""
_BLOCK = 16_000
_HOPELESS = 0.1


def hermite_moments(link: Link, functions: Sequence[Function], variances: Floats, count: int) -> tuple[Floats, Floats]:
    """φ_k of each function at each variance, shape (functions, count, variances), and the mean squares.

    The functions must be resolved by the link's panels. Raises ``ReachError`` for tables that are too large.
    """
    width = min(_WIDEST, _WAVES / math.sqrt(count))
    rules = []
    for variance in variances.tolist():
        root = math.sqrt(variance)
        spread = min(spread_needed(link, variance) * _GROWTH, 34.0)
        cuts = tuple(b / root for b in breaks(link, width * root, reach=spread * root, parts=2))
        rules.append(normal_rule(cuts, reach=spread, width=width))
    longest = max(len(nodes) for nodes, _ in rules)
    if longest * len(rules) * count > _MOST_WORK:
        raise ReachError(
            "moments of the link",
            given=link.text,
            reach="links whose moments take a few seconds",
            remedy="lower lambda, or take a link that is less steep and oscillates less",
        )
    size = max(1, _BLOCK // longest)
    blocks = [
        _moments(functions, variances[i : i + size], rules[i : i + size], count) for i in range(0, len(rules), size)
    ]
    return np.concatenate([table for table, _ in blocks], axis=2), np.concatenate(
        [square for _, square in blocks], axis=1
    )


def _moments(
    functions: Sequence[Function], variances: Floats, rules: Sequence[tuple[Floats, Floats]], count: int
) -> tuple[Floats, Floats]:
    """As ``hermite_moments``, a few variances together."""
    longest = max(len(nodes) for nodes, _ in rules)
    g, weights = np.zeros((2, len(rules), longest))
    for i, (nodes, weight) in enumerate(rules):
        g[i, : len(nodes)], weights[i, : len(nodes)] = nodes, weight
    field = np.sqrt(variances)[:, None] * g
    with np.errstate(all="ignore"):
        values = np.stack([function(field) for function in functions])
        loaded = np.where(weights > 0, values * weights, 0.0)
        squares = np.where(weights > 0, values**2 * weights, 0.0).sum(axis=-1)
    table = np.empty((len(functions), count, len(variances)))
    before, now = np.zeros_like(g), np.ones_like(g)
    for k in range(count):
        table[:, k] = np.einsum("fan,an->fa", loaded, now)
        before, now = now, (g * now - math.sqrt(k) * before) / math.sqrt(k + 1)
    return table, squares


@dataclass(frozen=True, eq=False)
class FittedMoments:
    """φ_0 … φ_{K−1} of one function, as Chebyshev series in log A over 1 ≤ A ≤ e^span; E g² at those variances.

    ``tail``: the largest √(1 − Σφ_k²/E g²), what the terms beyond K are made of, and the misfit between the nodes.
    """

    coefficients: Floats
    span: float
    tail: float
    misfit: float

    @property
    def count(self) -> int:
        """K."""
        return int(self.coefficients.shape[1])

    def at(self, A: npt.ArrayLike, count: int | None = None) -> Floats:
        """Shape (…, K), or the first ``count`` of them."""
        places = np.asarray(A, dtype=np.float64)
        t = 2 * np.log(places.ravel()) / self.span - 1
        rows = np.polynomial.chebyshev.chebvander(t, len(self.coefficients) - 1) @ self.coefficients[:, :count]
        return np.asarray(rows.reshape(*places.shape, -1))


def fit_moments(
    link: Link, functions: Sequence[Function], largest: float, *, tolerance: float = _ENOUGH
) -> tuple[FittedMoments, ...]:
    """Moments of each function with as many terms, and as many variances, as it takes, up to 2048 and 96."""
    span = math.log(max(largest, 1.001))
    ends = np.array([1.0, math.exp(span)])
    count = COUNTS[-1]
    tables, squares = hermite_moments(link, functions, ends, count)
    if float(_tail(tables, squares)[0].max()) > _HOPELESS:
        raise ReachError(
            "moments of the link",
            given=link.text,
            reach=f"links whose first {count} moments hold all but 1 % of their square",
            remedy="lower lambda, or take a link that is less steep and oscillates less",
        )
    for fewer in COUNTS:
        if _tail(tables[:, :fewer], squares).max() <= max(tolerance, 1.5 * _tail(tables, squares).max()):
            count = fewer
            break
    for size in _SIZES:
        t = -np.cos(np.pi * (np.arange(size) + 0.5) / size)
        between = (t[1:] + t[:-1])[:: max(1, size // 4)] / 2
        both = np.exp(span * (np.concatenate([t, between]) + 1) / 2)
        try:
            tables, squares = hermite_moments(link, functions, both, count)
        except ReachError:
            if size == _SIZES[0]:
                raise
            break  # the misfit of fewer variances says how good they are
        matrix = _fit(size)
        coefficients = np.einsum("ij,fkj->fik", matrix, tables[:, :, :size])
        fitted = np.einsum("bi,fik->fkb", np.polynomial.chebyshev.chebvander(between, size - 1), coefficients)
        miss = np.sqrt(((fitted - tables[:, :, size:]) ** 2).sum(axis=1) / np.maximum(squares[:, size:], 1e-300))
        if miss.max() <= 10 * tolerance:
            break
    tails = _tail(tables, squares)
    return tuple(
        FittedMoments(coefficients[i], span, float(tails[i].max()), float(miss[i].max())) for i in range(len(functions))
    )


def _tail(tables: Floats, squares: Floats) -> Floats:
    """√(1 − Σφ_k²/E g²) for each function and variance, with the rounding of the difference."""
    missing = 1 - (tables**2).sum(axis=1) / np.maximum(squares, 1e-300)
    return np.asarray(np.sqrt(np.maximum(missing, _FLOOR)))


def _fit(count: int) -> Floats:
    """The matrix from values at Chebyshev points, increasing, to Chebyshev coefficients."""
    angles = np.pi * (np.arange(count) + 0.5) / count
    matrix = 2 / count * np.cos(np.outer(np.arange(count), np.pi - angles))
    matrix[0] /= 2
    return np.asarray(matrix)
