"""Convex hulls of rational points in exact arithmetic: vertices, facets, face lattice, Minkowski sums and differences.

Floating point only ever proposes facets (Qhull); every one is recomputed from its points in integers, tested against
all points, and the list is certified complete by the diamond property of the face lattice: no verdict rests on floats.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import gcd, lcm
from typing import Any

import networkx as nx
import numpy as np
from flint import fmpz_mat

from theory.checks import rational
from theory.errors import BudgetError, InputError, ReachError

Point = tuple[Fraction, ...]
LARGEST_DIMENSION = 7
MOST_POINTS = 20_000


@dataclass(frozen=True)
class Facet:
    """⟨``normal``, x⟩ ≤ ``offset`` with equality on the facet; ``normal`` is a primitive integer vector."""

    normal: tuple[int, ...]
    offset: Fraction

    def height(self, point: Sequence[Fraction | int]) -> Fraction:
        """⟨normal, point⟩ − offset: zero on the facet, negative inside."""
        return sum((a * Fraction(x) for a, x in zip(self.normal, point, strict=True)), -self.offset)


@dataclass(frozen=True)
class Polytope:
    """A polytope by its vertices (sorted) and facets, both exact; ``hull`` makes one.

    Facets are inequalities in the ambient space; where the polytope is not full-dimensional their normals are fixed by
    being zero outside the coordinates ``basis``, which map its affine hull one to one.
    """

    vertices: tuple[Point, ...]
    facets: tuple[Facet, ...]
    dimension: int
    basis: tuple[int, ...]

    @cached_property
    def faces(self) -> tuple[tuple[frozenset[int], ...], ...]:
        """Non-empty faces as sets of vertex numbers, by dimension 0 … ``dimension``."""
        return _faces_by_dimension(self.vertices, self.incidence)

    @cached_property
    def incidence(self) -> tuple[frozenset[int], ...]:
        """For each facet the numbers of the vertices on it."""
        return tuple(frozenset(k for k, v in enumerate(self.vertices) if not f.height(v)) for f in self.facets)

    @property
    def f_vector(self) -> tuple[int, ...]:
        """Number of faces of each dimension, the polytope itself last.

        >>> hull([(0, 0), (1, 0), (0, 1), (1, 1)]).f_vector
        (4, 4, 1)
        """
        return tuple(len(level) for level in self.faces)

    def face_lattice(self) -> nx.DiGraph:
        """The Hasse diagram of the non-empty faces (frozensets of vertex numbers): an edge from each to its covers."""
        diagram = nx.DiGraph()
        for dimension, level in enumerate(self.faces):
            diagram.add_nodes_from(level, dimension=dimension)
            if dimension:
                diagram.add_edges_from((a, b) for b in level for a in self.faces[dimension - 1] if a < b)
        return diagram

    def contains(self, point: Sequence[Fraction | int]) -> bool:
        """Whether a point lies in the polytope, decided exactly."""
        point = _point(point)
        if affine_rank([*self.vertices, point]) > self.dimension:
            return False
        return all(facet.height(point) <= 0 for facet in self.facets)

    def face_in_direction(self, direction: Sequence[Fraction | int]) -> frozenset[int]:
        """Numbers of the vertices on which ⟨direction, x⟩ is largest; ties are exact."""
        values = [sum(a * x for a, x in zip(direction, vertex, strict=True)) for vertex in self.vertices]
        largest = max(values)
        return frozenset(k for k, value in enumerate(values) if value == largest)


def hull(points: Iterable[Sequence[Fraction | int]]) -> Polytope:
    """The convex hull of rational points. Exact; a float is read as the decimal it prints as.

    >>> square = hull([(0, 0), (2, 0), (0, 2), (2, 2), (1, 1)])
    >>> len(square.vertices), square.dimension, square.contains((1, Fraction(1, 3)))
    (4, 2, True)

    Raises ``InputError`` for what is no sequence of points, ``BudgetError`` for more points or dimensions than are
    worth waiting for, and ``ReachError`` where the proposed facets cannot be certified.
    """
    cloud = sorted({_point(point) for point in _listed(points)})
    if not cloud or len({len(point) for point in cloud}) > 1:
        raise InputError("points", given=cloud, expected="one point at least, all of one length", remedy=_EXAMPLE)
    basis = _independent_coordinates(cloud)
    dimension = len(basis)
    if dimension > LARGEST_DIMENSION or len(cloud) > MOST_POINTS:
        raise BudgetError(
            "convex hull",
            estimate=f"{len(cloud)} points in dimension {dimension}",
            limit=f"{MOST_POINTS} points in dimension {LARGEST_DIMENSION}",
            remedy="lower the order, or set some exponents equal",
        )
    scale = lcm(*(x.denominator for point in cloud for x in point))
    integers = [tuple(int(point[c] * scale) for c in basis) for point in cloud]
    normals = _facet_normals(integers, dimension)
    incident = [
        frozenset(k for k, point in enumerate(integers) if _dot(normal, point) == height) for normal, height in normals
    ]
    extreme = [
        k
        for k in range(len(cloud))
        if integer_rank([normal for (normal, _), on in zip(normals, incident, strict=True) if k in on]) == dimension
    ]
    if not extreme:
        raise ReachError("convex hull", given=len(cloud), reach="hulls it can certify", remedy=_QHULL)
    facets = []
    for normal, height in normals:
        ambient = [0] * len(cloud[0])
        for coordinate, value in zip(basis, normal, strict=True):
            ambient[coordinate] = value
        facets.append(Facet(tuple(ambient), Fraction(height, scale)))
    polytope = Polytope(tuple(cloud[k] for k in extreme), tuple(facets), dimension, basis)
    _certify(polytope)
    return polytope


def minkowski_sum(first: Polytope, second: Polytope) -> Polytope:
    """{x + y}: the hull of all sums of two vertices.

    >>> minkowski_sum(hull([(0, 0), (1, 0)]), hull([(0, 0), (0, 1)])).f_vector
    (4, 4, 1)
    """
    return hull(_add(x, y) for x in first.vertices for y in second.vertices)


def minkowski_difference(total: Polytope, part: Polytope) -> Polytope | None:
    """The polytope P with ``part`` + P = ``total``, or None where there is none. Exact.

    Wherever a direction singles out one vertex of the sum it singles out one vertex of each summand, so every vertex of
    P is a difference of two vertices; that the candidate does add up to ``total`` is checked afterwards.

    >>> square, edge = hull([(0, 0), (1, 0), (0, 1), (1, 1)]), hull([(0, 0), (1, 0)])
    >>> [tuple(map(int, vertex)) for vertex in minkowski_difference(square, edge).vertices]
    [(0, 0), (0, 1)]
    """
    candidates = []
    for number, vertex in enumerate(total.vertices):
        direction = [0] * len(vertex)
        for facet, on in zip(total.facets, total.incidence, strict=True):
            if number in on:
                direction = [a + b for a, b in zip(direction, facet.normal, strict=True)]
        selected = part.face_in_direction(direction)
        if len(selected) > 1:
            return None
        (partner,) = selected
        candidates.append(_add(vertex, [-x for x in part.vertices[partner]]))
    difference = hull(candidates)
    spanning = [_add(x, difference.vertices[0]) for x in part.vertices]
    spanning += [_add(part.vertices[0], y) for y in difference.vertices]
    inside = affine_rank([*total.vertices, *spanning]) == total.dimension and all(
        max(map(facet.height, part.vertices)) + max(map(facet.height, difference.vertices)) + facet.offset <= 0
        for facet in total.facets
    )
    return difference if inside else None


def integer_rank(rows: Sequence[Sequence[int]]) -> int:
    """Rank of an integer matrix; 0 for no rows or no columns."""
    return int(fmpz_mat([list(row) for row in rows]).rank()) if rows and rows[0] else 0


def _listed(items: Any) -> list[Any]:
    """The items of a sequence of points, or of a point; a text is neither."""
    try:
        if not isinstance(items, str | bytes):
            return list(items)
    except TypeError:  # not iterable
        pass
    raise InputError("points", given=items, expected="a sequence of points", remedy=_EXAMPLE)


def _point(point: object) -> Point:
    return tuple(rational("coordinate of a point", x, remedy=_EXAMPLE) for x in _listed(point))


def _facet_normals(points: Sequence[tuple[int, ...]], dimension: int) -> list[tuple[tuple[int, ...], int]]:
    """(primitive outer normal, its largest value over the points) of every facet, in a full-dimensional cloud."""
    if dimension == 0:
        return []
    if dimension == 1:
        values = [x for (x,) in points]
        return [((-1,), -min(values)), ((1,), max(values))]
    from scipy.spatial import ConvexHull, QhullError

    try:
        proposal = ConvexHull(np.array(points, dtype=float))
    except (QhullError, ValueError, OverflowError) as error:
        raise ReachError("convex hull", given=len(points), reach="points Qhull can handle", remedy=_QHULL) from error
    planes: set[tuple[tuple[int, ...], int]] = set()
    for simplex in {tuple(sorted(int(k) for k in simplex)) for simplex in proposal.simplices}:
        base, *others = (points[k] for k in simplex)
        edges = fmpz_mat([[x - y for x, y in zip(other, base, strict=True)] for other in others])
        kernel, nullity = edges.nullspace()
        if nullity != 1:
            continue  # a sliver, flat in exact arithmetic; completeness is certified at the end
        normal = [int(kernel[row, 0]) for row in range(dimension)]
        divisor = gcd(*normal) * (1 if next(x for x in normal if x) > 0 else -1)
        normal = [x // divisor for x in normal]
        planes.add((tuple(normal), _dot(normal, base)))
    facets = []
    for direction, height in planes:
        values = [_dot(direction, point) for point in points]
        if max(values) == height:
            facets.append((direction, height))
        elif min(values) == height:
            facets.append((tuple(-x for x in direction), -height))
    return sorted(facets)


_EXAMPLE = "give for example [(0, 0), (1, 0), (0, 1)]"
_QHULL = "give fewer or smaller exponents"


def _faces_by_dimension(
    vertices: Sequence[Point], facets: Sequence[frozenset[int]]
) -> tuple[tuple[frozenset[int], ...], ...]:
    everything = frozenset(range(len(vertices)))
    found = {everything}
    fresh = {everything}
    while fresh:
        fresh = {face & facet for face in fresh for facet in facets} - found - {frozenset()}
        found |= fresh
    levels: dict[int, list[frozenset[int]]] = {}
    for face in found:
        levels.setdefault(affine_rank([vertices[k] for k in face]), []).append(face)
    return tuple(tuple(sorted(levels.get(d, ()), key=sorted)) for d in range(max(levels) + 1))


def _certify(polytope: Polytope) -> None:
    """Prove the facet list complete: in a polytope's lattice two faces two ranks apart have exactly two between them.

    Each inequality holds for all points and is a facet of Q, the hull of the listed vertices. A missing neighbour of it
    would leave one of its ridges unlisted, and by induction on the dimension the facet's own boundary would then fail
    the same property. So the inequalities define Q, and all points lie in it.
    """
    empty: frozenset[int] = frozenset()
    levels = ((empty,), *polytope.faces)
    below = {
        upper: [lower for lower in levels[rank] if lower < upper]
        for rank, level in enumerate(levels[1:])
        for upper in level
    }
    complete = len(levels) == polytope.dimension + 2 and len(levels[1]) == len(polytope.vertices)
    complete &= len(levels[-1]) == 1 and (polytope.dimension == 0 or set(levels[-2]) == set(polytope.incidence))
    for rank, level in enumerate(levels[2:]):
        for upper in level:
            between = Counter(lowest for middle in below[upper] for lowest in below[middle])
            complete &= set(between.values()) == {2} and all(low in between for low in levels[rank] if low < upper)
    alternating = sum((-1) ** d * count for d, count in enumerate(polytope.f_vector))
    if not complete or alternating != 1:  # Euler's formula, the polytope itself counted
        raise ReachError("convex hull", given=len(polytope.vertices), reach="hulls it can certify", remedy=_QHULL)


def _independent_coordinates(points: Sequence[Point]) -> tuple[int, ...]:
    """Coordinates whose projection is one to one on the affine hull (the pivots of the differences)."""
    rows = _integer_differences(points)
    if not rows:
        return ()
    reduced, _, rank = fmpz_mat(rows).rref()
    return tuple(next(c for c in range(len(points[0])) if reduced[row, c] != 0) for row in range(rank))


def affine_rank(points: Sequence[Sequence[Fraction | int]]) -> int:
    """The dimension of the affine hull of points."""
    return integer_rank(_integer_differences(points))


def _integer_differences(points: Sequence[Sequence[Fraction | int]]) -> list[list[int]]:
    scale = lcm(*(Fraction(x).denominator for point in points for x in point))
    base = [int(Fraction(x) * scale) for x in points[0]]
    return [[int(Fraction(x) * scale) - b for x, b in zip(point, base, strict=True)] for point in points[1:]]


def _add(x: Sequence[Fraction | int], y: Sequence[Fraction | int]) -> tuple[Fraction | int, ...]:
    return tuple(a + b for a, b in zip(x, y, strict=True))


def _dot(x: Sequence[int], y: Sequence[int]) -> int:
    return sum(a * b for a, b in zip(x, y, strict=True))
