"""How far one curve of the losses is from another, as a part of the change of the loss. What a face costs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from regimes.limit import LimitCurves
from theory.autoencoder.series import LossName

LOSSES: tuple[LossName, ...] = ("train", "population")


@dataclass(frozen=True)
class Distance:
    """The largest miss of the change of a loss, as a part of the largest change; ``error`` is numerical."""

    miss: float
    error: float

    def within(self, tolerance: float) -> bool | None:
        """Whether the miss is at most ``tolerance``; ``None`` where the numerical error leaves it open.

        >>> Distance(0.04, 0.001).within(0.05), Distance(0.04, 0.02).within(0.05), Distance(0.2, 0.02).within(0.05)
        (True, None, False)
        """
        if self.miss + self.error <= tolerance:
            return True
        return None if self.miss - self.error <= tolerance else False


def at(curves: LimitCurves, chosen: Sequence[int]) -> LimitCurves:
    """The curves at some of their times only."""

    def pick(values: tuple[float, ...]) -> tuple[float, ...]:
        return tuple(values[k] for k in chosen)

    return replace(
        curves,
        times=pick(curves.times),
        train=pick(curves.train),
        population=pick(curves.population),
        error_estimate=pick(curves.error_estimate),
        train_error=pick(curves.train_error),
        population_error=pick(curves.population_error),
    )


def distance(face: LimitCurves, reference: LimitCurves, loss: LossName) -> Distance:
    """The distance of a face's curve from a reference on the same times, the first of which is the start.

    Changes since the first time are compared, so that the constant ½ that faces without R drop does not count.
    """
    ours, theirs = (np.array(getattr(curves, loss)) for curves in (face, reference))
    change = theirs - theirs[0]
    unit = float(np.abs(change).max())
    own, others = (np.array(getattr(curves, f"{loss}_error")) for curves in (face, reference))
    errors = own + others
    if unit == 0.0:
        return Distance(float("inf"), 0.0)
    miss = np.abs(ours - ours[0] - change)
    at = int(miss.argmax())
    return Distance(float(miss[at]) / unit, float(errors[at] + errors[0]) / unit)
