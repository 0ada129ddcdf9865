"""What a declaration compiles to: rings where every index occurs twice in real random matrices, diagrams otherwise."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from theory.engine.diagram_model import DiagramLoss, DiagramModel, DiagramTerm, Entry
from theory.engine.diagram_tensor import Monomial, Tensor
from theory.engine.model import GaussianMatrix, Loss, MatrixModel, Space
from theory.engine.model import Term as RingTerm
from theory.models.terms import Term, Terms


def ring_plan(
    name: str,
    sizes: tuple[str, ...],
    tensors: tuple[Tensor, ...],
    losses: Mapping[str, Terms],
    descend: str,
    parameters: tuple[str, ...],
) -> MatrixModel | None:
    """The model over rings, or ``None`` where it is none."""
    kept = [tensor for tensor in tensors if not tensor.average]
    if any(len(t.legs) != 2 or t.kind != "real" or t.fixed or t.covariance is not None for t in kept):
        return None
    read: list[Loss] = []
    for loss, terms in losses.items():
        words = [traces(term) for term in terms]
        rows = [
            RingTerm(term.coefficient, found, term.powers)
            for term, found in zip(terms, words, strict=True)
            if found is not None
        ]
        if len(rows) < len(terms):
            return None
        read.append(Loss(loss, tuple(rows)))
    spaces = {size: Space(size) for size in sizes}
    matrices = tuple(_matrix(t, spaces) for t in kept)
    return MatrixModel(name, tuple(spaces.values()), matrices, tuple(read), train_loss=descend, parameters=parameters)


def traces(term: Term) -> tuple[str, ...] | None:
    """A closed product of entries as traces of words, ``None`` where an index does not occur exactly twice.

    >>> from fractions import Fraction
    >>> from theory.models.terms import Factor
    >>> traces(Term(Fraction(1), (), (Factor("U", (0, 1)), Factor("U", (0, 1))), ("n", "p")))
    ("U U'",)
    """
    ends: dict[int, list[tuple[int, int]]] = {}
    for k, factor in enumerate(term.factors):
        for side, index in enumerate(factor.indices):
            ends.setdefault(index, []).append((k, side))
    if any(len(places) != 2 for places in ends.values()):
        return None
    words, done = [], set()
    for start in range(len(term.factors)):
        word, k, side = [], start, 0
        while k not in done:
            done.add(k)
            factor = term.factors[k]
            word.append(factor.tensor + ("'" if side else ""))
            leaving = (k, 1 - side)
            first, second = ends[factor.indices[1 - side]]
            k, side = second if first == leaving else first
        if word:
            words.append(" ".join(word))
    return tuple(words)


def diagram_plan(
    name: str,
    sizes: tuple[str, ...],
    tensors: tuple[Tensor, ...],
    losses: Mapping[str, Terms],
    descend: str,
    parameters: tuple[str, ...],
) -> DiagramModel:
    """The model over diagrams."""
    read = tuple(DiagramLoss(loss, tuple(_diagram(term) for term in terms)) for loss, terms in losses.items())
    return DiagramModel(name, sizes, tensors, read, train_loss=descend, parameters=parameters)


def _diagram(term: Term) -> DiagramTerm:
    entries = tuple(Entry(f.tensor, tuple(f"i{k}" for k in f.indices), f.conjugate) for f in term.factors)
    return DiagramTerm(term.coefficient, term.powers, entries)


def _matrix(tensor: Tensor, spaces: Mapping[str, Space]) -> GaussianMatrix:
    rows, columns = (spaces[leg] for leg in tensor.legs)
    rate: dict[str, Any] = {} if tensor.rate == Monomial() else {"rate": _scale(tensor.rate)}
    return GaussianMatrix(tensor.name, rows, columns, _scale(tensor.variance), trained=tensor.trained, **rate)


def _scale(monomial: Monomial) -> Any:
    """A number, or the text of a monomial."""
    if not monomial.powers:
        exact = monomial.coefficient
        return int(exact) if exact.denominator == 1 else exact
    return str(monomial)
