"""Canonical forms against networkx's isomorphism test, on relabelled, symmetric and random diagrams."""

from __future__ import annotations

import itertools
import random
from collections import defaultdict

import networkx as nx
import numpy as np
import pytest

from theory.engine.diagram_canonical import canonise

LEGS, UNORDERED = np.array([2, 2, 1, 3]), np.array([False, True, False, False])

Edge = tuple[int, ...]
"""A letter and its nodes."""


def form(edges: list[Edge]) -> bytes:
    labels: dict[int, int] = {}
    ends = np.zeros((len(edges), 7), np.int64)
    for e, (_, *nodes) in enumerate(edges):
        for k, node in enumerate(nodes):
            ends[e, k] = labels.setdefault(node, len(labels))
    return bytes(canonise(np.array([edge[0] for edge in edges]), ends, LEGS, UNORDERED, len(labels)).tobytes())


def relabelled(edges: list[Edge], rng: random.Random) -> list[Edge]:
    nodes = sorted({node for edge in edges for node in edge[1:]})
    names = dict(zip(nodes, rng.sample(nodes, len(nodes)), strict=True))
    result: list[Edge] = []
    for letter, *old in edges:
        new = [names[node] for node in old]
        if UNORDERED[letter]:
            rng.shuffle(new)
        result.append((letter, *new))
    return rng.sample(result, len(result))


def graph(edges: list[Edge]) -> nx.Graph:
    """Nodes, edges and legs as vertices, so that networkx sees every distinction that counts."""
    result = nx.Graph()
    for e, (letter, *nodes) in enumerate(edges):
        result.add_node(("edge", e), colour=f"letter {letter}")
        for k, node in enumerate(nodes):
            result.add_node(("node", node), colour="node")
            result.add_node(("leg", e, k), colour="leg" if UNORDERED[letter] else f"leg {k}")
            result.add_edges_from([(("edge", e), ("leg", e, k)), (("leg", e, k), ("node", node))])
    return result


def ring(pairs: int) -> list[Edge]:
    return [(0, 2 * i, 2 * i + 1) for i in range(pairs)] + [(0, 2 * ((i + 1) % pairs), 2 * i + 1) for i in range(pairs)]


def prism(length: int) -> list[Edge]:
    around = [(1, side + i, side + (i + 1) % length) for side in (0, length) for i in range(length)]
    return around + [(1, i, length + i) for i in range(length)]


SYMMETRIC = {
    "ring": ring(12),
    "star": [(0, 0, i) for i in range(1, 25)],
    "star of double edges": [(0, 0, i) for i in range(1, 11) for _ in range(2)],
    "complete": [(1, i, j) for i in range(9) for j in range(i)],
    "prism": prism(8),
    "tree": [(0, 0, i) for i in range(1, 6)] + [(0, i, 10 * i + j) for i in range(1, 6) for j in range(4)],
    "cube of triples": [(3, i, 3 + i, 6 + i) for i in range(3)] + [(3, i, 3 + (i + 1) % 3, 6 + i) for i in range(3)],
}


@pytest.mark.parametrize("name", SYMMETRIC)
def test_the_form_does_not_depend_on_names(name: str) -> None:
    rng = random.Random(name)
    edges = SYMMETRIC[name]
    assert {form(relabelled(edges, rng)) for _ in range(50)} == {form(edges)}


def test_regular_diagrams_that_look_alike_are_told_apart() -> None:
    # a prism over a square and the Moebius ladder of four rungs: both connected, all degrees 3, colours all equal
    ladder: list[Edge] = [(1, i, (i + 1) % 8) for i in range(8)] + [(1, i, i + 4) for i in range(4)]
    assert not nx.is_isomorphic(graph(ladder), graph(prism(4)))
    assert form(ladder) != form(prism(4))


def test_forms_agree_exactly_with_isomorphism() -> None:
    rng = random.Random(14)
    classes: dict[bytes, list[nx.Graph]] = defaultdict(list)
    for _ in range(3000):
        nodes = rng.randint(1, 4)
        edges: list[Edge] = []
        for _ in range(rng.randint(1, 4)):
            letter = rng.randrange(4)
            edges.append((letter, *(rng.randrange(nodes) for _ in range(LEGS[letter]))))
        if nx.is_connected(graph(edges)):
            classes[form(edges)].append(graph(edges))

    def same(first: nx.Graph, second: nx.Graph) -> bool:
        return nx.is_isomorphic(first, second, node_match=lambda a, b: a["colour"] == b["colour"])

    assert len(classes) > 500
    for members in classes.values():
        assert all(same(members[0], other) for other in members[1:3])
    by_hash = defaultdict(list)
    for members in classes.values():
        by_hash[nx.weisfeiler_lehman_graph_hash(members[0], node_attr="colour")].append(members[0])
    for alike in by_hash.values():
        assert not any(same(a, b) for a, b in itertools.combinations(alike, 2))
