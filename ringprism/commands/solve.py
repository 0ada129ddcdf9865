"""``ringprism solve``: the equation that the limit of a face satisfies."""

from __future__ import annotations

from typing import Annotated

import typer

from ringprism import console
from ringprism.options import Format, FormatOption, ModelOption
from theory.errors import InputError


def solve(
    loss: Annotated[str, typer.Option("--loss", help="Which loss of the model.", metavar="L")],
    face: Annotated[
        str | None,
        typer.Option("--face", help="large-data, R,N|m, …; of other models the rates that win.", metavar="FACE"),
    ] = None,
    scaling: Annotated[
        str | None, typer.Option("--scaling", help="Exponents of N instead of a face: p=1,n=2,m=1,sigma2=-2.")
    ] = None,
    model: ModelOption = "autoencoder",
    order: Annotated[
        int | None, typer.Option("--order", help="Highest order s of the series (10; 8 for other models).", metavar="S")
    ] = None,
    operator_order: Annotated[int, typer.Option("--operator-order", help="Highest order of the equations.", min=1)] = 2,
    degree: Annotated[int, typer.Option("--degree", help="Highest degree in the drives and ratios.", min=0)] = 3,
    time_degree: Annotated[int, typer.Option("--time-degree", help="Highest degree in the time.", min=0)] = 1,
    force: Annotated[bool, typer.Option("--force", help="Begin even what would take very long.")] = False,
    no_cache: Annotated[
        bool, typer.Option("--no-cache", help="Neither read nor keep files of derived series.")
    ] = False,
    format: FormatOption = Format.text,
) -> None:
    """Find the differential equations that the leading loss of a face satisfies, and solve them where that is known."""
    from numerics.files import cache_folder
    from numerics.series_cache import SeriesCache
    from regimes.derive import compute
    from regimes.solve import solve as solve_face
    from regimes.solve import solve_at
    from theory.autoencoder.series import LossName, LossSeries

    def afresh(loss: LossName, *, order: int, planar: bool) -> LossSeries:
        with console.progress_bar("words") as progress:
            return compute(loss, order=order, planar=planar, progress=progress)

    kept = SeriesCache(cache_folder("series"), afresh, lambda line: console.warn([line]))
    if (face is None) == (scaling is None):
        raise InputError(
            "solve",
            given="both --face and --scaling" if face else "no --face",
            expected="one of --face and --scaling",
            remedy="give for example --face mean-field",
        )
    result = solve_face(
        face if face is not None else solve_at(scaling or "", model=model),
        loss,
        model=model,
        order=order,
        operator_order=operator_order,
        degree=degree,
        time_degree=time_degree,
        force=force,
        source=afresh if no_cache else kept,
    )
    console.warn(result.warnings)
    console.emit(result, format)
