"""Expectations over a composite plan: blocks of conserved letter numbers, each swept level by level."""

from __future__ import annotations

import gc
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from theory.engine.composite import CompositePlan, PackedCombination
from theory.engine.cost import Progress
from theory.engine.laurent import Exponents, Laurent
from theory.engine.packed import Codes
from theory.engine.sweep import Level, eliminate, from_integers, normalise, to_integers

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
            scaled = combinations[output].scale * value
            known = terms[output].get(exponents)
            terms[output][exponents] = scaled if known is None else known + scaled
        finished += block.words
        if progress:
            progress(finished, total)
    return tuple(Laurent(plan.model.variables, found) for found in terms)


def sweep(block: Block, plan: CompositePlan) -> dict[tuple[int, Exponents], Fraction | int]:
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
        """The level with products of rings added, in a column of their own; ``codes`` are rings, or rows of rings."""
        rows = codes.reshape(len(codes), -1)
        known = self.level.rings
        width = max(rows.shape[1], known.shape[1])
        known = np.pad(known, ((0, 0), (0, width - known.shape[1])))
        rows = np.pad(rows, ((0, 0), (0, width - rows.shape[1])))
        short = np.nonzero((known[:, codes.reshape(len(codes), -1).shape[1] :] == 0).all(axis=1))[0]
        place = {row: int(k) for row, k in zip(map(tuple, known[short].tolist()), short, strict=True)}
        wanted = list(map(tuple, rows.tolist()))
        new = [row for row in wanted if row not in place]
        place.update({row: self.level.states + i for i, row in enumerate(new)})
        limbs = from_integers(coefficients)
        old = self.level.coefficients
        depth = max(limbs.shape[1], old.shape[2])
        grown = np.zeros((len(old) + len(new), old.shape[1] + 1, depth), np.int64)
        grown[: len(old), :-1, : old.shape[2]] = old
        grown[[place[row] for row in wanted], -1, : limbs.shape[1]] = limbs
        nothing = (0,) * len(tag.counts)
        added = np.array(new, dtype=np.int64).reshape(len(new), width)
        return _Columns(Level(np.concatenate([known, added]), grown), [*self.names, (tag, nothing)])

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

    def collect(self, plan: CompositePlan) -> dict[tuple[int, Exponents], Fraction | int]:
        """Sums of what is left, products of traces of the identity, as monomials."""
        closed = (self.level.rings > 0).sum(axis=1)
        bases = {tag: _variances(plan, tag) for tag, _ in self.names}
        inner = [plan.model.variables.index(gram.inner.name) for gram in plan.letters]
        outer = plan.model.variables.index(plan.outer.name)
        sums: dict[tuple[int, Exponents], Fraction | int] = {}
        for traces in np.unique(closed).tolist():
            totals = map(sum, zip(*to_integers(self.level.coefficients[closed == traces]), strict=True))
            for (tag, powers), total in zip(self.names, totals, strict=True):
                if total:
                    exponents, scale = list(bases[tag][0]), bases[tag][1]
                    exponents[outer] += traces
                    for place, power in zip(inner, powers, strict=True):
                        exponents[place] += power
                    key = (tag.output, tuple(exponents))
                    sums[key] = sums.get(key, 0) + (total if scale == 1 else total * scale)
        return sums


def _variances(plan: CompositePlan, tag: Tag) -> tuple[Exponents, Fraction]:
    """The monomial before a tag's words, times one variance for each pair of edges."""
    total, scale = tag.exponents, Fraction(1)
    for gram, count in zip(plan.letters, tag.counts, strict=True):
        ((exponents, coefficient),) = plan.model.variances[gram.matrix].terms.items()
        total = tuple(i + count * j for i, j in zip(total, exponents, strict=True))
        scale *= coefficient**count
    return total, scale


def _blocks(plan: CompositePlan, combinations: Sequence[PackedCombination]) -> list[Block]:
    top = plan.packed.letters - 1
    found: dict[tuple[int, ...], dict[int, list[tuple[Tag, Codes, list[int]]]]] = {}
    for output, combination in enumerate(combinations):
        for exponents, (codes, coefficients) in combination.parts.items():
            shape = (len(codes), -1)
            flat = np.maximum(codes.ravel(), 1)  # where a product has fewer rings, the empty word
            found_in = [plan.packed.count(flat, digit).reshape(shape).sum(axis=1) for digit in range(top + 1)]
            counted = np.stack(found_in, axis=1)
            distinct, inverse = np.unique(counted, axis=0, return_inverse=True)
            by_counts = {tuple(row): np.nonzero(inverse.ravel() == k)[0] for k, row in enumerate(distinct.tolist())}
            for counts, chosen in by_counts.items():
                values = [int(value) for value in coefficients[chosen]]
                rows = found.setdefault(counts[:top], {}).setdefault(counts[top], [])
                rows.append((Tag(output, exponents, counts), codes[chosen], values))
    return [Block(sum(counts), sources) for counts, sources in found.items()]


def _run(
    plan: CompositePlan, blocks: list[Block], workers: int
) -> Iterator[tuple[Block, dict[tuple[int, Exponents], Fraction | int]]]:
    if workers == 1 or not blocks or blocks[0].words < _FEW_WORDS:
        for block in blocks:
            yield block, sweep(block, plan)
        return
    gc.collect()  # a forked process must not be left to end objects whose threads it does not have
    with ProcessPoolExecutor(workers) as pool:
        futures = {pool.submit(sweep, block, plan): block for block in blocks}
        for future in as_completed(futures):
            yield futures[future], future.result()
