"""Series of faces for the tests, from the hand-made solutions: another route than the planar pairings."""

from __future__ import annotations

from fractions import Fraction
from functools import cache

from regimes.faces import parse_face
from theory.autoencoder.limits.table import SOLUTIONS
from theory.autoencoder.series import LossName
from theory.engine.laurent import Laurent
from theory.equations.reduced import ReducedSeries, reduce_series


@cache
def coefficients(face: str, loss: LossName, order: int) -> tuple[Laurent, ...]:
    """The face's coefficients c_0 … c_order."""
    return SOLUTIONS[parse_face(face).vertex_set].taylor(loss, order)


@cache
def series(face: str, loss: LossName, order: int) -> ReducedSeries:
    """The same in reduced variables."""
    constant = Fraction(1, 2) if "R" in parse_face(face).triangle else 0
    return reduce_series(coefficients(face, loss, order), constant=constant)
