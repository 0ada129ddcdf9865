"""What the command line prints: results to stdout, progress and warnings to stderr."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from ringprism.options import Format, PlainFormat

if TYPE_CHECKING:
    from numerics.runs.outcome import Progress

FAILED = 1
"""Exit code of a command whose verdict is not ``holds``."""


def emit(result: Any, format: Format | PlainFormat) -> None:
    """Print a result by its own ``to_text``, ``to_json`` or ``to_latex``."""
    if format.value == Format.json.value:
        print(json.dumps(result.to_json(), allow_nan=False))
    elif format is Format.latex:
        print(result.to_latex())
    else:
        print(result.to_text())


def warn(warnings: Iterable[str]) -> None:
    """Print warnings, one a line, to stderr."""
    import sys

    for warning in warnings:
        print(f"warning: {warning}", file=sys.stderr)


@contextmanager
def progress_bar(label: str) -> Iterator[Progress]:
    """A bar on stderr with rate and time left; nothing where stderr is not a terminal."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    console = Console(stderr=True)
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[rate]}"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console, disable=not console.is_terminal, transient=True) as bar:
        task = bar.add_task(label, total=None, rate="")

        def advance(finished: int, total: int) -> None:
            speed = bar.tasks[0].speed
            bar.update(task, completed=finished, total=total, rate=f"{speed:.3g}/s" if speed else "")

        yield advance
