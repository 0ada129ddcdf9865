"""Options that several commands share."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from theory.errors import InputError


class Format(StrEnum):
    """How a result is printed: for people, for programs, for papers."""

    text = "text"
    json = "json"
    latex = "latex"


class PlainFormat(StrEnum):
    """How measurements are printed: they are no formula, so there is no LaTeX of them."""

    text = "text"
    json = "json"


FormatOption = Annotated[Format, typer.Option("--format", help="How to print the result.", case_sensitive=False)]
PlainFormatOption = Annotated[
    PlainFormat, typer.Option("--format", help="How to print the result.", case_sensitive=False)
]


ModelOption = Annotated[
    str,
    typer.Option("--model", help="A model's name (see ringprism models), or a file: with / or .toml.", metavar="M"),
]


SpectrumOption = Annotated[
    str,
    typer.Option(
        "--spectrum",
        help="The data's covariance: isotropic, power:ALPHA, values:V1*K1,V2*K2,… or file:PATH.",
        metavar="SPEC",
    ),
]


def _from_zero(value: int) -> int:
    if value < 0:
        raise InputError("--seed", given=value, expected="a whole number from 0", remedy="use for example --seed 0")
    return value


def _from_one(value: int) -> int:
    if value < 1:
        raise InputError("--workers", given=value, expected="a whole number from 1", remedy="use --workers 1")
    return value


SeedOption = Annotated[
    int, typer.Option("--seed", callback=_from_zero, help="Seed; the same seed gives the same result.")
]
WorkersOption = Annotated[int, typer.Option("--workers", callback=_from_one, help="Local worker processes.")]
StoreOption = Annotated[
    Path | None, typer.Option("--store", help="Results store: kept at once, resumed when it is there.")
]
DaskOption = Annotated[str | None, typer.Option("--dask", help="Address of a Dask scheduler, in place of --workers.")]
ReuseOption = Annotated[
    bool, typer.Option("--reuse", help="Take what other code made from the store or report, with a warning.")
]
