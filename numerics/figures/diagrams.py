"""Pictures of diagrams: products of tensor entries, the merge of two, a Wick pairing and what it leaves. [D] §3."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import networkx as nx
import numpy as np
import numpy.typing as npt

from numerics.figures.style import COLOURS, figure, panels, styled
from theory.engine.diagram_model import DiagramModel, DiagramTerm
from theory.engine.diagram_pairings import DiagramPairing
from theory.engine.diagram_tensor import Monomial
from theory.engine.diagram_terms import merged_term
from theory.engine.laurent import Laurent
from theory.errors import InputError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST_ENTRIES = 60
MOST_PANELS = 30

_KINDS = (("sky", "o"), ("orange", "s"), ("yellow", "D"), ("purple", "p"), ("sky", "h"), ("orange", "8"))
_PAIR_COLOURS = ("vermillion", "blue", "green", "purple", "orange", "black")
_DASHES = ("-", (0, (4, 2)), (0, (1, 1.5)), (0, (6, 1.5, 1, 1.5)))

Place = npt.NDArray[np.float64]


@styled()
def draw_diagrams(terms: Sequence[DiagramTerm], *, model: DiagramModel, columns: int = 4) -> Figure:
    """Diagrams side by side, each with its coefficient: nodes are indices, edges entries.

    A matrix is a line, a vector a line to a small square, a tensor of more legs a square with a line to each. Each size
    has its colour, marker and letter; each tensor its dashes; trained tensors are drawn thick.

    Raises ``InputError`` for more than 30 diagrams, or one too large to be legible.
    """
    if not 1 <= len(terms) <= MOST_PANELS:
        raise InputError(
            "diagrams", given=len(terms), expected=f"1 to {MOST_PANELS}", remedy="draw fewer, or of a lower order"
        )
    columns = min(columns, len(terms))
    rows = -(-len(terms) // columns)
    fig = figure(2.6 * columns, 2.7 * rows)
    every = panels(fig, columns=columns, rows=rows)
    for axes in every:
        axes.set_axis_off()
    for axes, term in zip(every, terms, strict=False):
        _draw(axes, term, model)
        axes.set_title(_coefficient(term, model), fontsize=9)
    return fig


@styled()
def draw_diagram_merge(left: DiagramTerm, right: DiagramTerm, *, edges: tuple[int, int], model: DiagramModel) -> Figure:
    """Two diagrams, the trained entries that are removed in red, and what their merge leaves."""
    merged = merged_term(left, right, edges=edges, model=model)
    fig = figure(7.8, 2.9)
    removed: tuple[dict[int, str], ...] = ({edges[0]: "vermillion"}, {edges[1]: "vermillion"}, {})
    for axes, term, marked in zip(panels(fig, columns=3), (left, right, merged), removed, strict=True):
        axes.set_axis_off()
        _draw(axes, term, model, colours=marked)
        axes.set_title(_coefficient(term, model), fontsize=9)
    return fig


@styled()
def draw_diagram_pairing(term: DiagramTerm, pairing: DiagramPairing, *, model: DiagramModel) -> Figure:
    """A Wick pairing: paired entries share a colour, nodes that become one share a number; the title is the weight."""
    numbers = {label: str(k + 1) for k, labels in enumerate(pairing.classes) for label in labels}
    colours = {e: _PAIR_COLOURS[k % len(_PAIR_COLOURS)] for k, (a, b, _) in enumerate(pairing.pairs) for e in (a, b)}
    fig = figure(3.6, 3.6)
    (axes,) = panels(fig)
    axes.set_axis_off()
    _draw(axes, term, model, colours=colours, names=numbers)
    axes.set_title("weight " + _coefficient(DiagramTerm(pairing.weight.coefficient, pairing.weight.powers), model))
    return fig


def layout(term: DiagramTerm) -> dict[str, Place]:
    """Where the nodes go, and a hub for each entry that is no matrix (``#k`` for entry k); parts stand side by side."""
    graph = nx.Graph()
    for k, entry in enumerate(term.entries):
        graph.add_nodes_from(entry.labels)
        if len(entry.labels) == 2:
            graph.add_edge(*entry.labels)
        else:
            graph.add_edges_from((f"#{k}", label) for label in entry.labels)
    places: dict[str, Place] = {}
    left = 0.0
    for part in nx.connected_components(graph):
        inside = graph.subgraph(sorted(part))
        found = nx.kamada_kawai_layout(inside) if len(part) > 1 else {next(iter(part)): np.zeros(2)}
        points = np.array(list(found.values())) * len(part) ** 0.5 / 2
        points[:, 0] += left - points[:, 0].min()
        left = float(points[:, 0].max()) + 1.0
        places |= dict(zip(found, points, strict=True))
    return places


def _draw(
    axes: Axes,
    term: DiagramTerm,
    model: DiagramModel,
    *,
    colours: Mapping[int, str] | None = None,
    names: Mapping[str, str] | None = None,
) -> None:
    if len(term.entries) > MOST_ENTRIES:
        raise InputError(
            "diagram",
            given=f"{len(term.entries)} entries",
            expected=f"at most {MOST_ENTRIES}",
            remedy="draw a lower derivative",
        )
    sizes, places = model.label_sizes(term.entries), layout(term)
    tensors = [tensor.name for tensor in model.all_tensors]
    drawn: Counter[tuple[str, ...]] = Counter()
    for k, entry in enumerate(term.entries):
        colour = COLOURS[(colours or {}).get(k, "black")]
        dashes = _DASHES[tensors.index(entry.tensor) % len(_DASHES)]
        width = 2.0 if model.tensor(entry.tensor).trained else 1.2
        text = entry.tensor + ("*" if entry.conjugate and model.tensor(entry.tensor).kind == "complex" else "")
        if len(entry.labels) == 2:
            ends = (places[entry.labels[0]], places[entry.labels[1]])
            key = tuple(sorted(entry.labels))
            lines, middle = [_bent(*ends, drawn[key], turned=entry.labels[0] > entry.labels[1])], None
            drawn[key] += 1
        else:
            hub = places[f"#{k}"]
            lines, middle = [np.array([hub, places[label]]) for label in entry.labels], hub
            axes.plot(*hub, "s", color=colour, markersize=4, zorder=2)
        for line in lines:
            axes.plot(*line.T, color=colour, linestyle=dashes, linewidth=width, zorder=1)
        at = lines[0][len(lines[0]) // 2] if middle is None else middle + 0.12
        axes.text(
            float(at[0]), float(at[1]), text, fontsize=7, color=colour, ha="center", va="center", zorder=2, bbox=_PLATE
        )
    for label, size in sizes.items():
        colour, marker = _KINDS[model.sizes.index(size) % len(_KINDS)]
        axes.plot(
            *places[label], marker, color=COLOURS[colour], markeredgecolor=COLOURS["black"], markersize=12, zorder=3
        )
        x, y = (float(z) for z in places[label])
        axes.text(x, y, (names or {}).get(label, size), ha="center", va="center", fontsize=7, zorder=4)
    axes.margins(0.2)
    axes.set_aspect("equal", adjustable="datalim")


_PLATE = {"boxstyle": "round,pad=0.1", "facecolor": "white", "edgecolor": "none", "alpha": 0.8}


def _bent(start: Place, end: Place, number: int, *, turned: bool) -> Place:
    """A curve between two nodes; the next one between the same nodes bends to the other side, and further."""
    t = np.linspace(0, 1, 31)[:, None]
    if np.allclose(start, end):
        angle = np.linspace(0, 2 * np.pi, 31)
        radius = 0.25 + 0.12 * number
        loop: Place = start + radius * np.stack([np.sin(angle), 1 - np.cos(angle)], axis=1)
        return loop
    side = (number + 1) // 2 * (-1) ** number * (-1 if turned else 1)
    across = np.array([start[1] - end[1], end[0] - start[0]])
    control = (start + end) / 2 + 0.45 * side * across
    curve: Place = (1 - t) ** 2 * start + 2 * t * (1 - t) * control + t**2 * end
    return curve


def _coefficient(term: DiagramTerm, model: DiagramModel) -> str:
    scale = Monomial(term.coefficient, term.powers)
    latex = Laurent.monomial(dict(scale.powers), model.variables, scale.coefficient).to_latex()
    return f"${latex}$".replace(r"\tfrac", r"\frac")  # Matplotlib knows no \tfrac
