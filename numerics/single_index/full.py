"""Online spherical SGD in full dimension: every coordinate of every sample is drawn. [S] §2"""

from __future__ import annotations

import math

import numba
import numpy as np
from numpy.typing import NDArray

from numerics.kernels.normals import BLOCK, fill_normals
from numerics.single_index.program import execute


@numba.njit(cache=True, nogil=True, fastmath={"contract", "reassoc"}, error_model="numpy")
def advance(
    stream: NDArray[np.uint64],
    weights: NDArray[np.float64],
    target_direction: NDArray[np.float64],
    other_direction: NDArray[np.float64],
    hit: NDArray[np.int64],
    done: int,
    steps: int,
    step: float,
    eta1: float,
    stretch: float,
    noise: float,
    target: float,
    even: bool,
    every: int,
    path: NDArray[np.float64],
    instructions: NDArray[np.int64],
    constants: NDArray[np.float64],
    registers: NDArray[np.float64],
    value: int,
    slope: int,
) -> None:
    """Take ``steps`` steps X ← (X − step·c(a − zX))/‖·‖ of one chain, c = 2(f(z) − y)f′(z), z = a·X.

    A sample is a = g + κ(v·g)v with g ~ N(0, I_d), κ = √(1+λ) − 1 (``stretch``) and v = η_1v_0 + η_2v_⊥, so that its
    covariance is I + λvvᵀ; the label is y = f(a·v_0) + ``noise``·N(0, 1). Nothing here supposes that ``weights`` X has
    norm one after a step: the norm is measured and divided out, so this loop and the reduced chain share no formula
    for it.

    In place: ``stream``, ``weights``, ``hit[0]`` (as in ``reduced.advance``), and ``path[k]``, the overlaps
    (X·v_0, X·v_⊥) after (k+1)·``every`` steps; ``done`` steps were taken before. ``target_direction`` v_0 and
    ``other_direction`` v_⊥ are orthonormal. ``registers`` are the rows of the link's program, 2 wide.
    """
    d = weights.shape[0]
    eta2 = math.sqrt(max(0.0, 1.0 - eta1 * eta1))
    sample = np.empty((d // BLOCK + 1) * BLOCK)  # at least one number more than d: the label's noise
    scale = 1.0
    m1 = m2 = 0.0
    for i in range(d):
        m1 += weights[i] * target_direction[i]
        m2 += weights[i] * other_direction[i]
    for k in range(steps):
        fill_normals(stream, sample)
        field = first = second = 0.0
        for i in range(d):
            field += sample[i] * weights[i]
            first += sample[i] * target_direction[i]
            second += sample[i] * other_direction[i]
        along = stretch * (eta1 * first + eta2 * second)
        z = scale * field + along * (eta1 * m1 + eta2 * m2)
        registers[0, 0] = z
        registers[0, 1] = first + along * eta1
        execute(instructions, constants, registers)
        c = 2.0 * (registers[value, 0] - registers[value, 1] - noise * sample[d]) * registers[slope, 0]
        keep = scale * (1.0 + step * c * z)
        move = step * c
        move1, move2 = move * along * eta1, move * along * eta2
        square = m1 = m2 = 0.0
        for i in range(d):
            x = keep * weights[i] - move * sample[i] - move1 * target_direction[i] - move2 * other_direction[i]
            weights[i] = x
            square += x * x
            m1 += x * target_direction[i]
            m2 += x * other_direction[i]
        scale = 1.0 / math.sqrt(square) + 0.0 * square  # an overflow gives NaN, not the overlap 0
        m1 *= scale
        m2 *= scale
        now = done + k + 1
        if hit[0] < 0 and (m1 >= target or (even and m1 <= -target)):
            hit[0] = now
        if now % every == 0:
            path[now // every - 1, 0] = m1
            path[now // every - 1, 1] = m2
    for i in range(d):
        weights[i] *= scale
