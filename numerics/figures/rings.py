"""Pictures of ring graphs: a ring with its node kinds, the merge of two rings, a Wick pairing and its genus. [P] §3."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from math import cos, pi, sin
from typing import TYPE_CHECKING

import numpy as np

from numerics.figures.style import COLOURS, figure, panels, styled
from theory.engine.model import MatrixModel
from theory.engine.pairings import Edge, Pairing
from theory.engine.ring import Product, Word
from theory.engine.ring_graph import merged_at, surface
from theory.errors import InputError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_KINDS = (("sky", "o"), ("orange", "s"), ("yellow", "D"), ("purple", "p"), ("sky", "h"), ("orange", "8"))
_CHORD_COLOURS = ("vermillion", "blue", "green", "purple", "orange", "black")
_DASHES = ("-", (0, (4, 2)), (0, (1, 1.5)), (0, (6, 1.5, 1, 1.5)))
_SUBSCRIPTS = str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")
_NODE_SIZE = 15.0
_MOST_EDGES = 40


@styled()
def draw_ring(word: Word, *, model: MatrixModel) -> Figure:
    """One ring: nodes are index spaces, each kind with its colour, marker and letter; edges are matrices.

    Trained matrices are drawn thick. Raises ``InputError`` for a word too long to be legible.
    """
    fig = figure(3.2, 3.2)
    (axes,) = panels(fig)
    _prepare(axes)
    _ring(axes, word, model, labels=list(model.nodes(word)))
    axes.set_title(_trace(word, model))
    return fig


@styled()
def draw_merge(left: Word, right: Word, *, edges: tuple[int, int], model: MatrixModel) -> Figure:
    """Merging two rings at one trained edge of each: the two rings, and the one ring that is left. [P] §3.

    ``edges`` are the positions of the letters that are removed; they must be the same trained matrix.
    """
    merged = merged_at(left, right, edges=edges, model=model)
    fig = figure(7.2, 2.9)
    three = panels(fig, columns=3)
    words, removed, signs = (left, right, merged), (*edges, None), ("", "", "=  ")
    for axes, word, edge, sign in zip(three, words, removed, signs, strict=True):
        _prepare(axes)
        _ring(axes, word, model, labels=list(model.nodes(word)), removed=edge)
        axes.set_title(f"{sign}{_trace(word, model)}")
    return fig


@styled()
def draw_pairing(rings: Product, pairing: Pairing, *, model: MatrixModel) -> Figure:
    """A Wick pairing: paired edges joined by chords, contracted nodes sharing a number, and what they leave. [P] §3.

    The panels on the left are the rings, the last one the contracted graph, its title the weight; the figure's title
    names the surface the pairing glues.
    """
    fig = figure(3.2 * (len(rings) + 1), 3.5)
    *ring_axes, graph_axes = panels(fig, columns=len(rings) + 1)
    names = contracted_names(pairing)
    colour = {edge: _CHORD_COLOURS[k % len(_CHORD_COLOURS)] for k, pair in enumerate(pairing.pairs) for edge in pair}
    for r, (axes, word) in enumerate(zip(ring_axes, rings, strict=True)):
        _prepare(axes)
        _ring(axes, word, model, labels=[names[r, k] for k in range(len(word))])
        _chords(axes, r, word, pairing, colour)
        axes.set_title(_trace(word, model))
    _prepare(graph_axes)
    _contracted(graph_axes, rings, pairing, model, colour)
    graph_axes.set_title(f"weight ${pairing.weight.to_latex()}$")
    fig.suptitle(surface(rings, pairing))
    return fig


def contracted_names(pairing: Pairing) -> dict[Edge, str]:
    """A name for every ring node, the same for nodes that are contracted: p₁, p₂, n₁, …"""
    count: Counter[str] = Counter()
    names = {}
    for kind, members in pairing.nodes:
        count[kind] += 1
        for node in members:
            names[node] = f"{kind}{str(count[kind]).translate(_SUBSCRIPTS)}"
    return names


def _spelled(word: Word, model: MatrixModel) -> str:
    return model.spell(word).replace("'", "ᵀ")


def _trace(word: Word, model: MatrixModel) -> str:
    return f"Tr({_spelled(word, model)})"


def _prepare(axes: Axes) -> None:
    axes.set_axis_off()
    axes.set_aspect("equal")
    axes.set_xlim(-1.5, 1.5)
    axes.set_ylim(-1.5, 1.5)


def _angle(position: float, length: int) -> float:
    return pi / 2 - 2 * pi * position / length


def _point(position: float, length: int, radius: float = 1.0) -> tuple[float, float]:
    angle = _angle(position, length)
    return radius * cos(angle), radius * sin(angle)


def _ring(axes: Axes, word: Word, model: MatrixModel, *, labels: Sequence[str], removed: int | None = None) -> None:
    """Nodes on a circle, clockwise from the top; node k lies before edge k."""
    length = len(word)
    if not 1 <= length <= _MOST_EDGES:
        raise InputError(
            "ring", given=length, expected=f"1 to {_MOST_EDGES} edges", remedy="draw a ring of a lower derivative"
        )
    for k, letter in enumerate(word):
        along = np.array([_point(k + x, length) for x in np.linspace(0, 1, 24)])
        trained = model.matrices[letter >> 1].trained
        axes.plot(
            *along.T,
            color=COLOURS["vermillion"] if k == removed else COLOURS["black"],
            linestyle=_DASHES[(letter >> 1) % len(_DASHES)],
            linewidth=2.2 if trained else 1.3,
            zorder=1,
        )
        axes.text(
            *_point(k + 0.5, length, 1.24),
            _spelled((letter,), model),
            ha="center",
            va="center",
            color=COLOURS["vermillion"] if k == removed else COLOURS["black"],
            fontweight="bold" if k == removed else "normal",
        )
    for k, (kind, label) in enumerate(zip(model.nodes(word), labels, strict=True)):
        _node(axes, _point(k, length), kind, label, model)


def _node(axes: Axes, at: tuple[float, float], kind: str, label: str, model: MatrixModel) -> None:
    number = [space.name for space in model.spaces].index(kind)
    colour, marker = _KINDS[number % len(_KINDS)]
    axes.plot(
        *at,
        marker,
        color=COLOURS[colour],
        markeredgecolor=COLOURS["black"],
        markeredgewidth=0.8,
        markersize=_NODE_SIZE,
        zorder=3,
    )
    axes.text(*at, label, ha="center", va="center", fontsize=8, zorder=4)


def _chords(axes: Axes, ring: int, word: Word, pairing: Pairing, colour: dict[Edge, str]) -> None:
    """A curve between the middles of two paired edges; a stub with a number where the partner is on another ring."""
    for number, (first, second) in enumerate(pairing.pairs, start=1):
        inside = [position for r, position in (first, second) if r == ring]
        if len(inside) == 2:
            ends = [np.array(_point(position + 0.5, len(word))) for position in inside]
            t = np.linspace(0, 1, 30)[:, None]
            bend = 0.35 * (ends[0] + ends[1]) / 2
            curve = (1 - t) ** 2 * ends[0] + 2 * t * (1 - t) * bend + t**2 * ends[1]
            axes.plot(*curve.T, color=COLOURS[colour[first]], linewidth=1.6, zorder=2)
        for position in inside if len(inside) == 1 else ():
            edge = (ring, position)
            ends = [np.array(_point(position + 0.5, len(word), radius)) for radius in (1.0, 0.72)]
            axes.plot(*np.array(ends).T, color=COLOURS[colour[edge]], linewidth=1.6, zorder=2)
            x, y = 0.85 * ends[1]
            axes.text(x, y, str(number), color=COLOURS[colour[edge]], ha="center", va="center")


def _contracted(axes: Axes, rings: Product, pairing: Pairing, model: MatrixModel, colour: dict[Edge, str]) -> None:
    """The contracted nodes on a circle, an edge for each pair; parallel edges bend apart."""
    names = contracted_names(pairing)
    order = list(dict.fromkeys(names[node] for _, members in pairing.nodes for node in members))
    kinds = {names[members[0]]: kind for kind, members in pairing.nodes}
    place = {name: _point(k, len(order), 0.9) if len(order) > 1 else (0.0, 0.0) for k, name in enumerate(order)}
    drawn: Counter[frozenset[str]] = Counter()
    for (r, k), _ in pairing.pairs:
        ends = (names[r, k], names[r, (k + 1) % len(rings[r])])
        key = frozenset(ends)
        _bent_edge(axes, place[ends[0]], place[ends[1]], drawn[key], COLOURS[colour[r, k]])
        drawn[key] += 1
    for name, at in place.items():
        _node(axes, at, kinds[name], name, model)


def _bent_edge(axes: Axes, start: tuple[float, float], end: tuple[float, float], number: int, colour: str) -> None:
    a, b = np.array(start), np.array(end)
    t = np.linspace(0, 1, 40)[:, None]
    if start == end:
        out = a / np.linalg.norm(a) if np.any(a) else np.array((0.0, 1.0))
        size = 0.22 + 0.1 * number
        centre, turn = a + size * out, 2 * pi * t
        curve = centre + size * np.hstack((np.cos(turn), np.sin(turn)))
    else:
        side = np.array((a[1] - b[1], b[0] - a[0])) * 0.28 * ((number + 1) // 2) * (-1) ** number
        curve = (1 - t) ** 2 * a + 2 * t * (1 - t) * ((a + b) / 2 + 2 * side) + t**2 * b
    axes.plot(*curve.T, color=colour, linewidth=1.8, zorder=1)
