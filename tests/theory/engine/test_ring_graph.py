"""Graphs of rings, merges and pairings against the engine's algebra and against brute force over orientations."""

from __future__ import annotations

from collections import Counter
from itertools import product

import networkx as nx
import pytest

from theory.autoencoder.model import AUTOENCODER
from theory.engine.merge import merge_rings
from theory.engine.pairings import Pairing, pairings
from theory.engine.ring import Product, canonical
from theory.engine.ring_graph import merged_at, pairing_graph, ring_graph, surface
from theory.errors import InputError

WORDS = ["U' U", "U' U U' U", "U' U X X'", "U' U U' U X X'", "U' U X X' U' U X X'"]


@pytest.mark.parametrize(("left", "right"), list(product(WORDS, repeat=2)))
def test_merges_at_all_pairs_of_edges_are_the_gradient_product(left: str, right: str) -> None:
    a, b = AUTOENCODER.word(left), AUTOENCODER.word(right)
    found: Counter[tuple[int, ...]] = Counter()
    for i, j in product(range(len(a)), range(len(b))):
        if a[i] >> 1 == b[j] >> 1 == 0:
            found[canonical(merged_at(a, b, edges=(i, j), model=AUTOENCODER))] += 1
    assert found == merge_rings(a, b, model=AUTOENCODER)


def test_data_edges_do_not_merge() -> None:
    word = AUTOENCODER.word("U' U X X'")
    with pytest.raises(InputError, match="choose letters of U"):
        merged_at(word, word, edges=(2, 2), model=AUTOENCODER)


def name_by_brute_force(rings: Product, pairing: Pairing) -> str:
    """Try every orientation of the discs; count components and Euler's characteristic by the definition."""
    parts = nx.Graph([(r, q) for (r, _), (q, _) in pairing.pairs] + [(r, r) for r in range(len(rings))])
    pieces = nx.number_connected_components(parts)
    euler = len(pairing.nodes) - len(pairing.pairs) + len(rings)
    defect = 2 * pieces - euler
    orientable = any(
        all(((rings[r][i] ^ rings[q][j]) & 1) ^ turn[r] ^ turn[q] for (r, i), (q, j) in pairing.pairs)
        for turn in product((0, 1), repeat=len(rings))
    )
    if defect == 0:
        return "sphere" if pieces == 1 else f"{pieces} spheres"
    return f"genus {defect // 2}" if orientable else f"{defect} crosscap"


CASES = [
    ["U' U U' U X X'"],
    ["U' U U' U U' U"],
    ["U' U X X' X X' X X'"],
    ["U' U X X'", "U' U"],
    ["U' U U' U", "U' U U' U"],
    ["U' U", "U' U", "X X'"],
]


@pytest.mark.parametrize("words", CASES)
def test_the_surface_is_that_of_the_gluing(words: list[str]) -> None:
    rings = tuple(AUTOENCODER.word(word) for word in words)
    seen = set()
    for pairing in pairings(rings, model=AUTOENCODER):
        name = surface(rings, pairing)
        assert name.startswith(name_by_brute_force(rings, pairing))
        assert ("planar" in name) == (pairing.lost == 0)
        seen.add(name.split(":")[0])
    assert len(seen) > 1


def test_handles_and_twists_are_told_apart() -> None:
    rings = (AUTOENCODER.word("U' U U' U U' U"),)
    names = Counter(surface(rings, pairing) for pairing in pairings(rings, model=AUTOENCODER))
    assert names["sphere (planar)"] == 5  # Catalan
    assert names["genus 1: 2 nodes lost"] == 1
    assert sum(names.values()) == 15


@pytest.mark.parametrize("words", CASES)
def test_graphs_carry_what_is_drawn(words: list[str]) -> None:
    rings = tuple(AUTOENCODER.word(word) for word in words)
    graph = ring_graph(rings, model=AUTOENCODER)
    assert all(degree == 2 for _, degree in graph.degree)
    assert nx.number_connected_components(graph) == len(rings)
    for _, _, data in graph.edges(data=True):
        assert data["trained"] == (data["matrix"] == "U")
    pairing = next(pairings(rings, model=AUTOENCODER))
    contracted = pairing_graph(rings, pairing, model=AUTOENCODER)
    assert contracted.number_of_edges() == len(pairing.pairs) == sum(map(len, rings)) / 2
    members = [node for _, nodes in contracted.nodes(data="members") for node in nodes]
    assert sorted(members) == sorted(graph.nodes)
    for a, b, data in contracted.edges(data=True):  # an edge joins the two spaces of its matrix
        kinds = {contracted.nodes[a]["kind"], contracted.nodes[b]["kind"]}
        assert kinds == ({"n", "p"} if data["matrix"] == "U" else {"p", "m"})
