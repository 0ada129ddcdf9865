"""What the command line prints: results to stdout, progress and warnings to stderr."""

from __future__ import annotations

import json
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ringprism.options import Format, PlainFormat

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from rich.console import Console

    from numerics.runs.clock import Progress
    from numerics.runs.machine import Machine

_BAR_AFTER = 2.0
_LINE_EVERY = 60.0
"""Seconds before a bar shows, and between the lines that take its place."""

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
    """How far the work is, on stderr, once it has taken two seconds: a bar with rate and time left.

    Where stderr is no terminal it is a line a minute instead.
    """
    from rich.console import Console

    console = Console(stderr=True)
    with _bar(label, console) if console.is_terminal else _lines(label) as advance:
        yield advance


@contextmanager
def _bar(label: str, console: Console) -> Iterator[Progress]:
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[rate]}"),
        TimeRemainingColumn(),
    )
    bar = Progress(*columns, console=console, transient=True)
    task = bar.add_task(label, total=None, rate="")
    timer = threading.Timer(_BAR_AFTER, bar.start)
    timer.daemon = True
    timer.start()

    def advance(finished: int, total: int) -> None:
        speed = bar.tasks[0].speed
        bar.update(task, completed=finished, total=total, rate=f"{speed:.3g}/s" if speed else "")

    try:
        yield advance
    finally:
        timer.cancel()
        timer.join()
        bar.stop()


@contextmanager
def _lines(label: str) -> Iterator[Progress]:
    begun = told = time.monotonic()
    first: int | None = None

    def advance(finished: int, total: int) -> None:
        nonlocal told, first
        first = finished if first is None else first  # what was found in a store took no time
        now = time.monotonic()
        if now - told < _LINE_EVERY:
            return
        told = now
        rate = (finished - first) / (now - begun)
        left = f", {rate:.3g}/s, {duration((total - finished) / rate)} left" if rate > 0 else ""
        with suppress(OSError):
            print(f"{label}: {finished} of {total}{left}", file=sys.stderr, flush=True)

    yield advance


def duration(seconds: float) -> str:
    """A time in the units that people use.

    >>> [duration(seconds) for seconds in (5, 200, 20_000, 1e6)]
    ['5 s', '3 min', '6 h', '12 days']
    """
    if seconds < 120:
        return f"{seconds:.0f} s"
    if seconds < 7200:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.0f} h" if seconds < 172_800 else f"{seconds / 86_400:.0f} days"
