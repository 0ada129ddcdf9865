"""The prism of [P] §4: six rates, one a vertex, as points of exponent space."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import chain, combinations

from theory.engine.polytope import affine_rank

SIZE_NAMES = ("p", "n", "m", "sigma2")
"""The order of coordinates in every rate vector and exponent tuple."""

TRIANGLE = ("R", "N", "P")
"""What a merge does to the weights: R with R̂; N, P with D̂, its new U pair contracting an n or a p node."""

SEGMENT = ("m", "p")
"""Which node the new pair of data edges contracts."""


@dataclass(frozen=True)
class Vertex:
    """One of the six leading ways in which a time derivative multiplies the loss, up to η. [P] §4.

    ``vector`` holds the exponents of (p, n, m, σ²) in the rate, ``formula`` the rate as text.
    """

    triangle: str
    segment: str
    vector: tuple[int, int, int, int]
    formula: str

    @property
    def name(self) -> str:
        """``R|m``, …

        >>> VERTICES[0].name, VERTICES[0].formula
        ('R|m', '1/p')
        """
        return f"{self.triangle}|{self.segment}"

    def rate_exponent(self, exponents: Sequence[Fraction]) -> Fraction:
        """⟨q, α⟩: the rate as a power of N where the sizes are N to the powers ``exponents``."""
        return sum((q * alpha for q, alpha in zip(self.vector, exponents, strict=True)), Fraction(0))


VERTICES = (
    Vertex("R", "m", (-1, 0, 0, 0), "1/p"),
    Vertex("R", "p", (0, 0, -1, 0), "1/m"),
    Vertex("N", "m", (-1, 1, 0, 1), "σ²n/p"),
    Vertex("N", "p", (0, 1, -1, 1), "σ²n/m"),
    Vertex("P", "m", (0, 0, 0, 1), "σ²"),
    Vertex("P", "p", (1, 0, -1, 1), "σ²p/m"),
)
"""The vertices of the prism, triangle × segment, in the order in which faces list them."""


def nonempty_subsets(items: Sequence[str]) -> tuple[tuple[str, ...], ...]:
    """The non-empty subsets in the order of ``items``, smallest first.

    >>> nonempty_subsets(("m", "p"))
    (('m',), ('p',), ('m', 'p'))
    """
    return tuple(chain.from_iterable(combinations(items, size) for size in range(1, len(items) + 1)))


def _check_table() -> None:
    vectors = {(vertex.triangle, vertex.segment): vertex.vector for vertex in VERTICES}
    assert set(vectors) == {(a, b) for a in TRIANGLE for b in SEGMENT}
    for p, n, m, sigma2 in vectors.values():  # every rate is a size^(-1) at fixed σ²p
        assert p + n + m - sigma2 == -1
    assert affine_rank(list(vectors.values())) == 3
    shifts = {tuple(x - y for x, y in zip(vectors[a, "m"], vectors[a, "p"], strict=True)) for a in TRIANGLE}
    assert len(shifts) == 1  # the two triangles are translates: the six points are a prism
    counts = [0, 0, 0, 0]
    for triangle in nonempty_subsets(TRIANGLE):
        for segment in nonempty_subsets(SEGMENT):
            face = [vectors[a, b] for a in triangle for b in segment]
            dimension = affine_rank(face)
            assert dimension == len(triangle) + len(segment) - 2
            counts[dimension] += 1
    assert counts == [6, 9, 5, 1]
    assert counts[0] - counts[1] + counts[2] == 2  # Euler


_check_table()
