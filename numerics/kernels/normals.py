"""Random numbers inside compiled kernels: many xoshiro256++ lanes side by side, and normals by Box–Muller.

A stream is a ``uint64`` array of shape ``(4, LANES)``: one xoshiro256++ generator (Blackman and Vigna 2018) a column,
each seeded with its own 256 bits from the replica's ``SeedSequence``. The loops below run over the lanes without a
branch or a table, so that the compiler turns them into vector instructions.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba.extending import intrinsic
from numpy.typing import NDArray

Stream = NDArray[np.uint64]
"""The state of a generator, advanced in place by the ``fill_…`` functions."""

LANES = 32
BLOCK = 2 * LANES
"""Numbers are drawn in blocks; a buffer whose length is a multiple of this wastes none."""

# Only contraction to fused multiply-add is allowed: reassociation would undo the exponent arithmetic of ``log_unit``.
# (And numpy's error model, wherever a division occurs: a check for zero would stop vectorisation.)
FASTMATH = {"contract"}

U64 = np.uint64
_ONE = np.uint64(0x3FF0000000000000)  # the bits of 1.0
_ROOT_HALF = np.uint64(0x3FE6A09E667F3BCD)  # the bits of √½
_EXPONENT = np.uint64(0xFFF0000000000000)
_BIAS = np.uint64(0x4000000000000000)
_MAGIC = np.uint64(0x4330000000000000)  # the bits of 2^52
_SIGN = np.uint64(0x8000000000000000)
_OCTANT = np.pi / 4
_LOG2 = float(np.log(2.0))


def stream(seed: np.random.SeedSequence) -> Stream:
    """A fresh stream, determined by ``seed`` alone.

    >>> from numerics.runs.seeds import replica_seed
    >>> stream(replica_seed(7, 0)).shape
    (4, 32)
    """
    words: Stream = np.asarray(seed.generate_state(4 * LANES, np.uint64), dtype=np.uint64)
    return words.reshape(4, LANES)


def _as_float(_typing: Any, _bits: Any) -> Any:
    def build(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        return builder.bitcast(arguments[0], ir.DoubleType())

    return numba.types.float64(numba.types.uint64), build


def _as_bits(_typing: Any, _value: Any) -> Any:
    def build(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        return builder.bitcast(arguments[0], ir.IntType(64))

    return numba.types.uint64(numba.types.float64), build


as_float: Any = intrinsic(_as_float)
"""The float64 with the given 64 bits (inside kernels)."""

as_bits: Any = intrinsic(_as_bits)
"""The 64 bits of a float64 (inside kernels)."""


@numba.njit(inline="always")
def rotate(x: Any, k: int) -> Any:
    """Rotate 64 bits to the left."""
    return (x << U64(k)) | (x >> U64(64 - k))


@numba.njit(inline="always")
def unit(word: Any) -> Any:
    """Uniform on [0, 1) from the upper 52 bits of a random word; its lower 12 bits stay unused."""
    return as_float((word >> U64(12)) | _ONE) - 1.0


@numba.njit(inline="always", fastmath=FASTMATH, error_model="numpy")
def log_unit(word: Any) -> Any:
    """log u for u uniform on (0, 1], from the upper 52 bits of a random word; within 3 units in the last place.

    u = 2^e m with √½ ≤ m < √2, and log m = 2 artanh((m − 1)/(m + 1)) by its series.
    """
    bits = as_bits(2.0 - as_float((word >> U64(12)) | _ONE))
    offset = bits - _ROOT_HALF
    exponent = as_float(((offset + _BIAS) >> U64(52)) + _MAGIC) - (4503599627370496.0 + 1024.0)
    m = as_float(bits - (offset & _EXPONENT))
    s = (m - 1.0) / (m + 1.0)
    q = s * s
    p = q * (1 / 21) + 1 / 19
    p = p * q + 1 / 17
    p = p * q + 1 / 15
    p = p * q + 1 / 13
    p = p * q + 1 / 11
    p = p * q + 1 / 9
    p = p * q + 1 / 7
    p = p * q + 1 / 5
    p = p * q + 1 / 3
    p = p * q + 1.0
    return exponent * _LOG2 + 2.0 * s * p


@numba.njit(inline="always", fastmath=FASTMATH, error_model="numpy")
def _normal_block(s0: Any, s1: Any, s2: Any, s3: Any, first: Any, second: Any) -> None:
    """Two normals a lane: radius from one word; octant and angle within it from the next."""
    for lane in range(LANES):
        a0, a1, a2, a3 = s0[lane], s1[lane], s2[lane], s3[lane]
        word1 = rotate(a0 + a3, 23) + a0
        t = a1 << U64(17)
        a2 ^= a0
        a3 ^= a1
        a1 ^= a2
        a0 ^= a3
        a2 ^= t
        a3 = rotate(a3, 45)
        word2 = rotate(a0 + a3, 23) + a0
        t = a1 << U64(17)
        a2 ^= a0
        a3 ^= a1
        a1 ^= a2
        a0 ^= a3
        a2 ^= t
        a3 = rotate(a3, 45)
        s0[lane], s1[lane], s2[lane], s3[lane] = a0, a1, a2, a3

        radius = np.sqrt(-2.0 * log_unit(word1))
        x = unit(word2) * _OCTANT
        y = x * x
        sine = y * (-1 / 1307674368000) + 1 / 6227020800
        sine = sine * y - 1 / 39916800
        sine = sine * y + 1 / 362880
        sine = sine * y - 1 / 5040
        sine = sine * y + 1 / 120
        sine = sine * y - 1 / 6
        sine = radius * ((sine * y + 1.0) * x)
        cosine = y * (1 / 20922789888000) - 1 / 87178291200
        cosine = cosine * y + 1 / 479001600
        cosine = cosine * y - 1 / 3628800
        cosine = cosine * y + 1 / 40320
        cosine = cosine * y - 1 / 720
        cosine = cosine * y + 1 / 24
        cosine = cosine * y - 0.5
        cosine = radius * (cosine * y + 1.0)
        swapped = (word2 & U64(1)) != U64(0)
        one = sine if swapped else cosine
        other = cosine if swapped else sine
        first[lane] = as_float(as_bits(one) ^ ((word2 << U64(62)) & _SIGN))
        second[lane] = as_float(as_bits(other) ^ ((word2 << U64(61)) & _SIGN))


@numba.njit(inline="always")
def _word_block(s0: Any, s1: Any, s2: Any, s3: Any, words: Any) -> None:
    for lane in range(LANES):
        a0, a1, a2, a3 = s0[lane], s1[lane], s2[lane], s3[lane]
        words[lane] = rotate(a0 + a3, 23) + a0
        t = a1 << U64(17)
        a2 ^= a0
        a3 ^= a1
        a1 ^= a2
        a0 ^= a3
        a2 ^= t
        s0[lane], s1[lane], s2[lane], s3[lane] = a0, a1, a2, rotate(a3, 45)


@numba.njit(cache=True, fastmath=FASTMATH, error_model="numpy")
def fill_normals(state: Stream, out: NDArray[np.float64]) -> None:
    """Fill the one-dimensional buffer ``out`` with independent N(0, 1) numbers, advancing ``state``.

    The tails reach 8.5 standard deviations, as far as 52 random bits go.

    >>> from numerics.runs.seeds import replica_seed
    >>> x = np.empty(1000)
    >>> fill_normals(stream(replica_seed(0, 0)), x)
    >>> bool(abs(x.mean()) < 0.15 and abs(x.std() - 1) < 0.1)
    True
    """
    s0, s1, s2, s3 = state[0], state[1], state[2], state[3]
    size = out.shape[0]
    rest = np.empty(BLOCK if size % BLOCK else 0)
    for start in range(0, size, BLOCK):
        block = out[start : start + BLOCK] if start + BLOCK <= size else rest
        _normal_block(s0, s1, s2, s3, block[:LANES], block[LANES:])
    for k in range(size % BLOCK):
        out[size - size % BLOCK + k] = rest[k]


@numba.njit(cache=True)
def fill_words(state: Stream, out: NDArray[np.uint64]) -> None:
    """Fill ``out`` with independent random 64-bit words, advancing ``state``."""
    s0, s1, s2, s3 = state[0], state[1], state[2], state[3]
    size = out.shape[0]
    rest = np.empty(LANES if size % LANES else 0, dtype=np.uint64)
    for start in range(0, size, LANES):
        _word_block(s0, s1, s2, s3, out[start : start + LANES] if start + LANES <= size else rest)
    for k in range(size % LANES):
        out[size - size % LANES + k] = rest[k]


@numba.njit(cache=True, fastmath=FASTMATH, error_model="numpy")
def fill_uniforms(state: Stream, out: NDArray[np.float64]) -> None:
    """Fill ``out`` with independent numbers uniform on [0, 1), multiples of 2^−52, advancing ``state``."""
    words = np.empty(LANES, dtype=np.uint64)
    size = out.shape[0]
    for start in range(0, size, LANES):
        _word_block(state[0], state[1], state[2], state[3], words)
        for lane in range(min(LANES, size - start)):
            out[start + lane] = unit(words[lane])
