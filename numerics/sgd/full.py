"""The compiled loop of full-dimensional one-pass SGD: one input at a time, none kept."""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
from numba import types

from numerics.kernels.normals import FASTMATH
from numerics.sgd.gradient import GRADIENT_TYPE
from numerics.sgd.noise import GIVEN, fill_noise

_F1, _F2 = types.float64[::1], types.float64[:, ::1]
# Sums may be reordered here, into vector lanes.
_SUMS = {"contract", "reassoc"}


@numba.njit(fastmath=_SUMS)
def dot(x: Any, y: Any) -> Any:
    """The scalar product of two rows."""
    total = 0.0
    for k in range(x.shape[0]):
        total += x[k] * y[k]
    return total


@numba.njit(fastmath=FASTMATH)
def axpby(scale: float, x: Any, step: float, y: Any) -> None:
    """x ← scale·x + step·y."""
    if scale == 1.0:
        for k in range(x.shape[0]):
            x[k] += step * y[k]
    else:
        for k in range(x.shape[0]):
            x[k] = scale * x[k] + step * y[k]


@numba.njit(
    types.void(
        GRADIENT_TYPE,
        types.int64[::1],
        _F1,
        _F2,
        _F2,
        types.uint64[:, ::1],
        _F2,
        types.int64,
        types.float64,
        _F2,
        _F2,
        types.int64[::1],
        _F1,
        _F1,
        types.float64,
        types.int64,
        _F1,
        _F2,
        _F2,
        _F1,
        types.int64,
    ),
    cache=True,
    nogil=True,
)
def advance(
    gradient: Any,
    kinds: Any,
    lowest: Any,
    jumps: Any,
    thresholds: Any,
    state: Any,
    given: Any,
    dimension: int,
    scale: float,
    means: Any,
    labels: Any,
    components: Any,
    errors: Any,
    rates: Any,
    ridge: float,
    batch: int,
    deviations: Any,
    W: Any,
    V: Any,
    second: Any,
    trained: int,
) -> None:
    """One step of SGD per entry of ``rates``, on ``batch`` entries of ``components``; W and ``second`` move in place.

    Rows are padded with zeros beyond ``dimension``. Step n draws x by the recipe of its component k (or, for ``GIVEN``,
    takes row n of ``given``), puts a = ``scale``·x + ``means[k]`` (no rows: no means), reads z = Wa and u = Va, and
    moves W by −rate·(c aᵀ + ridge W), c aᵀ averaged over the batch. Coordinate j of x is scaled by ``deviations[j]``
    (no entries: 1). ``trained`` is the number of second-layer weights that move. [U] §2.
    """
    K, r, B, Y = W.shape[0], V.shape[0], second.shape[0], labels.shape[1]
    a = np.zeros(W.shape[1])
    arguments = np.zeros(K + r + B + Y + 1)
    out = np.zeros(K + trained)
    gathered = np.zeros((K if batch > 1 else 0, W.shape[1]))
    seconds = np.zeros(trained)
    for n in range(components.shape[0]):
        rate = rates[n // batch]
        decay = 1.0 - rate * ridge
        k = components[n]
        if kinds[k] == GIVEN:
            for j in range(dimension):
                a[j] = given[n, j]
        else:
            fill_noise(kinds[k], lowest[k], jumps[k], thresholds[k], state, a)
            for j in range(dimension, a.shape[0]):
                a[j] = 0.0
        for j in range(deviations.shape[0]):
            a[j] *= deviations[j]
        if means.shape[0] > 0:
            axpby(scale, a, 1.0, means[k])
        elif scale != 1.0:
            axpby(scale, a, 0.0, a)
        for i in range(K):
            arguments[i] = dot(W[i], a)
        for i in range(r):
            arguments[K + i] = dot(V[i], a)
        for i in range(B):
            arguments[K + r + i] = second[i]
        for i in range(Y):
            arguments[K + r + B + i] = labels[k, i]
        arguments[K + r + B + Y] = errors[n]
        gradient(arguments, out)
        if batch == 1:
            for i in range(K):
                axpby(decay, W[i], -rate * out[i], a)
            for i in range(trained):
                second[i] = decay * second[i] - rate * out[K + i]
            continue
        for i in range(K):
            axpby(1.0, gathered[i], out[i] / batch, a)
        for i in range(trained):
            seconds[i] += out[K + i] / batch
        if n % batch == batch - 1:
            for i in range(K):
                axpby(decay, W[i], -rate, gathered[i])
                gathered[i, :] = 0.0
            for i in range(trained):
                second[i] = decay * second[i] - rate * seconds[i]
                seconds[i] = 0.0
