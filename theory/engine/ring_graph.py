"""Rings, merges and Wick pairings as networkx graphs, and the surface a pairing glues the rings to. [P] §3, [D]."""

from __future__ import annotations

import networkx as nx

from theory.engine.model import MatrixModel
from theory.engine.pairings import Pairing
from theory.engine.ring import Product, Word, transpose
from theory.errors import InputError


def ring_graph(rings: Product, *, model: MatrixModel) -> nx.MultiGraph:
    """The ring graphs of a product of traces.

    Nodes are (ring, position) with the attribute ``kind``, the name of their space; edges carry ``matrix``,
    ``transposed`` and ``trained``, and are keyed by their position.

    >>> from theory.autoencoder.model import AUTOENCODER as model
    >>> graph = ring_graph((model.word("U' U X X'"),), model=model)
    >>> [kind for _, kind in graph.nodes(data="kind")]
    ['p', 'n', 'p', 'm']
    """
    graph = nx.MultiGraph()
    for r, word in enumerate(rings):
        for k, kind in enumerate(model.nodes(word)):
            graph.add_node((r, k), kind=kind)
        for k, letter in enumerate(word):
            graph.add_edge((r, k), (r, (k + 1) % len(word)), key=k, **_edge(letter, model))
    return graph


def merged_at(left: Word, right: Word, *, edges: tuple[int, int], model: MatrixModel) -> Word:
    """The ring two rings merge to at one trained edge of each: both edges removed, their ends joined. [P] §3.

    The word is as it is read around, not canonical.

    >>> from theory.autoencoder.model import AUTOENCODER as model
    >>> ring = model.word("U' U")
    >>> model.spell(merged_at(ring, ring, edges=(0, 0), model=model))
    "U U'"

    Raises ``InputError`` where the two letters are not the same trained matrix.
    """
    i, j = edges
    valid = 0 <= i < len(left) and 0 <= j < len(right) and left[i] >> 1 == right[j] >> 1 in model.trained
    if not valid:
        raise InputError(
            "edges to merge",
            given=edges,
            expected="positions of one and the same trained matrix in the two rings",
            remedy=f"choose letters of {', '.join(model.matrices[k].name for k in model.trained)}",
        )
    first, second = left[i + 1 :] + left[:i], right[j + 1 :] + right[:j]
    return first + (transpose(second) if left[i] == right[j] else second)


def pairing_graph(rings: Product, pairing: Pairing, *, model: MatrixModel) -> nx.MultiGraph:
    """What a Wick pairing leaves of the rings: one node for each contracted node, one edge for each pair.

    Nodes are numbers with the attributes ``kind`` and ``members`` (the ring nodes contracted); edges carry ``matrix``,
    ``transposed`` and ``trained``. Embedded in the surface of ``surface`` the graph has the rings as its faces.

    >>> from theory.autoencoder.model import AUTOENCODER as model
    >>> from theory.engine.pairings import pairings
    >>> rings = (model.word("U' U X X'"),)
    >>> graph = pairing_graph(rings, next(pairings(rings, model=model)), model=model)
    >>> sorted(kind for _, kind in graph.nodes(data="kind")), graph.number_of_edges()
    (['m', 'n', 'p'], 2)
    """
    graph = nx.MultiGraph()
    number = {}
    for k, (kind, members) in enumerate(pairing.nodes):
        graph.add_node(k, kind=kind, members=members)
        number.update(dict.fromkeys(members, k))
    for (r, k), _ in pairing.pairs:
        word = rings[r]
        graph.add_edge(number[r, k], number[r, (k + 1) % len(word)], **_edge(word[k], model))
    return graph


def surface(rings: Product, pairing: Pairing) -> str:
    """Which closed surface the rings, filled to discs and glued along the pairs, make: by Euler's formula.

    >>> from theory.autoencoder.model import AUTOENCODER as model
    >>> from theory.engine.pairings import pairings
    >>> rings = (model.word("U' U U' U"),)
    >>> [surface(rings, pairing) for pairing in pairings(rings, model=model)]
    ['sphere (planar)', '1 crosscap: 1 node lost', 'sphere (planar)']
    """
    glued = nx.Graph()
    glued.add_nodes_from(range(len(rings)))
    glued.add_edges_from((r, q) for (r, _), (q, _) in pairing.pairs)
    parts = nx.number_connected_components(glued)
    euler_genus = 2 * parts - (len(pairing.nodes) - len(pairing.pairs) + len(rings))
    lost = f"{pairing.lost} node{'s' * (pairing.lost != 1)} lost"
    if euler_genus == 0:
        name = "sphere" if parts == 1 else f"{parts} spheres"
        return f"{name} (planar)" if pairing.planar else f"{name}: {lost}"
    if _orientable(rings, pairing):
        return f"genus {euler_genus // 2}: {lost}"
    return f"{euler_genus} crosscap{'s' * (euler_genus != 1)}: {lost}"


def _orientable(rings: Product, pairing: Pairing) -> bool:
    """Whether the rings can be oriented so that every pair joins edges of opposite directions."""
    flipped = {0: False}
    pending = list(pairing.pairs)
    while pending:
        known = [pair for pair in pending if pair[0][0] in flipped or pair[1][0] in flipped]
        if not known:
            ((r, _), _), *_ = pending
            flipped[r] = False
            continue
        for pair in known:
            (r, i), (q, j) = pair
            same = rings[r][i] == rings[q][j]
            if r not in flipped:
                r, q = q, r
            if flipped.setdefault(q, flipped[r] != same) != (flipped[r] != same):
                return False
            pending.remove(pair)
    return True


def _edge(letter: int, model: MatrixModel) -> dict[str, object]:
    matrix = model.matrices[letter >> 1]
    return {"matrix": matrix.name, "transposed": bool(letter & 1), "trained": matrix.trained}
