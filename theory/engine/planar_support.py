"""Which monomials planar pairings contribute: exponents alone, far cheaper than the exact series.

The planar part of E Tr(W A Wᵀ B) is the variance of W times E Tr(A) · E Tr(B), so the exponents of a word are sums of
those of its parts. Where no two pairings of opposite sign share a monomial, the union over the words of D^sF is the set
of leading exponents of E D^sF. In the models of ``theory.models`` the powers of the variances fix the sign.
"""

from __future__ import annotations

from itertools import islice

from theory.engine.cost import Progress, Watch
from theory.engine.derivatives import check_order, successive
from theory.engine.laurent import Exponents
from theory.engine.model import MatrixModel
from theory.engine.ring import Word, canonical

Support = frozenset[Exponents]


def planar_supports(
    model: MatrixModel, loss: str, *, order: int, force: bool = False, progress: Progress | None = None
) -> tuple[Support, ...]:
    """For s = 0 … ``order`` the exponents planar pairings give to E D^sF, for losses that are sums of single traces.

    ``BudgetError`` where it would take more than ten minutes or 8 GiB, unless ``force`` is given.

    >>> from theory.autoencoder.model import AUTOENCODER
    >>> sorted(planar_supports(AUTOENCODER, "population", order=0)[0])
    [(0, 0, 0, 0), (0, 1, 0, 1), (0, 2, 0, 2), (1, 1, 0, 2)]
    """
    memory: dict[Word, Support] = {(): frozenset({(0,) * len(model.variables)})}
    result = []
    check_order(order)
    watch = Watch(f"the planar monomials of {loss}", order, force=force, progress=progress)
    for combination in islice(successive(model, loss), order + 1):
        found: set[Exponents] = set()
        for rings, factor in combination.items():
            support = memory[()]
            for ring in rings:
                support = _sums(support, _planar(ring, model, memory))
            found |= _sums(support, frozenset(factor.terms))
        result.append(frozenset(found))
        watch.done(len(combination) + len(memory))
    return tuple(result)


def _planar(word: Word, model: MatrixModel, memory: dict[Word, Support]) -> Support:
    known = memory.get(word)
    if known is not None:
        return known
    edge, found = word[0], set[Exponents]()
    (variance,) = model.variances[edge >> 1].terms
    for i in range(1, len(word), 2):
        if word[i] != edge ^ 1:
            continue
        inner = _closed(word[1:i], edge ^ 1, model, memory)
        outer = _closed(word[i + 1 :], edge, model, memory)
        found |= _sums(_sums(inner, outer), frozenset({variance}))
    memory[word] = frozenset(found)
    return memory[word]


def _closed(word: Word, letter: int, model: MatrixModel, memory: dict[Word, Support]) -> Support:
    """The support of a word closed into a ring; an empty one is the node to the left of ``letter``."""
    if word:
        return _planar(canonical(word), model, memory)
    (node,) = model.size(model.left_space(letter)).terms
    return frozenset({node})


def _sums(first: Support, second: Support) -> Support:
    return frozenset(tuple(a + b for a, b in zip(x, y, strict=True)) for x in first for y in second)
