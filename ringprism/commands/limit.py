"""``ringprism limit``: the leading-order losses of a face of the prism."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ringprism.console import emit, progress_bar, warn
from ringprism.options import Format, FormatOption, ModelOption, SpectrumOption
from theory.errors import InputError

if TYPE_CHECKING:
    from theory.models.model import Model


def limit(
    face: Annotated[
        str | None,
        typer.Option(
            "--face",
            help="interior, R,N|m, …; of other models the rates that win: 1/p,decay.",
            metavar="FACE",
        ),
    ] = None,
    model: ModelOption = "autoencoder",
    scaling: Annotated[
        str | None, typer.Option("--scaling", help="Exponents of N in place of --face: p=1,n=2,….", metavar="SCALING")
    ] = None,
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
    spectrum: SpectrumOption = "isotropic",
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
    from theory.models.model import Model
    from theory.times import parse_times

    declared = Model.of(model)
    if declared != Model.named("autoencoder"):
        _any_model(declared, face, scaling, sizes, times, eta, spectrum, format)
        return
    face = _face(face, scaling)
    if sizes is None and times is None and format is Format.latex and figure is None:
        emit(LimitFormula.parse(face, spectrum=spectrum), format)
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
            spectrum=spectrum,
            progress=progress,
        )
    if figure is not None:
        save(draw_limit(curves, refine(curves)), figure)
    warn(curves.warnings)
    emit(curves, format)


def _any_model(
    model: Model,
    face: str | None,
    scaling: str | None,
    sizes: str | None,
    times: str | None,
    eta: float,
    spectrum: str,
    format: Format,
) -> None:
    """The leading series of a face of any model, resummed."""
    from regimes.any_limit import limit
    from theory.times import parse_times

    grid = parse_times(_given("--times", times, "--times 0,1,2"))
    values = _given("--sizes", sizes, f"--sizes with {', '.join(model.variables)}")
    with progress_bar("orders") as progress:
        found = limit(face, values, grid, model=model, scaling=scaling, eta=eta, spectrum=spectrum, progress=progress)
    warn(found.warnings)
    emit(found, format)


def _face(face: str | None, scaling: str | None) -> str:
    """The face of the prism that is named, or that a scaling selects."""
    from regimes.classify import classify
    from regimes.model_regime import read_scaling
    from regimes.scaling import Scaling

    if (face is None) == (scaling is None):
        given = "no --face" if face is None else "--face and --scaling"
        raise InputError("limit", given=given, expected="one of --face and --scaling", remedy="give --face interior")
    if scaling is None:
        return str(face)
    return classify(Scaling(**read_scaling(scaling, ("p", "n", "m", "sigma2")))).face.name


def _given(option: str, value: str | None, example: str) -> str:
    if value is None:
        raise InputError(
            "limit", given=f"no {option}", expected="--sizes and --times", remedy=f"give for example {example}"
        )
    return value
