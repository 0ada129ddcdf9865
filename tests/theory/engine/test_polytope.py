"""Exact hulls against a brute-force oracle over all subsets of points, and Minkowski sums against their definition."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations, product

import numpy as np
import pytest
from flint import fmpz_mat
from hypothesis import given, settings
from hypothesis import strategies as st

from theory.engine.polytope import Polytope, affine_rank, hull, minkowski_difference, minkowski_sum
from theory.engine.shapes import shape_of
from theory.errors import BudgetError, InputError, ReachError, quoted

SPACE = st.lists(st.tuples(*[st.integers(-3, 3)] * 3), min_size=1, max_size=9)


def brute_force_facets(points: list[tuple[int, ...]], dimension: int) -> set[frozenset[tuple[int, ...]]]:
    """Every plane through enough points with all others on one side, as the set of points on it: the definition."""
    found = set()
    for chosen in combinations(points, dimension):
        if affine_rank(chosen) != dimension - 1:
            continue
        sides = []
        for point in points:
            rows = [[x - y for x, y in zip(other, chosen[0], strict=True)] for other in (*chosen[1:], point)]
            sides.append(int(fmpz_mat(rows).det()))
        if min(sides) >= 0 or max(sides) <= 0:
            found.add(frozenset(point for point, side in zip(points, sides, strict=True) if side == 0))
    return found


@settings(max_examples=60, deadline=None)
@given(points=SPACE)
def test_facets_are_those_of_the_definition(points: list[tuple[int, ...]]) -> None:
    distinct = sorted(set(points))
    polytope = hull(distinct)
    if polytope.dimension < 3:
        return
    found = {frozenset(p for p in distinct if facet.height(p) == 0) for facet in polytope.facets}
    assert found == brute_force_facets(distinct, 3)
    assert all(polytope.contains(point) for point in distinct)
    inner = {v for v in polytope.vertices if hull([p for p in distinct if p != v]).contains(v)}
    assert not inner


@settings(max_examples=40, deadline=None)
@given(first=SPACE, second=SPACE)
def test_the_minkowski_difference_undoes_the_sum(first: list[tuple[int, ...]], second: list[tuple[int, ...]]) -> None:
    a, b = hull(first), hull(second)
    total = minkowski_sum(a, b)
    assert minkowski_difference(total, b) == a
    directions = product((-2, 1, 3), repeat=3)
    for d in directions:  # support functions add up
        top = [max(sum(x * y for x, y in zip(d, v, strict=True)) for v in shape.vertices) for shape in (a, b, total)]
        assert top[0] + top[1] == top[2]


def test_what_is_no_sum_has_no_difference() -> None:
    triangle, square = hull([(0, 0), (1, 0), (0, 1)]), hull(product((0, 1), repeat=2))
    assert minkowski_difference(square, triangle) is None
    assert minkowski_difference(hull([(0, 0), (1, 0)]), hull([(0, 0), (0, 1)])) is None


@pytest.mark.parametrize("digits", [4, 13, 17, 30])
def test_exact_where_floats_are_not(digits: int) -> None:
    """A point outside an edge by 10^−digits, which floats may take for flat: found or refused, never lost."""
    square = list(product((0, 1), repeat=2))
    out = 1 + Fraction(1, 10**digits)
    assert not hull(square).contains((out, Fraction(1, 2)))
    try:
        assert hull([*square, (out, Fraction(1, 2))]).f_vector == (5, 5, 1)
    except ReachError:
        assert digits > 10


@pytest.mark.parametrize("dimension", [1, 2, 3, 4, 5])
def test_cubes(dimension: int) -> None:
    cube = hull(product((0, 1), repeat=dimension))
    assert len(cube.facets) == 2 * dimension
    assert sum(cube.f_vector) == 3**dimension
    assert cube.face_lattice().number_of_nodes() == 3**dimension


def test_flat_clouds_and_single_points() -> None:
    flat = hull([(0, 0, 5), (2, 0, 5), (0, 2, 5), (1, 1, 5)])
    assert (flat.dimension, flat.f_vector) == (2, (3, 3, 1))
    assert flat.contains((1, 1, 5))
    assert not flat.contains((1, 1, 6))
    assert hull([(1, 2)]).f_vector == (1,)


def simplex(dimension: int) -> Polytope:
    return hull([[int(i == j) for j in range(dimension)] for i in range(dimension + 1)])


@pytest.mark.parametrize(
    ("polytope", "name"),
    [
        (simplex(2), "triangle"),
        (simplex(3), "tetrahedron"),
        (simplex(4), "4-simplex"),
        (hull(product((0, 1), repeat=3)), "cube"),
        (hull([*product((0, 1), (0, 1), (0,)), (0, 0, 1)]), "square pyramid"),
        (hull([(x, y, z) for x, y, z in product((-1, 0, 1), repeat=3) if abs(x) + abs(y) + abs(z) == 1]), "octahedron"),
        (hull([x + y for x in simplex(2).vertices for y in simplex(2).vertices]), "triangle × triangle"),
        (hull(list(product((0, 1), repeat=4))[1:]), "cube × segment less a vertex"),
    ],
)
def test_shapes_are_named(polytope: Polytope, name: str) -> None:
    assert shape_of(polytope) == name


def test_refusals() -> None:
    with pytest.raises(InputError, match="one point at least"):
        hull([])
    with pytest.raises(InputError, match="all of one length"):
        hull([(1,), (1, 2)])
    with pytest.raises(BudgetError, match="dimension 9"):
        hull([[int(i == j) for j in range(9)] for i in range(10)])


@pytest.mark.parametrize(
    "wrong",
    [None, 5, "a", "12", b"12", [5], [None], ["a"], ["12"], [(float("nan"), 0)], [(float("inf"), 0)], [(None, 0)],
     [(0, True)], [(1j, 0)], [("x", 0)], [(10**5000, 0)], [[[1, 2]]], np.array(1.0), np.array([1.0])],
    ids=quoted,
)  # fmt: skip
def test_what_is_no_sequence_of_points_is_refused(wrong: object) -> None:
    with pytest.raises(InputError, match=r"point.*: got .* expected .*; give for example \[\(0, 0\)"):
        hull(wrong)  # type: ignore[arg-type]


def test_points_beyond_floats_are_exact_or_refused() -> None:
    large = 10**400
    assert hull([(0,), (large,)]).vertices == ((0,), (large,))
    with pytest.raises(ReachError, match="convex hull"):
        hull([(0, 0), (large, 0), (0, 1)])


def test_coordinates_of_every_numeric_type() -> None:
    assert hull(np.array([[0, 0], [1, 0], [0, 1]])).f_vector == (3, 3, 1)
    assert hull([(0.1,), (Fraction(1, 2),)]).vertices[0] == (Fraction(1, 10),)
    with pytest.raises(InputError, match="coordinate"):
        hull([(0, 0), (1, 0), (0, 1)]).contains((float("nan"), 0))  # type: ignore[arg-type]
