"""How every figure looks: colours all can tell apart, print-legible type, files that do not change by themselves."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from numerics.files import whole_file
from theory.errors import InputError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLOURS = {
    "blue": "#0072B2",
    "vermillion": "#D55E00",
    "green": "#009E73",
    "purple": "#CC79A7",
    "orange": "#E69F00",
    "sky": "#56B4E9",
    "yellow": "#F0E442",
    "black": "#000000",
}
"""The Okabe–Ito palette, darkest first, so that few curves are also the most legible ones."""

MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
"""Markers in the order of ``COLOURS``: no meaning is carried by colour alone."""

SUFFIXES = (".png", ".svg", ".pdf")
_DPI = 200

_RC: Any = {
    "font.size": 9.0,
    "axes.labelsize": 9.0,
    "axes.titlesize": 9.0,
    "legend.fontsize": 8.0,
    "xtick.labelsize": 8.0,
    "ytick.labelsize": 8.0,
    "axes.linewidth": 0.7,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "lines.linewidth": 1.4,
    "lines.markersize": 4.0,
    "errorbar.capsize": 2.0,
    "legend.frameon": False,
    "svg.fonttype": "path",
    "svg.hashsalt": "ringprism",
    "pdf.fonttype": 42,
}

_SILENT = {
    ".png": {"Software": None},
    ".svg": {"Date": None, "Creator": None},
    ".pdf": {"Creator": None, "Producer": None, "CreationDate": None},
}
"""Metadata that would differ between two runs or two versions, left out."""


def colours(count: int) -> tuple[str, ...]:
    """The first ``count`` colours of the palette, beginning again after the eighth.

    >>> colours(2)
    ('#0072B2', '#D55E00')
    """
    palette = tuple(COLOURS.values())
    return tuple(palette[k % len(palette)] for k in range(count))


@contextmanager
def styled() -> Iterator[None]:
    """The style, while a figure is drawn: titles, legends and bars take it from here. Also a decorator.

    >>> @styled()
    ... def draw() -> int:
    ...     return len(panels(figure(6, 3), columns=2))
    >>> draw()
    2
    """
    import matplotlib

    with matplotlib.rc_context(_RC):
        yield


@styled()
def figure(width: float = 5.0, height: float = 3.2) -> Figure:
    """An empty figure, ``width`` × ``height`` inches, laid out so that labels never overlap; draw it ``styled``."""
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")


@styled()
def panels(fig: Figure, columns: int = 1, rows: int = 1) -> Sequence[Axes]:
    """Axes in a grid on ``fig``, row by row, in this style.

    >>> fig = figure(6, 3)
    >>> len(panels(fig, columns=2))
    2
    """
    grid = fig.subplots(rows, columns, squeeze=False)
    return [axes for row in grid for axes in row]


def figure_path(path: str | Path) -> Path:
    """The path of a figure to be written, checked before the work that leads to it.

    Raises ``InputError`` for a suffix other than .png, .svg or .pdf, or a folder that is not there.

    >>> figure_path("loss.bmp")
    Traceback (most recent call last):
        ...
    theory.errors.InputError: figure: got 'loss.bmp', expected a name ending in .png, .svg or .pdf; rename it
    """
    target = Path(path)
    if target.suffix.lower() not in SUFFIXES:
        raise InputError("figure", given=str(path), expected="a name ending in .png, .svg or .pdf", remedy="rename it")
    if not target.parent.is_dir():
        raise InputError(
            "figure", given=str(path), expected="a folder that exists", remedy=f"make {target.parent} first"
        )
    if target.is_dir():
        raise InputError("figure", given=str(path), expected="a file, not a folder", remedy="name a file inside it")
    return target


def save(fig: Figure, path: str | Path) -> Path:
    """Write ``fig`` to ``path`` in the format of its suffix (.png, .svg, .pdf), whole or not at all.

    The same figure gives the same bytes: no dates, no program names, no random ids.
    """
    target = figure_path(path)
    suffix = target.suffix.lower()
    with whole_file(target, what="figure") as scratch, styled():
        fig.savefig(scratch, format=suffix[1:], dpi=_DPI, metadata=_SILENT[suffix])
    return target
