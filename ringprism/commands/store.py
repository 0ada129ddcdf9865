"""``ringprism store``: look into a results store, check it, take its tables elsewhere."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ringprism import console
from ringprism.options import PlainFormat, PlainFormatOption

store = typer.Typer(name="store", help="Show, verify or export a results store.", no_args_is_help=True)

FileArgument = Annotated[Path, typer.Argument(help="The results store (the --store of a run).", show_default=False)]


@store.command()
def show(file: FileArgument, format: PlainFormatOption = PlainFormat.text) -> None:
    """The runs in a store: parameters, seed, replicas, versions, failures."""
    _summarise(file, format, structure=False)


@store.command()
def verify(file: FileArgument, format: PlainFormatOption = PlainFormat.text) -> None:
    """Check the file's structure and the checksum of every row."""
    _summarise(file, format, structure=True)


@store.command()
def export(
    file: FileArgument,
    to: Annotated[Path, typer.Argument(help="A new file ending in .csv or .parquet.", show_default=False)],
) -> None:
    """Write every value to a table, one row a number."""
    import sys

    from numerics.store_report import export as write

    count = write(file, to)
    print(f"{to}: {count} rows", file=sys.stderr)


def _summarise(file: Path, format: PlainFormat, *, structure: bool) -> None:
    from numerics.store_report import summary

    console.emit(summary(file, structure=structure), format)
