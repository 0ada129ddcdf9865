"""``ringprism sgd basins``: where SGD ends from random starts, and how often."""

from __future__ import annotations

from typing import Annotated, Any, cast

import typer

from ringprism.commands import sgd_options as option
from ringprism.commands.sgd_fluctuations import sgd as sgd  # with its further commands
from ringprism.console import finish
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
from theory.errors import InputError


@sgd.command("basins")
def basins_command(
    task: option.TaskName = "xor",
    law: option.Law = "gaussian",
    delta: option.Delta = None,
    time: Annotated[float, typer.Option("--time", help="Time nδ/d to follow each start to.")] = 40.0,
    starts: Annotated[str, typer.Option("--starts", help="gaussian (entries) or spherical.")] = "gaussian",
    scale: Annotated[float, typer.Option("--scale", help="Length of the parameters at the start.")] = 1.0,
    second: Annotated[
        str, typer.Option("--second", help="Second layer at the start: start (the task's own), signs, gaussian, auto.")
    ] = "auto",
    d: Annotated[str, typer.Option("--d", help="Input dimension, or limit.")] = "400",
    method: Annotated[str, typer.Option("--method", help="reduced, full, ode or auto.")] = "auto",
    replicas: Annotated[int, typer.Option("--replicas", help="Random starts.")] = 200,
    batch: option.Batch = None,
    schedule: option.Schedule = None,
    seed: SeedOption = 0,
    store: StoreOption = None,
    workers: WorkersOption = 1,
    dask: DaskOption = None,
    reuse: ReuseOption = False,
    format: PlainFormatOption = PlainFormat.text,
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
    """From random starts: which ends SGD comes to, with what probability (Wilson intervals), and after what time.

    Example: ringprism sgd basins --task xor --set students=4 --d 200 --time 60 --replicas 400
    """
    from numerics.sgd.basins import basins
    from theory.sgd.laws import law as read_law

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
    with run_on("starts", workers=workers, dask=dask, store=store, reuse=reuse) as machine:
        result = basins(
            problem,
            time=time,
            replicas=replicas,
            seed=seed,
            d=read_dimension(d),
            starts=cast("Any", starts),
            scale=scale,
            second=cast("Any", second),
            law=read_law(law),
            method=cast("Any", method),
            machine=machine,
        )
    finish(result, format)


def read_dimension(text: str) -> int | None:
    """Read a dimension; ``limit`` is ``None``.

    >>> read_dimension("400"), read_dimension("limit")
    (400, None)
    """
    if text.strip().lower() in ("limit", "inf"):
        return None
    try:
        return int(text)
    except ValueError as error:
        raise InputError("--d", given=text, expected="a whole number, or limit", remedy="use --d 400") from error
