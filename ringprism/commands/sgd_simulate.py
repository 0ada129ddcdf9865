"""``ringprism sgd simulate`` and ``ringprism sgd universality``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from ringprism.commands import sgd_options as option
from ringprism.commands.sgd import sgd as sgd  # with its further commands
from ringprism.console import check_figure, finish, warn
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
from theory.errors import InputError, RingprismError

if TYPE_CHECKING:
    from matplotlib.figure import Figure as DrawnFigure

    from numerics.sgd.simulate import Simulation
    from theory.sgd.laws import Law
    from theory.sgd.ode import EffectiveODE
    from theory.sgd.state import State
    from theory.sgd.task import Task

Spread = Annotated[
    str, typer.Option("--spread", help="How delocalised vectors lie: random, or flat (entries of one size).")
]
Figure = Annotated[Path | None, typer.Option("--figure", help="Also write a figure: .png, .svg or .pdf.")]


@sgd.command("simulate")
def simulate_command(
    task: option.TaskName = "committee",
    law: option.Law = "gaussian",
    delta: option.Delta = None,
    times: option.Times = "0,1,2,3,4",
    start: option.Start = None,
    d: Annotated[int, typer.Option("--d", help="Input dimension.")] = 1000,
    replicas: Annotated[int, typer.Option("--replicas", help="Independent runs.")] = 16,
    method: Annotated[
        str, typer.Option("--method", help="full; reduced (Gaussian inputs: exact, cost independent of d); auto.")
    ] = "auto",
    spread: Spread = "random",
    spectrum: option.Spectrum = "isotropic",
    batch: option.Batch = None,
    schedule: option.Schedule = None,
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
    """Simulate one-pass SGD with step δ/d and print its summary statistics in time nδ/d, with standard errors."""
    from numerics.sgd.simulate import simulate_sgd
    from theory.sgd.laws import law as read_law
    from theory.sgd.state import start_state
    from theory.times import parse_times

    problem = option.read_task(
        task,
        delta=delta,
        batch=batch,
        schedule=schedule,
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
    state = start_state(problem, option.read_start(start))
    chosen, grid = read_law(law), parse_times(times)
    check_figure(figure)
    with run_on("simulating", workers=workers, dask=dask, store=store, reuse=reuse) as machine:
        result = simulate_sgd(
            problem,
            grid,
            d=d,
            replicas=replicas,
            seed=seed,
            laws=chosen,
            start=state,
            spread=cast("Any", spread),
            spectrum=spectrum.strip(),
            method=cast("Any", method),
            machine=machine,
        )

    def draw() -> DrawnFigure:
        from numerics.figures.sgd import simulation_figure

        curves = _ode_curves(problem, grid, state, chosen) if spectrum == "isotropic" else []
        return simulation_figure([result], curves)

    warnings = (*result.warnings, *_stability(problem, state, result, chosen, spectral=bool(spectrum != "isotropic")))
    finish(result, format, figure=figure, draw=draw, warnings=warnings)


@sgd.command("universality")
def universality_command(
    task: option.TaskName = "committee",
    laws: Annotated[
        str, typer.Option("--laws", help="Laws to compare, separated by commas (or semicolons: atoms:… holds commas).")
    ] = "gaussian,rademacher,exponential",
    dims: Annotated[str, typer.Option("--dims", help="Dimensions, increasing, for example 100,400,1600.")] = (
        "100,400,1600"
    ),
    delta: option.Delta = None,
    times: option.Times = "0,1,2,3,4",
    start: option.Start = None,
    replicas: Annotated[int, typer.Option("--replicas", help="Independent runs at each dimension.")] = 16,
    reference: Annotated[
        str, typer.Option("--reference", help="The ODE compared with: universal (Gaussian inputs), or the law's own.")
    ] = "universal",
    spread: Spread = "random",
    spectrum: option.Spectrum = "isotropic",
    batch: option.Batch = None,
    schedule: option.Schedule = None,
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
    """Measure how simulations under several laws approach the ODE as d grows: a distance for each d and a power."""
    from numerics.sgd.universality import universality
    from theory.sgd.state import start_state
    from theory.times import parse_times

    problem = option.read_task(
        task,
        delta=delta,
        batch=batch,
        schedule=schedule,
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
        result = universality(
            problem,
            parse_times(times),
            laws=read_laws(laws),
            dims=read_dims(dims),
            replicas=replicas,
            seed=seed,
            start=start_state(problem, option.read_start(start)),
            spread=cast("Any", spread),
            spectrum=spectrum.strip(),
            reference=cast("Any", reference),
            machine=machine,
        )

    def draw() -> DrawnFigure:
        from numerics.figures.sgd import universality_figure

        return universality_figure(result)

    finish(result, format, figure=figure, draw=draw)


def read_laws(text: str) -> list[Law]:
    """Read ``gaussian,two-point:0.2``; where a semicolon occurs it separates, so that laws may hold commas.

    >>> [law.name for law in read_laws("gaussian,two-point:0.2")]
    ['gaussian', 'two-point:0.2']
    """
    from theory.sgd.laws import law

    separator = ";" if ";" in text else ","
    return [law(item) for item in text.split(separator) if item.strip()]


def read_dims(text: str) -> list[int]:
    """Read ``100,400,1600``.

    >>> read_dims("100, 400")
    [100, 400]
    """
    try:
        return [int(item) for item in text.split(",")]
    except ValueError as error:
        raise InputError(
            "dims", given=text, expected="whole numbers separated by commas", remedy="use 100,400,1600"
        ) from error


def _ode_curves(task: Task, grid: tuple[float, ...], start: State, law: Law) -> list[EffectiveODE]:
    """The ODE on a fine grid for a figure; none where it has no solution that far, or the law no quadrature."""
    import numpy as np

    from theory.sgd.ode import effective_ode

    try:
        return [effective_ode(task, np.linspace(0.0, grid[-1], 101), start=start, laws=law)] if grid[-1] else []
    except RingprismError as error:
        warn([f"the figure shows no ODE: {error}"])
        return []


def _stability(task: Task, start: State, run: Simulation, law: Law, *, spectral: bool) -> tuple[str, ...]:
    """A warning where the expected loss rose, judged at the replicas' mean statistics."""
    from theory.sgd.stability import step_warnings

    if run.diverged or spectral:
        return ()
    try:
        return step_warnings(task, start, start.moved(run.mean[-1]), laws=law)
    except RingprismError:  # the loss cannot be integrated under this law: nothing to warn of
        return ()
