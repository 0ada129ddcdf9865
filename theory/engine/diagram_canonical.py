"""Canonical forms of connected diagrams: colour refinement, ties broken by branching, automorphisms prune. Compiled.

A connected diagram is a sorted array of 64-bit rows, one an edge: from the top byte the letter, then its nodes. Colours
are 64-bit hashes of what a node sees; equal hashes of unequal nodes would only leave a tie to branch on, so that the
form is exact: it is the least array of rows over all the leaves of the search. Two leaves with the same rows show an
automorphism; branches that it maps to one already searched are left out.
"""

from __future__ import annotations

import numba as nb
import numpy as np
import numpy.typing as npt

MOST_LEGS = 7
MOST_NODES = 255

Rows = npt.NDArray[np.uint64]
Ints = npt.NDArray[np.int64]

_A = np.uint64(0x9E3779B97F4A7C15)
_B = np.uint64(0xBF58476D1CE4E5B9)
_C = np.uint64(0x94D049BB133111EB)
_S30, _S27, _S31 = np.uint64(30), np.uint64(27), np.uint64(31)
_SELF = np.uint64(0xD1B54A32D192ED03)
_CHOSEN = np.uint64(0x8CB92BA72F3D8DD7)
_BYTE = np.uint64(8)


@nb.njit(cache=True)
def _mix(x):  # type: ignore[no-untyped-def]
    """SplitMix64's finaliser."""
    x = x + _A
    x = (x ^ (x >> _S30)) * _B
    x = (x ^ (x >> _S27)) * _C
    return x ^ (x >> _S31)


@nb.njit(cache=True)
def _distinct(colours, nodes, scratch):  # type: ignore[no-untyped-def]
    for v in range(nodes):
        x = colours[v]
        i = v
        while i > 0 and scratch[i - 1] > x:
            scratch[i] = scratch[i - 1]
            i -= 1
        scratch[i] = x
    count = 1
    for v in range(1, nodes):
        if scratch[v] != scratch[v - 1]:
            count += 1
    return count


@nb.njit(cache=True)
def _refine(letters, ends, legs, unordered, colours, nodes, fresh, scratch):  # type: ignore[no-untyped-def]
    """Refine ``colours`` in place until no cell splits; the number of cells. ``scratch`` then holds them sorted."""
    count = _distinct(colours, nodes, scratch)
    while count < nodes:
        for v in range(nodes):
            fresh[v] = _mix(colours[v])
        for e in range(len(letters)):
            letter = letters[e]
            order = legs[letter]
            for k in range(order):
                v = ends[e, k]
                seen = np.uint64(letter + 1) * _B
                if not unordered[letter]:
                    seen += np.uint64(k + 1) * _C
                for j in range(order):
                    if j != k:
                        other = colours[ends[e, j]]
                        if ends[e, j] == v:
                            other ^= _SELF
                        if not unordered[letter]:
                            other += np.uint64(j + 1) * _A
                        seen += _mix(other)
                fresh[v] += _mix(seen)
        colours[:nodes] = fresh[:nodes]
        now = _distinct(colours, nodes, scratch)
        if now == count:
            break
        count = now
    return count


@nb.njit(cache=True)
def _leaf(letters, ends, legs, unordered, rank, rows):  # type: ignore[no-untyped-def]
    """The sorted rows of a diagram whose nodes are numbered by ``rank``."""
    labels = np.empty(MOST_LEGS, np.int64)
    for e in range(len(letters)):
        order = legs[letters[e]]
        for k in range(order):
            x = rank[ends[e, k]]
            i = k
            if unordered[letters[e]]:
                while i > 0 and labels[i - 1] > x:
                    labels[i] = labels[i - 1]
                    i -= 1
            labels[i] = x
        row = np.uint64(letters[e])
        for k in range(MOST_LEGS):
            row = row << _BYTE
            if k < order:
                row |= np.uint64(labels[k])
        i = e
        while i > 0 and rows[i - 1] > row:
            rows[i] = rows[i - 1]
            i -= 1
        rows[i] = row


@nb.njit(cache=True)
def _compare(first, second):  # type: ignore[no-untyped-def]
    for i in range(len(first)):
        if first[i] < second[i]:
            return -1
        if first[i] > second[i]:
            return 1
    return 0


@nb.njit(cache=True)
def _root(parent, v):  # type: ignore[no-untyped-def]
    while parent[v] != v:
        v = parent[v]
    return v


@nb.njit(cache=True)
def canonise(letters, ends, legs, unordered, nodes):  # type: ignore[no-untyped-def]
    """The canonical rows of a connected diagram with edges ``letters[e]`` at the nodes ``ends[e, :legs]``."""
    edges = len(letters)
    colours = np.zeros((nodes + 1, nodes), np.uint64)
    fresh, scratch = np.empty(nodes, np.uint64), np.empty(nodes, np.uint64)
    rank, inverse = np.empty(nodes, np.int64), np.empty(nodes, np.int64)
    rows, best, first = np.empty(edges, np.uint64), np.empty(edges, np.uint64), np.empty(edges, np.uint64)
    if _refine(letters, ends, legs, unordered, colours[0], nodes, fresh, scratch) == nodes:
        for v in range(nodes):
            rank[v] = np.searchsorted(scratch, colours[0, v])
        _leaf(letters, ends, legs, unordered, rank, best)
        return best
    path, leaf_depth = np.empty(nodes, np.int64), np.zeros(2, np.int64)
    paths, numbers = np.empty((2, nodes), np.int64), np.empty((2, nodes), np.int64)  # of the first leaf and the best
    cells, size = np.empty((nodes + 1, nodes), np.int64), np.zeros(nodes + 1, np.int64)
    position, orbits = np.zeros(nodes + 1, np.int64), np.empty((nodes + 1, nodes), np.int64)
    found = False
    depth = 0
    size[0] = _cell(colours[0], nodes, scratch, cells[0])
    orbits[0] = np.arange(nodes)
    while depth >= 0:
        v = -1
        while position[depth] < size[depth]:
            candidate = cells[depth, position[depth]]
            known = False
            for i in range(position[depth]):
                if _root(orbits[depth], cells[depth, i]) == _root(orbits[depth], candidate):
                    known = True
                    break
            position[depth] += 1
            if not known:
                v = candidate
                break
        if v < 0:
            depth -= 1
            continue
        path[depth] = v
        colours[depth + 1] = colours[depth]
        colours[depth + 1, v] = _mix(colours[depth, v] ^ _CHOSEN)
        if _refine(letters, ends, legs, unordered, colours[depth + 1], nodes, fresh, scratch) < nodes:
            depth += 1
            size[depth] = _cell(colours[depth], nodes, scratch, cells[depth])
            position[depth] = 0
            orbits[depth] = np.arange(nodes)
            continue
        for u in range(nodes):
            rank[u] = np.searchsorted(scratch, colours[depth + 1, u])
        _leaf(letters, ends, legs, unordered, rank, rows)
        if not found:
            found = True
            first[:], best[:] = rows, rows
            for which in range(2):
                paths[which, : depth + 1], numbers[which], leaf_depth[which] = path[: depth + 1], rank, depth + 1
            continue
        for which in range(2):
            if leaf_depth[which] != depth + 1 or _compare(rows, first if which == 0 else best) != 0:
                continue
            for u in range(nodes):
                inverse[rank[u]] = u
            common = 0
            while path[common] == paths[which, common]:
                common += 1
            agrees = True  # the automorphism takes the old path to the new one
            for d in range(common + 1):
                agrees = agrees and inverse[numbers[which, paths[which, d]]] == path[d]
            if agrees:
                for d in range(common + 1):
                    for u in range(nodes):
                        a, b = _root(orbits[d], u), _root(orbits[d], inverse[numbers[which, u]])
                        if a != b:
                            orbits[d, max(a, b)] = min(a, b)
                depth = common
                break
        if _compare(rows, best) < 0:
            best[:] = rows
            paths[1, : depth + 1], numbers[1], leaf_depth[1] = path[: depth + 1], rank, depth + 1
    return best


@nb.njit(cache=True)
def _cell(colours, nodes, scratch, cell):  # type: ignore[no-untyped-def]
    """The smallest cell of more than one node, of the least colour among those; ``scratch`` has the colours sorted."""
    smallest, chosen = nodes + 1, np.uint64(0)
    start = 0
    for i in range(1, nodes + 1):
        if i == nodes or scratch[i] != scratch[start]:
            if 1 < i - start < smallest:
                smallest, chosen = i - start, scratch[start]
            start = i
    count = 0
    for v in range(nodes):
        if colours[v] == chosen:
            cell[count] = v
            count += 1
    return count
