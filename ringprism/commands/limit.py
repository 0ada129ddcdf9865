"""``ringprism limit``: the leading-order losses of a face of the prism."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ringprism.console import emit, progress_bar
from ringprism.options import Format, FormatOption


def limit(
    face: Annotated[
        str, typer.Option("--face", help="interior, large-data, … or a vertex set such as R,N|m.", metavar="FACE")
    ],
    sizes: Annotated[str, typer.Option("--sizes", help="p=200,n=100,m=400,sigma2=1/200.", metavar="SIZES")],
    times: Annotated[str, typer.Option("--times", help="Increasing times: 0,1,2.", metavar="TIMES")],
    eta: Annotated[float, typer.Option("--eta", help="Learning rate.")] = 1.0,
    corrected: Annotated[bool, typer.Option("--corrected", help="Add the first 1/N term, resummed.")] = False,
    degree: Annotated[
        int | None,
        typer.Option("--degree", help="Degree of the words on free and interior; grows by itself when not given."),
    ] = None,
    figure: Annotated[
        Path | None, typer.Option("--figure", metavar="FILE", help="Also draw both losses (png, svg, pdf).")
    ] = None,
    format: FormatOption = Format.text,
) -> None:
    """Evaluate the limit solution of a face at given sizes and times; latex prints its formula."""
    from numerics.figures.limit import draw_limit
    from numerics.figures.style import figure_path, save
    from regimes.limit import limit as evaluate
    from theory.autoencoder.sizes import Sizes
    from theory.times import parse_times

    if figure is not None:
        figure_path(figure)
    with progress_bar("degrees of words") as progress:
        curves = evaluate(
            face,
            Sizes.parse(sizes),
            parse_times(times),
            eta=eta,
            corrected=corrected,
            degree=degree,
            progress=progress,
        )
    if figure is not None:
        save(draw_limit(curves), figure)
    emit(curves, format)
