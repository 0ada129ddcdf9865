"""The connected diagrams met so far, and what contracting them gives: each worked out once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import cached_property
from math import lcm

import numpy as np

from theory.engine.diagram_canonical import MOST_LEGS, MOST_NODES, Ints, Rows
from theory.engine.diagram_contract import EVERY, contract, split
from theory.engine.diagram_plan import DiagramPlan, Rule, Term
from theory.errors import BudgetError

State = tuple[int, ...]
"""A diagram: the numbers of its connected parts in the store, sorted."""

Outcome = tuple[State, int, int]
"""The parts that come, the key of the monomial that comes with them, and an integer factor."""

_NONE = np.empty(0, np.uint64)
_LETTER = np.uint64(8 * MOST_LEGS)


class DiagramStore:
    """Connected diagrams by number: canonical rows, how many edges of each letter, and the outcomes known."""

    def __init__(self, plan: DiagramPlan) -> None:
        self.plan = plan
        self.rows: list[Rows] = []
        self.counts: list[tuple[int, ...]] = []
        self.states = 0
        """How many states expectations have gone through so far."""
        self._nodes: list[int] = []
        self._numbers: dict[bytes, int] = {}
        self._own: dict[tuple[str, int], tuple[Outcome, ...]] = {}
        self._joins: dict[tuple[str, int, int], tuple[Outcome, ...]] = {}
        self._merged: dict[tuple[int, int], tuple[Outcome, ...]] = {}

    @cached_property
    def merge_unit(self) -> int:
        """Factors of ``merged`` are in units of one over this."""
        return lcm(*(rule.weight.denominator for rule in self.plan.merges))

    def number(self, rows: Rows) -> int:
        """The number of a connected diagram given by its canonical rows."""
        key = rows.tobytes()
        found = self._numbers.get(key)
        if found is None:
            found = self._numbers[key] = len(self.rows)
            self.rows.append(rows)
            letters = (rows >> _LETTER).astype(np.int64)
            self.counts.append(tuple(np.bincount(letters, minlength=len(self.plan.letters)).tolist()))
            self._nodes.append(1 + int(max(rows.view(np.uint8).reshape(-1, 8)[:, :MOST_LEGS].max(initial=0), 0)))
        return found

    def state(self, term: Term) -> State:
        """The connected parts of a product of entries."""
        letters, ends, nodes = term
        meta, rows = np.empty(len(letters), np.int64), np.empty(len(letters), np.uint64)
        plan = self.plan
        parts, _, _ = split(letters, ends, plan.legs, plan.unordered, nodes, meta, 0, rows, 0)
        cuts = np.cumsum(meta[: max(parts - 1, 0)])
        return tuple(sorted(self.number(part.copy()) for part in np.split(rows, cuts) if parts))

    def count(self, state: State, letter: int) -> int:
        """How many edges of a letter."""
        return sum(self.counts[part][letter] for part in state)

    def own(self, name: str, part: int) -> tuple[Outcome, ...]:
        """What pairing one edge of a tensor with the others of the same part leaves."""
        found = self._own.get((name, part))
        if found is None:
            rule = self.plan.pairings[name]
            found = self._own[name, part] = self._collect([(rule, 1)], self.rows[part], _NONE, self._first(part, rule))
        return found

    def joins(self, name: str, part: int, other: int) -> tuple[Outcome, ...]:
        """What pairing the same edge of one part with the edges of another leaves."""
        found = self._joins.get((name, part, other))
        if found is None:
            rule = self.plan.pairings[name]
            rows, first = (self.rows[part], self.rows[other]), self._first(part, rule)
            found = self._joins[name, part, other] = self._collect([(rule, 1)], *rows, first)
        return found

    def merged(self, left: int, right: int) -> tuple[Outcome, ...]:
        """⟨∇left, ∇right⟩ over all trained tensors, in units of 1/``merge_unit``."""
        found = self._merged.get((left, right))
        if found is None:
            rules = [(rule, int(rule.weight * self.merge_unit)) for rule in self.plan.merges]
            found = self._merged[left, right] = self._collect(rules, self.rows[left], self.rows[right], EVERY)
        return found

    def _first(self, part: int, rule: Rule) -> int:
        letters = (self.rows[part] >> _LETTER).astype(np.int64)
        return int(np.argmax(letters == rule.letter))

    def _collect(self, rules: Sequence[tuple[Rule, int]], left: Rows, right: Rows, first: int) -> tuple[Outcome, ...]:
        plan, total = self.plan, Counter[tuple[State, int]]()
        self._check(left, right)
        for rule, weight in rules:
            meta, rows = contract(
                left,
                right,
                first,
                rule.letter,
                rule.partner,
                rule.orders,
                rule.insert,
                plan.legs,
                plan.unordered,
                plan.kinds,
                plan.spaces,
            )
            shift = rule.shift if first == EVERY else 0
            for state, closed, often in self._read(meta, rows):
                total[state, closed + shift] += often * weight
        return tuple((state, key, factor) for (state, key), factor in total.items())

    def _read(self, meta: Ints, rows: Rows) -> list[Outcome]:
        result, numbers, spaces = [], meta.tolist(), self.plan.spaces
        at = begin = 0
        while at < len(numbers):
            often, parts = numbers[at], numbers[at + 1]
            at += 2
            closed = self.plan.closed(numbers[at : at + spaces])
            at += spaces
            state = []
            for size in numbers[at : at + parts]:
                state.append(self.number(rows[begin : begin + size]))
                begin += size
            at += parts
            state.sort()
            result.append((tuple(state), closed, often))
        return result

    def _check(self, left: Rows, right: Rows) -> None:
        nodes = sum(self._nodes[self._numbers[rows.tobytes()]] for rows in (left, right) if len(rows))
        if nodes > MOST_NODES:
            raise BudgetError(
                "a diagram", estimate=f"{nodes} nodes", limit=str(MOST_NODES), remedy="ask for a lower order"
            )
