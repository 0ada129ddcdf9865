"""Merging: the scalar product of two gradients, as a combination of rings. [P] §3, [D]."""

from __future__ import annotations

from collections import Counter
from itertools import product

from theory.engine.laurent import Laurent
from theory.engine.model import Combination, MatrixModel
from theory.engine.ring import Product, Word, canonical, transpose


def opened(word: Word, matrix: int) -> Counter[Word]:
    """The gradient of Tr(word) in one matrix: the ring opened at each of its edges, as words with multiplicities.

    ∂Tr(W A)/∂W = Aᵀ and ∂Tr(Wᵀ A)/∂W = A; every word returned has the shape of the matrix.

    >>> opened((1, 0), 0)  # ∂Tr(WᵀW)/∂W = 2W
    Counter({(0,): 2})
    """
    words: Counter[Word] = Counter()
    for i, letter in enumerate(word):
        if letter >> 1 == matrix:
            rest = word[i + 1 :] + word[:i]
            words[rest if letter & 1 else transpose(rest)] += 1
    return words


def merge_rings(left: Word, right: Word, *, model: MatrixModel, matrix: int | None = None) -> Counter[Word]:
    """⟨∇Tr(left), ∇Tr(right)⟩ over all trained matrices, as rings with multiplicities: one for each pair of edges.

    With ``matrix`` only the gradients in that one. Learning rates are left out. The empty word does not occur unless
    both rings are single letters; then it stands for the trace of the identity.

    >>> from theory.autoencoder.model import AUTOENCODER as model
    >>> ring = model.word("U' U")
    >>> [(model.spell(word), count) for word, count in merge_rings(ring, ring, model=model).items()]
    [("U U'", 4)]
    """
    rings: Counter[Word] = Counter()
    for trained in model.trained if matrix is None else (matrix,):
        right_words = opened(right, trained)
        for a, i in opened(left, trained).items():
            for b, j in right_words.items():
                rings[canonical(transpose(a) + b)] += i * j
    return rings


def merge(left: Combination, right: Combination, *, model: MatrixModel) -> Combination:
    """Σ_W rate_W ⟨∂left/∂W, ∂right/∂W⟩ for combinations of products of rings, by the product rule.

    Two single-letter rings merge to the trace of an identity, which is replaced by its dimension.
    """
    accumulator = _Accumulator(model)
    rated: dict[Laurent, list[int]] = {}
    for matrix in model.trained:
        rated.setdefault(model.rates[matrix], []).append(matrix)
    for (left_rings, a), (right_rings, b), (rate, matrices) in product(left.items(), right.items(), rated.items()):
        factor = a * b * rate
        for i, left_ring in enumerate(left_rings):
            for j, right_ring in enumerate(right_rings):
                others = left_rings[:i] + left_rings[i + 1 :] + right_rings[:j] + right_rings[j + 1 :]
                for matrix in matrices:
                    for ring, count in merge_rings(left_ring, right_ring, model=model, matrix=matrix).items():
                        accumulator.add(others, ring, left_ring, factor * count)
    return accumulator.result()


class _Accumulator:
    def __init__(self, model: MatrixModel) -> None:
        self._model = model
        self._terms: Combination = {}

    def add(self, others: Product, ring: Word, parent: Word, factor: Laurent) -> None:
        if ring:
            rings = tuple(sorted((*others, ring)))
        else:
            rings = tuple(sorted(others))
            factor = factor * self._model.size(self._model.left_space(parent[0]))
        self._terms[rings] = self._terms[rings] + factor if rings in self._terms else factor

    def result(self) -> Combination:
        return {rings: factor for rings, factor in self._terms.items() if factor}
