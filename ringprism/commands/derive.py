"""``ringprism derive``: the coefficients of a loss series."""

from __future__ import annotations

import re
from typing import Annotated

import typer

from ringprism import console
from ringprism.options import Format, FormatOption, ModelOption, WorkersOption
from theory.errors import InputError


def derive(
    loss: Annotated[str, typer.Option("--loss", help="Which loss of the model.", metavar="L")],
    order: Annotated[str, typer.Option("--order", help="Highest order s of the coefficients.", metavar="S")],
    model: ModelOption = "autoencoder",
    planar: Annotated[
        bool, typer.Option("--planar", help="Only what planar pairings give: the leading order.")
    ] = False,
    face: Annotated[
        str | None, typer.Option("--face", help="Only what leads on a face, e.g. mean-field or R,N|m.", metavar="FACE")
    ] = None,
    scaling: Annotated[
        str | None, typer.Option("--scaling", help="Exponents of N in place of --face: p=1,n=2,….", metavar="SCALING")
    ] = None,
    moment: Annotated[
        int, typer.Option("--moment", min=1, max=2, help="2: the series of the variance of the loss.")
    ] = 1,
    force: Annotated[bool, typer.Option("--force", help="Begin even what would take very long.")] = False,
    no_cache: Annotated[
        bool, typer.Option("--no-cache", help="Neither read nor keep files of derived series.")
    ] = False,
    workers: WorkersOption = 1,
    format: FormatOption = Format.text,
) -> None:
    """Derive the exact coefficients of a loss series, s = 0 … S: the autoencoder's Y_s and Ŷ_s, or any model's."""
    from numerics.files import cache_folder
    from numerics.series_cache import SeriesCache
    from regimes.derive import compute
    from regimes.derive import derive as derive_series
    from regimes.solve import solve_at
    from theory.autoencoder.series import LossName, LossSeries, check_loss
    from theory.models.model import Model

    def afresh(loss: LossName, *, order: int, planar: bool) -> LossSeries:
        with console.progress_bar("words") as progress:
            return compute(loss, order=order, planar=planar, workers=workers, progress=progress)

    declared = Model.of(model)
    if scaling is not None:
        if face is not None:
            raise InputError("--face", given=face, expected="no --face beside --scaling", remedy="give one of the two")
        declared.check_loss(loss)
        face = solve_at(scaling, model=declared)
    if moment == 2 or declared != Model.named("autoencoder"):
        with console.progress_bar("orders") as progress:
            found = derive_series(
                loss,
                order=_whole(order),
                model=declared,
                planar=planar,
                face=face,
                force=force,
                workers=workers,
                progress=progress,
                moment=moment,
            )
        console.emit(found, format)
        return
    check_loss(loss)
    kept = SeriesCache(cache_folder("series"), afresh, lambda line: console.warn([line]))
    series = derive_series(
        loss,
        order=_whole(order),
        planar=planar,
        face=face,
        force=force,
        workers=workers,
        source=afresh if no_cache else kept,
    )
    console.emit(series, format)


def _whole(text: str) -> int:
    if not re.fullmatch(r"\s*[+-]?\d{1,100}\s*", text, re.ASCII):
        raise InputError("--order", given=text, expected="a whole number from 0", remedy="ask for --order 6")
    return int(text)
