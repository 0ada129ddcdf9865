"""Linear differential operators with polynomial coefficients, and equations that they make."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from itertools import combinations, product
from math import comb, gcd, lcm, perm
from operator import itemgetter
from types import MappingProxyType
from typing import Any, TypeVar

from theory.equations.reduced import Powers, ReducedSeries

Term = tuple[Powers, Powers]
Number = TypeVar("Number", Fraction, int)


@dataclass(frozen=True)
class Operator:
    """Σ c · monomial · ∂^derivative, kept as {(derivative, monomial): c}.

    >>> grow = Operator({((1,), (0,)): Fraction(1), ((0,), (0,)): Fraction(-1)})
    >>> grow.apply({(k,): Fraction(1, [1, 1, 2, 6][k]) for k in range(4)})
    {(3,): Fraction(-1, 6)}
    """

    terms: Mapping[Term, Fraction]

    def __post_init__(self) -> None:
        kept = {term: c for term, c in self.terms.items() if c}
        object.__setattr__(self, "terms", MappingProxyType(dict(sorted(kept.items(), key=_weight, reverse=True))))

    def __hash__(self) -> int:
        return hash(tuple(self.terms.items()))

    def __bool__(self) -> bool:
        return bool(self.terms)

    @property
    def order(self) -> int:
        """The highest order of its derivatives."""
        return max(sum(derivative) for derivative, _ in self.terms)

    @property
    def degree(self) -> int:
        """The highest degree in the drives and ratios."""
        return max(sum(monomial[1:]) for _, monomial in self.terms)

    @property
    def time_degree(self) -> int:
        """The highest power of the time."""
        return max(monomial[0] for _, monomial in self.terms)

    @property
    def drop(self) -> int:
        """By how many orders in time its output falls behind its input at most: it needs so many orders more."""
        return max(0, self.shift)

    @property
    def shift(self) -> int:
        """By how many orders in time the output falls behind the input at most; negative where it is ahead."""
        return max(derivative[0] - monomial[0] for derivative, monomial in self.terms)

    @property
    def evolves(self) -> bool:
        """Whether a derivative in the time occurs."""
        return any(derivative[0] for derivative, _ in self.terms)

    def apply(self, values: Mapping[Powers, Fraction]) -> dict[Powers, Fraction]:
        """The operator on a polynomial."""
        result: dict[Powers, Fraction] = {}
        for powers, value in values.items():
            for (derivative, monomial), c in self.terms.items():
                factor = falling(powers, derivative)
                if factor:
                    key = tuple(map(sum, zip(powers, monomial, map(int.__neg__, derivative), strict=True)))
                    result[key] = result.get(key, Fraction(0)) + c * factor * value
        return {key: value for key, value in result.items() if value}

    def residue(self, series: ReducedSeries) -> dict[Powers, Fraction]:
        """What the operator leaves of the series, in the orders that the known coefficients determine."""
        reach = series.order - self.drop
        return {key: c for key, c in self.apply(series.with_constant()).items() if key[0] <= reach}

    def after(self, derivative: Powers, monomial: Powers) -> Operator:
        """monomial · ∂^derivative ∘ this operator."""
        result: dict[Term, Fraction] = {}
        for (inner, powers), c in self.terms.items():
            for taken in product(*(range(min(d, a) + 1) for d, a in zip(derivative, powers, strict=True))):
                factor = reduce(
                    int.__mul__,
                    (comb(d, t) * perm(a, t) for d, t, a in zip(derivative, taken, powers, strict=True)),
                    1,
                )
                key = (
                    tuple(i + d - t for i, d, t in zip(inner, derivative, taken, strict=True)),
                    tuple(a - t + m for a, t, m in zip(powers, taken, monomial, strict=True)),
                )
                result[key] = result.get(key, Fraction(0)) + c * factor
        return Operator(result)

    def normalised(self) -> Operator:
        """Whole coefficients without a common factor, the highest time derivative's first one positive."""
        if not self.terms:
            return self
        denominator = lcm(*(c.denominator for c in self.terms.values()))
        common = gcd(*(int(c * denominator) for c in self.terms.values()))
        first = self.terms[max(self.terms, key=lambda term: (term[0], term[1]))]
        scale = Fraction(denominator, common) * (1 if first > 0 else -1)
        return Operator({term: c * scale for term, c in self.terms.items()})


@dataclass(frozen=True)
class Box:
    """Operators up to an order, a degree in the drives and ratios, and a degree in the time."""

    order: int
    degree: int
    time_degree: int

    def terms(self, variables: int) -> list[Term]:
        """All terms of such operators, the simplest last."""
        derivatives = list(compositions(variables, self.order))
        drives = list(compositions(variables - 1, self.degree))
        monomials = [(i, *rest) for i in range(self.time_degree + 1) for rest in drives]
        return sorted(product(derivatives, monomials), key=lambda term: _weight((term, Fraction(1))), reverse=True)

    def holds(self, term: Term) -> bool:
        """Whether a term belongs to it."""
        derivative, monomial = term
        return sum(derivative) <= self.order and sum(monomial[1:]) <= self.degree and monomial[0] <= self.time_degree


def compositions(parts: int, most: int) -> Iterator[Powers]:
    """Tuples of ``parts`` whole numbers from 0 whose sum is at most ``most``.

    >>> list(compositions(2, 1))
    [(0, 0), (0, 1), (1, 0)]
    """
    for bars in combinations(range(most + parts), parts):
        yield tuple(b - a - 1 for a, b in zip((-1, *bars), bars, strict=False))


def falling(powers: Powers, derivative: Powers) -> int:
    """What ∂^derivative makes of the coefficient of a monomial."""
    factor = 1
    for power, times in zip(powers, derivative, strict=True):
        if times:
            factor *= perm(power, times)
    return factor


def _weight(item: tuple[Term, Any]) -> tuple[Any, ...]:
    """What comes first in an operator as it is written, and is eliminated first: high orders, then high degrees."""
    (derivative, monomial), _ = item
    return (sum(derivative), monomial[0], sum(monomial), derivative, monomial)


def parts_by_derivative(operator: Operator) -> list[tuple[Powers, list[tuple[Powers, Fraction]]]]:
    """The operator as {derivative: its polynomial}, for printing."""
    groups: dict[Powers, list[tuple[Powers, Fraction]]] = {}
    for (derivative, monomial), c in operator.terms.items():
        groups.setdefault(derivative, []).append((monomial, c))
    return sorted(groups.items(), key=lambda group: (sum(group[0]), group[0]), reverse=True)


def sorted_terms(terms: Iterable[tuple[Powers, Fraction]]) -> list[tuple[Powers, Fraction]]:
    """Terms of a polynomial by falling degree."""
    return sorted(sorted(terms, key=itemgetter(0), reverse=True), key=lambda term: sum(term[0]), reverse=True)
