"""``ringprism limit``: the leading-order losses of a face of the prism."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ringprism.console import emit, progress_bar, warn
from ringprism.options import Format, FormatOption
from theory.errors import InputError


def limit(
    face: Annotated[
        str, typer.Option("--face", help="interior, large-data, … or a vertex set such as R,N|m.", metavar="FACE")
    ],
    sizes: Annotated[
        str | None, typer.Option("--sizes", help="p=200,n=100,m=400,sigma2=1/200.", metavar="SIZES")
    ] = None,
    times: Annotated[
        str | None,
        typer.Option("--times", help="Increasing times: 0,1,2, or 0:100:21, or 0,log:0.1:100:21.", metavar="TIMES"),
    ] = None,
    eta: Annotated[float, typer.Option("--eta", help="Learning rate.")] = 1.0,
    corrected: Annotated[
        bool, typer.Option("--corrected", help="The interior at these sizes, with what finite sizes add.")
    ] = False,
    degree: Annotated[
        int | None,
        typer.Option("--degree", help="Degree of the words on free and interior; grows by itself when not given."),
    ] = None,
    figure: Annotated[
        Path | None, typer.Option("--figure", metavar="FILE", help="Also draw both losses (png, svg, pdf).")
    ] = None,
    format: FormatOption = Format.text,
) -> None:
    """Evaluate the limit solution of a face at given sizes and times; latex prints its formula and needs neither."""
    from numerics.figures.limit import draw_limit
    from numerics.figures.style import figure_path, save
    from regimes.limit import LimitFormula, refine
    from regimes.limit import limit as evaluate
    from theory.autoencoder.sizes import Sizes
    from theory.times import parse_times

    if sizes is None and times is None and format is Format.latex and figure is None:
        emit(LimitFormula.parse(face), format)
        return
    size_vector = Sizes.parse(_given("--sizes", sizes, "--sizes p=200,n=100,m=400,sigma2=1/200"))
    grid = parse_times(_given("--times", times, "--times 0,1,2"))
    if figure is not None:
        figure_path(figure)
    with progress_bar("degrees of words") as progress:
        curves = evaluate(
            face,
            size_vector,
            grid,
            eta=eta,
            corrected=corrected,
            degree=degree,
            progress=progress,
        )
    if figure is not None:
        save(draw_limit(curves, refine(curves)), figure)
    warn(curves.warnings)
    emit(curves, format)


def _given(option: str, value: str | None, example: str) -> str:
    if value is None:
        raise InputError(
            "limit", given=f"no {option}", expected="--sizes and --times", remedy=f"give for example {example}"
        )
    return value
