"""What shape a polytope has: its combinatorial type, named by comparison with products, pyramids and bipyramids."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from functools import cache
from itertools import product

import networkx as nx

from theory.engine.polytope import Point, Polytope, hull

_LARGEST_NAMED = 4
_POLYGONS = {3: "triangle", 4: "quadrilateral"}
_SHORT = {
    "pyramid over triangle": "tetrahedron",
    "pyramid over square": "square pyramid",
    "triangle × segment": "triangular prism",
    "square × segment": "cube",
    "bipyramid over square": "octahedron",
    "pyramid over tetrahedron": "4-simplex",
}


def shape_of(polytope: Polytope) -> str:
    """The name of the combinatorial type; ``f = (…)`` alone where it is none of the types compared with.

    Compared are, in dimension 3 and 4, the products, pyramids and bipyramids built from segment, triangle and square,
    also with one vertex left out.

    >>> shape_of(hull([(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1), (1, 0, 1), (0, 1, 1)]))
    'triangular prism'
    """
    unnamed = f"f = ({', '.join(str(count) for count in polytope.f_vector[:-1])})"
    if polytope.dimension < 2:
        return ("point", "segment")[polytope.dimension]
    if polytope.dimension == 2:
        return _POLYGONS.get(len(polytope.vertices), f"{len(polytope.vertices)}-gon")
    if polytope.dimension > _LARGEST_NAMED:
        return unnamed
    for name, candidate in _named(polytope.dimension):
        if same_type(polytope, candidate):
            return name
    for name, candidate in _named(polytope.dimension):
        if len(candidate.vertices) == len(polytope.vertices) + 1:
            for k in range(len(candidate.vertices)):
                rest = hull(candidate.vertices[:k] + candidate.vertices[k + 1 :])
                if rest.dimension == polytope.dimension and same_type(polytope, rest):
                    return f"{name} less a vertex"
    return unnamed


def same_type(first: Polytope, second: Polytope) -> bool:
    """Whether two polytopes have the same face lattice: isomorphic vertex–facet incidences.

    >>> same_type(hull([(0, 0), (1, 0), (0, 1)]), hull([(0, 0), (5, 1), (2, 2)]))
    True
    """
    if first.f_vector != second.f_vector:
        return False
    graphs = [_incidences(polytope) for polytope in (first, second)]
    return bool(nx.is_isomorphic(*graphs, node_match=lambda a, b: a == b))


def _incidences(polytope: Polytope) -> nx.Graph:
    graph = nx.Graph()
    graph.add_nodes_from((("vertex", k) for k in range(len(polytope.vertices))), side=0)
    graph.add_nodes_from((("facet", k) for k in range(len(polytope.facets))), side=1)
    graph.add_edges_from((("facet", f), ("vertex", v)) for f, on in enumerate(polytope.incidence) for v in on)
    return graph


@cache
def _named(dimension: int) -> tuple[tuple[str, Polytope], ...]:
    """Named types of one dimension, each type once."""
    if dimension == 1:
        return (("segment", hull([(0,), (1,)])),)
    if dimension == 2:
        return (("triangle", hull([(0, 0), (1, 0), (0, 1)])), ("square", hull(product((0, 1), repeat=2))))
    found: list[tuple[str, Polytope]] = []
    for name, candidate in _constructions(dimension):
        if not any(same_type(candidate, known) for _, known in found):
            found.append((_SHORT.get(name, name), candidate))
    return tuple(found)


def _constructions(dimension: int) -> Iterator[tuple[str, Polytope]]:
    zero, one = Fraction(0), Fraction(1)
    for low in range(1, dimension // 2 + 1):
        for (a, first), (b, second) in product(_named(dimension - low), _named(low)):
            yield f"{a} × {b}", hull(x + y for x in first.vertices for y in second.vertices)
    for name, base in _named(dimension - 1):
        flat = [(*x, zero) for x in base.vertices]
        centre: Point = tuple(sum(x) / len(base.vertices) for x in zip(*base.vertices, strict=True))
        yield f"pyramid over {name}", hull([*flat, (*centre, one)])
        yield f"bipyramid over {name}", hull([*flat, (*centre, one), (*centre, -one)])
