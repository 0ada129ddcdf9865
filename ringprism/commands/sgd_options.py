"""The options that every ``ringprism sgd`` command takes to say what the task is, and where it starts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from theory.errors import InputError

if TYPE_CHECKING:
    from theory.sgd.task import Task

TaskName = Annotated[str, typer.Option("--task", help="single-index, committee, logistic, xor or mixture.")]
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
Settings = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="OPTION=VALUE",
        help="An option of the task; may be repeated, as in --set students=3 --set activation=relu. "
        "single-index: link (x**2 - 1; any formula in x), loss (squared; or correlation), label-noise, ridge (0). "
        "committee: students, teachers (2), activation (erf; tanh, sigmoid, softplus, relu, or a formula in x), "
        "train-second (false), label-noise, ridge (0). "
        "logistic: classes (2), separation (1), noise (1), ridge (0.1). "
        "xor, mixture: students (4; 2), activation (softplus), separation (2), noise (0.5), train-second (true), "
        "ridge (0.01).",
    ),
]

# The options of the tasks as flags of their own, from before ``--set``.
Link = Annotated[str | None, typer.Option("--link", hidden=True)]
Loss = Annotated[str | None, typer.Option("--loss", hidden=True)]
Students = Annotated[int | None, typer.Option("--students", "--K", hidden=True)]
Teachers = Annotated[int | None, typer.Option("--teachers", "--r", hidden=True)]
Activation = Annotated[str | None, typer.Option("--activation", hidden=True)]
TrainSecond = Annotated[bool | None, typer.Option("--train-second/--freeze-second", hidden=True)]
Classes = Annotated[int | None, typer.Option("--classes", hidden=True)]
Separation = Annotated[float | None, typer.Option("--separation", hidden=True)]
Noise = Annotated[float | None, typer.Option("--noise", hidden=True)]
LabelNoise = Annotated[float | None, typer.Option("--label-noise", hidden=True)]
Ridge = Annotated[float | None, typer.Option("--ridge", hidden=True)]

_WHOLE = ("students", "teachers", "classes")
_NUMBERS = ("separation", "noise", "label_noise", "ridge")


def read_settings(settings: Sequence[str]) -> dict[str, object]:
    """Read ``students=3``, ``train-second=true``.

    >>> read_settings(["students=3", "train-second=true", "link=x**2 - 1"])
    {'students': 3, 'train_second': True, 'link': 'x**2 - 1'}
    """
    found: dict[str, object] = {}
    for item in settings:
        name, equals, text = (part.strip() for part in item.partition("="))
        name = name.replace("-", "_")
        if not equals or not name or not text or name in found:
            raise InputError(
                "--set", given=item, expected="OPTION=VALUE, each option once", remedy="use --set students=3"
            )
        found[name] = _value(name, text, item)
    return found


def _value(name: str, text: str, item: str) -> object:
    try:
        if name in _WHOLE:
            return int(text)
        if name in _NUMBERS:
            return float(text)
    except ValueError as error:
        kind = "a whole number" if name in _WHOLE else "a number"
        raise InputError("--set", given=item, expected=f"{kind} for {name}", remedy=f"use --set {name}=1") from error
    if name == "train_second":
        if text.lower() not in ("true", "false", "yes", "no"):
            raise InputError("--set", given=item, expected="true or false", remedy="use --set train-second=true")
        return text.lower() in ("true", "yes")
    return text


Batch = Annotated[int | None, typer.Option("--batch", help="Inputs averaged in one step. Default: 1.", min=1)]
Schedule = Annotated[
    str | None,
    typer.Option("--schedule", help="What multiplies δ at time t = nδ/d: a positive formula in t such as 1/(1+t)."),
]


Spectrum = Annotated[
    str,
    typer.Option(
        "--spectrum",
        help="Variances of the input's coordinates: isotropic, power:ALPHA, values:V1*K1,V2*K2,… or file:PATH.",
    ),
]


def read_task(
    name: str,
    *,
    delta: float | None,
    batch: int | None = None,
    schedule: str | None = None,
    settings: Sequence[str] | None = None,
    **options: object,
) -> Task:
    """The task that the options describe; ``None`` keeps the task's default."""
    from theory.sgd.tasks import build_task, with_steps

    given = read_settings(settings or ())
    twice = next((name for name in given if options.get(name) is not None), None)
    if twice is not None:
        raise InputError("--set", given=twice, expected="each option once", remedy=f"drop --{twice.replace('_', '-')}")
    return with_steps(build_task(name, step=delta, **{**options, **given}), batch=batch, schedule=schedule)


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
