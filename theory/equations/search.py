"""The search: which linear operators with polynomial coefficients annihilate a series. [D] §4.

One unknown a term of the operator, one linear equation a monomial of its output. Null spaces are found modulo a prime
below 2^63; each operator that is left is then solved for over the rationals, on its own terms alone, and checked on
every known coefficient. A fifth of the conditions at least, and the last two orders, take no part in the fit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import lcm

from flint import fmpz_mat, nmod_mat

from theory.equations.operators import Box, Operator, Term, falling
from theory.equations.reduced import Powers, ReducedSeries
from theory.errors import InputError

PRIMES = (9223372036854775783, 9223372036854775643, 9223372036854775549)
"""The largest primes below 2^63."""

HELD_OUT = Fraction(1, 5)
ORDERS_HELD_OUT = 2
Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class Findings:
    """What a search has found: minimal generators in the smallest box that has any, or how far there is none.

    ``fitted_to`` and ``checked_to`` are orders of the series; ``unknowns`` and ``conditions`` count the last box.
    ``open_boxes`` are those whose unknowns the series does not determine: nothing is said about them.
    """

    operators: tuple[Operator, ...]
    box: Box
    unknowns: int
    conditions: int
    fitted_to: int
    checked_to: int
    open_boxes: tuple[Box, ...] = ()


def boxes(order: int, degree: int, time_degree: int, variables: int) -> Iterator[Box]:
    """All boxes up to the largest, by rising order, then by rising degree in the time, then in the drives."""
    for k in range(1, order + 1):
        for i in range(time_degree + 1):
            for d in range((degree if variables > 1 else 0) + 1):
                yield Box(k, d, i)


def search(
    series: ReducedSeries,
    *,
    order: int = 2,
    degree: int = 3,
    time_degree: int = 1,
    progress: Progress | None = None,
) -> Findings:
    """Search for equations of the series, by rising order and degree, up to the box given.

    The first box with a system that reaches every known coefficient after those of the start wins; the system's
    minimal generators are returned, those of lower boxes included. A coefficient is reached if changing it alone
    breaks an equation: what would hold whatever the coefficient says nothing about it.

    >>> from theory.equations.reduced import plain_series
    >>> found = search(plain_series([Fraction(1, 2**s) for s in range(12)]), time_degree=1)
    >>> [dict(operator.terms) for operator in found.operators]
    [{((1,), (1,)): Fraction(1, 1), ((1,), (0,)): Fraction(-2, 1), ((0,), (0,)): Fraction(1, 1)}]
    """
    if series.order < 4:
        raise InputError("order", given=series.order, expected="at least 4", remedy="derive to a higher order")
    every = list(boxes(order, degree, time_degree, len(series.names)))
    found: list[Operator] = []
    undecided: list[Box] = []
    partial: Findings | None = None
    last = (every[-1], 0, 0, series.order)
    for k, box in enumerate(every):
        table = _Conditions(series, box)
        fitted_to = table.fitted_to
        if fitted_to is None:
            undecided.append(box)
            continue
        last = (box, len(table.terms), table.count(fitted_to), fitted_to)
        fresh = _fresh(table, fitted_to, found, series)
        if fresh is None:
            undecided.append(box)
            continue
        found += fresh
        reached = reached_order(found, series) if fresh else 0
        settled = min(fitted_to, reached - ORDERS_HELD_OUT)
        if settled > box.order and (settled == fitted_to or table.settled(settled)):
            last = (box, len(table.terms), table.count(settled), settled)
            partial = Findings(minimal(found, len(series.names)), *last, reached, tuple(undecided))
            if determines(found, series):
                return partial
        if progress:
            progress(k + 1, len(every))
    return partial or Findings((), *last, series.order, tuple(undecided))


@dataclass(frozen=True)
class Count:
    """A box and what the series says about it: without ``solutions`` there is no equation in it, over the rationals."""

    box: Box
    unknowns: int
    conditions: int
    solutions: int


def count_solutions(series: ReducedSeries, box: Box) -> Count:
    """The dimension modulo a prime of a box's operators that annihilate all that is known of the series.

    The rank modulo a prime is at most the rank over the rationals, so that 0 is a proof that the box holds none.

    >>> from theory.equations.reduced import plain_series
    >>> count_solutions(plain_series([1, 3, 2, 7, 1, 9, 4, 5]), Box(1, 0, 1)).solutions
    0
    """
    table = _Conditions(series, box)
    rank = table.matrix(PRIMES[0], table.rows).rank()
    return Count(box, len(table.terms), len(table.rows), len(table.terms) - int(rank))


class _Conditions:
    """The linear conditions on the coefficients of a box's operators, column by column."""

    def __init__(self, series: ReducedSeries, box: Box) -> None:
        self.terms = box.terms(len(series.names))
        self.reach = series.order - box.order
        values = series.with_constant()
        self._scale = lcm(*(c.denominator for c in values.values()))
        whole = {powers: int(c * self._scale) for powers, c in values.items()}
        self.columns: list[dict[Powers, int]] = []
        derived: dict[Powers, list[tuple[Powers, int]]] = {}
        for derivative, monomial in self.terms:
            if derivative not in derived:
                derived[derivative] = [
                    (tuple(p - d for p, d in zip(powers, derivative, strict=True)), c * falling(powers, derivative))
                    for powers, c in whole.items()
                    if all(p >= d for p, d in zip(powers, derivative, strict=True))
                ]
            self.columns.append(
                {
                    tuple(p + a for p, a in zip(powers, monomial, strict=True)): c
                    for powers, c in derived[derivative]
                    if powers[0] + monomial[0] <= self.reach
                }
            )
        self.rows = sorted({powers for column in self.columns for powers in column})

    def count(self, fitted_to: int) -> int:
        """How many conditions a fit to an order of the series uses."""
        return sum(powers[0] <= fitted_to - (self._order_lost) for powers in self.rows)

    @property
    def _order_lost(self) -> int:
        return max(derivative[0] for derivative, _ in self.terms)

    @property
    def fitted_to(self) -> int | None:
        """The highest order that leaves enough conditions for the check; ``None`` if too few are left for the fit."""
        top = self.reach + self._order_lost
        for order in range(top - ORDERS_HELD_OUT, self._order_lost - 1, -1):
            fit = self.count(order)
            if len(self.rows) - fit >= HELD_OUT * len(self.rows):
                return order if fit >= len(self.terms) else None
        return None

    def settled(self, order: int) -> bool:
        """Whether a fit to a lower order foretells the same operators as all the conditions."""
        fit = [row for row in self.rows if row[0] <= order - self._order_lost]
        whole = self.matrix(PRIMES[0], self.rows).rank()
        return len(fit) >= len(self.terms) and bool(self.matrix(PRIMES[0], fit).rank() == whole)

    def matrix(self, prime: int, rows: Sequence[Powers]) -> nmod_mat:
        """The conditions of some rows modulo a prime."""
        place = {powers: i for i, powers in enumerate(rows)}
        matrix = nmod_mat(len(rows), len(self.terms), prime)
        for j, column in enumerate(self.columns):
            for powers, c in column.items():
                i = place.get(powers)
                if i is not None:
                    matrix[i, j] = c % prime
        return matrix

    def solve(self, support: Sequence[int]) -> dict[Term, Fraction] | None:
        """The one operator, up to a factor, on these terms, over the rationals; ``None`` if there is not just one."""
        rows = sorted({powers for j in support for powers in self.columns[j]})
        place = {powers: i for i, powers in enumerate(rows)}
        width = len(support)
        table = [[0] * width for _ in rows]
        for k, j in enumerate(support):
            for powers, c in self.columns[j].items():
                table[place[powers]][k] = c
        null, rank = fmpz_mat(table).nullspace() if rows else (None, 0)
        if rank != 1 or null is None:
            return None
        return {self.terms[j]: Fraction(int(null[k, 0])) for k, j in enumerate(support)}


def _fresh(
    table: _Conditions, fitted_to: int, known: Sequence[Operator], series: ReducedSeries
) -> list[Operator] | None:
    """The box's operators beyond the multiples of known ones; ``None`` where the fit does not foretell the rest."""
    prime = PRIMES[0]
    reach = fitted_to - table._order_lost
    fitted = _nullspace(table.matrix(prime, [row for row in table.rows if row[0] <= reach]))
    if not fitted:
        return []
    whole = _nullspace(table.matrix(prime, table.rows))
    if not whole:
        return []
    if len(fitted) > len(whole):
        return None
    multiples = _multiples(known, table.terms, prime)
    if len(whole) <= len(multiples):
        return []
    fresh: list[Operator] = []
    lead = {_leading(row) for row in multiples}
    for row in reversed(_echelon(whole, multiples, prime)):
        if _leading(row) in lead:
            continue
        solved = table.solve([j for j, x in enumerate(row) if x])
        if solved is None:
            continue
        operator = Operator(solved).normalised()
        if not operator.residue(series):
            fresh.append(operator)
    return fresh


def _nullspace(matrix: nmod_mat) -> list[list[int]]:
    """A basis of the null space, one row a vector, in echelon form: the most complicated terms are eliminated."""
    null, rank = matrix.nullspace()
    if not rank:
        return []
    width = matrix.ncols()
    prime = int(matrix.modulus())
    rows = nmod_mat(rank, width, [int(null[i, j]) for j in range(rank) for i in range(width)], prime)
    return _rows(rows.rref()[0], rank)


def _rows(matrix: nmod_mat, rank: int) -> list[list[int]]:
    return [[int(matrix[i, j]) for j in range(matrix.ncols())] for i in range(rank)]


def _leading(row: Sequence[int]) -> int:
    return next(j for j, x in enumerate(row) if x)


def _echelon(whole: list[list[int]], multiples: list[list[int]], prime: int) -> list[list[int]]:
    """The null space's rows, those with new leading terms freed of the leading terms of multiples."""
    lead = [_leading(row) for row in multiples]
    freed = []
    for row in whole:
        if _leading(row) not in lead:
            for j, multiple in zip(lead, multiples, strict=True):
                if row[j]:
                    factor = row[j]
                    row = [(x - factor * y) % prime for x, y in zip(row, multiple, strict=True)]
        freed.append(row)
    return freed


def _multiples(known: Sequence[Operator], terms: Sequence[Term], prime: int) -> list[list[int]]:
    """What the left multiples of known operators span among the terms, in echelon form.

    Multiples that leave the box are taken into account as well, as far as one order and one degree beyond it: their
    combinations may come back.
    """
    if not known:
        return []
    variables = len(terms[0][0])
    inner = Box(max(sum(d) for d, _ in terms), max(sum(m[1:]) for _, m in terms), max(m[0] for _, m in terms))
    outer = Box(inner.order + 1, inner.degree + 1, inner.time_degree + 1)
    products: list[Operator] = []
    for operator in known:
        rest = Box(
            outer.order - operator.order, outer.degree - operator.degree, outer.time_degree - operator.time_degree
        )
        if min(rest.order, rest.degree, rest.time_degree) >= 0:
            products += [operator.after(*term) for term in rest.terms(variables)]
    place = {term: j for j, term in enumerate(terms)}
    outside = sorted({term for operator in products for term in operator.terms if term not in place})
    column = {term: j for j, term in enumerate([*outside, *terms])}
    matrix = nmod_mat(len(products), len(column), prime)
    for i, operator in enumerate(products):
        for term, c in operator.terms.items():
            matrix[i, column[term]] = c.numerator * pow(c.denominator, -1, prime) % prime
    reduced, rank = matrix.rref()
    rows = _rows(reduced, rank)
    return [row[len(outside) :] for row in rows if _leading(row) >= len(outside)]


def minimal(operators: Sequence[Operator], variables: int) -> tuple[Operator, ...]:
    """Those that are no combinations of left multiples of the others, the simplest kept."""
    kept = list(operators)
    for operator in sorted(operators, key=_size, reverse=True):
        others = [other for other in kept if other is not operator]
        box = Box(operator.order, operator.degree, operator.time_degree)
        terms = box.terms(variables)
        if any(not set(other.terms) - set(terms) for other in others) and _inside(operator, others, terms):
            kept = others
    return tuple(sorted(kept, key=_size))


def _inside(operator: Operator, others: Sequence[Operator], terms: Sequence[Term]) -> bool:
    prime = PRIMES[0]
    span = _multiples(others, terms, prime)
    row = [0] * len(terms)
    place = {term: j for j, term in enumerate(terms)}
    for term, c in operator.terms.items():
        row[place[term]] = int(c) % prime
    return nmod_mat([*span, row], prime).rank() == len(span) if span else False


def _size(operator: Operator) -> tuple[int, int, int, int]:
    return operator.order, operator.time_degree, operator.degree, len(operator.terms)


def reached_order(operators: Sequence[Operator], series: ReducedSeries) -> int:
    """The highest order up to which a change of any one coefficient, order 0 apart, would break an equation; or 0."""
    missed = [
        powers[0]
        for powers in series.coefficients
        if powers[0]
        and not any(
            key[0] <= series.order - operator.drop
            for operator in operators
            for key in operator.apply({powers: Fraction(1)})
        )
    ]
    return min(missed, default=series.order + 1) - 1


def determines(operators: Sequence[Operator], series: ReducedSeries) -> bool:
    """Whether the equations give the coefficients of one more order from those before, judged at the last orders."""
    for s in range(max(1, series.order - 2), series.order + 1):
        unknown = [powers for powers in series.coefficients if powers[0] == s]
        rows: dict[tuple[int, Powers], int] = {}
        entries: list[tuple[int, int, int]] = []
        for j, powers in enumerate(unknown):
            for k, operator in enumerate(operators):
                top = Operator(
                    {term: c for term, c in operator.terms.items() if term[0][0] - term[1][0] == operator.shift}
                )
                for key, value in top.apply({powers: Fraction(1)}).items():
                    i = rows.setdefault((k, key), len(rows))
                    entries.append((i, j, int(value) % PRIMES[0]))
        matrix = nmod_mat(len(rows), len(unknown), PRIMES[0])
        for i, j, c in entries:
            matrix[i, j] = c
        if matrix.rank() < len(unknown):
            return False
    return True
