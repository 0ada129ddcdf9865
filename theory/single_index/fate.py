"""Where the population flow from a start ends, and what that place is. [S] §5."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from theory.single_index.fixed_points import FixedPoint
from theory.single_index.loss import PopulationLoss

Kind = Literal["target", "minus target", "other minimum", "half-stable", "saddle", "unstable", "unsettled"]
_NEAR = 0.05
_MEANINGS: dict[Kind, str] = {
    "target": "the target",
    "minus target": "minus the target, equivalent for an even link",
    "other minimum": "a local minimum of Φ that is not the target: trapped",
    "half-stable": "half-stable: held from one side only, so that noise can carry a path across and away",
    "saddle": "a saddle: starts beside this one leave it",
    "unstable": "unstable: starts beside this one leave it",
    "unsettled": "no fixed point: still on its way",
}


@dataclass(frozen=True)
class End:
    """The end (m_1, m_2) of a path, and what kind of place that is."""

    m1: float
    m2: float
    kind: Kind

    @property
    def solves(self) -> bool:
        """Whether the end explains the labels in full: v_0 or, for an even link, −v_0."""
        return self.kind in ("target", "minus target")

    def to_json(self) -> dict[str, object]:
        """Flat record."""
        return {"m1": self.m1, "m2": self.m2, "kind": self.kind, "solves": self.solves}

    def to_text(self) -> str:
        """The place, and what it is."""
        return f"({self.m1:.4g}, {self.m2:.4g}): {_MEANINGS[self.kind]}"


def judge_end(loss: PopulationLoss, points: Sequence[FixedPoint], m1: float, m2: float) -> End:
    """What a path that came to (m_1, m_2) has reached: the nearest fixed point, within 0.05.

    Where Φ depends on m_1 alone, so does the distance, and m_2 stays what it is.

    >>> from theory.single_index.fixed_points import fixed_points
    >>> from theory.single_index.link import Link
    >>> loss = PopulationLoss(Link.parse("x**2"), lam=1.0, eta1=0.45)
    >>> judge_end(loss, fixed_points(loss), -0.999, 0.001)
    End(m1=-1.0, m2=0.0, kind='minus target')
    """

    def distance(x: float, y: float) -> float:
        return abs(m1 - x) if loss.planar else math.hypot(m1 - x, m2 - y)

    if distance(1.0, 0.0) < _NEAR:
        return End(1.0, 0.0, "target")
    if loss.link.is_even and distance(-1.0, 0.0) < _NEAR:
        return End(-1.0, 0.0, "minus target")
    nearest = min(points, key=lambda point: distance(point.m1, point.m2), default=None)
    if nearest is None or distance(nearest.m1, nearest.m2) >= _NEAR:
        return End(m1, m2, "unsettled")
    second = m2 if loss.planar and not nearest.on_circle else nearest.m2
    return End(nearest.m1, second, _KINDS[nearest.stability])


_KINDS: dict[str, Kind] = {
    "stable": "other minimum",
    "half-stable": "half-stable",
    "saddle": "saddle",
    "unstable": "unstable",
}
