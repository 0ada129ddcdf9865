"""The recursion on whole arrays of states: one sweep for all orders and all losses of a composite plan.

A state is a product of bracelets of Gram letters. Contracting the first letter C of one of its rings (``recursion``
says how) gives, with A the rest of that ring,

    E Tr(C A) F = v { inner E Tr(A) F + Σ_{A = B C D} E [Tr(D) Tr(B C) + Tr(C D Bᵀ)] F
                      + Σ_{other ring Tr(C D)} E [Tr(A D C) + Tr(A Dᵀ C)] F }

([P]; integration by parts.) The numbers of the letters not being eliminated are conserved, so that the work falls into
independent blocks. Within a block all states with k letters left form a level; a level is mapped to the next by two
sparse matrices, with and without a factor ``inner``, applied to the columns (order and loss, power of ``inner``). A
state is known by a sum of 64-bit keys of its rings, checked against a second, independent one. Coefficients are exact:
integers in limbs of 40 bits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import sparse

from theory.engine.packed import Codes, PackedWords
from theory.errors import BudgetError

_LIMB = 40
_ROOM = 62 - _LIMB

Keys = npt.NDArray[np.uint64]


@dataclass(frozen=True, eq=False)
class Level:
    """States as rows of ring codes (0 where there is none), and their coefficients, shape (states, columns, limbs)."""

    rings: Codes
    coefficients: npt.NDArray[np.int64]

    @property
    def states(self) -> int:
        """How many."""
        return len(self.rings)


def eliminate(level: Level, digit: int, *, packed: PackedWords) -> tuple[Level, Level]:
    """One contraction of a letter ``digit`` in every state: what comes with a factor ``inner``, and what without.

    Both levels have the same states in the same order, so that only the coefficients differ.
    """
    events = _events(level.rings, digit, packed)
    keys, checks = ring_keys(level.rings)
    sums = (keys.sum(axis=1, dtype=np.uint64), checks.sum(axis=1, dtype=np.uint64))
    removed = (ring_keys(events.removed), ring_keys(events.added))
    totals = [
        sums[i][events.rows] - removed[0][i].sum(axis=1, dtype=np.uint64) + removed[1][i].sum(axis=1, dtype=np.uint64)
        for i in (0, 1)
    ]
    distinct, first, inverse = np.unique(totals[0], return_index=True, return_inverse=True)
    if not np.array_equal(totals[1], totals[1][first][inverse]):
        raise BudgetError("keys of states", estimate="more than 64 bits", limit="64 bits", remedy="report this order")
    rings = _next_rings(level.rings, events, first)
    shape = (len(distinct), level.states)
    outputs = []
    for shifted in (True, False):
        chosen = events.shifted == shifted
        matrix = sparse.csr_matrix((events.weights[chosen], (inverse[chosen], events.rows[chosen])), shape=shape)
        outputs.append(Level(rings, _apply(matrix, level.coefficients)))
    return outputs[0], outputs[1]


def ring_keys(codes: Codes) -> tuple[Keys, Keys]:
    """Two independent 64-bit keys of each ring; 0 for none."""
    return _mix(codes, 0x9E3779B97F4A7C15), _mix(codes, 0xD1B54A32D192ED03)


def normalise(coefficients: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Carry, so that every limb but the last is in [0, 2^40); a limb is added where the last one would outgrow that."""
    limbs = [coefficients[:, :, i] for i in range(coefficients.shape[2])]
    for i in range(len(limbs) - 1):
        carry = limbs[i] >> _LIMB
        limbs[i] = limbs[i] - (carry << _LIMB)
        limbs[i + 1] = limbs[i + 1] + carry
    top = limbs[-1] >> _LIMB
    if np.any((top != 0) & (top != -1)):
        limbs[-1] = limbs[-1] - (top << _LIMB)
        limbs.append(top)
    return np.stack(limbs, axis=2)


def to_integers(coefficients: npt.NDArray[np.int64]) -> list[list[int]]:
    """Python integers, by state and column."""
    totals = np.zeros(coefficients.shape[:2], dtype=object)
    for i in range(coefficients.shape[2]):
        totals = totals + coefficients[:, :, i].astype(object) * (1 << _LIMB * i)
    return [[int(value) for value in row] for row in totals]


def from_integers(values: Sequence[int]) -> npt.NDArray[np.int64]:
    """Limbs of integers, shape (values, limbs)."""
    limbs: list[list[int]] = []
    rest = list(values)
    while not limbs or any(value not in (0, -1) for value in rest):
        limbs.append([value & ((1 << _LIMB) - 1) for value in rest])
        rest = [value >> _LIMB for value in rest]
    limbs.append(rest)
    return np.array(limbs, dtype=np.int64).T.copy()


@dataclass(frozen=True, eq=False)
class _Events:
    """Contractions: the state, up to two rings that go, up to two that come, a weight, and whether ``inner`` comes."""

    rows: npt.NDArray[np.int64]
    columns: npt.NDArray[np.int64]
    removed: Codes
    added: Codes
    weights: npt.NDArray[np.int64]
    shifted: npt.NDArray[np.bool_]


def _events(rings: Codes, digit: int, packed: PackedWords) -> _Events:
    has = packed.starts_with(rings, digit)
    target_column = np.argmin(np.where(has, rings, np.iinfo(np.int64).max), axis=1)
    everyone = np.arange(len(rings))
    targets = rings[everyone, target_column]
    distinct, inverse = np.unique(targets, return_inverse=True)
    owner, added, weights, shifted = _own_contractions(distinct, digit, packed)
    rows, picked = _expand(inverse, owner, len(distinct))
    own = _Events(
        rows,
        np.stack([target_column[rows], target_column[rows]], axis=1),
        np.stack([targets[rows], np.zeros_like(rows)], axis=1),
        added[picked],
        weights[picked],
        shifted[picked],
    )
    has[everyone, target_column] = False
    row, column = np.nonzero(has)
    pairs = np.stack([targets[row], rings[row, column]], axis=1)
    distinct_pairs, pair_inverse = _unique_pairs(pairs)
    owner, joined, weights = _joins(distinct_pairs, digit, packed)
    which, picked = _expand(pair_inverse, owner, len(distinct_pairs))
    joins = _Events(
        row[which],
        np.stack([target_column[row[which]], column[which]], axis=1),
        pairs[which],
        np.stack([joined[picked], np.zeros_like(picked)], axis=1),
        weights[picked],
        np.zeros(len(picked), dtype=bool),
    )
    return _Events(*(np.concatenate([getattr(own, f), getattr(joins, f)]) for f in _Events.__dataclass_fields__))


def _own_contractions(
    targets: Codes, digit: int, packed: PackedWords
) -> tuple[npt.NDArray[np.int64], Codes, npt.NDArray[np.int64], npt.NDArray[np.bool_]]:
    """Contractions of the first letter within its ring, sorted by the ring: index, rings left, weight, shifted."""
    rest = packed.tail(targets)
    index, before, after = packed.split(rest, digit)
    letter = packed.pack([digit])
    outcomes = (
        (np.arange(len(targets)), rest, np.zeros_like(rest), True),
        (index, after, packed.append(before, letter), False),
        (index, packed.append(packed.append(after, packed.reverse(before)), letter), np.zeros_like(after), False),
    )
    owners = np.concatenate([owner for owner, *_ in outcomes])
    one = packed.canonical(np.concatenate([a for _, a, _, _ in outcomes]))
    two = np.concatenate([b for _, _, b, _ in outcomes])
    two[two > 0] = packed.canonical(two[two > 0])
    added = np.stack([np.maximum(one, two), np.minimum(one, two)], axis=1)
    shifted = np.concatenate([np.full(len(owner), flag) for owner, _, _, flag in outcomes])
    order = np.lexsort((added[:, 1], added[:, 0], shifted, owners))
    keys = np.column_stack([owners, shifted, added])[order]
    fresh = np.ones(len(keys), dtype=bool)
    fresh[1:] = (keys[1:] != keys[:-1]).any(axis=1)
    starts = np.nonzero(fresh)[0]
    weights = np.diff(np.append(starts, len(keys)))
    return owners[order][starts], added[order][starts], weights, shifted[order][starts]


def _joins(pairs: Codes, digit: int, packed: PackedWords) -> tuple[npt.NDArray[np.int64], Codes, npt.NDArray[np.int64]]:
    """Contractions of the first letter of one ring with each one of another: index of the pair, ring left, weight."""
    index, opened = packed.cut(pairs[:, 1], digit)
    head = packed.tail(pairs[:, 0])[index]
    both = [packed.append(head, packed.append(word, packed.pack([digit]))) for word in (opened, packed.reverse(opened))]
    owners = np.concatenate([index, index])
    joined = packed.canonical(np.concatenate(both))
    order = np.lexsort((joined, owners))
    owners, joined = owners[order], joined[order]
    fresh = np.ones(len(owners), dtype=bool)
    fresh[1:] = (owners[1:] != owners[:-1]) | (joined[1:] != joined[:-1])
    starts = np.nonzero(fresh)[0]
    return owners[starts], joined[starts], np.diff(np.append(starts, len(owners)))


def _expand(
    inverse: npt.NDArray[np.int64], owner: npt.NDArray[np.int64], count: int
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """For items of kinds ``inverse``, and a table sorted by the kind ``owner``: every (item, table row) that match."""
    starts = np.searchsorted(owner, np.arange(count + 1))
    lengths = np.diff(starts)[inverse]
    items = np.repeat(np.arange(len(inverse)), lengths)
    offsets = np.arange(len(items)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    return items, starts[inverse][items] + offsets


def _unique_pairs(pairs: Codes) -> tuple[Codes, npt.NDArray[np.int64]]:
    first, first_inverse = np.unique(pairs[:, 0], return_inverse=True)
    second, second_inverse = np.unique(pairs[:, 1], return_inverse=True)
    keys, inverse = np.unique(first_inverse * len(second) + second_inverse, return_inverse=True)
    width = max(1, len(second))
    return np.stack([first[keys // width], second[keys % width]], axis=1), inverse


def _next_rings(rings: Codes, events: _Events, chosen: npt.NDArray[np.int64]) -> Codes:
    rows = np.concatenate([rings[events.rows[chosen]], np.zeros((len(chosen), 1), np.int64)], axis=1)
    everyone = np.arange(len(chosen))
    for side in (1, 0):
        gone = events.removed[chosen, side] > 0
        rows[everyone[gone], events.columns[chosen, side][gone]] = 0
    rows[everyone, events.columns[chosen, 0]] = events.added[chosen, 0]
    rows[:, -1] = events.added[chosen, 1]
    rows = -np.sort(-rows, axis=1)
    return rows[:, : max(1, int((rows > 0).any(axis=0).sum()))]


def _apply(matrix: sparse.csr_matrix, coefficients: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    states, columns, limbs = coefficients.shape
    if matrix.nnz and int(abs(matrix).sum(axis=1).max()) >= 1 << _ROOM:
        raise BudgetError(
            "coefficients of states", estimate="sums beyond 62 bits", limit="62 bits", remedy="ask for a lower order"
        )
    product: npt.NDArray[np.int64] = matrix @ coefficients.reshape(states, columns * limbs)
    return product.reshape(-1, columns, limbs)


def _mix(codes: Codes, seed: int) -> Keys:
    """SplitMix64 of the code, started from a seed."""
    mixed = codes.astype(np.uint64) * np.uint64(seed)
    mixed = (mixed ^ mixed >> np.uint64(30)) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ mixed >> np.uint64(27)) * np.uint64(0x94D049BB133111EB)
    return np.where(codes > 0, mixed ^ mixed >> np.uint64(31), np.uint64(0))
