"""As many orders of a loss's series as a given patience allows."""

from __future__ import annotations

import time
from functools import lru_cache

from theory.engine.laurent import Laurent
from theory.engine.series import expected_derivatives
from theory.errors import BudgetError
from theory.models.model import Model

PATIENCE = 15.0
"""Seconds of one core that the series of one loss may take, by default."""

MOST_ORDERS = 14
_FIRST = 3
_LEAST_GROWTH = 3.0


@lru_cache(maxsize=64)
def orders_within(model: Model, loss: str, patience: float = PATIENCE, order: int | None = None) -> tuple[Laurent, ...]:
    """The coefficients 0 … S of a loss, S as high as ``patience`` seconds of one core allow, at least 3 and at most 14.

    An ``order`` given is S.

    >>> len(orders_within(Model.named("cp:2"), "train", 0.01)) - 1
    3
    """
    if order is not None:
        return expected_derivatives(model.plan, loss, order=order)
    start = last = time.process_time()
    found = expected_derivatives(model.plan, loss, order=_FIRST)
    before, spent = 0.0, time.process_time() - last
    for following in range(_FIRST + 1, MOST_ORDERS + 1):
        growth = max(_LEAST_GROWTH, spent / before) if before > 0.01 else _LEAST_GROWTH
        if time.process_time() - start + spent * growth > patience:
            break
        last = time.process_time()
        try:
            found = expected_derivatives(model.plan, loss, order=following)
        except BudgetError:
            break
        before, spent = spent, time.process_time() - last
    return found
