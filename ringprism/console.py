"""What the command line prints: results to stdout, progress and warnings to stderr."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ringprism.options import Format, PlainFormat

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from numerics.runs.clock import Progress
    from numerics.runs.machine import Machine

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

    with suppress(OSError):  # a full or closed stderr: nobody can be told
        for warning in warnings:
            print(f"warning: {warning}", file=sys.stderr)


def check_figure(figure: Path | None) -> None:
    """Before any work: ``InputError`` for a figure that could not be written."""
    if figure is not None:
        from numerics.figures.style import figure_path

        figure_path(figure)


def finish(
    result: Any,
    format: Format | PlainFormat,
    *,
    figure: Path | None = None,
    draw: Callable[[], Figure] | None = None,
    warnings: Iterable[str] | None = None,
) -> None:
    """The end of a command: its warnings (the result's own unless given), the figure, the result.

    Raises ``KeyboardInterrupt``, which the command line reports, where the result is what an interrupted run left.
    """
    warn(result.warnings if warnings is None else warnings)
    if figure is not None and draw is not None:
        from numerics.figures.style import save

        save(draw(), figure)
    emit(result, format)
    if getattr(result, "interrupted", False):
        raise KeyboardInterrupt


@contextmanager
def machine(
    label: str, *, workers: int = 1, dask: str | None = None, store: Path | None = None, reuse: bool = False
) -> Iterator[Machine]:
    """The machine that the options describe, with a progress bar."""
    from numerics.runs.machine import Machine

    found = Machine(workers=workers, dask=dask, store=store, reuse=reuse)
    with progress_bar(label) as progress:
        yield replace(found, progress=progress)


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
