"""The polytope of a model's leading rates, read off the monomials of its exact series. [P] §4 for the autoencoder.

A monomial of E D^sF leads in some scaling of the sizes only if no other one has the same powers of the variances and at
least its power of every size. The hull N_s of those that are left grows by one and the same polytope with every
``period`` derivatives: N_{s+period} = N_s + period · P, an identity of Minkowski sums that is checked exactly, order by
order. P is the limiting polytope lim N_s / s: its vertices are the rates that lead, one each for some scaling.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from theory.engine.laurent import Exponents, Laurent
from theory.engine.polytope import Polytope, hull, minkowski_difference
from theory.errors import ReachError

LONGEST_PERIOD = 4


@dataclass(frozen=True)
class LimitingPolytope:
    """The polytope P of leading rates, with what it was found from.

    ``variables`` names the coordinates. N_{s+period} = N_s + period · P held exactly for every s in ``orders``.
    """

    variables: tuple[str, ...]
    polytope: Polytope
    period: int
    orders: tuple[int, ...]

    @property
    def rates(self) -> tuple[str, ...]:
        """The vertices as monomials.

        >>> LimitingPolytope(("p", "sigma2"), hull([(-1, 0), (0, Fraction(1, 2))]), 2, (1, 2)).rates
        ('p^-1', 'sigma2^(1/2)')
        """
        return tuple(_monomial(self.variables, vertex) for vertex in self.polytope.vertices)


def leading_exponents(coefficient: Laurent, *, sizes: Collection[str]) -> frozenset[Exponents]:
    """Monomials that lead for some growth of the sizes: none other has the same rest and all its sizes' powers or more.

    They are found to have all the same number of sizes less variances and parameters, that of planar pairings, so that
    their hull is one face of the Newton polytope; ``ReachError`` where a model breaks that.

    >>> y = Laurent(("p", "n"), {(2, 1): 1, (1, 2): 1, (1, 1): -5})
    >>> sorted(leading_exponents(y, sizes=("p", "n")))
    [(1, 2), (2, 1)]
    """
    is_size = [name in sizes for name in coefficient.variables]
    by_rest: dict[Exponents, list[Exponents]] = {}
    for exponents in coefficient.terms:
        rest = tuple(e for e, size in zip(exponents, is_size, strict=True) if not size)
        by_rest.setdefault(rest, []).append(exponents)
    leading: set[Exponents] = set()
    for group in by_rest.values():
        for exponents in sorted(group, key=sum, reverse=True):  # one that is larger everywhere comes first
            if not any(_below(exponents, other) for other in group if other in leading):
                leading.add(exponents)
    grades = {sum(e if size else -e for e, size in zip(x, is_size, strict=True)) for x in leading}
    if len(grades) > 1:
        raise ReachError(
            "leading monomials",
            given=sorted(grades),
            reach="models whose leading monomials are all planar",
            remedy="give variances and parameters the scale 1/size, by dividing them in the declaration",
        )
    return frozenset(leading)


def limiting_polytope(
    supports: Sequence[Iterable[Exponents]], *, variables: tuple[str, ...], first: int = 1
) -> LimitingPolytope:
    """P with N_{s+period} = N_s + period · P, from the leading exponents of E D^0F, E D^1F, ….

    Orders below ``first`` are ignored; so are, silently, orders before the identity begins to hold. It must hold with
    the same P for at least two orders and up to the last one. ``ReachError`` where it does for no period.

    >>> start = ((0, 0), (1, 0), (0, 1))
    >>> sums = [{(a + i, b + s - i) for a, b in start for i in range(s + 1)} for s in range(4)]
    >>> result = limiting_polytope(sums, variables=("p", "n"))
    >>> result.rates, result.period, result.orders
    (('n', 'p'), 1, (1, 2))
    """
    hulls = {s: hull(support) for s, support in enumerate(supports) if s >= first}
    for period in range(1, LONGEST_PERIOD + 1):
        held: list[int] = []
        found: Polytope | None = None
        for s in sorted(hulls, reverse=True):
            if s - period not in hulls:
                break
            step = minkowski_difference(hulls[s], hulls[s - period])
            if step is None or (found is not None and step.vertices != found.vertices):
                break
            found = step
            held.append(s - period)
        if found is not None and len(held) >= 2:
            per_derivative = hull([Fraction(x) / period for x in vertex] for vertex in found.vertices)
            return LimitingPolytope(variables, per_derivative, period, tuple(sorted(held)))
    raise ReachError(
        "limiting polytope",
        given=f"orders up to {len(supports) - 1}",
        reach="series whose hulls grow by the same polytope at two successive orders",
        remedy="give a higher order",
    )


def _below(x: Exponents, y: Exponents) -> bool:
    return all(a <= b for a, b in zip(x, y, strict=True))


def _monomial(variables: Sequence[str], exponents: Sequence[Fraction]) -> str:
    def power(name: str, e: Fraction) -> str:
        return name if e == 1 else f"{name}^{e}" if e.denominator == 1 else f"{name}^({e})"

    return " ".join(power(name, e) for name, e in zip(variables, exponents, strict=True) if e) or "1"
