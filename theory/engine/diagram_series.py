"""Expected time derivatives of the losses of a model of tensors. [D]."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction

from theory.engine.derivatives import check_order
from theory.engine.diagram_expectation import Level, eliminate, elimination_order, merge, scaled
from theory.engine.diagram_fixed import symbol
from theory.engine.diagram_model import DiagramModel, DiagramTerm
from theory.engine.diagram_plan import compile_plan
from theory.engine.diagram_store import DiagramStore, State
from theory.engine.laurent import Exponents, Laurent
from theory.errors import BudgetError

Progress = Callable[[int, int], None]

TERM_LIMIT = 60_000
"""More diagrams in one derivative are refused: their expectation takes hours."""


def diagram_derivatives(
    model: DiagramModel, orders: Mapping[str, int], *, progress: Progress | None = None
) -> dict[str, tuple[Laurent, ...]]:
    """E D⁰F, …, E D^order F for losses F by name with the order of each: E d^sF/dt^s = (−η)^s E D^s F at time zero.

    Coefficients are exact. The variables are those of the model, and a symbol for every closed word of fixed tensors
    that occurs in any of the results (``theory.engine.diagram_fixed``).

    >>> from theory.engine.diagram_model import DiagramLoss, Entry
    >>> from theory.engine.diagram_tensor import Tensor
    >>> v = Tensor("v", ("n",), "sigma2", trained=True)
    >>> loss = DiagramLoss("train", (DiagramTerm(Fraction(1, 2), (), (Entry("v", ("i",)), Entry("v", ("i",)))),))
    >>> model = DiagramModel("decay", ("n",), (v,), (loss,), "train")
    >>> [str(term) for term in diagram_derivatives(model, {"train": 2})["train"]]
    ['1/2 n sigma2', 'n sigma2', '2 n sigma2']

    Raises ``BudgetError`` where the diagrams grow too many.
    """
    for order in orders.values():
        check_order(order)
    store = DiagramStore(compile_plan(model))
    drive, drive_unit = declared(model.loss(model.train_loss), store=store)
    columns: list[tuple[str, int, Fraction, Level]] = []
    for name, order in orders.items():
        level, unit = declared(model.loss(name), store=store)
        sizes = [len(level)]
        columns.append((name, 0, unit, level))
        for s in range(1, order + 1):
            check_growth(sizes, s, order)
            level, unit = merge(level, drive, store=store), unit * drive_unit / store.merge_unit
            sizes.append(len(level))
            columns.append((name, s, unit, level))
    found = expectations([(unit, level) for _, _, unit, level in columns], store=store, progress=progress)
    values: dict[str, list[Laurent]] = {name: [] for name in orders}
    for (name, _, _, _), value in zip(columns, found, strict=True):
        values[name].append(value)
    return {name: tuple(row) for name, row in values.items()}


def declared(terms: Sequence[DiagramTerm], *, store: DiagramStore) -> tuple[Level, Fraction]:
    """A loss as integers times a factor; its tensors with ``average = true`` are paired here, once."""
    plan = store.plan
    level: dict[State, dict[int, Fraction]] = {}
    for term in terms:
        polynomial = level.setdefault(store.state(plan.term(term.entries)), {})
        key = plan.pack(term.powers)
        polynomial[key] = polynomial.get(key, Fraction(0)) + term.coefficient
    fresh = [tensor.name for tensor in plan.model.tensors if tensor.average]
    whole, unit = scaled(_with_variances(level, fresh, store))
    return eliminate(whole, elimination_order(whole, fresh, store=store), store=store), unit


def expectations(
    combinations: Sequence[tuple[Fraction, Level]], *, store: DiagramStore, progress: Progress | None = None
) -> tuple[Laurent, ...]:
    """E of several combinations, given as factor and integers, over all random tensors together."""
    plan = store.plan
    names = [tensor.name for tensor in plan.model.all_tensors if not tensor.fixed]
    joint: dict[State, dict[int, Fraction]] = {}
    for column, (unit, level) in enumerate(combinations):
        for state, polynomial in level.items():
            total = joint.setdefault(state, {})
            shift = plan.column(column)
            for key, value in polynomial.items():
                total[key + shift] = unit * value
    whole, unit = scaled(_with_variances(joint, names, store))
    order = elimination_order(whole, names, store=store)
    return _laurents(eliminate(whole, order, store=store, progress=progress), unit, len(combinations), store)


def _with_variances(
    level: dict[State, dict[int, Fraction]], names: Sequence[str], store: DiagramStore
) -> dict[State, dict[int, Fraction]]:
    """Times the variance of each pair that will be contracted."""
    result: dict[State, dict[int, Fraction]] = {}
    for state, polynomial in level.items():
        factor, shift = Fraction(1), 0
        for name in names:
            rule = store.plan.pairings[name]
            letters = {rule.letter, rule.partner}
            pairs = sum(store.count(state, letter) for letter in letters) // 2
            factor, shift = factor * rule.weight**pairs, shift + rule.shift * pairs
        result[state] = {key + shift: value * factor for key, value in polynomial.items()}
    return result


def _laurents(level: Level, unit: Fraction, columns: int, store: DiagramStore) -> tuple[Laurent, ...]:
    plan = store.plan
    spelled = {part: symbol(store.rows[part], plan=plan) for state in level for part in state}
    symbols = sorted({name for name, _ in spelled.values()}, key=lambda name: (len(name), name))
    variables = (*plan.model.variables, *symbols)
    terms: list[dict[Exponents, Fraction]] = [{} for _ in range(columns)]
    for state, polynomial in level.items():
        tail = [0] * len(symbols)
        shift = 0
        for part in state:
            name, size = spelled[part]
            tail[symbols.index(name)] += 1
            shift += plan.pack(((size, 1),))
        for key, value in polynomial.items():
            column, exponents = plan.unpack(key + shift)
            full = (*exponents, *tail)
            terms[column][full] = terms[column].get(full, Fraction(0)) + value * unit
    return tuple(Laurent(variables, found) for found in terms)


def check_growth(sizes: Sequence[int], s: int, order: int) -> None:
    """Refuse where the number of diagrams, growing on as it grew last, would pass the limit at the order asked.

    ``sizes`` are the numbers up to order s − 1.
    """
    growth = max(sizes[-1] / sizes[-2], 1.0) if len(sizes) > 2 and sizes[-2] else 1.0
    estimate = sizes[-1] * growth ** (order - s + 1)
    if estimate > TERM_LIMIT:
        raise BudgetError(
            f"derivatives to order {order}",
            estimate=f"about {estimate:.1g} diagrams ({sizes[-1]} at order {s - 1})",
            limit=str(TERM_LIMIT),
            remedy=f"ask for a lower order, for example {s}",
        )
