"""Independent coordinates of an input law, drawn inside the kernel."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

from numerics.kernels.normals import FASTMATH, LANES, Stream, fill_normals, fill_words, log_unit, unit
from theory.errors import InputError
from theory.sgd.laws import Law

Array = NDArray[np.float64]

GAUSSIAN, RADEMACHER, UNIFORM, LAPLACE, EXPONENTIAL, ATOMS, GIVEN = range(7)
_KINDS = {
    "gaussian": GAUSSIAN,
    "rademacher": RADEMACHER,
    "uniform": UNIFORM,
    "laplace": LAPLACE,
    "exponential": EXPONENTIAL,
    "atoms": ATOMS,
    "own": GIVEN,
}
_ROOT2 = math.sqrt(2.0)
_ROOT3 = math.sqrt(3.0)
_U63 = np.uint64(63)


@dataclass(frozen=True, eq=False)
class Recipes:
    """How a kernel draws each of several laws: kinds (C), and for atoms the lowest value (C) with its jumps (C × J).

    An atom's value is the lowest plus the jumps whose ``thresholds`` (C × J, cumulative probabilities) a uniform
    number has reached; rows are filled up with thresholds that none reaches.
    """

    kinds: NDArray[np.int64]
    lowest: Array
    jumps: Array
    thresholds: Array


def recipes(laws: Sequence[Law]) -> Recipes:
    """The recipes of laws. Raises ``InputError`` for one known by its moments alone, which nobody can draw.

    >>> from theory.sgd.laws import law
    >>> recipes([law("gaussian"), law("two-point:0.2")]).thresholds
    array([[2. ],
           [0.8]])
    """
    most = max(len(law.values) for law in laws)
    kinds, lowest = np.zeros(len(laws), dtype=np.int64), np.zeros(len(laws))
    jumps, thresholds = np.zeros((len(laws), max(most - 1, 1))), np.full((len(laws), max(most - 1, 1)), 2.0)
    for k, law in enumerate(laws):
        kinds[k] = _KINDS[law.recipe]
        if kinds[k] == GIVEN and law.sampler is None:
            raise InputError(
                f"law {law.name}",
                given="a law known by its moments alone",
                expected="a law that can be drawn",
                remedy="give own_law(sampler=…), or a law of values and weights: atoms:X:P,…",
            )
        if kinds[k] == ATOMS and law.values == (-1.0, 1.0) and law.weights == (0.5, 0.5):
            kinds[k] = RADEMACHER
        elif kinds[k] == ATOMS:
            count = len(law.values) - 1
            lowest[k] = law.values[0]
            jumps[k, :count] = np.diff(law.values)
            thresholds[k, :count] = np.cumsum(law.weights)[:-1]
    return Recipes(kinds, lowest, jumps, thresholds)


@numba.njit(cache=True, fastmath=FASTMATH, error_model="numpy")
def fill_noise(kind: int, lowest: float, jumps: Array, thresholds: Array, state: Stream, out: Any) -> None:
    """Fill ``out`` with independent draws of the law with this recipe, mean 0 and variance 1, advancing ``state``."""
    if kind == GAUSSIAN:
        fill_normals(state, out)
        return
    words = np.empty(LANES, dtype=np.uint64)
    for start in range(0, out.shape[0], LANES):
        fill_words(state, words)
        width = min(LANES, out.shape[0] - start)
        block = out[start : start + width]
        if kind == RADEMACHER:
            for lane in range(width):
                block[lane] = 1.0 - 2.0 * np.float64(np.int64(words[lane] >> _U63))
        elif kind == UNIFORM:
            for lane in range(width):
                block[lane] = _ROOT3 * (2.0 * unit(words[lane]) - 1.0)
        elif kind == LAPLACE:
            # The lowest bit, which the logarithm does not read, is the sign.
            for lane in range(width):
                sign = 1.0 - 2.0 * np.float64(np.int64(words[lane] & np.uint64(1)))
                block[lane] = sign * log_unit(words[lane]) / _ROOT2
        elif kind == EXPONENTIAL:
            for lane in range(width):
                block[lane] = -log_unit(words[lane]) - 1.0
        else:
            for lane in range(width):
                block[lane] = lowest
            for jump in range(jumps.shape[0]):
                for lane in range(width):
                    block[lane] += jumps[jump] if unit(words[lane]) >= thresholds[jump] else 0.0
