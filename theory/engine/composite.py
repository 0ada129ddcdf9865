"""A compiled plan for models whose matrices occur only as Gram matrices WᵀW: short words, packed into integers.

In the autoencoder U occurs only as M = UᵀU and X only as S = XXᵀ. Where a declaration allows this for all its
matrices, a ring is a bracelet of symmetric letters, half as long, and fits a machine word; merging and canonical forms
then run on whole arrays of rings. The declaration alone decides: ``composite_plan`` returns ``None`` where it does not
allow it, and the engine falls back on letters.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import islice
from math import lcm

import numpy as np

from theory.engine.derivatives import check_order
from theory.engine.laurent import Exponents
from theory.engine.model import MatrixModel, Space
from theory.engine.packed import Codes, Integers, PackedWords, add_up, integers, multiply
from theory.engine.ring import Word


@dataclass(frozen=True)
class Gram:
    """The symmetric letter WᵀW or WWᵀ: its matrix, the space it acts on, and the one summed over inside."""

    matrix: int
    outer: Space
    inner: Space


@dataclass(frozen=True)
class CompositePlan:
    """A model over Gram letters: digit d of a packed word is ``letters[d]``.

    The letter with the highest digit is eliminated first: untrained ones, of which the derivatives have fewest.
    """

    model: MatrixModel
    letters: tuple[Gram, ...]
    packed: PackedWords

    @property
    def outer(self) -> Space:
        """The one space on which all letters act."""
        return self.letters[0].outer

    def pack(self, word: Word) -> int:
        """The code of a ring, given by the letters of the model, up to rotation."""
        turned = _from_outer(word, self.outer, self.model)
        digit = {gram.matrix: d for d, gram in enumerate(self.letters)}
        return self.packed.pack([digit[letter >> 1] for letter in turned[::2]])


@dataclass(frozen=True)
class PackedCombination:
    """Σ scale · Π variable^exponents · Σ_k coefficients[k] Tr(codes[k]) over ``parts``, and a constant by exponents.

    Codes in rows stand for products of traces, the larger code first.
    """

    scale: Fraction
    parts: dict[Exponents, tuple[Codes, Integers]]
    constant: dict[Exponents, Fraction]

    @property
    def words(self) -> int:
        """How many words, over all monomials."""
        return sum(len(codes) for codes, _ in self.parts.values())


def composite_plan(model: MatrixModel, losses: Collection[str] | None = None) -> CompositePlan | None:
    """The plan for some of the losses, all by default, and the train loss that drives them.

    ``None`` where in these a matrix also occurs outside a Gram letter, or traces are multiplied.

    >>> from theory.autoencoder.model import AUTOENCODER
    >>> [(model_letter.matrix, model_letter.inner.name) for model_letter in composite_plan(AUTOENCODER).letters]
    [(0, 'n'), (1, 'm')]
    """
    names = dict.fromkeys([model.train_loss, *(losses if losses is not None else (x.name for x in model.losses))])
    products = [rings for name in names for rings in model.loss(name)]
    words = [word for rings in products for word in rings]
    if not words or any(len(rings) > 1 for rings in products):
        return None
    for outer in model.spaces:
        tilings = [_gram_letters(word, outer, model) for word in words]
        matrices = {matrix for tiling in tilings if tiling for matrix in tiling}
        square = any(model.matrices[matrix].rows == model.matrices[matrix].columns for matrix in matrices)
        if None in tilings or square:
            continue
        letters = []
        for matrix in sorted(matrices, key=lambda matrix: (not model.matrices[matrix].trained, matrix)):
            declared = model.matrices[matrix]
            letters.append(Gram(matrix, outer, declared.columns if declared.rows == outer else declared.rows))
        return CompositePlan(model, tuple(letters), PackedWords(len(letters)))
    return None


def packed_derivatives(plan: CompositePlan, loss: str, *, order: int) -> tuple[PackedCombination, ...]:
    """D⁰F … D^order F as in ``theory.engine.derivatives.derivatives``, over Gram letters.

    With the letter C = WᵀW of a trained W, ⟨∇Tr(C A), ∇Tr(C B)⟩ = Tr(A (C B + C Bᵀ + B C + Bᵀ C)).
    """
    check_order(order)
    return tuple(islice(successive_packed(plan, loss), order + 1))


def successive_packed(plan: CompositePlan, loss: str) -> Iterator[PackedCombination]:
    """D⁰F, D¹F, … without end, each computed when it is asked for."""
    openings = _openings(plan)
    scale = Fraction(1, lcm(*(weight.denominator for rows in openings.values() for *_, weight in rows)))
    current = _pack_loss(plan, loss)
    while True:
        yield current
        following: dict[Exponents, list[tuple[Codes, Integers]]] = {}
        for exponents, (codes, coefficients) in current.parts.items():
            for digit, rows in openings.items():
                cut, rest = plan.packed.cut(codes, digit)
                for shift, tail, weight in rows:
                    key = tuple(i + j for i, j in zip(exponents, shift, strict=True))
                    words = plan.packed.canonical(plan.packed.append(rest, tail))
                    following.setdefault(key, []).append((words, multiply(coefficients, int(weight / scale))[cut]))
        parts = {key: _gather(pieces) for key, pieces in following.items()}
        current = PackedCombination(current.scale * scale, parts, {})


def _gram_letters(word: Word, outer: Space, model: MatrixModel) -> list[int] | None:
    """The matrices of the pairs W Wᵀ that tile a ring from a node in ``outer``, all acting on that space."""
    turned = _from_outer(word, outer, model)
    pairs = list(zip(turned[::2], turned[1::2], strict=False))
    if 2 * len(pairs) != len(word) or any(a ^ b != 1 or model.left_space(a) != outer for a, b in pairs):
        return None
    return [letter >> 1 for letter, _ in pairs]


def _from_outer(word: Word, outer: Space, model: MatrixModel) -> Word:
    """The rotation by at most one letter that begins at a node in ``outer`` followed by a pair W Wᵀ."""
    fits = model.left_space(word[0]) == outer and word[0] ^ word[1 % len(word)] == 1
    return word if fits else word[1:] + word[:1]


def _openings(plan: CompositePlan) -> dict[int, list[tuple[Exponents, int, Fraction]]]:
    """For each trained digit C: what replaces a cut C, as (monomial, packed word C B or B C, weight)."""
    driver = plan.model.loss(plan.model.train_loss)
    openings: dict[int, list[tuple[Exponents, int, Fraction]]] = {}
    for rings, factor in driver.items():
        for word in rings:
            code = np.array([plan.pack(word)])
            for digit, gram in enumerate(plan.letters):
                if not plan.model.matrices[gram.matrix].trained:
                    continue
                _, rest = plan.packed.cut(code, digit)
                for opened in np.concatenate([rest, plan.packed.reverse(rest)]):
                    letters = plan.packed.unpack(int(opened))
                    for tail in (plan.packed.pack([digit, *letters]), plan.packed.pack([*letters, digit])):
                        for exponents, coefficient in (factor * plan.model.rates[gram.matrix]).terms.items():
                            openings.setdefault(digit, []).append((exponents, tail, coefficient))
    return {digit: _merge_rows(rows) for digit, rows in openings.items()}


def _merge_rows(rows: list[tuple[Exponents, int, Fraction]]) -> list[tuple[Exponents, int, Fraction]]:
    total: dict[tuple[Exponents, int], Fraction] = {}
    for exponents, tail, weight in rows:
        total[exponents, tail] = total.get((exponents, tail), Fraction(0)) + weight
    return [(exponents, tail, weight) for (exponents, tail), weight in total.items() if weight]


def _pack_loss(plan: CompositePlan, loss: str) -> PackedCombination:
    combination = plan.model.loss(loss)
    scale = Fraction(1, lcm(*(c.denominator for factor in combination.values() for c in factor.terms.values())))
    constant: dict[Exponents, Fraction] = {}
    pieces: dict[Exponents, list[tuple[Codes, Integers]]] = {}
    for rings, factor in combination.items():
        for exponents, coefficient in factor.terms.items():
            if not rings:
                constant[exponents] = constant.get(exponents, Fraction(0)) + coefficient
                continue
            code = plan.packed.canonical(np.array([plan.pack(rings[0])]))
            pieces.setdefault(exponents, []).append((code, integers([int(coefficient / scale)])))
    return PackedCombination(scale, {key: _gather(rows) for key, rows in pieces.items()}, constant)


def _gather(pieces: list[tuple[Codes, Integers]]) -> tuple[Codes, Integers]:
    return add_up(*(np.concatenate(arrays) for arrays in zip(*pieces, strict=True)))
