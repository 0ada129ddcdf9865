"""The 21 faces of the prism: their names, their lattice, and how users write them. [P] §4."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache

import networkx as nx

from regimes.prism import SEGMENT, TRIANGLE, VERTICES, nonempty_subsets
from theory.errors import InputError

_NAMED = {
    "R,N,P|m,p": "interior",
    "R,N,P|m": "large-data",
    "R,N,P|p": "small-data",
    "R,N|m,p": "mean-field",
    "R,P|m,p": "narrow-latent",
    "N,P|m,p": "free",
}
_LONGEST_NAME = 40
_WAY_OUT = f"use {', '.join(_NAMED.values())}, or letters of R,N,P and of m,p such as R,N|m"


@dataclass(frozen=True)
class Face:
    """A non-empty face: the product of a non-empty part of the triangle {R, N, P} and of the segment {m, p}. [P] §4.

    >>> parse_face("mean-field").vertices
    ('R|m', 'R|p', 'N|m', 'N|p')
    """

    triangle: frozenset[str]
    segment: frozenset[str]

    def __post_init__(self) -> None:
        if not (self.triangle and self.triangle <= set(TRIANGLE) and self.segment and self.segment <= set(SEGMENT)):
            raise InputError(
                "face",
                given=(sorted(self.triangle), sorted(self.segment)),
                expected="a non-empty part of {R, N, P} and one of {m, p}",
                remedy="take one of regimes.faces.FACES",
            )

    @property
    def vertex_set(self) -> str:
        """The face as its vertex set, for example ``R,N,P|m``."""
        return (
            f"{','.join(a for a in TRIANGLE if a in self.triangle)}|{','.join(b for b in SEGMENT if b in self.segment)}"
        )

    @property
    def name(self) -> str:
        """The regime's name where it has one, else the vertex set."""
        return _NAMED.get(self.vertex_set, self.vertex_set)

    @property
    def vertices(self) -> tuple[str, ...]:
        """Names of the vertices, in the order of ``regimes.prism.VERTICES``."""
        return tuple(v.name for v in VERTICES if v.triangle in self.triangle and v.segment in self.segment)

    @property
    def dimension(self) -> int:
        """0 for a vertex, …, 3 for the interior."""
        return len(self.triangle) + len(self.segment) - 2

    def __le__(self, other: Face) -> bool:
        """Whether this face lies in (the closure of) the other one."""
        return self.triangle <= other.triangle and self.segment <= other.segment

    def __str__(self) -> str:
        return self.name


FACES: tuple[Face, ...] = tuple(
    sorted(
        (Face(frozenset(a), frozenset(b)) for a in nonempty_subsets(TRIANGLE) for b in nonempty_subsets(SEGMENT)),
        key=lambda face: (-face.dimension, face.vertex_set not in _NAMED),
    )
)
"""All faces, the interior first, the vertices last; within a dimension the named regimes first."""


def face_of_vertices(names: Iterable[str]) -> Face:
    """The face with exactly these vertices.

    >>> face_of_vertices(["R|m", "N|m"]).name
    'R,N|m'

    Raises ``InputError`` where they are not the vertices of one face.
    """
    wanted = frozenset(names)
    for face in FACES:
        if wanted == frozenset(face.vertices):
            return face
    raise InputError(
        "vertices",
        given=sorted(wanted),
        expected="the vertices of one face, a product such as {R, N} × {m}",
        remedy="see regimes.faces.FACES",
    )


def parse_face(text: str) -> Face:
    """Read a face: a regime's name or a vertex set, in any order and case.

    >>> parse_face("n,r | M").name, parse_face("R,N,P|m").name, parse_face("Mean-Field").vertex_set
    ('R,N|m', 'large-data', 'R,N|m,p')

    Raises ``InputError``, with the nearest names, for anything else.
    """
    if isinstance(text, str) and len(text) <= _LONGEST_NAME:
        name = re.sub(r"[\s_-]+", "-", text.strip().lower())
        for face in FACES:
            if name == face.name:
                return face
        triangle, bar, segment = ("".join(text.split())).partition("|")
        left, right = triangle.upper().split(","), segment.lower().split(",")
        repeated = len(set(left)) < len(left) or len(set(right)) < len(right)
        if bar and not repeated and set(left) <= set(TRIANGLE) and set(right) <= set(SEGMENT):
            return Face(frozenset(left), frozenset(right))
    raise InputError("face", given=text, expected=_nearest(text), remedy=_WAY_OUT)


def _nearest(text: object) -> str:
    spellings = {spelling.lower(): spelling for face in FACES for spelling in (face.name, face.vertex_set)}
    short = text.lower()[:_LONGEST_NAME] if isinstance(text, str) else ""
    near = difflib.get_close_matches(short, spellings, n=3, cutoff=0.5)
    return "one of the prism's 21 faces" + (f" (near it: {'; '.join(spellings[key] for key in near)})" if near else "")


@cache
def face_lattice() -> nx.DiGraph:
    """The Hasse diagram of the 21 non-empty faces, as a frozen graph: an edge from each face to every face covering it.

    Nodes are ``Face`` values with the attributes ``name`` and ``dimension``. With the empty face below the vertices
    it is the face lattice of the prism. [P] §4.

    >>> diagram = face_lattice()
    >>> diagram.number_of_nodes(), diagram.number_of_edges()
    (21, 41)
    >>> [sum(face.dimension == d for face in diagram) for d in range(4)]
    [6, 9, 5, 1]
    """
    diagram = nx.DiGraph()
    for face in FACES:
        diagram.add_node(face, name=face.name, dimension=face.dimension)
    for lower in FACES:
        for upper in FACES:
            if lower.dimension + 1 == upper.dimension and lower <= upper:
                diagram.add_edge(lower, upper)
    return nx.freeze(diagram)
