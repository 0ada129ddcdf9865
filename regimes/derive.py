"""The verb ``derive``: the series of a loss of any model, exact or planar; the autoencoder's on a face of the prism."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Literal, Protocol, overload

from regimes.faces import Face, parse_face
from regimes.polytope_atlas import polytope_atlas
from regimes.scaling import representative
from theory.autoencoder.budget import check_budget
from theory.autoencoder.planar import planar_series
from theory.autoencoder.series import LossName, LossSeries, checked_loss, loss_series
from theory.engine.derivatives import check_order
from theory.engine.planar import planar_derivatives
from theory.engine.series import check_workers
from theory.errors import InputError
from theory.models.model import Model
from theory.models.series import ModelSeries, model_series
from theory.models.variance import VarianceSeries, variance_series

Progress = Callable[[int, int], None]

AUTOENCODER_NAME = "autoencoder"


class Source(Protocol):
    """Where a series comes from: computed, or kept from before."""

    def __call__(self, loss: LossName, *, order: int, planar: bool) -> LossSeries:
        """The exact series, or its planar part."""


@overload
def derive(
    loss: str,
    *,
    order: int,
    planar: bool = ...,
    face: Face | str | None = ...,
    force: bool = ...,
    workers: int = ...,
    progress: Progress | None = ...,
    source: Source | None = ...,
    moment: Literal[1] = ...,
) -> LossSeries: ...
@overload
def derive(
    loss: str,
    *,
    order: int,
    model: Model | str | Path,
    planar: bool = ...,
    face: Face | str | None = ...,
    force: bool = ...,
    workers: int = ...,
    progress: Progress | None = ...,
    source: Source | None = ...,
    moment: Literal[1] = ...,
) -> LossSeries | ModelSeries: ...
@overload
def derive(
    loss: str,
    *,
    order: int,
    moment: int,
    model: Model | str | Path = ...,
    planar: bool = ...,
    face: Face | str | None = ...,
    force: bool = ...,
    workers: int = ...,
    progress: Progress | None = ...,
    source: Source | None = ...,
) -> LossSeries | ModelSeries | VarianceSeries: ...
def derive(
    loss: str,
    *,
    order: int,
    model: Model | str | Path = AUTOENCODER_NAME,
    planar: bool = False,
    face: Face | str | None = None,
    force: bool = False,
    workers: int = 1,
    progress: Progress | None = None,
    source: Source | None = None,
    moment: int = 1,
) -> LossSeries | ModelSeries | VarianceSeries:
    """The coefficients 0 … ``order`` of a loss: of the autoencoder Y_s (``population``) or Ŷ_s (``train``). [P] §3, §4.

    For any other ``model`` (a ``Model``, a name as ``deep:3``, or a file) E d^sL/dt^s = (−η)^s × coefficient s, and
    nothing is taken out; ``loss`` is one of its losses.

    ``planar`` keeps what planar pairings give; ``face`` keeps of that the terms that lead in every scaling inside the
    face's cone, and drops the constant ½ where the face lacks R, since it is subleading there. Of another
    model a face is the list of rates that win. ``source`` replaces the computation, by a cache for instance.

    ``moment=2`` gives the series of Var L instead of E L; ``planar`` keeps its leading terms.

    >>> print(derive("population", order=1, face="mean-field").coefficients[1])
    4 n^3 m sigma2^3 - 8 n^2 m sigma2^2 + 4 n m sigma2
    >>> print(derive("train", order=0, model="cp:2").coefficients[0])
    1/2 p^2 H sigma2^2 + 1/2 p H^2 sigma2^2 + 1/2 p H sigma2^2 - p H sigma2 + 1/2 p

    Raises ``InputError`` for an unknown loss or face, a negative order or no workers, and ``BudgetError`` for an order
    that would take more than ten minutes or 8 GiB, unless ``force`` is given.
    """
    check_order(order)
    check_workers(workers)
    if moment != 1:
        return _variance(loss, order, Model.of(model), planar, face, force, progress, moment)
    if model != AUTOENCODER_NAME:
        declared = Model.of(model)
        if declared != Model.named(AUTOENCODER_NAME):
            found = of_model(
                declared, loss, order=order, planar=planar, workers=workers, force=force, progress=progress
            )
            if face is None:
                return found
            atlas = polytope_atlas(declared.plan)
            place = atlas.face(str(face))
            return replace(found, coefficients=tuple(atlas.part(c, place) for c in found.coefficients), face=place.name)
    name = checked_loss(loss)
    chosen = face if face is None or isinstance(face, Face) else parse_face(face)
    planar = planar or chosen is not None
    if not force:
        check_budget(name, order=order, planar=planar)
    series = source(name, order=order, planar=planar) if source else compute(
        name, order=order, planar=planar, workers=workers, progress=progress
    )  # fmt: skip
    if chosen is None:
        return series
    constant = Fraction(1, 2) if "R" in chosen.triangle else Fraction(0)
    scaling = representative(chosen)
    weights = scaling.weights
    return replace(series.leading(weights, constant=constant), face=chosen.name)


def _variance(
    loss: str,
    order: int,
    model: Model,
    planar: bool,
    face: Face | str | None,
    force: bool,
    progress: Progress | None,
    moment: int,
) -> VarianceSeries:
    if moment != 2:
        raise InputError("moment", given=moment, expected="1, the mean, or 2, the variance", remedy="use moment=2")
    series = variance_series(model, loss, order=order, force=force, progress=progress)
    if face is not None:
        weights, name = _weights(model, face)
        return replace(series.leading_at(weights), face=name)
    return series.leading() if planar else series


def _weights(model: Model, face: Face | str) -> tuple[dict[str, Fraction], str]:
    """A scaling inside the cone of a face of a model, and the face's name."""
    if model == Model.named(AUTOENCODER_NAME):
        chosen = face if isinstance(face, Face) else parse_face(face)
        return representative(chosen).weights, chosen.name
    atlas = polytope_atlas(model.plan)
    place = atlas.face(str(face))
    return atlas.representative(place), place.name


def of_model(
    model: Model,
    loss: str,
    *,
    order: int,
    planar: bool = False,
    workers: int = 1,
    force: bool = False,
    progress: Progress | None = None,
) -> ModelSeries:
    """The exact series of a loss of a model, or what planar pairings give of it (for models over rings)."""
    if not planar:
        return model_series(model, loss, order=order, workers=workers, force=force, progress=progress)
    model.check_loss(loss)
    found = planar_derivatives(model.rings, loss, order=order, force=force, progress=progress)
    return ModelSeries(model.name, loss, found)


def compute(
    loss: LossName, *, order: int, planar: bool, workers: int = 1, progress: Progress | None = None
) -> LossSeries:
    """The exact series or its planar part, computed afresh; whoever asks has looked at the cost."""
    if planar:
        return planar_series(loss, order=order, force=True, progress=progress)
    return loss_series(loss, order=order, workers=workers, force=True, progress=progress)
