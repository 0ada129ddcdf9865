"""Derivatives and single merges as terms one can read and draw. [D] §3."""

from __future__ import annotations

from fractions import Fraction

from theory.engine.derivatives import check_order
from theory.engine.diagram_expectation import merge
from theory.engine.diagram_fixed import edges_of
from theory.engine.diagram_model import DiagramModel, DiagramTerm, Entry
from theory.engine.diagram_plan import compile_plan
from theory.engine.diagram_series import check_growth, declared
from theory.engine.diagram_store import DiagramStore
from theory.engine.diagram_tensor import Monomial
from theory.errors import InputError


def derivative_terms(model: DiagramModel, loss: str, *, order: int) -> tuple[DiagramTerm, ...]:
    """D^order F before any expectation, F the loss named ``loss``: its diagrams with their coefficients.

    Those with most entries come first.

    >>> from theory.engine.diagram_model import DiagramLoss, product_of
    >>> from theory.engine.diagram_tensor import Tensor
    >>> v = Tensor("v", ("n",), "sigma2", trained=True)
    >>> quartic = DiagramTerm(1, (), product_of("v[i] v[i] v[j] v[j]"))
    >>> model = DiagramModel("quartic", ("n",), (v,), (DiagramLoss("train", (quartic,)),), "train")
    >>> [str(term) for term in derivative_terms(model, "train", order=1)]
    ['16 v[a0] v[a0] v[a1] v[a1] v[a2] v[a2]']
    """
    check_order(order)
    store = DiagramStore(compile_plan(model))
    plan = store.plan
    drive, drive_unit = declared(model.loss(model.train_loss), store=store)
    level, unit = declared(model.loss(loss), store=store)
    sizes = [len(level)]
    for s in range(1, order + 1):
        check_growth(sizes, s, order)
        level, unit = merge(level, drive, store=store), unit * drive_unit / store.merge_unit
        sizes.append(len(level))
    terms = []
    for state, polynomial in level.items():
        entries: list[Entry] = []
        for number, part in enumerate(state):
            for letter, ends in edges_of(store.rows[part], plan=plan):
                tensor, conjugate = plan.letters[letter]
                entries.append(Entry(tensor.name, tuple(_label(number, v) for v in ends), conjugate))
        for key, value in polynomial.items():
            _, exponents = plan.unpack(key)
            powers = tuple(zip(plan.model.variables, exponents, strict=True))
            terms.append(DiagramTerm(value * unit, powers, tuple(entries)))
    return tuple(sorted(terms, key=lambda term: (-len(term.entries), str(term))))


def merged_term(left: DiagramTerm, right: DiagramTerm, *, edges: tuple[int, int], model: DiagramModel) -> DiagramTerm:
    """What is left of two diagrams when one edge of each is removed and their ends meet, leg by leg.

    ``edges`` are the positions of the entries; both must be of one trained tensor. The gradient scalar product is the
    sum over all such pairs (over all orders of the legs of a symmetric tensor, with a factor 2 for complex ones).

    Raises ``InputError`` for entries that do not fit.
    """
    first, second = left.entries[edges[0]], right.entries[edges[1]]
    tensor = model.tensor(first.tensor)
    if second.tensor != first.tensor or not tensor.trained:
        raise InputError(
            "edges of a merge",
            given=f"{first} and {second}",
            expected="entries of one trained tensor",
            remedy="choose the same tensor in both",
        )
    legs = second.labels[::-1] if tensor.kind == "hermitian" else second.labels
    renamed = {label: f"{label}_" for label in model.label_sizes(right.entries)}
    name = {label: label for label in (*model.label_sizes(left.entries), *renamed.values())}
    for mine, other in zip(first.labels, legs, strict=True):
        old, new = name[renamed[other]], name[mine]
        name = {label: new if kept == old else kept for label, kept in name.items()}
    kept = [entry for k, entry in enumerate(left.entries) if k != edges[0]]
    kept += [
        Entry(entry.tensor, tuple(renamed[label] for label in entry.labels), entry.conjugate)
        for k, entry in enumerate(right.entries)
        if k != edges[1]
    ]
    entries = tuple(Entry(e.tensor, tuple(name[label] for label in e.labels), e.conjugate) for e in kept)
    used = {label for entry in entries for label in entry.labels}
    sizes = dict(zip(first.labels, tensor.legs, strict=True))
    closed = {name[label] for label in sizes} - used
    powers = tuple((sizes[label], 1) for label in sizes if name[label] in closed and name[label] == label)
    scale = Monomial(left.coefficient, left.powers) * Monomial(right.coefficient, right.powers)
    return DiagramTerm(Fraction(scale.coefficient), (*scale.powers, *powers), entries)


def _label(part: int, node: int) -> str:
    return f"{chr(ord('a') + node)}{part}" if node < 26 else f"i{node}p{part}"
