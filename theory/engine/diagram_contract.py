"""Taking two edges out of one or two connected diagrams and identifying their ends, leg by leg. Compiled. [D]."""

from __future__ import annotations

import numba as nb
import numpy as np

from theory.engine.diagram_canonical import MOST_LEGS, canonise

EVERY = -1
"""For ``first``: every edge of its letter in turn."""

_BYTE = np.uint64(8)
_MASK = np.uint64(255)


@nb.njit(cache=True)
def _decode(rows, offset, shift, legs, letters, ends):  # type: ignore[no-untyped-def]
    """Write the edges of ``rows`` from ``offset`` on, nodes moved by ``shift``; one more than the largest node."""
    most = shift
    for e in range(len(rows)):
        row = rows[e]
        letter = np.int64(row >> np.uint64(8 * MOST_LEGS))
        letters[offset + e] = letter
        for k in range(legs[letter]):
            v = shift + np.int64((row >> np.uint64(8 * (MOST_LEGS - 1 - k))) & _MASK)
            ends[offset + e, k] = v
            most = max(most, v + 1)
    return most


@nb.njit(cache=True)
def _find(parent, v):  # type: ignore[no-untyped-def]
    while parent[v] != v:
        parent[v] = parent[parent[v]]
        v = parent[v]
    return v


@nb.njit(cache=True)
def split(letters, ends, legs, unordered, nodes, meta, meta_end, out, out_end):  # type: ignore[no-untyped-def]
    """Canonise each connected part of a diagram: its sizes go to ``meta``, the rows to ``out``; the ends of both.

    Nodes are any numbers below ``nodes``; those without an edge are left out.
    """
    edges = len(letters)
    parent = np.arange(nodes)
    for e in range(edges):
        for k in range(1, legs[letters[e]]):
            a, b = _find(parent, ends[e, 0]), _find(parent, ends[e, k])
            if a != b:
                parent[b] = a
    part = np.full(nodes, -1, np.int64)
    count = 0
    belongs = np.empty(edges, np.int64)
    for e in range(edges):
        root = _find(parent, ends[e, 0])
        if part[root] < 0:
            part[root] = count
            count += 1
        belongs[e] = part[root]
    number = np.full(nodes, -1, np.int64)
    for c in range(count):
        size = 0
        for e in range(edges):
            size += belongs[e] == c
        own_letters, own_ends = np.empty(size, np.int64), np.zeros((size, MOST_LEGS), np.int64)
        used, i = 0, 0
        for e in range(edges):
            if belongs[e] == c:
                own_letters[i] = letters[e]
                for k in range(legs[letters[e]]):
                    v = ends[e, k]
                    if number[v] < 0:
                        number[v] = used
                        used += 1
                    own_ends[i, k] = number[v]
                i += 1
        out[out_end : out_end + size] = canonise(own_letters, own_ends, legs, unordered, used)
        out_end += size
        meta[meta_end] = size
        meta_end += 1
    return count, meta_end, out_end


@nb.njit(cache=True)
def contract(left, right, first, letter, partner, orders, insert, legs, unordered, kinds, spaces):  # type: ignore[no-untyped-def]
    """Every way to take out an edge ``letter`` of ``left`` and an edge ``partner``, of ``right`` or else of ``left``.

    ``first`` is the edge of ``left``, or ``EVERY``. For each row of ``orders`` leg k of the one meets leg orders[k] of
    the other; with ``insert`` ≥ 0 an edge of that letter goes between the two first legs, instead of one node. What is
    left is cut into its connected parts. Two arrays: for each way, how often it occurs, the number of parts, the closed
    nodes of each of the ``spaces`` (leg k of a letter has the space ``kinds[letter, k]``), the number of edges of each
    part; and all rows.
    """
    own = len(right) == 0
    total = len(left) + len(right)
    letters, ends = np.empty(total, np.int64), np.zeros((total, MOST_LEGS), np.int64)
    nodes = _decode(left, 0, 0, legs, letters, ends)
    begin = 0
    if not own:
        begin = len(left)
        nodes = _decode(right, begin, nodes, legs, letters, ends)
    ways = 0
    for e in range(len(left)):
        if letters[e] == letter and (first == EVERY or e == first):
            for f in range(begin, total):
                ways += letters[f] == partner and f != e
    ways *= len(orders)
    left_over = total - 1
    meta = np.empty(max(1, ways * (2 + spaces + left_over)), np.int64)
    out = np.empty(max(1, ways * left_over), np.uint64)
    meta_end, out_end = 0, 0
    some_letters, some_ends = np.empty(left_over, np.int64), np.zeros((left_over, MOST_LEGS), np.int64)
    order = legs[letter]
    parent, touched = np.empty(nodes, np.int64), np.empty(nodes, np.bool_)
    e = -1
    while e + 1 < len(left):
        e += 1
        if letters[e] != letter or (first != EVERY and e != first):
            continue
        often_e = 1
        while first == EVERY and e + 1 < len(left) and left[e + 1] == left[e] and not own:
            e += 1
            often_e += 1
        f = begin - 1
        while f + 1 < total:
            f += 1
            if letters[f] != partner or f == e:
                continue
            often = often_e
            while f + 1 < total and f + 1 != e and _same(left, right, begin, own, f):
                f += 1
                often += often_e
            for o in range(len(orders)):
                for v in range(nodes):
                    parent[v] = v
                    touched[v] = False
                for k in range(order):
                    if k > 0 or insert < 0:
                        a, b = _find(parent, ends[e, k]), _find(parent, ends[f, orders[o, k]])
                        if a != b:
                            parent[max(a, b)] = min(a, b)
                count = 0
                for g in range(total):
                    if g != e and g != f:
                        some_letters[count] = letters[g]
                        for k in range(legs[letters[g]]):
                            some_ends[count, k] = _find(parent, ends[g, k])
                            touched[some_ends[count, k]] = True
                        count += 1
                if insert >= 0:
                    some_letters[count] = insert
                    some_ends[count, 0] = _find(parent, ends[e, 0])
                    some_ends[count, 1] = _find(parent, ends[f, orders[o, 0]])
                    touched[some_ends[count, 0]] = True
                    touched[some_ends[count, 1]] = True
                    count += 1
                start = meta_end
                meta[start] = often
                for s in range(spaces):
                    meta[start + 2 + s] = 0
                meta_end = start + 2 + spaces
                for k in range(order):
                    for which in range(2):
                        v = _find(parent, ends[e, k] if which == 0 else ends[f, k])
                        if not touched[v]:
                            touched[v] = True
                            meta[start + 2 + kinds[letter if which == 0 else partner, k]] += 1
                meta[start + 1], meta_end, out_end = split(
                    some_letters[:count], some_ends[:count], legs, unordered, nodes, meta, meta_end, out, out_end
                )
    return meta[:meta_end], out[:out_end]


@nb.njit(cache=True)
def _same(left, right, begin, own, f):  # type: ignore[no-untyped-def]
    """Whether edge f + 1 repeats edge f."""
    if own:
        return left[f + 1] == left[f]
    return right[f + 1 - begin] == right[f - begin]
