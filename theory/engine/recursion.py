"""Expectation by integration by parts, level by level, for all words of a combination together.

For the first edge W of a trace, E Tr(W A)·F is the variance of W times the sum, over every other occurrence of W in A
or in F, of what contracting the two leaves: Tr(W A Wᵀ B) falls into Tr(A) Tr(B), Tr(W A W B) twists into Tr(A Bᵀ), and
with an edge of another trace two traces join, Tr(W A) Tr(Wᵀ B) → Tr(A B), Tr(W A) Tr(W B) → Tr(A Bᵀ). ([P], [D]:
the sum over Wick pairings, one pair at a time.) States that meet again are added up, so that the (2k − 1)!! pairings of
a word cost no more than the number of distinct products of rings they pass through.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

from theory.engine.laurent import Exponents, Laurent
from theory.engine.model import Combination, MatrixModel
from theory.engine.ring import Product, Word, canonical, count_letters, transpose

_Coefficients = dict[Exponents, Fraction]
_Level = dict[Product, _Coefficients]


@dataclass(eq=False)
class Meter:
    """What an expectation took: contractions, each times its number of monomials, and the most monomials held."""

    work: int = 0
    held: int = 0


def expectation(combination: Combination, *, model: MatrixModel, meter: Meter | None = None) -> Laurent:
    """E of a combination of products of rings, over all Gaussian matrices of the model at time zero.

    >>> from theory.autoencoder.model import AUTOENCODER
    >>> one = Laurent.constant(1, AUTOENCODER.variables)
    >>> print(expectation({(AUTOENCODER.word("U' U X X'"),): one}, model=AUTOENCODER))
    p n m sigma2
    """
    level: _Level = {rings: dict(factor.terms) for rings, factor in combination.items()}
    for matrix in _elimination_order(combination):
        level = _eliminate(level, matrix, model, meter or Meter())
    terms = level.get((), {})
    return Laurent(model.variables, terms)


def contractions(rings: Product, *, matrix: int, model: MatrixModel) -> Iterator[tuple[Product, tuple[str, ...]]]:
    """What contracting the first edge of ``matrix`` with each other one leaves: rings, and the spaces of closed nodes.

    The edge is taken from the first shortest ring that has one: joining it to others keeps the states few.
    """
    index = min((k for k, word in enumerate(rings) if _has(word, matrix)), key=lambda k: len(rings[k]))
    word = rings[index]
    start = next(i for i, letter in enumerate(word) if letter >> 1 == matrix)
    edge, rest = word[start], word[start + 1 :] + word[:start]
    others = rings[:index] + rings[index + 1 :]
    for i, letter in enumerate(rest):
        if letter >> 1 != matrix:
            continue
        before, after = rest[:i], rest[i + 1 :]
        if letter == edge:
            yield _close(others, [(before + transpose(after), edge ^ 1)], model)
        else:
            yield _close(others, [(before, edge ^ 1), (after, edge)], model)
    for k, other in enumerate(others):
        remaining = others[:k] + others[k + 1 :]
        for i, letter in enumerate(other):
            if letter >> 1 == matrix:
                opened = other[i + 1 :] + other[:i]
                joined = rest + (transpose(opened) if letter == edge else opened)
                yield _close(remaining, [(joined, edge ^ 1)], model)


def _close(others: Product, words: list[tuple[Word, int]], model: MatrixModel) -> tuple[Product, tuple[str, ...]]:
    """Add words to a product; an empty one, which sits on the left space of the letter given, is a closed node."""
    rings = [canonical(word) for word, _ in words if word]
    closed = tuple(model.left_space(letter).name for word, letter in words if not word)
    return tuple(sorted((*others, *rings))), closed


def _eliminate(level: _Level, matrix: int, model: MatrixModel, meter: Meter) -> _Level:
    ((variance, scale),) = model.variances[matrix].terms.items()
    levels: dict[int, _Level] = {}
    for rings, coefficients in level.items():
        levels.setdefault(count_letters(rings).get(matrix, 0), {})[rings] = coefficients
    while levels:
        count = max(levels)
        current = levels.pop(count)
        meter.held = max(meter.held, sum(map(len, current.values())))
        if count == 0:
            return current
        for rings, coefficients in current.items():
            for result, closed in contractions(rings, matrix=matrix, model=model):
                shift = list(variance)
                for space in closed:
                    shift[model.variables.index(space)] += 1
                meter.work += 1 + len(coefficients)
                _add(levels.setdefault(count - 2, {}), result, coefficients, tuple(shift), scale)
    return {}


def _add(level: _Level, rings: Product, coefficients: _Coefficients, shift: Exponents, scale: Fraction) -> None:
    total = level.setdefault(rings, {})
    for exponents, coefficient in coefficients.items():
        key = tuple(i + j for i, j in zip(exponents, shift, strict=True))
        total[key] = total.get(key, Fraction(0)) + scale * coefficient


def _elimination_order(combination: Combination) -> list[int]:
    """Matrices with fewer edges first: their states are products of long words, the last ones of short ones."""
    most: dict[int, int] = {}
    for rings in combination:
        for matrix, count in count_letters(rings).items():
            most[matrix] = max(count, most.get(matrix, 0))
    return sorted(most, key=lambda matrix: (most[matrix], -matrix))


def _has(word: Word, matrix: int) -> bool:
    return any(letter >> 1 == matrix for letter in word)
