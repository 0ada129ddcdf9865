"""The universal index form: sums of products of tensor entries, whose indices are numbers, some of them open legs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from theory.models.complaint import Source

UNIT = -1
"""The leg of a vector's missing index: it has one value."""

MOST_TERMS = 10_000
MOST_FACTORS = 60
MOST_WORK = 50_000
"""Factors multiplied out for one expression, the products on the way counted."""

Powers = tuple[tuple[str, int], ...]


class SizelessError(Exception):
    """An index was summed of which nothing says what it runs over."""


class MixedError(Exception):
    """Two indices were to be one, but run over two spaces."""

    def __init__(self, first: str, second: str) -> None:
        super().__init__(first, second)
        self.first, self.second = first, second


@dataclass(frozen=True)
class Factor:
    """One entry: a tensor by its name, an index a leg, and whether it is conjugated (of complex tensors alone)."""

    tensor: str
    indices: tuple[int, ...]
    conjugate: bool = False


@dataclass(frozen=True)
class Term:
    """``coefficient`` · Π name^power · Π entries, summed over all indices but the open ``legs``.

    Index k runs over the space ``spaces[k]`` (``None`` where that is not known yet). Two legs with one index are a
    delta; a leg whose index no factor has is constant along it.
    """

    coefficient: Fraction
    powers: Powers = ()
    factors: tuple[Factor, ...] = ()
    spaces: tuple[str | None, ...] = ()
    legs: tuple[int, ...] = ()

    def scaled(self, coefficient: Fraction, powers: Powers = ()) -> Term:
        """The term times a monomial."""
        return replace(self, coefficient=self.coefficient * coefficient, powers=_times(self.powers, powers))


Terms = tuple[Term, ...]


def multiply(first: Term, second: Term) -> Term:
    """The product; the legs of the second come behind those of the first."""
    shift = len(first.spaces)
    moved = tuple(replace(f, indices=tuple(i + shift for i in f.indices)) for f in second.factors)
    return Term(
        first.coefficient * second.coefficient,
        _times(first.powers, second.powers),
        first.factors + moved,
        first.spaces + second.spaces,
        first.legs + tuple(leg if leg == UNIT else leg + shift for leg in second.legs),
    )


def contract(term: Term, pairs: Iterable[tuple[int, int]], keep: Sequence[int]) -> Term:
    """Identify pairs of legs (by their places), then keep the legs at the places ``keep``, and sum over the others.

    Raises ``MixedError`` for a pair that runs over two spaces, ``SizelessError`` where a sum has no range.
    """
    merged = [(term.legs[a], term.legs[b]) for a, b in pairs]
    joined = identify(term, [(a, b) for a, b in merged if a != UNIT and b != UNIT])
    return _tidy(replace(joined, legs=tuple(joined.legs[k] for k in keep)))


def identify(term: Term, pairs: Iterable[tuple[int, int]]) -> Term:
    """Make each pair of indices one."""
    root = list(range(len(term.spaces)))
    spaces = list(term.spaces)

    def find(i: int) -> int:
        while root[i] != i:
            i = root[i]
        return i

    for a, b in pairs:
        i, j = find(a), find(b)
        if i == j:
            continue
        one, other = spaces[i], spaces[j]
        if one is not None and other is not None and one != other:
            raise MixedError(one, other)
        spaces[i] = one if one is not None else other
        root[j] = i
    roots = [find(i) for i in range(len(root))]
    number = {i: k for k, i in enumerate(dict.fromkeys(roots))}
    return _renumbered(term, [number[i] for i in roots], tuple(spaces[i] for i in number))


def with_space(term: Term, place: int, space: str) -> Term:
    """Say what the leg at a place runs over."""
    leg = term.legs[place]
    known = term.spaces[leg]
    if known is not None and known != space:
        raise MixedError(known, space)
    return replace(term, spaces=(*term.spaces[:leg], space, *term.spaces[leg + 1 :]))


def conjugated(term: Term, kinds: Callable[[str], str]) -> Term:
    """The complex conjugate: of a complex entry its conjugate, of a hermitian one the transposed entry."""
    factors = []
    for factor in term.factors:
        kind = kinds(factor.tensor)
        if kind == "complex":
            factor = replace(factor, conjugate=not factor.conjugate)
        elif kind == "hermitian":
            factor = replace(factor, indices=factor.indices[::-1])
        factors.append(factor)
    return replace(term, factors=tuple(factors))


def collect(terms: Iterable[Term]) -> Terms:
    """Like terms added up, in order of first occurrence; zeros dropped.

    Terms are compared after a renaming of their indices that finds most that are alike, not all: the engines know them
    all.
    """
    total: dict[Term, Fraction] = {}
    for term in terms:
        key = replace(_named(term), coefficient=Fraction(1))
        total[key] = total.get(key, Fraction(0)) + term.coefficient
    return tuple(replace(key, coefficient=value) for key, value in total.items() if value)


def check_work(source: Source, place: int, *, terms: int, factors: int) -> None:
    """Refuse an expansion of too many terms, or of terms too long, before it is begun."""
    if terms > MOST_TERMS:
        source.refuse_size(place, estimate=f"up to {_rough(terms)} terms", limit=f"{MOST_TERMS}")
    if factors > MOST_FACTORS:
        source.refuse_size(place, estimate=f"products of {_rough(factors)} entries", limit=f"{MOST_FACTORS}")


def longest(terms: Terms) -> int:
    """The number of factors of the longest term."""
    return max((len(term.factors) for term in terms), default=0)


def _tidy(term: Term) -> Term:
    """Drop each index that neither a factor nor a leg has: it is summed over, which gives a factor of its size."""
    used = dict.fromkeys(i for factor in term.factors for i in factor.indices)
    used |= dict.fromkeys(leg for leg in term.legs if leg != UNIT)
    powers = term.powers
    for i, space in enumerate(term.spaces):
        if i not in used:
            if space is None:
                raise SizelessError
            powers = _times(powers, ((space, 1),))
    place = {i: k for k, i in enumerate(used)}
    spaces = tuple(term.spaces[i] for i in used)
    return _renumbered(replace(term, powers=powers), [place.get(i, 0) for i in range(len(term.spaces))], spaces)


def _renumbered(term: Term, place: Sequence[int], spaces: tuple[str | None, ...]) -> Term:
    return replace(
        term,
        factors=tuple(Factor(f.tensor, tuple(place[i] for i in f.indices), f.conjugate) for f in term.factors),
        spaces=spaces,
        legs=tuple(leg if leg == UNIT else place[leg] for leg in term.legs),
    )


def _named(term: Term) -> Term:
    """The factors in an order, and the indices by numbers, that depend little on how the term was written."""
    if not term.factors and not term.legs:
        return term
    colours = _colours(term)
    number: dict[int, int] = {}
    for leg in term.legs:
        if leg != UNIT:
            number.setdefault(leg, len(number))
    rest = list(term.factors)
    ordered: list[Factor] = []

    shift = len(colours)

    def rank(factor: Factor) -> tuple[Any, ...]:
        places = [number.get(i, shift + colours[i]) for i in factor.indices]
        return (min(places, default=0), factor.tensor, factor.conjugate, places)

    while rest:
        chosen = min(rest, key=rank)
        rest.remove(chosen)
        for i in chosen.indices:
            number.setdefault(i, len(number))
        ordered.append(chosen)
    spaces = sorted(range(len(term.spaces)), key=lambda i: number[i])
    renamed = _renumbered(
        replace(term, factors=tuple(ordered)),
        [number[i] for i in range(len(term.spaces))],
        tuple(term.spaces[i] for i in spaces),
    )
    return replace(renamed, factors=tuple(sorted(renamed.factors, key=lambda f: (f.tensor, f.conjugate, f.indices))))


def _colours(term: Term) -> list[int]:
    """Ranks of the indices by what stands around them."""
    places: list[list[int]] = [[] for _ in term.spaces]
    for k, leg in enumerate(term.legs):
        if leg != UNIT:
            places[leg].append(k)
    colours = _ranks([(space or "", *found) for space, found in zip(term.spaces, places, strict=True)])
    count = len(set(colours))
    while count < len(colours):
        around: list[list[Any]] = [[] for _ in colours]
        for factor in term.factors:
            seen = (factor.tensor, factor.conjugate, tuple([colours[i] for i in factor.indices]))
            for k, i in enumerate(factor.indices):
                around[i].append((k, seen))
        colours = _ranks([(colour, *sorted(near)) for colour, near in zip(colours, around, strict=True)])
        finer = len(set(colours))
        if finer == count:
            break
        count = finer
    return colours


def _ranks(names: Sequence[Any]) -> list[int]:
    """Equal names get equal ranks, in the order of the names."""
    order = {name: k for k, name in enumerate(sorted(set(names)))}
    return [order[name] for name in names]


def _times(first: Powers, second: Powers) -> Powers:
    if not second:
        return first
    total = dict(first)
    for name, power in second:
        total[name] = total.get(name, 0) + power
    return tuple(sorted((name, power) for name, power in total.items() if power))


def _rough(number: int) -> str:
    return str(number) if number < 10**6 else f"{float(min(number, 10**300)):.1e}"
