"""The planar limit of two free Gram matrices, exactly: words of free Poisson letters, modulo primes.

In the planar limit UᵀU and XXᵀ become free elements of a tracial algebra, each with a Marchenko–Pastur law
([P] §4). A Gram matrix is its mean plus a centred letter e, and words u c and cᵀ z of centred letters multiply to

    Σ_c (Π β over c) · [ u z + κ · (u z with the two equal letters that meet merged into one) ],

β = variance² · rows · columns and κ = variance · outer size of the letter: the product rule of the free Charlier
polynomials. An element is kept as its coefficients on all words up to a degree; a product is then a handful of matrix
products, and the trace of a product of two elements needs only the words both have. Letter 0 is the more significant
of a word's bits; arrays have shape (primes, 2^degree).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np
import numpy.typing as npt

_EXACT_TERMS = 2**18

Array = npt.NDArray[np.float64]
Element = tuple[Array, ...]
"""Coefficients by degree: entry d has shape (primes, 2^d)."""


@dataclass(frozen=True, eq=False)
class FreeLetters:
    """Two free centred letters: contraction weights β and merging weights κ, each of shape (primes, 2).

    ``primes`` of shape (primes,) turns the arithmetic into residues, in floats small enough for exact matrix products;
    ``None`` means plain floats.
    """

    contraction: Array
    merging: Array
    primes: Array | None
    _weights: list[Array] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_weights", [np.ones((len(self.contraction), 1))])

    def reduce(self, array: Array) -> Array:
        """Residues of least absolute value."""
        if self.primes is None:
            return array
        p = self.primes.reshape(-1, *([1] * (array.ndim - 1)))
        return array - p * np.rint(array / p)

    def weights(self, degree: int) -> tuple[Array, ...]:
        """Π β over the letters of every word, by degree: shapes (primes, 2^d), d = 0 … degree."""
        while len(self._weights) <= degree:
            last = self._weights[-1]
            self._weights.append(self.reduce((last[:, :, None] * self.contraction[:, None, :]).reshape(len(last), -1)))
        return tuple(self._weights[: degree + 1])

    def product(self, left: Element, right: Element, *, degree: int) -> Element:
        """left · right*, on words up to ``degree``: the adjoint of the second factor costs nothing."""
        count = len(self.contraction)
        result = [np.zeros((count, 1 << d)) for d in range(min(degree, len(left) + len(right) - 2) + 1)]
        lefts = [self._opened(left, i, len(right), weighted=True) for i in range(min(len(left), degree + 2))]
        for j in range(min(len(right), degree + 2)):
            b = self._opened(right, j, len(left), weighted=False)
            for i, a in enumerate(lefts[: degree + 2 - j]):
                shared = min(a.shape[2], b.shape[2])
                outer = self._dot(a[:, :, :shared], b[:, :, :shared])[:, :, _reversals(j)]
                if i + j <= degree:
                    result[i + j] += outer.reshape(count, -1)
                if i and j:
                    blocks = outer.reshape(count, 1 << i - 1, 2, 2, 1 << j - 1)
                    met = np.stack([blocks[:, :, x, x] * self.merging[:, x, None, None] for x in (0, 1)], axis=2)
                    result[i + j - 1] += self.reduce(met).reshape(count, -1)
        return tuple(self.reduce(array) for array in result)

    def pairing(self, left: Element, right: Element) -> Array:
        """The trace of left* · right, shape (primes,)."""
        total = np.zeros(len(self.contraction))
        for a, b, w in zip(left, right, self.weights(min(len(left), len(right)) - 1), strict=False):
            total += self.reduce((self.reduce(self.reduce(a * w) * b)).sum(axis=1))
        return self.reduce(total)

    def combine(self, terms: Sequence[tuple[int | Array, Element]], *, degree: int) -> Element:
        """A linear combination, cut at a degree; factors are integers or residues of shape (primes,)."""
        longest = max(len(element) for _, element in terms)
        count = len(self.contraction)
        result = [np.zeros((count, 1 << d)) for d in range(min(longest, degree + 1))]
        for factor, element in terms:
            column = self.reduce(np.broadcast_to(np.asarray(factor, dtype=float), (count,)).copy())[:, None]
            for d in range(min(len(element), len(result))):
                result[d] += self.reduce(element[d] * column)
        return tuple(self.reduce(array) for array in result)

    def _dot(self, a: Array, b: Array) -> Array:
        """a · bᵀ: residues below 2^17, at most 2^18 products at a time, so that every sum is below 2^53 and exact."""
        if self.primes is None or a.shape[2] <= _EXACT_TERMS:
            return self.reduce(a @ b.transpose(0, 2, 1))
        total: Array = np.zeros((a.shape[0], a.shape[1], b.shape[1]))
        for start in range(0, a.shape[2], _EXACT_TERMS):
            part = slice(start, start + _EXACT_TERMS)
            total += self.reduce(a[:, :, part] @ b[:, :, part].transpose(0, 2, 1))
        return self.reduce(total)

    def _opened(self, element: Element, outside: int, shared: int, *, weighted: bool) -> Array:
        """Coefficients of u c: a row for each u of length ``outside``, a column for each c shorter than ``shared``."""
        parts = [a.reshape(len(a), 1 << outside, -1) for a in element[outside : outside + shared]]
        if weighted:
            weights = self.weights(len(parts) - 1)
            parts = [self.reduce(part * w[:, None, :]) for part, w in zip(parts, weights, strict=True)]
        return np.concatenate(parts, axis=2)


def adjoint(element: Element) -> Element:
    """Every word reversed."""
    return tuple(array[:, _reversals(d)] for d, array in enumerate(element))


@lru_cache(maxsize=64)
def _reversals(degree: int) -> npt.NDArray[np.int64]:
    words = np.arange(1 << degree)
    turned = np.zeros_like(words)
    for i in range(degree):
        turned = turned << 1 | (words >> i & 1)
    return turned
