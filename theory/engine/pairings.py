"""Wick's theorem by plain enumeration of pairings: the definition, and the oracle for everything faster. [P] §3."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import prod

from theory.engine.laurent import Laurent
from theory.engine.model import Combination, MatrixModel
from theory.engine.ring import Product, count_letters
from theory.errors import BudgetError

PAIRING_LIMIT = 20_000_000
Edge = tuple[int, int]
"""(ring, position) of a letter in a product of rings."""
Node = tuple[int, int]
"""(ring, position): the node to the left of that letter."""


@dataclass(frozen=True)
class Pairing:
    """One Wick pairing of the edges of a product of rings, and what it contracts the nodes to.

    ``pairs`` are the paired edges; ``nodes`` the contracted nodes, each with its kind and the ring nodes it consists
    of; ``weight`` is the monomial it contributes: one dimension a contracted node, one variance a pair. ``lost`` is the
    number of nodes fewer than the most any pairing of these rings could leave, E/2 + 1 for each ring: two for every
    handle and one for every twist of a surface glued from one ring, and two for every ring connected to another.
    """

    pairs: tuple[tuple[Edge, Edge], ...]
    nodes: tuple[tuple[str, tuple[Node, ...]], ...]
    weight: Laurent
    lost: int

    @property
    def planar(self) -> bool:
        """Whether nothing is lost."""
        return self.lost == 0


def count_pairings(rings: Product) -> int:
    """How many pairings there are: Π (2k − 1)!! over the matrices, 2k the occurrences; 0 where one is odd.

    >>> count_pairings(((0, 1, 0, 1, 2, 3),))
    3
    """
    counts = count_letters(rings).values()
    return 0 if any(count % 2 for count in counts) else prod(prod(range(1, count, 2)) for count in counts)


def pairings(rings: Product, *, model: MatrixModel) -> Iterator[Pairing]:
    """Every pairing of equal matrices, one at a time."""
    edges: dict[int, list[Edge]] = {}
    for r, word in enumerate(rings):
        for k, letter in enumerate(word):
            edges.setdefault(letter >> 1, []).append((r, k))
    if any(len(found) % 2 for found in edges.values()):
        return
    variance = Laurent.constant(1, model.variables)
    for matrix, found in edges.items():
        variance = variance * model.variances[matrix] ** (len(found) // 2)
    for pairs in _product_of_matchings(list(edges.values())):
        yield _contract(rings, pairs, variance, model)


def expectation(combination: Combination, *, model: MatrixModel) -> Laurent:
    """E of a combination of products of rings, by enumeration; ``BudgetError`` beyond 2·10⁷ pairings.

    >>> from theory.autoencoder.model import AUTOENCODER
    >>> one = Laurent.constant(1, AUTOENCODER.variables)
    >>> print(expectation({(AUTOENCODER.word("U' U U' U"),): one}, model=AUTOENCODER))
    p^2 n sigma2^2 + p n^2 sigma2^2 + p n sigma2^2
    """
    total = sum(count_pairings(rings) for rings in combination)
    if total > PAIRING_LIMIT:
        raise BudgetError(
            "enumeration of pairings",
            estimate=f"{total:.2e} pairings",
            limit=f"{PAIRING_LIMIT:.0e}",
            remedy="use the recursion, theory.engine.recursion.expectation",
        )
    result = Laurent.constant(0, model.variables)
    for rings, factor in combination.items():
        terms: dict[tuple[int, ...], Fraction] = {}
        for pairing in pairings(rings, model=model):
            for exponents, coefficient in pairing.weight.terms.items():
                terms[exponents] = terms.get(exponents, Fraction(0)) + coefficient
        result = result + factor * Laurent(model.variables, terms)
    return result


def _contract(rings: Product, pairs: Sequence[tuple[Edge, Edge]], variance: Laurent, model: MatrixModel) -> Pairing:
    parent: dict[Node, Node] = {(r, k): (r, k) for r, word in enumerate(rings) for k in range(len(word))}

    def root(node: Node) -> Node:
        while parent[node] != node:
            node = parent[node]
        return node

    for (r, i), (q, j) in pairs:
        left, right = (r, i), (r, (i + 1) % len(rings[r]))
        other_left, other_right = (q, j), (q, (j + 1) % len(rings[q]))
        if (rings[r][i] ^ rings[q][j]) & 1:
            other_left, other_right = other_right, other_left
        parent[root(left)] = root(other_left)
        parent[root(right)] = root(other_right)
    classes: dict[Node, list[Node]] = {}
    for node in parent:
        classes.setdefault(root(node), []).append(node)
    nodes = tuple((model.left_space(rings[r][k]).name, tuple(members)) for (r, k), members in classes.items())
    powers: dict[str, int] = {}
    for kind, _ in nodes:
        powers[kind] = powers.get(kind, 0) + 1
    weight = Laurent.monomial(powers, model.variables) * variance
    return Pairing(tuple(pairs), nodes, weight, len(pairs) + len(rings) - len(nodes))


def _product_of_matchings(groups: list[list[Edge]]) -> Iterator[tuple[tuple[Edge, Edge], ...]]:
    if not groups:
        yield ()
        return
    for pairs in _matchings(groups[0]):
        for others in _product_of_matchings(groups[1:]):
            yield pairs + others


def _matchings(edges: list[Edge]) -> Iterator[tuple[tuple[Edge, Edge], ...]]:
    if not edges:
        yield ()
        return
    first, *rest = edges
    for i, partner in enumerate(rest):
        for pairs in _matchings(rest[:i] + rest[i + 1 :]):
            yield ((first, partner), *pairs)
