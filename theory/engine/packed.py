"""Bracelets of symmetric letters packed into integers, and their canonical form on whole arrays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from theory.errors import BudgetError

Codes = npt.NDArray[np.int64]

_MACHINE_BITS = 62


@dataclass(frozen=True)
class PackedWords:
    """Words over ``letters`` symmetric letters 0 … letters − 1.

    A code is a one followed by the digits, each in the same number of bits; the empty word is 1. The canonical form is
    the largest code among all rotations and reversals, so that a ring which contains the highest letter begins with it.

    >>> words = PackedWords(2)
    >>> words.pack([0, 1, 1]), words.unpack(int(words.canonical(np.array([words.pack([0, 1, 1])]))[0]))
    (11, [1, 1, 0])
    """

    letters: int

    @cached_property
    def bits(self) -> int:
        """Bits a letter takes."""
        return max(1, (self.letters - 1).bit_length())

    def pack(self, digits: Sequence[int]) -> int:
        """The code of a word. ``BudgetError`` where it does not fit 62 bits."""
        if len(digits) * self.bits > _MACHINE_BITS:
            raise BudgetError(
                "packed word",
                estimate=f"{len(digits)} letters of {self.bits} bits",
                limit=f"{_MACHINE_BITS} bits",
                remedy="ask for a lower order",
            )
        code = 1
        for digit in digits:
            code = code << self.bits | digit
        return code

    def unpack(self, code: int) -> list[int]:
        """The letters of a code."""
        length = (code.bit_length() - 1) // self.bits
        mask = (1 << self.bits) - 1
        return [code >> self.bits * (length - 1 - i) & mask for i in range(length)]

    def widths(self, codes: Codes) -> Codes:
        """Bits taken by the digits of each code."""
        exponents = np.minimum(np.frexp(codes.astype(np.float64))[1].astype(np.int64) - 1, _MACHINE_BITS)
        return exponents - ((np.int64(1) << exponents) > codes)

    def reverse(self, codes: Codes) -> Codes:
        """Each word read backwards."""
        widths = self.widths(codes)
        mask = (1 << self.bits) - 1
        reversed_codes = np.ones_like(codes)
        rest = codes.copy()
        for _ in range(int(widths.max(initial=0)) // self.bits):
            alive = rest > 1
            reversed_codes = np.where(alive, reversed_codes << self.bits | (rest & mask), reversed_codes)
            rest = np.where(alive, rest >> self.bits, rest)
        return reversed_codes

    def canonical(self, codes: Codes) -> Codes:
        """The largest code among rotations and reversals of each word."""
        widths = self.widths(codes)
        top = np.int64(1) << widths
        shift = np.maximum(widths - self.bits, 0)
        low = (np.int64(1) << shift) - 1
        forward, backward = codes - top, self.reverse(codes) - top
        best = np.maximum(forward, backward)
        for _ in range(int(widths.max(initial=0)) // self.bits - 1):
            forward = (forward & low) << self.bits | forward >> shift
            backward = (backward & low) << self.bits | backward >> shift
            np.maximum(best, forward, out=best)
            np.maximum(best, backward, out=best)
        best += top
        return best

    def canonical_one(self, code: int) -> int:
        """``canonical`` of a single code, without arrays."""
        width = code.bit_length() - 1
        shift = width - self.bits
        if shift <= 0:
            return code
        top, low = 1 << width, (1 << shift) - 1
        bits = self.bits
        turned, rest, mask = 0, code, (1 << bits) - 1
        while rest > 1:
            turned = turned << bits | (rest & mask)
            rest >>= bits
        forward, backward = code - top, turned
        best = max(forward, backward)
        for _ in range(width // bits - 1):
            forward = (forward & low) << bits | forward >> shift
            backward = (backward & low) << bits | backward >> shift
            if forward > best:
                best = forward
            if backward > best:
                best = backward
        return best | top

    def count(self, codes: Codes, digit: int) -> npt.NDArray[np.int64]:
        """How often a letter occurs in each word."""
        widths = self.widths(codes)
        mask = (1 << self.bits) - 1
        found = np.zeros(len(codes), dtype=np.int64)
        for below in range(0, int(widths.max(initial=0)), self.bits):
            found += (widths > below) & ((codes >> below & mask) == digit)
        return found

    def cut(self, codes: Codes, digit: int) -> tuple[npt.NDArray[np.int64], Codes]:
        """Each word cut open at every occurrence of a letter: the index of the word, and the rest after the letter."""
        widths = self.widths(codes)
        mask = (1 << self.bits) - 1
        indices, rests = [], []
        for position in range(int(widths.max(initial=0)) // self.bits):
            below = position * self.bits
            found = np.nonzero((widths > below) & ((codes >> below & mask) == digit))[0]
            word, width = codes[found], widths[found]
            head = (word >> below + self.bits) - (np.int64(1) << width - below - self.bits)
            tail = word & ((1 << below) - 1)
            indices.append(found)
            rests.append((np.int64(1) << width - self.bits) | tail << width - below - self.bits | head)
        if not indices:
            return np.zeros(0, np.int64), np.zeros(0, np.int64)
        return np.concatenate(indices), np.concatenate(rests)

    def split(self, codes: Codes, digit: int) -> tuple[npt.NDArray[np.int64], Codes, Codes]:
        """Each word split at every occurrence of a letter: index of the word, the word before it, the word after it."""
        widths = self.widths(codes)
        mask = (1 << self.bits) - 1
        parts: list[tuple[npt.NDArray[np.int64], Codes, Codes]] = []
        for position in range(int(widths.max(initial=0)) // self.bits):
            below = position * self.bits
            found = np.nonzero((widths > below) & ((codes >> below & mask) == digit))[0]
            word = codes[found]
            parts.append((found, word >> below + self.bits, (np.int64(1) << below) | word & ((1 << below) - 1)))
        if not parts:
            nothing = np.zeros(0, np.int64)
            return nothing, nothing, nothing
        index, before, after = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
        return index, before, after

    def starts_with(self, codes: Codes, digit: int) -> npt.NDArray[np.bool_]:
        """Whether a word is not empty and begins with a letter; codes of 0 and 1 do not."""
        shift = np.maximum(self.widths(np.maximum(codes, 1)) - self.bits, 0)
        first: npt.NDArray[np.bool_] = (codes >> shift & ((1 << self.bits) - 1)) == digit
        return first & (codes > 1)

    def tail(self, codes: Codes) -> Codes:
        """Each word without its first letter."""
        shift = np.int64(1) << self.widths(codes) - self.bits
        return (codes & (shift - 1)) | shift

    def append(self, heads: Codes, tails: Codes | int) -> Codes:
        """Each head followed by its tail. ``BudgetError`` where a word would not fit."""
        tail_codes = np.broadcast_to(np.asarray(tails, dtype=np.int64), heads.shape)
        widths = self.widths(tail_codes)
        if len(heads) and int((self.widths(heads) + widths).max()) > _MACHINE_BITS:
            raise BudgetError(
                "packed word", estimate="longer words", limit=f"{_MACHINE_BITS} bits", remedy="ask for a lower order"
            )
        return heads << widths | tail_codes - (np.int64(1) << widths)


Integers = npt.NDArray[np.int64]
"""Exact integers: machine ones where all fit 63 bits, else an array of Python's."""

_MACHINE_LIMIT = 2**62


def integers(values: Sequence[int]) -> Integers:
    """An array of exact integers, of Python's where one does not fit a machine word.

    >>> integers([1, 2**70]).dtype, integers([1, -(2**61)]).dtype
    (dtype('O'), dtype('int64'))
    """
    fits = all(abs(value) < _MACHINE_LIMIT for value in values)
    return np.array(values, dtype=np.int64 if fits else object)


def largest(values: Integers) -> int:
    """The largest absolute value, 0 of none."""
    return max(int(values.max()), -int(values.min())) if len(values) else 0


def multiply(values: Integers, factor: int) -> Integers:
    """Every value times a factor: machine arithmetic where the largest product fits, Python's else.

    >>> multiply(np.array([2**40]), 2**30)[0] == 2**70
    True
    """
    if values.dtype == object or max(1, largest(values)) * abs(factor) >= _MACHINE_LIMIT:
        return np.asarray(values.astype(object) * factor)
    return values * np.int64(factor)


def add_up(codes: Codes, values: Integers) -> tuple[Codes, Integers]:
    """Distinct codes in order, and the sum of the values of each; zeros dropped.

    Machine arithmetic where the sum of absolute values of each code is proven to fit; values that fit come back as
    machine integers.

    >>> [list(map(int, array)) for array in add_up(np.array([3, 2, 3]), np.array([1, 5, 1]))]
    [[2, 3], [5, 2]]
    """
    distinct, inverse = np.unique(codes, return_inverse=True)
    if values.dtype != object:
        sizes = np.bincount(inverse, weights=np.abs(values.astype(np.float64)), minlength=len(distinct))
        if len(values) and float(sizes.max()) * (1 + len(values) * 2.0**-52) >= _MACHINE_LIMIT:
            values = values.astype(object)
    totals = np.zeros(len(distinct), dtype=values.dtype)
    np.add.at(totals, inverse, values)
    kept = totals != 0
    totals = totals[kept]
    if totals.dtype == object and largest(totals) < _MACHINE_LIMIT:
        totals = totals.astype(np.int64)
    return distinct[kept], totals
