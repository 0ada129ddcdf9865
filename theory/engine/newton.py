"""The polytope of a model's leading rates, read off the monomials of its exact series. [P] §4 for the autoencoder.

A monomial of E D^sF leads in some scaling of the sizes only if no other one has the same powers of the variances and at
least its power of every size. The hull N_s of those that are left grows with every ``period`` derivatives. Each of its
vertices moves by a step of its own, v_j(s + period) = v_j(s) + period · q_j: a matching of the vertices of both hulls
that is checked exactly, order by order. P, the hull of all q_j, is the limiting polytope lim N_s / s: its vertices are
the rates that lead, one each for some scaling. (In the simplest case, the autoencoder's, N_{s+period} is the Minkowski
sum N_s + period · P.)
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

    ``variables`` names the coordinates. For every s in ``orders`` the growth from N_s to N_{s+period} was checked,
    exactly: N_{s+period} = N_s + period · P (``minkowski``), or every vertex has its own step. ``stated`` says instead
    why the polytope is known, where it was not found so.
    """

    variables: tuple[str, ...]
    polytope: Polytope
    period: int
    orders: tuple[int, ...]
    minkowski: bool = True
    stated: str = ""

    @property
    def certificate(self) -> str:
        """What was checked, in one sentence.

        >>> LimitingPolytope(("p",), hull([(-1,), (0,)]), 2, (1, 2)).certificate
        'settled: from order s to s + 2 the hull of leading monomials grows by 2 P, exactly, for s = 1, 2'
        """
        if self.stated:
            return self.stated
        how = (
            f"the hull of leading monomials grows by {'P' if self.period == 1 else f'{self.period} P'}"
            if self.minkowski
            else "each vertex of the hull of leading monomials moves by a step of its own, the steps spanning"
            f" {'P' if self.period == 1 else f'{self.period} P'}"
        )
        orders = ", ".join(map(str, self.orders))
        return f"settled: from order s to s + {self.period} {how}, exactly, for s = {orders}"

    @property
    def rates(self) -> tuple[str, ...]:
        """The vertices as monomials.

        >>> LimitingPolytope(("p", "sigma2"), hull([(-1, 0), (0, Fraction(1, 2))]), 2, (1, 2)).rates
        ('p^-1', 'sigma2^(1/2)')
        """
        return tuple(_monomial(self.variables, vertex) for vertex in self.polytope.vertices)


def leading_monomials(coefficient: Laurent, *, sizes: Collection[str], planar: bool = True) -> frozenset[Exponents]:
    """Monomials that lead for some growth of the sizes: none other has the same rest and all its sizes' powers or more.

    They are found to have all the same number of sizes less variances and parameters, that of planar pairings, so that
    their hull is one face of the Newton polytope; ``ReachError`` where a model breaks that. Models of tensors do: with
    ``planar=False`` nothing is asked of them.

    >>> y = Laurent(("p", "n"), {(2, 1): 1, (1, 2): 1, (1, 1): -5})
    >>> sorted(leading_monomials(y, sizes=("p", "n")))
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
    if planar and len(grades) > 1:
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
    """P = lim N_s / s from the leading exponents of E D^0F, E D^1F, …, by increments that have settled.

    Orders below ``first`` are ignored; so are, silently, orders before the increments settle. They must span the same P
    for at least two orders s, one of each remainder modulo the period at least, and up to the last one.
    ``ReachError`` where they do for no period up to 4: the rates are not settled to this order.

    >>> start = ((0, 0), (1, 0), (0, 1))
    >>> sums = [{(a + i, b + s - i) for a, b in start for i in range(s + 1)} for s in range(4)]
    >>> result = limiting_polytope(sums, variables=("p", "n"))
    >>> result.rates, result.period, result.orders
    (('n', 'p'), 1, (1, 2))

    Here one end moves by a step of its own, and the hulls are no Minkowski sums:

    >>> apart = [{(s, 0), (0, 2 * s), (1, 2 * s)} for s in range(5)]
    >>> result = limiting_polytope(apart, variables=("p", "n"))
    >>> result.rates, result.minkowski
    (('n^2', 'p'), False)
    """
    hulls = {s: hull(support) for s, support in enumerate(supports) if s >= first}
    for period in range(1, LONGEST_PERIOD + 1):
        for minkowski, increment in ((True, _minkowski_increment), (False, _own_steps)):
            held: list[int] = []
            found: Polytope | None = None
            for s in sorted(hulls, reverse=True):
                step = increment(hulls[s - period], hulls[s]) if s - period in hulls else None
                if step is None or (found is not None and step.vertices != found.vertices):
                    break
                found = step
                held.append(s - period)
            if found is not None and len(held) >= max(2, period):
                per_derivative = hull([Fraction(x) / period for x in vertex] for vertex in found.vertices)
                return LimitingPolytope(variables, per_derivative, period, tuple(sorted(held)), minkowski)
    raise ReachError(
        "limiting polytope",
        given=f"orders up to {len(supports) - 1}",
        reach="series whose leading monomials move by the same rates at two successive orders: not settled to order"
        f" {len(supports) - 1}",
        remedy="give a higher order",
    )


def _minkowski_increment(before: Polytope, after: Polytope) -> Polytope | None:
    return minkowski_difference(after, before)


def _own_steps(before: Polytope, after: Polytope) -> Polytope | None:
    """The hull of the steps by which the vertices of one polytope become those of the other, or None.

    Vertices correspond where one direction singles out both; directions inside the normal cone of each vertex of either
    polytope are asked. There is a step for each vertex only if that is a matching, one to one.
    """
    pairs = {(k, j) for k, d in enumerate(_inner_directions(before)) for j in [_only(after, d)] if j is not None}
    pairs |= {(k, j) for j, d in enumerate(_inner_directions(after)) for k in [_only(before, d)] if k is not None}
    count = len(before.vertices)
    one_to_one = len(pairs) == count == len(after.vertices) == len({k for k, _ in pairs}) == len({j for _, j in pairs})
    if not one_to_one:
        return None
    return hull([y - x for x, y in zip(before.vertices[k], after.vertices[j], strict=True)] for k, j in sorted(pairs))


def _inner_directions(polytope: Polytope) -> list[list[int]]:
    """For each vertex a direction that singles it out: the sum of the normals of its facets."""
    size = len(polytope.vertices[0])
    directions = [[0] * size for _ in polytope.vertices]
    for facet, on in zip(polytope.facets, polytope.incidence, strict=True):
        for number in on:
            directions[number] = [a + b for a, b in zip(directions[number], facet.normal, strict=True)]
    return directions


def _only(polytope: Polytope, direction: Sequence[int]) -> int | None:
    """The vertex that a direction singles out, if it does."""
    selected = polytope.face_in_direction(direction)
    return next(iter(selected)) if len(selected) == 1 else None


def _below(x: Exponents, y: Exponents) -> bool:
    return all(a <= b for a, b in zip(x, y, strict=True))


def _monomial(variables: Sequence[str], exponents: Sequence[Fraction]) -> str:
    def power(name: str, e: Fraction) -> str:
        return name if e == 1 else f"{name}^{e}" if e.denominator == 1 else f"{name}^({e})"

    return " ".join(power(name, e) for name, e in zip(variables, exponents, strict=True) if e) or "1"
