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
    from numerics.runs.store_report import summary

    console.emit(summary(file), format)


@store.command()
def verify(file: FileArgument, format: PlainFormatOption = PlainFormat.text) -> None:
    """Check the file's structure and the checksum of every row, and say what was checked."""
    from numerics.runs.store_report import verify as check

    console.emit(check(file), format)


@store.command()
def export(
    file: FileArgument,
    to: Annotated[Path, typer.Argument(help="A new file ending in .csv or .parquet.", show_default=False)],
) -> None:
    """Write every value to a table, one row a number, and the runs' parameters and versions to a .json beside it."""
    import sys

    from numerics.runs.store_report import counted, sidecar
    from numerics.runs.store_report import export as write

    count = write(file, to)
    print(f"{to}: {counted(count, 'row')}; parameters and versions in {sidecar(to)}", file=sys.stderr)
