"""A series in its reduced variables: its homogeneities found and divided out. [D] §4.

A face's series F = Σ_s c_s u^s/s! has few independent exponents. Each linear relation among them is an Euler operator
that F satisfies trivially. What is left is F = prefactor · G(x, …) in as many monomials as there are independent
exponents: the time x, linear in u, and the drives and ratios, free of u.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations, product
from math import factorial, gcd
from types import MappingProxyType
from typing import Any

from flint import fmpq_mat, fmpz_mat

from theory.engine.laurent import Laurent
from theory.errors import InputError

Powers = tuple[int, ...]
TIME = "u"
_NAMES = {"n sigma2": "A", "p sigma2": "B"}
_FREE_NAMES = ("r", "w", "v", "z", "y", "q", "k", "l")


@dataclass(frozen=True)
class Scaling:
    """A homogeneity: Σ weight · v ∂_v F = degree · F, the sum over u, the sizes and the variances."""

    weights: Mapping[str, int]
    degree: int

    def to_json(self) -> dict[str, Any]:
        """The weights that are not zero, and the degree."""
        return {"weights": dict(self.weights), "degree": self.degree}

    def __str__(self) -> str:
        parts = [f"{'' if w == 1 else '-' if w == -1 else f'{w} '}{v} ∂_{v}" for v, w in self.weights.items()]
        return f"({' + '.join(parts).replace('+ -', '- ')}) F = {self.degree} F"


@dataclass(frozen=True)
class ReducedSeries:
    """G with F = prefactor · G: exact coefficients of G's monomials, complete up to ``order`` in the time.

    ``names`` are the variables, the time first; ``variables`` says which monomial of u, sizes and variances each is.
    ``coefficients`` maps exponents in these variables to numbers, factorials included. ``constant`` is a number by
    which the loss exceeds F; it takes part in the search, since equations hold for the loss. It is dropped where the
    prefactor is not 1, since there it is of another size than F.
    """

    names: tuple[str, ...]
    variables: Mapping[str, Mapping[str, int]]
    prefactor: Mapping[str, int]
    scalings: tuple[Scaling, ...]
    coefficients: Mapping[Powers, Fraction]
    order: int
    constant: Fraction = Fraction(0)

    def with_constant(self) -> dict[Powers, Fraction]:
        """The coefficients of G plus the constant."""
        whole = dict(self.coefficients)
        origin = (0,) * len(self.names)
        whole[origin] = whole.get(origin, Fraction(0)) + self.constant
        return {powers: c for powers, c in whole.items() if c}

    def truncated(self, order: int) -> ReducedSeries:
        """The same series, known to a lower order."""
        kept = {powers: c for powers, c in self.coefficients.items() if powers[0] <= order}
        return ReducedSeries(
            self.names,
            self.variables,
            self.prefactor,
            self.scalings,
            MappingProxyType(kept),
            min(order, self.order),
            self.constant,
        )

    def at(self, values: Mapping[str, Fraction]) -> ReducedSeries:
        """The series in the time alone, at given exact values of all drives and ratios."""
        missing = [name for name in self.names[1:] if name not in values]
        if missing:
            raise InputError("values", given=sorted(values), expected=f"also {', '.join(missing)}", remedy="give all")
        total: dict[Powers, Fraction] = {}
        for powers, c in self.coefficients.items():
            for name, power in zip(self.names[1:], powers[1:], strict=True):
                c = c * values[name] ** power
            total[powers[:1]] = total.get(powers[:1], Fraction(0)) + c
        names = self.names[:1]
        kept = {names[0]: self.variables[names[0]]}
        return ReducedSeries(names, kept, self.prefactor, self.scalings, total, self.order, self.constant)


def plain_series(coefficients: Iterable[Fraction | int], *, constant: Fraction | int = 0) -> ReducedSeries:
    """A series in the time alone from its Taylor coefficients, for equations at given numbers.

    >>> plain_series([1, 1, Fraction(1, 2)]).order
    2
    """
    values: dict[Powers, Fraction] = {(s,): Fraction(c) for s, c in enumerate(coefficients)}
    return ReducedSeries(("x",), {"x": {TIME: 1}}, {}, (), values, len(values) - 1, Fraction(constant))


def reduce_series(coefficients: Sequence[Laurent], *, constant: Fraction | int = 0) -> ReducedSeries:
    """Divide the homogeneities out of F = Σ_s c_s u^s/s!, whose c_s are Laurent polynomials in sizes and variances.

    >>> a = Laurent.monomial({"n": 1, "sigma2": 1}, ("p", "n", "m", "sigma2"), -1)
    >>> m = Laurent.variable("m", ("p", "n", "m", "sigma2"))
    >>> series = reduce_series([a, 4 * m * a, 16 * m**2 * a])
    >>> dict(series.prefactor), {name: dict(v) for name, v in series.variables.items()}
    ({'n': 1, 'sigma2': 1}, {'x': {'u': 1, 'm': 1}})

    Raises ``InputError`` where no two orders have a coefficient: there is no time in such a series.
    """
    if not coefficients or len({s for s, c in enumerate(coefficients) if c}) < 2:
        raise InputError(
            "series",
            given=f"{len(coefficients)} coefficients",
            expected="at least two orders with a coefficient that is not 0",
            remedy="derive to a higher order",
        )
    base = coefficients[0].variables
    names = (TIME, *base)
    terms = {
        (s, *exponents): c / factorial(s)
        for s, polynomial in enumerate(coefficients)
        for exponents, c in polynomial.terms.items()
    }
    points = list(terms)
    time, drives, start, coordinates = _choose(points, names, through_origin=bool(constant))
    named = sorted(zip(_drive_names(drives, names), range(1, len(drives) + 1), strict=True))
    places = [0, *(place for _, place in named)]
    vectors = [[time, *drives][place] for place in places]
    chosen = {name: _powers(v, names) for name, v in zip(["x", *(name for name, _ in named)], vectors, strict=True)}
    table = {tuple(coordinates[point][place] for place in places): c for point, c in terms.items()}
    scalings = _scalings([time, *drives], start, names)
    return ReducedSeries(
        tuple(chosen),
        MappingProxyType(chosen),
        MappingProxyType(_powers(start, names)),
        scalings,
        MappingProxyType(table),
        len(coefficients) - 1,
        Fraction(0 if any(start) else constant),
    )


def _lattice(vectors: Sequence[Powers]) -> list[Powers]:
    """A short basis of the lattice that integer vectors generate."""
    reduced = fmpz_mat([list(v) for v in sorted(set(vectors))]).hnf()
    rows = [tuple(int(x) for x in row) for row in reduced.tolist() if any(row)]
    if not rows:
        return []
    return [tuple(int(x) for x in row) for row in fmpz_mat([list(r) for r in rows]).lll().tolist()]


def _choose(
    points: list[Powers], names: tuple[str, ...], *, through_origin: bool
) -> tuple[Powers, list[Powers], Powers, dict[Powers, Powers]]:
    """The time, the drives, the prefactor and all coordinates, the shortest choice with no negative coordinate."""
    first = points[0]
    whole = _lattice([_minus(point, first) for point in points])
    unit = _with_unit_time(whole)
    if unit is None:
        raise InputError("series", given="even orders only", expected="all orders", remedy="derive another loss")
    free = _lattice([v for v in (_minus(v, _times(unit, v[0])) for v in whole) if any(v)])
    rank = len(free)
    bound = range(-2, 3)
    pool = {
        tuple(sum(k * v[i] for k, v in zip(weights, free, strict=True)) for i in range(len(names)))
        for weights in product(bound, repeat=rank)
    }
    span = sorted(pool, key=_length)
    vectors = [v for v in span if any(v)][:24]
    times = sorted((_plus(_shortest(unit, span), v) for v in span), key=_length)[:24]
    early = [point for point in points if point[0] <= 2]
    origin = (0,) * len(names)
    best: tuple[tuple[Any, ...], Powers, list[Powers], Powers, dict[Powers, Powers]] | None = None
    for drives in combinations(vectors, rank):
        if _coordinates_of([times[0], *drives]) is None:
            continue
        for time in times:
            solve = _coordinates_of([time, *drives])
            if solve is None:
                continue
            rough = [_length(time), *map(_length, drives)]
            if best is not None and sum(rough) > best[0][0]:
                continue
            start = origin if through_origin and solve(_minus(first, origin)) is not None else None
            if start is None:
                start = _corner(early, first, [time, *drives], solve)
            if start is None or start[0] or _inside(early, start, solve) is None:
                continue
            known = _inside(points, start, solve)
            if known is None:
                continue
            score = (sum(rough) + _length(start), _length(start), sorted(drives), tuple(-x for x in time))
            if best is None or score < best[0]:
                best = (score, time, list(drives), start, known)
    if best is None:
        raise InputError(
            "series",
            given="exponents that fill no simple cone",
            expected="a power series in few monomials",
            remedy="search at given numbers instead",
        )
    return best[1], best[2], best[3], best[4]


def _corner(points: Sequence[Powers], first: Powers, basis: Sequence[Powers], solve: Any) -> Powers | None:
    """The largest monomial that divides all the points."""
    known = [solve(_minus(point, first)) for point in points]
    if any(c is None for c in known):
        return None
    start = first
    for i, v in enumerate(basis):
        start = _plus(start, _times(v, min(c[i] for c in known)))
    return start


def _inside(points: Sequence[Powers], start: Powers, solve: Any) -> dict[Powers, Powers] | None:
    """All coordinates, ``None`` where one is no whole number from 0."""
    known = {}
    for point in points:
        coordinates = solve(_minus(point, start))
        if coordinates is None or min(coordinates) < 0:
            return None
        known[point] = coordinates
    return known


def _shortest(vector: Powers, steps: Sequence[Powers]) -> Powers:
    """The vector moved by the steps, as long as that shortens it."""
    while True:
        nearer = min((_plus(vector, step) for step in steps), key=_length)
        if _length(nearer) >= _length(vector):
            return vector
        vector = nearer


def _with_unit_time(basis: Sequence[Powers]) -> Powers | None:
    """A lattice vector of degree 1 in u."""
    hnf = fmpz_mat([list(v) for v in basis]).hnf().tolist()
    row = tuple(int(x) for x in hnf[0])
    return row if row[0] == 1 else None


def _coordinates_of(basis: Sequence[Powers]) -> Any:
    """A function point → integer coordinates in the basis, ``None`` outside; ``None`` for dependent vectors."""
    count, width = len(basis), len(basis[0])
    rows: list[int] = []
    for i in range(width):  # independent rows of the matrix whose columns are the basis
        trial = [*rows, i]
        if fmpz_mat([[v[j] for v in basis] for j in trial]).rank() == len(trial):
            rows = trial
    if len(rows) < count:
        return None
    inverse = fmpq_mat(fmpz_mat([[v[j] for v in basis] for j in rows])).inv()
    matrix = [[Fraction(int(x.p), int(x.q)) for x in row] for row in inverse.tolist()]

    def solve(point: Powers) -> Powers | None:
        values = [sum(a * point[j] for a, j in zip(row, rows, strict=True)) for row in matrix]
        if any(Fraction(v).denominator != 1 for v in values):
            return None
        whole = tuple(int(v) for v in values)
        back = tuple(sum(k * v[i] for k, v in zip(whole, basis, strict=True)) for i in range(width))
        return whole if back == tuple(point) else None

    return solve


def _drive_names(drives: Sequence[Powers], names: tuple[str, ...]) -> list[str]:
    free = iter(name for name in _FREE_NAMES if name not in names)
    found = []
    for vector in drives:
        powers = _powers(vector, names)
        plain = " ".join(powers) if all(k == 1 for k in powers.values()) else ""
        named = _NAMES.get(plain)
        found.append(named if named and named not in names else next(free))
    return found


def _scalings(vectors: Sequence[Powers], start: Powers, names: tuple[str, ...]) -> tuple[Scaling, ...]:
    """The integer weights orthogonal to every variable."""
    null, rank = fmpz_mat([list(v) for v in vectors]).nullspace()
    columns = [[int(null[i, j]) for i in range(len(names))] for j in range(rank)]
    if not columns:
        return ()
    short = fmpz_mat(columns).lll().tolist()
    found = []
    for row in short:
        weights = [int(x) for x in row]
        divisor = gcd(*weights)
        weights = [w // divisor for w in weights]
        if next(w for w in weights if w) < 0:
            weights = [-w for w in weights]
        degree = sum(w * e for w, e in zip(weights, start, strict=True))
        found.append(Scaling({n: w for n, w in zip(names, weights, strict=True) if w}, degree))
    return tuple(found)


def _powers(vector: Powers, names: tuple[str, ...]) -> dict[str, int]:
    return {name: k for name, k in zip(names, vector, strict=True) if k}


def _length(vector: Powers) -> int:
    """How long a monomial is to write; negative powers count for more."""
    return sum(abs(k) + (k < 0) for k in vector)


def _plus(a: Powers, b: Powers) -> Powers:
    return tuple(x + y for x, y in zip(a, b, strict=True))


def _minus(a: Powers, b: Powers) -> Powers:
    return tuple(x - y for x, y in zip(a, b, strict=True))


def _times(a: Powers, k: int) -> Powers:
    return tuple(k * x for x in a)
