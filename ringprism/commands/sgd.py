"""``ringprism sgd``: effective dynamics of one-pass SGD. Here the ODE; simulation has a module of its own."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ringprism import console
from ringprism.commands import sgd_options as options
from ringprism.options import Format, FormatOption
from theory.errors import InputError

_FINE_TIMES = 201

sgd = typer.Typer(
    name="sgd",
    help="One-pass SGD in high dimension: its ODE limit, simulation, universality.\n\n"
    "Statistics: M_i_a = w_i·v_a, overlap of parameter i with truth a; Q_i_j = w_i·w_j; b_i, second-layer weight i; "
    "p_i_k, entry of w_i on localised coordinate k (s_a_k that of v_a, given in --start and fixed).",
    no_args_is_help=True,
)


@sgd.command()
def ode(
    task: options.TaskName,
    times: options.Times,
    law: options.Law = "gaussian",
    delta: options.Delta = None,
    start: options.Start = None,
    spectrum: options.Spectrum = "isotropic",
    d: Annotated[
        int | None, typer.Option("--d", help="Coordinates of the spectrum. Default: as few as its values fill.", min=1)
    ] = None,
    batch: options.Batch = None,
    schedule: options.Schedule = None,
    settings: options.Settings = None,
    link: options.Link = None,
    loss: options.Loss = None,
    students: options.Students = None,
    teachers: options.Teachers = None,
    activation: options.Activation = None,
    train_second: options.TrainSecond = None,
    classes: options.Classes = None,
    separation: options.Separation = None,
    noise: options.Noise = None,
    label_noise: options.LabelNoise = None,
    ridge: options.Ridge = None,
    tolerance: Annotated[float, typer.Option(help="Refine quadratures until two agree to this.", min=1e-9)] = 1e-4,
    figure: Annotated[Path | None, typer.Option(help="Draw the statistics into a .png, .svg or .pdf file.")] = None,
    format: FormatOption = Format.text,
) -> None:
    """The ODE that the summary statistics of SGD with steps δ/d follow as d → ∞, with an error estimate.

    Example: ringprism sgd ode --task committee --students 2 --teachers 2 --delta 0.5 --times 0,5,10
    """
    import numpy as np

    from theory.sgd.laws import law as read_law
    from theory.sgd.ode import effective_ode
    from theory.times import parse_times

    if figure is not None:
        from numerics.figures.style import figure_path

        figure_path(figure)
    declared = options.read_task(
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
    inputs = read_law(law)
    if spectrum.strip() != "isotropic":
        from theory.sgd.grouped import grouped_ode
        from theory.spectrum import read_spectrum

        if figure is not None or format is Format.latex:
            raise InputError(
                "--spectrum", given=spectrum, expected="no figure and no LaTeX beside it", remedy="use --format json"
            )
        with console.progress_bar("quadrature") as progress:
            grouped = grouped_ode(
                declared,
                parse_times(times),
                read_spectrum(spectrum, d),
                start=options.read_start(start),
                tolerance=tolerance,
                progress=progress,
            )
        console.warn(grouped.warnings)
        console.emit(grouped, format)
        return
    with console.progress_bar("quadrature") as progress:
        curve = effective_ode(
            declared,
            parse_times(times),
            start=options.read_start(start),
            laws=inputs,
            tolerance=tolerance,
            progress=progress,
        )
    console.warn(curve.warnings)
    if figure is not None:
        from numerics.figures.sgd_ode import draw_ode
        from numerics.figures.style import save

        fine = np.linspace(0.0, curve.times[-1], _FINE_TIMES)
        smooth = effective_ode(declared, fine, start=curve.start, laws=inputs, tolerance=tolerance)
        save(draw_ode(curve, smooth if curve.times[-1] else None), figure)
    console.emit(curve, format)
