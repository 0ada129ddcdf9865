"""Merging and Wick expectation of diagrams, level by level, states that meet again added up. [D].

For one edge T of a diagram, E[T ⋯] is the variance of T times the sum over every other edge that it pairs with, the two
removed and their ends identified leg by leg. All states with k edges of a tensor left form a level; each is mapped to
the level below once, whatever number of pairings leads to it. Coefficients are exact integers, keyed by packed
exponents; several quantities go through the levels together, each in its column.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from math import lcm

from theory.engine.diagram_store import DiagramStore, Outcome, State
from theory.errors import BudgetError

Polynomial = dict[int, int]
"""Packed exponents → integer."""

Level = dict[State, Polynomial]

STATE_LIMIT = 400_000
"""More states on one level are refused: several GB, and hours."""


def merge(left: Level, right: Level, *, store: DiagramStore) -> Level:
    """⟨∇left, ∇right⟩ by the product rule, in units of 1/``store.merge_unit``."""
    result: Level = {}
    for state, polynomial in left.items():
        for other, factor in right.items():
            products: list[tuple[int, int]] | None = None
            for outcome, others in _pairs(state, other, store):
                parts, shift, weight = outcome
                if products is None:
                    products = list(_product(polynomial, factor).items())
                total = result.setdefault(tuple(sorted((*others, *parts))), {})
                for key, value in products:
                    total[key + shift] = total.get(key + shift, 0) + value * weight
    return _without_zeros(result)


def scaled(level: dict[State, dict[int, Fraction]]) -> tuple[Level, Fraction]:
    """The same with integers, and the factor that was taken out."""
    unit = lcm(*(value.denominator for polynomial in level.values() for value in polynomial.values()))
    whole = {state: {k: int(v * unit) for k, v in polynomial.items()} for state, polynomial in level.items()}
    return whole, Fraction(1, unit)


def eliminate(
    level: Level, names: Sequence[str], *, store: DiagramStore, progress: Callable[[int, int], None] | None = None
) -> Level:
    """E over the tensors named, in units of their variances: states without edges of theirs are left."""
    finished, total = 0, sum(_most(level, name, store) for name in names)
    for name in names:
        rule = store.plan.pairings[name]
        same = rule.letter == rule.partner
        levels: dict[int, Level] = {}
        for state, polynomial in level.items():
            count, partners = (store.count(state, letter) for letter in (rule.letter, rule.partner))
            if (count % 2 == 0) if same else (count == partners):
                levels.setdefault(count, {})[state] = polynomial
        step = 2 if same else 1
        while levels and max(levels) > 0:
            count = max(levels)
            _descend(levels.pop(count), levels.setdefault(count - step, {}), name, rule.letter, store)
            finished += step
            if progress:
                progress(finished, total)
        level = _without_zeros(levels.get(0, {}))
    return level


def elimination_order(level: Level, names: Sequence[str], *, store: DiagramStore) -> list[str]:
    """Tensors with fewer edges first: their states are large diagrams, the last ones small."""
    return sorted(names, key=lambda name: _most(level, name, store))


def _descend(level: Level, below: Level, name: str, letter: int, store: DiagramStore) -> None:
    counts, rows = store.counts, store.rows
    store.states += len(level)
    for state, polynomial in level.items():
        part = min((p for p in state if counts[p][letter]), key=lambda p: (len(rows[p]), p))
        index = state.index(part)
        rest = state[:index] + state[index + 1 :]
        items = list(polynomial.items())
        for outcome, others in _partners(part, rest, name, store):
            parts, shift, weight = outcome
            total = below.setdefault(tuple(sorted(others + parts)), {})
            for key, value in items:
                total[key + shift] = total.get(key + shift, 0) + value * weight
        if len(below) > STATE_LIMIT:
            raise BudgetError(
                "expectation of diagrams",
                estimate=f"more than {len(below)} states at once",
                limit=str(STATE_LIMIT),
                remedy="ask for a lower order",
            )


def _partners(part: int, rest: State, name: str, store: DiagramStore) -> Iterator[tuple[Outcome, State]]:
    letter = store.plan.pairings[name].partner
    for outcome in store.own(name, part):
        yield outcome, rest
    for k, other in enumerate(rest):
        if store.counts[other][letter]:
            remaining = rest[:k] + rest[k + 1 :]
            for outcome in store.joins(name, part, other):
                yield outcome, remaining


def _pairs(state: State, other: State, store: DiagramStore) -> Iterator[tuple[Outcome, State]]:
    for i, left in enumerate(state):
        for j, right in enumerate(other):
            outcomes = store.merged(left, right)
            if outcomes:
                others = state[:i] + state[i + 1 :] + other[:j] + other[j + 1 :]
                for outcome in outcomes:
                    yield outcome, others


def _product(left: Polynomial, right: Polynomial) -> Polynomial:
    result: Polynomial = {}
    for a, x in left.items():
        for b, y in right.items():
            result[a + b] = result.get(a + b, 0) + x * y
    return result


def _without_zeros(level: Level) -> Level:
    kept = {state: {k: v for k, v in polynomial.items() if v} for state, polynomial in level.items()}
    return {state: polynomial for state, polynomial in kept.items() if polynomial}


def _most(level: Level, name: str, store: DiagramStore) -> int:
    letter = store.plan.pairings[name].letter
    return max((store.count(state, letter) for state in level), default=0)
