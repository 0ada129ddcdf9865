"""The compiled reduced chain: one-pass SGD on Gaussian inputs, exact in law, at a cost that does not know d.

The truths and the localised coordinates' unit vectors span a fixed space of dimension f. A parameter is its f
coordinates there and a remainder; of the remainders only the Gram matrix R matters. A standard Gaussian input is, in an
orthonormal basis of the fixed space, of the remainders' span, and of what is left: f + K normals, and a squared norm
that is chi-square with d − f − K degrees of freedom.
"""

from __future__ import annotations

import math
from typing import Any

import numba
import numpy as np
from numba import types

from numerics.kernels.normals import BLOCK, FASTMATH, fill_normals, fill_uniforms
from numerics.sgd.gradient import GRADIENT_TYPE

_F1, _F2 = types.float64[::1], types.float64[:, ::1]
_CHUNK = 256


@numba.njit(cache=True, fastmath=FASTMATH, error_model="numpy")
def fill_chi_square(state: Any, degrees: int, out: Any) -> None:
    """Fill ``out`` with independent chi-square numbers of ``degrees`` ≥ 0 degrees of freedom, advancing ``state``.

    Marsaglia and Tsang (2000): 2d(1 + y)³ with y = c x, d = degrees/2 − 1/3, c² = 1/(9d), for a normal x, accepted
    when log u < d φ(y), φ(y) = (9/2)y² + 1 − (1 + y)³ + 3 log(1 + y). As φ′ = −3y³/(1 + y), φ ≥ −y⁴ for |y| ≤ 1/4, so
    u < 1 − d y⁴ accepts without a logarithm: nearly always when d is large, and in a loop without branches.
    """
    size = out.shape[0]
    if degrees < 2:
        fill_normals(state, out)
        for k in range(size):
            out[k] = degrees * out[k] * out[k]
        return
    d = 0.5 * degrees - 1.0 / 3.0
    c = 1.0 / math.sqrt(9.0 * d)
    normals, uniforms = np.empty(size), np.empty(size)
    fill_normals(state, normals)
    fill_uniforms(state, uniforms)
    unsure = 0
    for k in range(size):
        y = c * normals[k]
        v = 1.0 + y
        out[k] = 2.0 * d * v * v * v
        unsure += 0 if (abs(y) <= 0.25) & (uniforms[k] < 1.0 - d * y * y * y * y) else 1
    if unsure == 0:
        return
    more_normals, more_uniforms = np.empty(BLOCK), np.empty(BLOCK)
    left = 0
    for k in range(size):
        y, u = c * normals[k], uniforms[k]
        if (abs(y) <= 0.25) & (u < 1.0 - d * y * y * y * y):
            continue
        while y <= -1.0 or math.log(u) >= d * (4.5 * y * y + 1.0 - (1.0 + y) ** 3 + 3.0 * math.log1p(y)):
            if left == 0:
                fill_normals(state, more_normals)
                fill_uniforms(state, more_uniforms)
                left = BLOCK
            left -= 1
            y, u = c * more_normals[left], more_uniforms[left]
        out[k] = 2.0 * d * (1.0 + y) ** 3


@numba.njit(cache=True, error_model="numpy")
def factorise(R: Any, factor: Any) -> None:
    """The lower-triangular factor of the remainders' Gram matrix, zeros where a remainder depends on those before."""
    for i in range(R.shape[0]):
        for j in range(i + 1):
            rest = R[i, j]
            for k in range(j):
                rest -= factor[i, k] * factor[j, k]
            if i == j:
                factor[i, i] = math.sqrt(rest) if rest > 1e-14 * R[i, i] else 0.0
            else:
                factor[i, j] = rest / factor[j, j] if factor[j, j] > 0.0 else 0.0


@numba.njit(
    types.void(
        GRADIENT_TYPE,
        types.uint64[:, ::1],
        types.int64,
        types.float64,
        _F2,
        _F2,
        types.int64[::1],
        _F1,
        _F1,
        types.float64,
        _F2,
        _F2,
        _F2,
        _F1,
        types.int64,
    ),
    cache=True,
    nogil=True,
    error_model="numpy",
)
def advance_reduced(
    gradient: Any,
    state: Any,
    dimension: int,
    scale: float,
    means: Any,
    labels: Any,
    components: Any,
    errors: Any,
    rates: Any,
    ridge: float,
    A: Any,
    R: Any,
    fixed: Any,
    second: Any,
    trained: int,
) -> None:
    """One step per entry of ``components``: A (K × f), R (K × K) and ``second`` move in place; as ``full.advance``.

    ``fixed`` (r × f) are the truths and ``means`` (components × f, or no rows) the mixture's means in the fixed basis.
    """
    K, f, r, B, Y = A.shape[0], A.shape[1], fixed.shape[0], second.shape[0], labels.shape[1]
    steps = components.shape[0]
    width = f + K
    normals = np.empty(_CHUNK * width)
    squares = np.empty(_CHUNK)
    a = np.empty(f)
    perpendicular = np.empty(K)
    factor = np.zeros((K, K))
    arguments = np.zeros(K + r + B + Y + 1)
    out = np.zeros(K + trained)
    mixed = means.shape[0] > 0
    for n in range(steps):
        rate = rates[n]
        decay = 1.0 - rate * ridge
        at = n % _CHUNK
        if at == 0:
            fill_normals(state, normals)
            fill_chi_square(state, dimension - width, squares)
        k = components[n]
        base = at * width
        for i in range(f):
            a[i] = scale * normals[base + i]
        if mixed:
            for i in range(f):
                a[i] += means[k, i]
        base += f
        factorise(R, factor)
        rest = squares[at]
        for i in range(K):
            g = normals[base + i]
            rest += g * g
            field = 0.0
            for j in range(i + 1):
                field += factor[i, j] * normals[base + j]
            perpendicular[i] = scale * field
            field = perpendicular[i]
            for j in range(f):
                field += A[i, j] * a[j]
            arguments[i] = field
        rest *= scale * scale
        for i in range(r):
            field = 0.0
            for j in range(f):
                field += fixed[i, j] * a[j]
            arguments[K + i] = field
        for i in range(B):
            arguments[K + r + i] = second[i]
        for i in range(Y):
            arguments[K + r + B + i] = labels[k, i]
        arguments[K + r + B + Y] = errors[n]
        gradient(arguments, out)
        for i in range(K):
            ci = rate * out[i]
            for j in range(f):
                A[i, j] = decay * A[i, j] - ci * a[j]
            for j in range(i + 1):
                cj = rate * out[j]
                moved = ci * perpendicular[j] + cj * perpendicular[i]
                R[i, j] = decay * decay * R[i, j] - decay * moved + ci * cj * rest
        for i in range(trained):
            second[i] = decay * second[i] - rate * out[K + i]
