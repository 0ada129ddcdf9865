"""The options that every ``ringprism sgd`` command takes to say what the task is, and where it starts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from theory.errors import InputError

if TYPE_CHECKING:
    from theory.sgd.task import Task

TaskName = Annotated[str, typer.Option("--task", help="single-index, committee, logistic or xor.")]
Law = Annotated[
    str,
    typer.Option(
        "--law",
        help="gaussian, rademacher, uniform, laplace, exponential, two-point:RHO, three-point, atoms:X:P,X:P,… "
        "or moments:mean=0,variance=1,kappa3=…,kappa4=…",
    ),
]
Delta = Annotated[
    float | None,
    typer.Option(
        "--delta",
        help="Step constant δ: one step has size δ/d. Default: logistic, committee and xor 0.5; single-index, and an "
        "--activation in x, a stable step for that link (at most 0.5), which the output names.",
    ),
]
Times = Annotated[str, typer.Option("--times", help="Times nδ/d, for example 0,1,2.5")]
Start = Annotated[
    str | None,
    typer.Option(
        "--start",
        help="Statistics at time 0, for example M_1_1=0.2,Q_1_1=1; p_1_1=0.8 localises parameter 1 on coordinate 1, "
        "s_1_1=1 truth 1 (then M_1_1 left out is p_1_1·s_1_1). What is left out keeps the task's own start.",
    ),
]
Link = Annotated[
    str | None, typer.Option("--link", help="single-index: the link f, for example x**3-3*x. Default: x**2 - 1.")
]
Loss = Annotated[str | None, typer.Option("--loss", help="single-index: squared (default) or correlation.")]
Students = Annotated[int | None, typer.Option("--students", "--K", help="Hidden units K. Default: committee 2, xor 4.")]
Teachers = Annotated[int | None, typer.Option("--teachers", "--r", help="committee: teacher units r. Default: 2.")]
Activation = Annotated[
    str | None,
    typer.Option(
        "--activation",
        help="committee, xor: erf, tanh, sigmoid, softplus, relu, or in x. Default: committee erf, xor softplus.",
    ),
]
TrainSecond = Annotated[
    bool | None,
    typer.Option(
        "--train-second/--freeze-second",
        help="Whether the second layer moves. Default: committee frozen, xor trained.",
    ),
]
Classes = Annotated[int | None, typer.Option("--classes", help="logistic: number of classes. Default: 2.")]
Separation = Annotated[
    float | None, typer.Option("--separation", help="Length of the means. Default: logistic 1, xor 2.")
]
Noise = Annotated[float | None, typer.Option("--noise", help="Input noise variance τ². Default: logistic 1, xor 0.5.")]
LabelNoise = Annotated[
    float | None, typer.Option("--label-noise", help="single-index, committee: label noise variance. Default: 0.")
]
Ridge = Annotated[
    float | None,
    typer.Option("--ridge", help="Ridge penalty β. Default: single-index, committee 0; logistic 0.1; xor 0.01."),
]


def read_task(name: str, *, delta: float | None, **options: object) -> Task:
    """The task that the options describe; ``None`` keeps the task's default."""
    from theory.sgd.tasks import build_task

    return build_task(name, step=delta, **options)


def read_start(text: str | None) -> dict[str, float]:
    """Read ``M_1_1=0.2,Q_1_1=1``.

    >>> read_start("M_1_1=0.2, Q_1_1=1")
    {'M_1_1': 0.2, 'Q_1_1': 1.0}
    """
    values: dict[str, float] = {}
    for item in (text or "").split(",") if text else ():
        name, equals, value = (part.strip() for part in item.partition("="))
        try:
            number = float(value)
        except ValueError:
            number = float("nan")
        if not equals or not name or number != number or name in values:
            raise InputError(
                "start", given=text, expected="NAME=NUMBER pairs, each name once", remedy="give M_1_1=0.2,Q_1_1=1"
            )
        values[name] = number
    return values
