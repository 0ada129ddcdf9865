"""Wick's theorem for one diagram by plain enumeration of pairings: the definition, and the oracle. [D]."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import permutations

from theory.engine.diagram_model import DiagramModel, DiagramTerm, Entry
from theory.engine.diagram_tensor import Monomial, Tensor
from theory.errors import BudgetError, InputError

PAIRING_LIMIT = 2_000_000

Pair = tuple[int, int, tuple[int, ...]]
"""Two entries of a term, and for each leg of the first the leg of the second that it meets."""


@dataclass(frozen=True)
class DiagramPairing:
    """One Wick pairing of a term's entries, and the classes of labels that it identifies.

    ``classes`` are the nodes that are left, each with its labels; ``weight`` is the term's coefficient and powers times
    one variance a pair and one size a node.
    """

    pairs: tuple[Pair, ...]
    classes: tuple[tuple[str, ...], ...]
    weight: Monomial


def enumerate_pairings(term: DiagramTerm, *, model: DiagramModel) -> Iterator[DiagramPairing]:
    """Every pairing of equal tensors, symmetric ones in every order of their legs.

    >>> from theory.engine.diagram_model import DiagramLoss, product_of
    >>> H = Tensor("H", ("n", "n"), kind="symmetric")
    >>> model = DiagramModel("GOE", ("n",), (H,), (DiagramLoss("train", ()),), "train")
    >>> [str(p.weight) for p in enumerate_pairings(DiagramTerm(1, (), product_of("H[i,j] H[j,i]")), model=model)]
    ['n', 'n^2']

    Raises ``InputError`` for terms with fixed tensors or covariances, ``BudgetError`` beyond 2·10⁶ pairings.
    """
    sizes = model.label_sizes(term.entries)
    for entry in term.entries:
        tensor = model.tensor(entry.tensor)
        if tensor.fixed or tensor.covariance is not None:
            raise InputError(
                "pairings of a term",
                given=str(entry),
                expected="random tensors without covariance",
                remedy="use theory.engine.diagram_series",
            )
    for count, pairs in enumerate(_matchings(list(range(len(term.entries))), term.entries, model)):
        if count == PAIRING_LIMIT:
            raise BudgetError(
                "enumeration of pairings",
                estimate=f"more than {PAIRING_LIMIT} pairings",
                limit=str(PAIRING_LIMIT),
                remedy="use theory.engine.diagram_series",
            )
        yield _contract(term, pairs, sizes, model)


def _contract(term: DiagramTerm, pairs: tuple[Pair, ...], sizes: dict[str, str], model: DiagramModel) -> DiagramPairing:
    name = {label: label for label in sizes}
    weight = Monomial(term.coefficient, term.powers)
    for a, b, order in pairs:
        first, second = _labels(term.entries[a], model), _labels(term.entries[b], model)
        for k, label in enumerate(first):
            old, new = name[second[order[k]]], name[label]
            name = {known: new if kept == old else kept for known, kept in name.items()}
        weight = weight * model.tensor(term.entries[a].tensor).variance
    classes: dict[str, list[str]] = {}
    for label, kept in name.items():
        classes.setdefault(kept, []).append(label)
    weight = weight * Monomial(Fraction(1), tuple((sizes[kept], 1) for kept in classes))
    return DiagramPairing(pairs, tuple(tuple(labels) for labels in classes.values()), weight)


def _labels(entry: Entry, model: DiagramModel) -> tuple[str, ...]:
    turned = entry.conjugate and model.tensor(entry.tensor).kind == "hermitian"
    return entry.labels[::-1] if turned else entry.labels


def _orders(tensor: Tensor) -> list[tuple[int, ...]]:
    legs = tuple(range(tensor.order))
    if tensor.kind == "symmetric":
        return list(permutations(legs))
    return [legs[::-1]] if tensor.kind == "hermitian" else [legs]


def _matchings(left: list[int], entries: Sequence[Entry], model: DiagramModel) -> Iterator[tuple[Pair, ...]]:
    if not left:
        yield ()
        return
    first, *rest = left
    tensor = model.tensor(entries[first].tensor)
    for k, other in enumerate(rest):
        if entries[other].tensor != tensor.name:
            continue
        if tensor.kind == "complex" and entries[other].conjugate == entries[first].conjugate:
            continue
        for order in _orders(tensor):
            for pairs in _matchings(rest[:k] + rest[k + 1 :], entries, model):
                yield ((first, other, order), *pairs)
