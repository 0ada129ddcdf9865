"""Pictures of the prism of [P] §4: in space, with a scaling or actual sizes placed on it, and its face lattice."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import log
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from numerics.figures.style import COLOURS, figure, styled
from regimes.faces import FACES, Face, face_lattice
from regimes.prism import SEGMENT, TRIANGLE, VERTICES
from regimes.ranking import Ranking
from regimes.scaling import Scaling

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Position = npt.NDArray[np.float64]

_CORNERS = {"R": (0.0, 1.15), "N": (-1.0, -0.55), "P": (1.0, -0.35)}
_DEPTH = {"m": np.array((0.0, 0.0)), "p": np.array((2.6, 0.75))}
_HIDDEN = frozenset({frozenset({"N|p", "P|p"}), frozenset({"N|p", "R|p"}), frozenset({"N|m", "N|p"})})
_GREY = "#666666"
_LATEX = {
    "R|m": r"$1/p$", "R|p": r"$1/m$", "N|m": r"$\sigma^2 n/p$", "N|p": r"$\sigma^2 n/m$", "P|m": r"$\sigma^2$",
    "P|p": r"$\sigma^2 p/m$",
}  # fmt: skip
_LABEL_SHIFT = {
    "R|m": (0, 9, "bottom"), "R|p": (0, 9, "bottom"), "N|m": (-4, -9, "top"), "N|p": (0, -9, "top"),
    "P|m": (4, -9, "top"), "P|p": (8, -9, "top"),
}  # fmt: skip
_MARKED_N = (2, 5, 20, 100)
_PATH_N = np.geomspace(1.0, 1e4, 81)


@styled()
def draw_prism(placed: Scaling | Ranking | None = None) -> Figure:
    """The prism with its six rates; ``placed`` shades the face that is selected and marks the point.

    A point is the mean of the vertices weighted by their rates. Sizes (a ``Ranking``) are one point; a scaling is a
    path that leaves the middle of the prism at N = 1, where all rates are the same, has dots at N = 2, 5, 20 and 100,
    and ends in the middle of its face. Sizes shade the face ranked first.
    """
    fig = figure(6.0, 4.2)
    face = None if placed is None else placed.face() if isinstance(placed, Scaling) else placed.best
    axes, place = _solid(fig, face)
    for name, position in place.items():
        _label(axes, name, f"{name}  {_LATEX[name]}", position, bold=face is not None and name in face.vertices)
    if placed is not None and face is not None:
        _mark(axes, placed, face, place)
    axes.margins(0.14, 0.16)
    return fig


@styled()
def draw_face(face: Face) -> Figure:
    """The prism with one face shaded, small: the vertices have their names and nothing else is written."""
    fig = figure(3.3, 2.1)
    axes, place = _solid(fig, face)
    for name, position in place.items():
        _label(axes, name, name, position, bold=name in face.vertices)
    axes.margins(0.12, 0.2)
    return fig


def _solid(fig: Figure, face: Face | None) -> tuple[Axes, dict[str, Position]]:
    """The prism's edges and vertices with ``face`` picked out, and where the vertices are."""
    axes = fig.add_subplot()
    axes.set_axis_off()
    axes.set_aspect("equal")
    place = {vertex.name: _position(vertex.triangle, vertex.segment) for vertex in VERTICES}
    if face is not None:
        _shade(axes, face, place)
    for edge in (face for face in FACES if face.dimension == 1):
        ends = np.array([place[name] for name in edge.vertices])
        chosen = face is not None and edge <= face
        axes.plot(
            *ends.T,
            color=COLOURS["vermillion"] if chosen else COLOURS["black"],
            linewidth=2.4 if chosen else 1.0,
            linestyle=(0, (4, 3)) if frozenset(edge.vertices) in _HIDDEN else "-",
            zorder=2,
        )
    for name, position in place.items():
        chosen = face is not None and name in face.vertices
        axes.plot(*position, "o", color=COLOURS["vermillion"] if chosen else COLOURS["black"], markersize=6, zorder=3)
    return axes, place


def _label(axes: Axes, name: str, text: str, position: Position, *, bold: bool) -> None:
    dx, dy, side = _LABEL_SHIFT[name]
    axes.annotate(
        text,
        (float(position[0]), float(position[1])),
        xytext=(dx, dy),
        textcoords="offset points",
        ha="center",
        va=side,
        fontsize=10,
        fontweight="bold" if bold else "normal",
        bbox={"boxstyle": "round,pad=0.05", "facecolor": "white", "edgecolor": "none", "alpha": 0.7},
    )


@styled()
def draw_face_lattice() -> Figure:
    """The Hasse diagram of the 21 faces: a line from each face down to every face it covers."""
    fig = figure(7.2, 4.6)
    axes = fig.add_subplot()
    axes.set_axis_off()
    position = {}
    for dimension in range(4):
        level = sorted((face for face in FACES if face.dimension == dimension), key=_along)
        for k, face in enumerate(level):
            position[face] = np.array(((k + 0.5) / len(level), dimension))
    for lower, upper in face_lattice().edges:
        axes.plot(*np.array([position[lower], position[upper]]).T, color=_GREY, linewidth=0.7, zorder=1)
    for face, (x, y) in position.items():
        named = "|" not in face.name
        text = f"{face.name}\n{face.vertex_set}" if named else face.name
        axes.text(
            x,
            y,
            text,
            ha="center",
            va="center",
            fontsize=8.5,
            zorder=2,
            bbox={
                "boxstyle": "round,pad=0.25",
                "facecolor": "#FFF3D6" if named else "white",
                "edgecolor": COLOURS["orange"] if named else COLOURS["black"],
                "linewidth": 1.2 if named else 0.7,
            },
        )
    for dimension, label in enumerate(("vertices", "edges", "two-faces", "prism")):
        axes.text(-0.02, dimension, label, ha="right", va="center", color=_GREY)
    axes.set_xlim(-0.02, 1.0)
    axes.set_ylim(-0.35, 3.35)
    return fig


def barycentre(rates: Mapping[str, float]) -> dict[str, float]:
    """Weights of the vertices proportional to their rates.

    >>> barycentre({"R|m": 3.0, "R|p": 1.0})
    {'R|m': 0.75, 'R|p': 0.25}
    """
    total = sum(rates.values())
    return {name: rate / total for name, rate in rates.items()}


def _position(triangle: str, segment: str) -> Position:
    position: Position = np.array(_CORNERS[triangle]) + _DEPTH[segment]
    return position


def _along(face: Face) -> tuple[float, float]:
    """Left to right: by the middle of the triangle's part, then of the segment's."""
    middle = [np.mean([items.index(x) for x in part]) for items, part in _parts(face)]
    return float(middle[1]), float(middle[0])


def _parts(face: Face) -> Sequence[tuple[tuple[str, ...], frozenset[str]]]:
    return ((TRIANGLE, face.triangle), (SEGMENT, face.segment))


def _shade(axes: Axes, face: Face, place: Mapping[str, Position]) -> None:
    from matplotlib.patches import Polygon
    from scipy.spatial import ConvexHull

    points = np.array([place[name] for name in face.vertices])
    if face.dimension >= 2:
        outline = points[ConvexHull(points).vertices]
        axes.add_patch(Polygon(outline, facecolor=COLOURS["orange"], alpha=0.3, edgecolor="none", zorder=1))


def _mark(axes: Axes, placed: Scaling | Ranking, face: Face, place: Mapping[str, Position]) -> None:
    blue = COLOURS["blue"]
    if isinstance(placed, Ranking):
        point = _mean(barycentre(placed.rates), place)
        axes.plot(*point, "D", color=blue, markersize=8, markeredgecolor="white", zorder=5)
        label, title = "sizes", f"{placed.sizes}: {face.name}"
    else:
        end = np.mean([place[name] for name in face.vertices], axis=0)
        path = np.array([*(_mean(_at(placed, size), place) for size in _PATH_N), end])
        dots = np.array([_mean(_at(placed, size), place) for size in _MARKED_N])
        axes.plot(*path.T, color=blue, linewidth=1.2, zorder=4)
        if face.dimension < 3:
            axes.plot(*dots.T, "o", color=blue, markersize=4.5, markeredgecolor="white", zorder=6)
            _note(axes, "$N=1$", path[0], towards=path[0] - end)
        axes.plot(*end, "D", color="white", markersize=8, markeredgecolor=blue, zorder=5)
        point, label, title = end, r"$N\to\infty$", f"{_mathtext(placed)}: {face.name}"
    outwards = point - np.mean(list(place.values()), axis=0)
    if face.dimension == 0 and isinstance(placed, Scaling):  # beside the vertex: above or below it is its own label
        outwards = np.array((-1.0 if outwards[0] < -0.05 else 1.0, -0.3 * np.sign(outwards[1])))
    _note(axes, label, point, towards=outwards)
    axes.set_title(title)


def _note(axes: Axes, text: str, point: Position, *, towards: Position) -> None:
    """Blue words beside ``point``, on the side that ``towards`` points to; left of it where that is down or nowhere."""
    size = float(np.hypot(*towards))
    right, up = towards / size if size > 0.05 else (0.0, -1.0)
    if up < -0.9:
        right, up = -1.0, 0.0
    axes.annotate(
        text,
        (float(point[0]), float(point[1])),
        xytext=(9 * right, 9 * up),
        textcoords="offset points",
        ha="left" if right > 0.4 else "right" if right < -0.4 else "center",
        va="bottom" if up > 0.4 else "top" if up < -0.4 else "center",
        color=COLOURS["blue"],
        bbox={"boxstyle": "round,pad=0.1", "facecolor": "white", "edgecolor": "none", "alpha": 0.8},
        zorder=6,
    )


def _mathtext(scaling: Scaling) -> str:
    """The scaling with its powers as superscripts.

    >>> _mathtext(Scaling(1, 2, 0, "-1/2"))
    'p = $N$, n = $N^{2}$, m = $1$, σ² = $N^{-1/2}$'
    """
    powers = []
    for exponent in scaling.exponents:
        powers.append("1" if exponent == 0 else "N" if exponent == 1 else f"N^{{{exponent}}}")
    return ", ".join(f"{name} = ${text}$" for name, text in zip(("p", "n", "m", "σ²"), powers, strict=True))


def _at(scaling: Scaling, size: float) -> dict[str, float]:
    """Weights at N = ``size``: rates relative to the largest, so that nothing overflows."""
    largest = scaling.rate_exponent
    return barycentre({name: float(np.exp(-log(size) * float(largest - r))) for name, r in scaling.rates.items()})


def _mean(weights: Mapping[str, float], place: Mapping[str, Position]) -> Position:
    return np.array(sum(weight * place[name] for name, weight in weights.items()))
