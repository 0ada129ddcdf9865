"""Expectations over a composite plan: blocks of conserved letter numbers, each swept level by level."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from theory.engine.composite import CompositePlan, PackedCombination
from theory.engine.laurent import Exponents, Laurent
from theory.engine.packed import Codes
from theory.engine.sweep import Level, eliminate, from_integers, normalise, to_integers

Progress = Callable[[int, int], None]
Powers = tuple[int, ...]

_FEW_WORDS = 2000


@dataclass(frozen=True)
class Tag:
    """Where a coefficient belongs: which combination, which monomial before it, how many letters its words have."""

    output: int
    exponents: Exponents
    counts: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Block:
    """Words that share the numbers of all letters but the highest: by number of the highest, the words of each tag."""

    letters: int
    sources: dict[int, list[tuple[Tag, Codes, list[int]]]]

    @property
    def words(self) -> int:
        """How many words."""
        return sum(len(codes) for rows in self.sources.values() for _, codes, _ in rows)


def expectations(
    plan: CompositePlan,
    combinations: Sequence[PackedCombination],
    *,
    workers: int = 1,
    progress: Progress | None = None,
) -> tuple[Laurent, ...]:
    """E of every combination, exactly; blocks run in ``workers`` processes where they are large.

    >>> from theory.autoencoder.model import AUTOENCODER
    >>> from theory.engine.composite import composite_plan, packed_derivatives
    >>> plan = composite_plan(AUTOENCODER)
    >>> print(expectations(plan, packed_derivatives(plan, "population", order=0))[0])
    1/2 p n sigma2^2 + 1/2 n^2 sigma2^2 + 1/2 n sigma2^2 - n sigma2 + 1/2
    """
    terms: list[dict[Exponents, Fraction]] = [dict(combination.constant) for combination in combinations]
    blocks = sorted(_blocks(plan, combinations), key=lambda block: -block.words)
    finished, total = 0, sum(block.words for block in blocks)
    for block, sums in _run(plan, blocks, workers):
        for (output, exponents), value in sums.items():
            scaled = value * combinations[output].scale
            terms[output][exponents] = terms[output].get(exponents, Fraction(0)) + scaled
        finished += block.words
        if progress:
            progress(finished, total)
    return tuple(Laurent(plan.model.variables, found) for found in terms)


def sweep(block: Block, plan: CompositePlan) -> dict[tuple[int, Exponents], Fraction]:
    """The block's share in the coefficients: by combination and monomial, scales left out."""
    state = _Columns(Level(np.zeros((0, 1), np.int64), np.zeros((0, 0, 1), np.int64)), [])
    top = plan.packed.letters - 1
    for remaining in range(max(block.sources), -1, -1):
        for tag, codes, coefficients in block.sources.get(remaining, []):
            state = state.with_words(tag, codes, coefficients)
        if remaining:
            state = state.eliminate(top, plan)
    for digit in range(top - 1, -1, -1):
        while plan.packed.starts_with(state.level.rings, digit).any():
            state = state.eliminate(digit, plan)
    return state.collect(plan)


@dataclass(frozen=True, eq=False)
class _Columns:
    """A level, and what each of its columns stands for: a tag, and a power of each letter's inner size."""

    level: Level
    names: list[tuple[Tag, Powers]]

    def with_words(self, tag: Tag, codes: Codes, coefficients: list[int]) -> _Columns:
        """The level with single rings added, in a column of their own."""
        single = (self.level.rings[:, 1:] == 0).all(axis=1)
        place = {int(code): int(row) for row, code in enumerate(self.level.rings[:, 0]) if single[row]}
        new = [int(code) for code in codes if int(code) not in place]
        place.update({code: self.level.states + i for i, code in enumerate(new)})
        rows = np.zeros((len(new), self.level.rings.shape[1]), np.int64)
        rows[:, 0] = new
        limbs = from_integers(coefficients)
        old = self.level.coefficients
        depth = max(limbs.shape[1], old.shape[2])
        grown = np.zeros((len(old) + len(new), old.shape[1] + 1, depth), np.int64)
        grown[: len(old), :-1, : old.shape[2]] = old
        grown[[place[int(code)] for code in codes], -1, : limbs.shape[1]] = limbs
        nothing = (0,) * len(tag.counts)
        return _Columns(Level(np.concatenate([self.level.rings, rows]), grown), [*self.names, (tag, nothing)])

    def eliminate(self, digit: int, plan: CompositePlan) -> _Columns:
        """The level after one contraction of a letter in every state."""
        shifted, plain = eliminate(self.level, digit, packed=plan.packed)
        raised = [(tag, (*p[:digit], p[digit] + 1, *p[digit + 1 :])) for tag, p in self.names]
        names = list(dict.fromkeys([*self.names, *raised]))
        column = {name: i for i, name in enumerate(names)}
        shape = (plain.states, len(names), plain.coefficients.shape[2])
        total: npt.NDArray[np.int64] = np.zeros(shape, np.int64)
        total[:, [column[name] for name in self.names]] += plain.coefficients
        total[:, [column[name] for name in raised]] += shifted.coefficients
        return _Columns(Level(plain.rings, normalise(total)), names)

    def collect(self, plan: CompositePlan) -> dict[tuple[int, Exponents], Fraction]:
        """Sums of what is left, products of traces of the identity, as monomials."""
        closed = (self.level.rings > 0).sum(axis=1)
        sums: dict[tuple[int, Exponents], Fraction] = {}
        for power in np.unique(closed).tolist():
            values = to_integers(self.level.coefficients[closed == power])
            for (tag, inner), value in zip(self.names, map(sum, zip(*values, strict=True)), strict=True):
                if value:
                    exponents, scale = _monomial(plan, tag, inner, power)
                    key = (tag.output, exponents)
                    sums[key] = sums.get(key, Fraction(0)) + value * scale
        return sums


def _monomial(plan: CompositePlan, tag: Tag, inner: Powers, outer: int) -> tuple[Exponents, Fraction]:
    variables = plan.model.variables
    total = list(tag.exponents)
    total[variables.index(plan.outer.name)] += outer
    scale = Fraction(1)
    for gram, power, count in zip(plan.letters, inner, tag.counts, strict=True):
        total[variables.index(gram.inner.name)] += power
        ((exponents, coefficient),) = plan.model.variances[gram.matrix].terms.items()
        total = [i + count * j for i, j in zip(total, exponents, strict=True)]
        scale *= coefficient**count
    return tuple(total), scale


def _blocks(plan: CompositePlan, combinations: Sequence[PackedCombination]) -> list[Block]:
    top = plan.packed.letters - 1
    found: dict[tuple[int, ...], dict[int, list[tuple[Tag, Codes, list[int]]]]] = {}
    for output, combination in enumerate(combinations):
        for exponents, (codes, coefficients) in combination.parts.items():
            by_counts: dict[tuple[int, ...], list[int]] = {}
            for k, code in enumerate(codes.tolist()):
                letters = plan.packed.unpack(code)
                by_counts.setdefault(tuple(letters.count(d) for d in range(top + 1)), []).append(k)
            for counts, chosen in by_counts.items():
                values = [int(value) for value in coefficients[chosen]]
                rows = found.setdefault(counts[:top], {}).setdefault(counts[top], [])
                rows.append((Tag(output, exponents, counts), codes[chosen], values))
    return [Block(sum(counts), sources) for counts, sources in found.items()]


def _run(
    plan: CompositePlan, blocks: list[Block], workers: int
) -> Iterator[tuple[Block, dict[tuple[int, Exponents], Fraction]]]:
    if workers == 1 or not blocks or blocks[0].words < _FEW_WORDS:
        for block in blocks:
            yield block, sweep(block, plan)
        return
    with ProcessPoolExecutor(workers) as pool:
        futures = {pool.submit(sweep, block, plan): block for block in blocks}
        for future in as_completed(futures):
            yield futures[future], future.result()
