"""The verb ``derive``: the series of a loss, exact, planar, or as it is on a face of the prism."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Protocol

from regimes.faces import Face, parse_face
from regimes.scaling import representative
from theory.autoencoder.budget import check_budget
from theory.autoencoder.planar import planar_series
from theory.autoencoder.series import LossName, LossSeries, check_loss, loss_series
from theory.engine.derivatives import check_order
from theory.engine.series import check_workers

Progress = Callable[[int, int], None]


class Source(Protocol):
    """Where a series comes from: computed, or kept from before."""

    def __call__(self, loss: LossName, *, order: int, planar: bool) -> LossSeries:
        """The exact series, or its planar part."""


def derive(
    loss: LossName,
    *,
    order: int,
    planar: bool = False,
    face: Face | str | None = None,
    force: bool = False,
    workers: int = 1,
    progress: Progress | None = None,
    source: Source | None = None,
) -> LossSeries:
    """Y_0 … Y_order (``population``) or Ŷ_0 … Ŷ_order (``train``). [P] §3, §4.

    ``planar`` keeps what planar pairings give; ``face`` keeps of that the terms that lead in every scaling inside the
    face's cone, and drops the constant ½ where the face lacks R, since it is subleading there. ``source`` replaces the
    computation, by a cache for instance.

    >>> print(derive("population", order=1, face="mean-field").coefficients[1])
    4 n^3 m sigma2^3 - 8 n^2 m sigma2^2 + 4 n m sigma2

    Raises ``InputError`` for an unknown loss or face, a negative order or no workers, and ``BudgetError`` for an order
    that would take more than ten minutes or 8 GiB, unless ``force`` is given.
    """
    check_loss(loss)
    check_order(order)
    check_workers(workers)
    chosen = face if face is None or isinstance(face, Face) else parse_face(face)
    planar = planar or chosen is not None
    if not force:
        check_budget(loss, order=order, planar=planar)
    series = source(loss, order=order, planar=planar) if source else compute(
        loss, order=order, planar=planar, workers=workers, progress=progress
    )  # fmt: skip
    if chosen is None:
        return series
    constant = Fraction(1, 2) if "R" in chosen.triangle else Fraction(0)
    scaling = representative(chosen)
    weights = scaling.weights
    return series.leading(weights, constant=constant)


def compute(
    loss: LossName, *, order: int, planar: bool, workers: int = 1, progress: Progress | None = None
) -> LossSeries:
    """The exact series or its planar part, computed afresh."""
    if planar:
        return planar_series(loss, order=order, progress=progress)
    return loss_series(loss, order=order, workers=workers, progress=progress)
