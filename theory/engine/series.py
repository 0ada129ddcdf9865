"""Expected time derivatives of losses: differentiate, then take the expectation. [P] §3."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from time import process_time

from theory.checks import whole
from theory.engine.composite import CompositePlan, PackedCombination, composite_plan, successive_packed
from theory.engine.cost import Cost, Progress, Watch
from theory.engine.derivatives import check_order, successive
from theory.engine.diagram_model import DiagramModel
from theory.engine.diagram_rings import ring_form
from theory.engine.diagram_series import diagram_derivatives
from theory.engine.gram import expectations
from theory.engine.laurent import Laurent
from theory.engine.model import Combination, MatrixModel
from theory.engine.recursion import Meter, expectation
from theory.errors import quoted

MOST_WORKERS = 1024

_TRIAL_WORDS = 600
_FEW_WORDS = 8 * _TRIAL_WORDS
_BYTES_A_WORD = 5000
_BYTES_A_MONOMIAL = 500
_MORE_STATES = 1.2


def expected_derivatives(
    model: MatrixModel | DiagramModel,
    loss: str,
    *,
    order: int,
    workers: int = 1,
    force: bool = False,
    progress: Progress | None = None,
) -> tuple[Laurent, ...]:
    """E D⁰F, …, E D^order F with E d^sF/dt^s = (−η)^s E D^s F at time zero, F the loss named ``loss``.

    A model of tensors goes the way of rings where it has a ring form, and that of diagrams otherwise.

    >>> from theory.autoencoder.model import AUTOENCODER
    >>> print(expected_derivatives(AUTOENCODER, "population", order=0)[0])
    1/2 p n sigma2^2 + 1/2 n^2 sigma2^2 + 1/2 n sigma2^2 - n sigma2 + 1/2

    Raises ``BudgetError`` where the first orders show that all would take more than ten minutes or 8 GiB, unless
    ``force`` is given.
    """
    return expected_derivatives_together(model, {loss: order}, workers=workers, force=force, progress=progress)[loss]


def expected_derivatives_together(
    model: MatrixModel | DiagramModel,
    orders: Mapping[str, int],
    *,
    workers: int = 1,
    force: bool = False,
    progress: Progress | None = None,
) -> dict[str, tuple[Laurent, ...]]:
    """The same for several losses, by name with the order wanted of each.

    Losses that have a composite plan are swept together; the others are taken one by one. ``workers`` processes share
    the sweep; the result does not depend on them. ``progress`` gets the work done and the work expected, whose unit
    differs between losses of the two kinds.
    """
    for order in orders.values():
        check_order(order)
    check_workers(workers)
    if isinstance(model, DiagramModel):
        rings = ring_form(model)
        if rings is None:
            return diagram_derivatives(model, orders, progress=progress)
        found = expected_derivatives_together(rings, orders, workers=workers, force=force, progress=progress)
        return {loss: tuple(value.substitute({}, model.variables) for value in row) for loss, row in found.items()}
    result: dict[str, tuple[Laurent, ...]] = {}
    for plan, losses in _sweeps(model, orders):
        combinations = _pack(plan, {loss: orders[loss] for loss in losses}, workers, force)
        every = [combination for rows in combinations.values() for combination in rows]
        expected = iter(expectations(plan, every, workers=workers, progress=progress))
        result |= {loss: tuple(next(expected) for _ in rows) for loss, rows in combinations.items()}
    for loss, order in orders.items():
        if loss not in result:
            watch = Watch(f"the series of {loss}", order, force=force, progress=progress)
            result[loss] = tuple(_one_by_one(model, islice(successive(model, loss), order + 1), watch))
    return {loss: result[loss] for loss in orders}


def check_workers(workers: int) -> None:
    """Raise ``InputError`` unless ``workers`` is a whole number from 1 to 1024."""
    whole("workers", workers, least=1, most=MOST_WORKERS, remedy="use workers=1")


def _sweeps(model: MatrixModel, losses: Iterable[str]) -> list[tuple[CompositePlan, list[str]]]:
    """Plans and the losses each serves: one for all where that is possible; losses without any are left out."""
    single = {loss: plan for loss in losses if (plan := composite_plan(model, [loss])) is not None}
    together = composite_plan(model, list(single)) if single else None
    return [(together, list(single))] if together else [(plan, [loss]) for loss, plan in single.items()]


def _one_by_one(model: MatrixModel, combinations: Iterable[Combination], watch: Watch) -> Iterator[Laurent]:
    for combination in combinations:
        meter = Meter()
        yield expectation(combination, model=model, meter=meter)
        watch.done(meter.work + len(combination), held=_BYTES_A_MONOMIAL * meter.held)


def _pack(
    plan: CompositePlan, orders: Mapping[str, int], workers: int, force: bool
) -> dict[str, tuple[PackedCombination, ...]]:
    """The derivatives as packed words; where there are many, the first orders are swept on trial before the rest."""
    result = {}
    for loss, order in orders.items():
        rows: list[PackedCombination] = []
        judged = force
        for combination in islice(successive_packed(plan, loss), order + 1):
            rows.append(combination)
            if not judged and combination.words > _FEW_WORDS and len(rows) > 1:
                _judge(plan, rows, loss, order, workers)
                judged = True
        result[loss] = tuple(rows)
    return result


def _judge(plan: CompositePlan, rows: list[PackedCombination], loss: str, order: int, workers: int) -> None:
    growth = _MORE_STATES * rows[-1].words / max(1, rows[-2].words)
    tried = max(s for s, combination in enumerate(rows) if combination.words <= _TRIAL_WORDS or s == 0)
    start = process_time()
    expectations(plan, [rows[tried]])
    seconds = process_time() - start
    words = rows[-1].words * growth ** min(order + 1 - len(rows), 60)
    gibibytes = words * _BYTES_A_WORD / 2**30
    spent = seconds * growth ** min(order - tried, 60) * growth / (growth - 1) / workers
    Cost(spent, gibibytes).check(f"order {quoted(order)} of the series of {loss}")
