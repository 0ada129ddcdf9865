"""What a series would cost, before it is begun."""

from __future__ import annotations

from dataclasses import dataclass

from theory.autoencoder.series import LossName
from theory.engine.cost import Cost
from theory.errors import quoted

_HOPELESS = 100


@dataclass(frozen=True)
class _Anchor:
    order: int
    seconds: float
    gibibytes: float
    growth: float


_ANCHORS: dict[tuple[LossName, bool], _Anchor] = {
    ("population", False): _Anchor(order=10, seconds=7.0, gibibytes=0.15, growth=3.9),
    ("train", False): _Anchor(order=10, seconds=13.0, gibibytes=0.25, growth=3.9),
    ("population", True): _Anchor(order=10, seconds=6.0, gibibytes=0.2, growth=4.0),
    ("train", True): _Anchor(order=10, seconds=12.0, gibibytes=0.3, growth=4.0),
}
"""Measured by benchmarks/series.py; keyed by loss and whether only the planar part is wanted."""


def estimate(loss: LossName, *, order: int, planar: bool) -> Cost:
    """The cost of a series to an order.

    >>> print(estimate("train", order=14, planar=False))
    about 50 minutes and 57.9 GiB
    """
    anchor = _ANCHORS[loss, planar]
    factor = anchor.growth ** (min(order, _HOPELESS) - anchor.order)
    return Cost(anchor.seconds * factor, 0.1 + anchor.gibibytes * factor)


def check_budget(loss: LossName, *, order: int, planar: bool) -> None:
    """Raise ``BudgetError`` where a series would take more than ten minutes or 8 GiB."""
    cost = estimate(loss, order=order, planar=planar)
    cost.check(f"order {quoted(order)} of the {'planar ' if planar else ''}{loss} loss")
