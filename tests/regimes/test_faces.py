"""The face lattice against the exact hull of the six rate vectors, and what users may write for a face."""

from __future__ import annotations

import networkx as nx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from regimes.faces import FACES, Face, face_lattice, parse_face
from regimes.prism import SIZE_NAMES, VERTICES
from theory.engine.polytope import hull
from theory.errors import InputError

PRISM = hull(vertex.vector for vertex in VERTICES)


def test_faces_are_those_of_the_hull_of_the_rate_vectors() -> None:
    """An independent route: the exact hull knows nothing of triangle and segment."""
    names = {vertex.vector: vertex.name for vertex in VERTICES}
    number = [names[tuple(int(x) for x in vertex)] for vertex in PRISM.vertices]
    found = {(frozenset(number[k] for k in face), d) for d, level in enumerate(PRISM.faces) for face in level}
    assert found == {(frozenset(face.vertices), face.dimension) for face in FACES}
    assert len(FACES) == len(found) == 21


def test_the_lattice_is_that_of_the_hull() -> None:
    diagram = face_lattice()
    assert nx.is_isomorphic(diagram, PRISM.face_lattice())
    assert nx.is_directed_acyclic_graph(diagram)
    counts = [sum(face.dimension == d for face in diagram) for d in range(4)]
    assert counts == [6, 9, 5, 1]
    assert counts[0] - counts[1] + counts[2] == 2
    for lower, upper in diagram.edges:
        assert lower.dimension + 1 == upper.dimension
        assert set(lower.vertices) < set(upper.vertices)


def test_rate_vectors_lie_on_one_hyperplane_and_span_it() -> None:
    for vertex in VERTICES:
        q = dict(zip(SIZE_NAMES, vertex.vector, strict=True))
        assert q["p"] + q["n"] + q["m"] - q["sigma2"] == -1
    assert PRISM.dimension == 3


@settings(deadline=None)
@given(face=st.sampled_from(FACES), data=st.data())
def test_a_face_is_read_in_any_order_and_case(face: Face, data: st.DataObject) -> None:
    left = data.draw(st.permutations(sorted(face.triangle)))
    right = data.draw(st.permutations(sorted(face.segment)))
    text = f" {','.join(left)} | {', '.join(right)}"
    assert parse_face(data.draw(st.sampled_from([text, text.lower(), text.upper()]))) == face
    assert parse_face(face.name.upper().replace("-", " ")) == face


@pytest.mark.parametrize(
    ("wrong", "near"),
    [
        ("meanfield", "mean-field"),
        ("large-dta", "large-data"),
        ("interor", "interior"),
        ("R,Q|m", "R,P\\|m"),
        ("R,R|m", "R,N\\|m"),
        ("R|m,", "R\\|m"),
        ("R,N", "R,N\\|m"),
    ],
)
def test_a_wrong_face_names_the_nearest(wrong: str, near: str) -> None:
    with pytest.raises(InputError, match=f"near it: .*{near}.*use interior, large-data"):
        parse_face(wrong)


@pytest.mark.parametrize("wrong", ["", "|", "R|", "|m", "x" * 10_000, None, 3])
def test_nonsense_is_refused(wrong: object) -> None:
    with pytest.raises(InputError, match="one of the prism's 21 faces"):
        parse_face(wrong)  # type: ignore[arg-type]


def test_an_empty_face_is_refused() -> None:
    with pytest.raises(InputError, match="non-empty"):
        Face(frozenset(), frozenset("m"))
