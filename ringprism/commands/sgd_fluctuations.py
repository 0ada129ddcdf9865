"""``ringprism sgd fluctuations``: the limiting diffusion at a fixed point or along the ODE, beside simulations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from ringprism.commands import sgd_options as option
from ringprism.commands.sgd_simulate import Figure, Spread, read_laws
from ringprism.commands.sgd_simulate import sgd as sgd  # with its further commands
from ringprism.console import check_figure, finish
from ringprism.console import machine as run_on
from ringprism.options import (
    DaskOption,
    PlainFormat,
    PlainFormatOption,
    ReuseOption,
    SeedOption,
    StoreOption,
    WorkersOption,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure as DrawnFigure


@sgd.command("fluctuations")
def fluctuations_command(
    task: option.TaskName = "single-index",
    law: Annotated[
        str, typer.Option("--law", "--laws", help="One input law, or several separated by commas (semicolons).")
    ] = "gaussian",
    delta: option.Delta = None,
    start: option.Start = None,
    along: Annotated[
        bool, typer.Option("--along", help="Along the ODE from the start, not about the fixed point it comes to.")
    ] = False,
    times: option.Times = "0,0.5,1,2,3",
    spread: Spread = "random",
    d: Annotated[int, typer.Option("--d", help="Input dimension of the measurement.")] = 400,
    replicas: Annotated[int, typer.Option("--replicas", help="Simulated runs; 0 for theory alone.")] = 0,
    paths: Annotated[int, typer.Option("--paths", help="Sample paths of the diffusion.")] = 3,
    batch: option.Batch = None,
    seed: SeedOption = 0,
    store: StoreOption = None,
    workers: WorkersOption = 1,
    dask: DaskOption = None,
    reuse: ReuseOption = False,
    format: PlainFormatOption = PlainFormat.text,
    figure: Figure = None,
    settings: option.Settings = None,
    link: option.Link = None,
    loss: option.Loss = None,
    students: option.Students = None,
    teachers: option.Teachers = None,
    activation: option.Activation = None,
    train_second: option.TrainSecond = None,
    classes: option.Classes = None,
    separation: option.Separation = None,
    noise: option.Noise = None,
    label_noise: option.LabelNoise = None,
    ridge: option.Ridge = None,
) -> None:
    """Fluctuations of order d^(-1/2) about a fixed point or along the ODE: shift, drift, volatility, covariance.

    Example: ringprism sgd fluctuations --task single-index --loss correlation --ridge 1 --delta 0.5
    --law gaussian,exponential --spread flat --replicas 400
    """
    from numerics.sgd.fluctuate import study_fluctuations
    from theory.times import parse_times

    problem = option.read_task(
        task,
        delta=delta,
        batch=batch,
        settings=settings,
        link=link,
        loss=loss,
        students=students,
        teachers=teachers,
        activation=activation,
        train_second=train_second,
        classes=classes,
        separation=separation,
        noise=noise,
        label_noise=label_noise,
        ridge=ridge,
    )
    check_figure(figure)
    with run_on("simulating", workers=workers, dask=dask, store=store, reuse=reuse) as machine:
        result = study_fluctuations(
            problem,
            laws=read_laws(law),
            start=option.read_start(start),
            along=along,
            times=parse_times(times),
            spread=cast("Any", spread),
            d=d,
            replicas=replicas,
            seed=seed,
            paths=paths,
            machine=machine,
        )

    def draw() -> DrawnFigure:
        from numerics.figures.sgd_fluctuations import fluctuation_figure

        return fluctuation_figure(result)

    finish(result, format, figure=figure, draw=draw)
