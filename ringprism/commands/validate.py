"""``ringprism validate``: a face's limit against a simulation at the same sizes, with the verdict."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ringprism import console
from ringprism.options import (
    DaskOption,
    ModelOption,
    PlainFormat,
    PlainFormatOption,
    ReuseOption,
    SeedOption,
    StoreOption,
    WorkersOption,
)
from theory.errors import InputError

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def validate(
    sizes: Annotated[str, typer.Option(help="p=…,n=…,m=…,sigma2=…")],
    times: Annotated[str, typer.Option(help="Times, increasing, separated by commas; 0 is added.")],
    face: Annotated[str | None, typer.Option(help="Face; by default the smallest within the tolerance.")] = None,
    model: ModelOption = "autoencoder",
    scaling: Annotated[str | None, typer.Option(help="Exponents of N in place of --face: p=1,n=2,….")] = None,
    replicas: Annotated[
        int | None,
        typer.Option(help="Draws at these sizes, at least 2; by default a minute's worth, 8 to 200 (16 for a model)."),
    ] = None,
    seed: SeedOption = 0,
    eta: Annotated[float, typer.Option(help="Learning rate η.")] = 1.0,
    tolerance: Annotated[
        float, typer.Option(help="How far the face may be from the theory, as a part of the change of the loss.")
    ] = 0.05,
    store: StoreOption = None,
    workers: WorkersOption = 1,
    dask: DaskOption = None,
    reuse: ReuseOption = False,
    figure: Annotated[Path | None, typer.Option(help="Write a figure (.png, .svg or .pdf).")] = None,
    force: Annotated[bool, typer.Option("--force", help="Begin a run of many hours.")] = False,
    format: PlainFormatOption = PlainFormat.text,
) -> int:
    """Judge the theory by a simulation, and a face by the theory. Exit code 1 unless both hold.

    The theory is the interior at these ratios with its terms in 1/N, which a ladder of other sizes in the same ratios
    gives (for other models the exact series, as far as it reaches). The face's distance from it needs no simulation.
    Example: ringprism validate --sizes p=80,n=8000,m=120,sigma2=1/40000 --times 20,80
    """
    from numerics.gradient_flow.model_validate import validate_model
    from numerics.gradient_flow.validate import validate as run
    from theory.autoencoder.sizes import Sizes
    from theory.models.model import Model
    from theory.times import parse_times

    declared = Model.of(model)
    if declared != Model.named("autoencoder"):
        if figure is not None:
            raise InputError("--figure", given=str(figure), expected="the autoencoder", remedy="leave it out")
        with console.machine("replicas", workers=workers, dask=dask, store=store, reuse=reuse) as machine:
            checked = validate_model(
                declared,
                face,
                sizes,
                parse_times(times),
                replicas=16 if replicas is None else replicas,
                seed=seed,
                eta=eta,
                scaling=scaling,
                tolerance=tolerance,
                machine=machine,
                force=force,
            )
        console.warn(checked.warnings)
        console.emit(checked, format)
        return 0 if checked.holds else console.FAILED
    if scaling is not None:
        from regimes.classify import classify
        from regimes.model_regime import read_scaling
        from regimes.scaling import Scaling

        if face is not None:
            raise InputError("--face", given=face, expected="no --face beside --scaling", remedy="give one of the two")
        face = classify(Scaling(**read_scaling(scaling, ("p", "n", "m", "sigma2")))).face.name
    console.check_figure(figure)
    with console.machine("replicas", workers=workers, dask=dask, store=store, reuse=reuse) as machine:
        found = run(
            face,
            Sizes.parse(sizes),
            parse_times(times),
            replicas=replicas,
            seed=seed,
            eta=eta,
            tolerance=tolerance,
            machine=machine,
            force=force,
        )

    def draw() -> Figure:
        from numerics.figures.validation import draw_validation

        return draw_validation(found)

    console.finish(found, format, figure=figure, draw=draw)
    return 0 if found.holds else console.FAILED
