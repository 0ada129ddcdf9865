"""Expected time derivatives of losses: differentiate, then take the expectation. [P] §3."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from theory.checks import whole
from theory.engine.composite import composite_plan, packed_derivatives
from theory.engine.derivatives import check_order, derivatives
from theory.engine.diagram_model import DiagramModel
from theory.engine.diagram_rings import ring_form
from theory.engine.diagram_series import diagram_derivatives
from theory.engine.gram import expectations
from theory.engine.laurent import Laurent
from theory.engine.model import MatrixModel
from theory.engine.recursion import expectation

Progress = Callable[[int, int], None]

MOST_WORKERS = 1024


def expected_derivatives(
    model: MatrixModel | DiagramModel, loss: str, *, order: int, workers: int = 1, progress: Progress | None = None
) -> tuple[Laurent, ...]:
    """E D⁰F, …, E D^order F with E d^sF/dt^s = (−η)^s E D^s F at time zero, F the loss named ``loss``.

    A model of tensors goes the way of rings where it has a ring form, and that of diagrams otherwise.

    >>> from theory.autoencoder.model import AUTOENCODER
    >>> print(expected_derivatives(AUTOENCODER, "population", order=0)[0])
    1/2 p n sigma2^2 + 1/2 n^2 sigma2^2 + 1/2 n sigma2^2 - n sigma2 + 1/2
    """
    return expected_derivatives_together(model, {loss: order}, workers=workers, progress=progress)[loss]


def expected_derivatives_together(
    model: MatrixModel | DiagramModel, orders: Mapping[str, int], *, workers: int = 1, progress: Progress | None = None
) -> dict[str, tuple[Laurent, ...]]:
    """The same for several losses, by name with the order wanted of each: where the model has a composite plan, one
    sweep over the states serves them all. ``workers`` processes share it; the result does not depend on them.
    """
    for order in orders.values():
        check_order(order)
    check_workers(workers)
    if isinstance(model, DiagramModel):
        rings = ring_form(model)
        if rings is None:
            return diagram_derivatives(model, orders, progress=progress)
        found = expected_derivatives_together(rings, orders, workers=workers, progress=progress)
        return {loss: tuple(value.substitute({}, model.variables) for value in row) for loss, row in found.items()}
    plan = composite_plan(model)
    if plan is None:
        result, finished, total = {}, 0, sum(order + 1 for order in orders.values())
        for loss, order in orders.items():
            values = []
            for combination in derivatives(model, loss, order=order):
                values.append(expectation(combination, model=model))
                finished += 1
                if progress:
                    progress(finished, total)
            result[loss] = tuple(values)
        return result
    combinations = {loss: packed_derivatives(plan, loss, order=order) for loss, order in orders.items()}
    every = [combination for rows in combinations.values() for combination in rows]
    expected = iter(expectations(plan, every, workers=workers, progress=progress))
    return {loss: tuple(next(expected) for _ in rows) for loss, rows in combinations.items()}


def check_workers(workers: int) -> None:
    """Raise ``InputError`` unless ``workers`` is a whole number from 1 to 1024."""
    whole("workers", workers, least=1, most=MOST_WORKERS, remedy="use --workers 1")
