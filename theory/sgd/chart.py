"""The coordinates in which an ODE is integrated: all moving statistics, or those of the invariant set they lie on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from theory.sgd.invariant import InvariantSet

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Chart:
    """Statistics ``whole`` of which those at ``moving`` move, on an invariant set or freely (``None``)."""

    whole: Array
    moving: NDArray[np.int64]
    inside: InvariantSet | None = None

    def down(self, flat: Array) -> Array:
        """The coordinates of all statistics."""
        return flat[self.moving] if self.inside is None else self.inside.reduce(flat[self.moving])

    def up(self, y: Array) -> Array:
        """All statistics, from coordinates."""
        flat = self.whole.copy()
        flat[self.moving] = y if self.inside is None else self.inside.expand(y)
        return flat

    def lift(self, rows: Array) -> Array:
        """``up`` for each row."""
        return np.array([self.up(y) for y in rows])

    def flow(self, flow: Callable[[float, Array], Array]) -> Callable[[float, Array], Array]:
        """A flow of all statistics, (time, statistics) → velocities, in these coordinates."""
        return lambda time, y: self.down(flow(time, self.up(y)))
