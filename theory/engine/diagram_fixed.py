"""Closed diagrams of fixed tensors: numbers without a value yet, so symbols.

A closed word of fixed matrices is divided by the size of one of its nodes, of the size declared first: with one fixed
symmetric matrix C on a space p in the model, Tr C^k = p · c_k. In any other model the symbol spells the word, matrices
joined by ``_`` and ' for the transpose (of a hermitian one too): Tr A A' B = p · c_A_A'_B. A diagram that is no word
is spelled by its entries, ``c_C[i,i]C[i,i]``.
"""

from __future__ import annotations

from string import ascii_lowercase

import numpy as np

from theory.engine.diagram_canonical import Rows
from theory.engine.diagram_plan import DiagramPlan

Edge = tuple[int, tuple[int, ...]]


def symbol(rows: Rows, *, plan: DiagramPlan) -> tuple[str, str]:
    """The symbol of a connected diagram of fixed tensors, and the size that it is to be multiplied by."""
    edges = edges_of(rows, plan=plan)
    letters = [letter for letter, _ in edges]
    sizes = plan.model.sizes
    size = sizes[min(int(plan.kinds[letter, k]) for letter, ends in edges for k in range(len(ends)))]
    words = [word for word in around(edges, plan=plan) if sizes[int(plan.kinds[word[0] >> 1, word[0] & 1])] == size]
    if not words:
        return "c_" + "".join(_entry(edge, plan) for edge in edges), size
    word = min(words)
    fixed = [tensor for tensor in plan.model.all_tensors if tensor.fixed]
    if len(fixed) == 1 and fixed[0].kind in ("symmetric", "hermitian") and not any(letter & 1 for letter in word):
        return f"c_{len(letters)}", size
    return "c_" + "_".join(_name(letter >> 1, plan) + "'" * (letter & 1) for letter in word), size


def edges_of(rows: Rows, *, plan: DiagramPlan) -> list[Edge]:
    """The edges of canonical rows: letter and nodes."""
    table = rows.astype("<u8").view(np.uint8).reshape(-1, 8)[:, ::-1]
    return [(int(row[0]), tuple(int(v) for v in row[1 : 1 + int(plan.legs[row[0]])])) for row in table]


def around(edges: list[Edge], *, plan: DiagramPlan) -> list[tuple[int, ...]]:
    """All readings of a closed word, from each node in both directions: 2·letter, + 1 against its legs.

    Empty if the diagram is no closed word of matrices. An unordered letter has no direction.
    """
    if any(len(ends) != 2 for _, ends in edges):
        return []
    at: dict[int, list[int]] = {}
    for e, (_, ends) in enumerate(edges):
        for v in ends:
            at.setdefault(v, []).append(e)
    if any(len(found) != 2 for found in at.values()):
        return []
    return [_walk(edges, at, start, turned, plan) for start in range(len(edges)) for turned in (0, 1)]


def _walk(edges: list[Edge], at: dict[int, list[int]], start: int, turned: int, plan: DiagramPlan) -> tuple[int, ...]:
    word: list[int] = []
    e = start
    while True:
        letter, ends = edges[e]
        word.append(2 * letter + (0 if plan.unordered[letter] else turned))
        node = ends[1 - turned]
        e = at[node][0] if at[node][1] == e else at[node][1]
        if e == start:
            return tuple(word)
        turned = int(edges[e][1][0] != node)


def _name(letter: int, plan: DiagramPlan) -> str:
    tensor, conjugate = plan.letters[letter]
    return tensor.name + ("*" if conjugate else "")


def _entry(edge: Edge, plan: DiagramPlan) -> str:
    letter, ends = edge
    return f"{_name(letter, plan)}[{','.join(_label(v) for v in ends)}]"


def _label(node: int) -> str:
    names = ascii_lowercase[8:] + ascii_lowercase[:8]
    return names[node] if node < len(names) else f"i{node}"
