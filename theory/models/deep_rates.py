"""The leading rates of a deep linear network from its local merges: no series, only norms of random products.

A product of independent Gaussian matrices through spaces d_0, …, d_k has squared norm Π variances × the largest product
of all its dimensions but one. Merging with the quadratic term at layer i multiplies W_i by the squared norms of what
stands on either side of it. Two merges with the target term, at layers i < j, give W_i back between the layers between
and twice the data, whose S = XXᵀ is either a link of the product, through m, or its mean m·1; one alone changes the
parity of the number of weights, so they come in pairs and their rates are square roots. Each rate is divided by pm.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import product

from theory.models.model import Model

Rate = tuple[Fraction, ...]


def local_rates(layers: int) -> frozenset[Rate]:
    """The rates of quadratic merges and of pairs of target merges, as exponents of the variables of ``deep:L``.

    Their hull is the limiting polytope of the network's exact series (compared for two, three and four layers).

    >>> len(local_rates(2)), len(local_rates(3))
    (10, 32)
    """
    return frozenset(_Network(layers).rates())


class _Network:
    def __init__(self, layers: int) -> None:
        self.layers = layers
        self.variables = Model.named(f"deep:{layers}").variables
        self.dimensions = ("p", *(f"n{i}" for i in range(1, layers)), "p")

    def rates(self) -> Iterator[Rate]:
        for i in range(1, self.layers + 1):
            after = self.norms(self.dimensions[i:])
            before = self.norms(("m", *self.dimensions[:i]))
            others = self.monomial([f"sigma2_{k}" for k in range(1, self.layers + 1) if k != i])
            for choice in product(after, before):
                yield _sum(*choice, others, self.per_datum(1))
        for i in range(1, self.layers + 1):
            for j in range(i + 1, self.layers + 1):
                yield from (tuple(x / 2 for x in rate) for rate in self.pair(i, j))

    def pair(self, i: int, j: int) -> Iterator[Rate]:
        """Target merges at i and at j: W_i → (W_{j−1} ⋯ W_{i+1})² W_i (W_{i−1} ⋯ W_1 S W_L ⋯ W_{j+1})²."""
        between = self.norms(self.dimensions[i:j])
        below, above = self.dimensions[:i][::-1], self.dimensions[j:][::-1]
        data = [
            *self.norms((*below, "m", *above)),
            *(_sum(norm, self.monomial(["m", "m"])) for norm in self.norms((*below, *above[1:]))),
        ]
        layers = [k for k in range(1, self.layers + 1) if k not in (i, j)]
        others = self.monomial([f"sigma2_{k}" for k in layers])
        for choice in product(between, data):
            yield _sum(*choice, others, self.per_datum(2))

    def norms(self, dimensions: Sequence[str]) -> list[Rate]:
        """The candidates for the squared norm of a product through these spaces: all of them but one, multiplied."""
        return [
            self.monomial([*dimensions[:omitted], *dimensions[omitted + 1 :]]) for omitted in range(len(dimensions))
        ]

    def per_datum(self, times: int) -> Rate:
        return tuple(-times * x for x in self.monomial(["p", "m"]))

    def monomial(self, names: Sequence[str]) -> Rate:
        return tuple(Fraction(names.count(name)) for name in self.variables)


def _sum(*rates: Rate) -> Rate:
    return tuple(sum(x, Fraction(0)) for x in zip(*rates, strict=True))
