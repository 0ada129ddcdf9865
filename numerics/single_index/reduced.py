"""The reduced chain: online spherical SGD followed through its two overlaps, exactly in law, at O(1) a step. [S] §2"""

from __future__ import annotations

import math
from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

from numerics.kernels.normals import BLOCK, FASTMATH, LANES, U64, fill_normals, fill_uniforms, log_unit, rotate, unit
from numerics.single_index.program import execute

STRIDE = 16
"""Steps whose random numbers are drawn together; calls of ``advance`` take a multiple of it, but for the last."""


@numba.njit(cache=True, nogil=True, fastmath=FASTMATH, error_model="numpy")
def advance(
    stream: NDArray[np.uint64],
    m1: NDArray[np.float64],
    m2: NDArray[np.float64],
    hits: NDArray[np.int64],
    done: int,
    steps: int,
    step: float,
    eta1: float,
    stretch: float,
    noise: float,
    shape: float,
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
    r"""Take ``steps`` steps of ``LANES`` independent chains, one a column of ``stream``.

    One step of online spherical SGD is X′ = (X − sg)/‖X − sg‖ with s = δ/d the ``step``, g = c(a − zX) the spherical
    gradient of the loss (y − f(a·X))², z = a·X, c = 2(f(z) − y)f′(z) and y = f(a·v_0) + ε.

    *Why two numbers are enough.* Let m_1 = X·v_0, m_2 = X·v_⊥, r = √(1 − m_1² − m_2²) and w the unit vector along what
    is left of X: X = m_1v_0 + m_2v_⊥ + rw. Given X, which depends on earlier samples only, the new sample is
    a = b + κ(v·b)v with b ~ N(0, I_d), κ = √(1+λ) − 1 (``stretch``): its covariance is I + (2κ + κ²)vvᵀ = I + λvvᵀ. As
    v lies in the span of v_0 and v_⊥, so does a − b. Hence a_0 = a·v_0 and a_⊥ = a·v_⊥ are functions of two independent
    standard normals, a_r = a·w = b·w is a third, and the rest of a, in the space of dimension d − 3 orthogonal to v_0,
    v_⊥ and w, is a standard normal vector independent of these. Then z = m_1a_0 + m_2a_⊥ + ra_r, and as
    g ⊥ X, ‖X − sg‖² = 1 + s²c²(‖a‖² − z²), so

        m_i′ = (m_i − sc(a_i − zm_i)) / √(1 + s²c²(a_0² + a_⊥² + a_r² + χ² − z²)),

    χ² being the squared norm of the rest: chi-square with d − 3 degrees of freedom. The right side uses X through m_1
    and m_2 alone. So (m_1, m_2) is a Markov chain by itself whose transitions are those of the chain in R^d: every
    functional of the overlaps has the same law, at every d, with no limit taken.

    χ²/2 has a gamma law with parameter (d−3)/2, drawn by rejection after Marsaglia and Tsang (2000) with
    ``shape`` = (d−3)/2 − 1/3 > 0: v = (1 + n/(3√shape))³ for normal n is accepted when
    log u < n²/2 + shape(1 − v + log v). With q = n/(3√shape) the right side equals
    3·shape·(log(1+q) − q + q²/2 − q³/3) ≥ −¾·shape·q⁴/(1 − |q|), the bound that settles nearly all lanes at once.

    In place: ``stream``, the overlaps, ``hits`` (for chains still at −1 there, the first step with m_1 ≥ ``target``, or
    |m_1| ≥ ``target`` if ``even``), and ``path[k]``, the overlaps of all lanes after (k+1)·``every`` steps; ``done``
    steps were taken before. The link comes as a ``program.Program``; ``registers`` are its rows, 2·LANES wide.
    """
    eta2 = math.sqrt(max(0.0, 1.0 - eta1 * eta1))
    spread = 1.0 / (3.0 * math.sqrt(shape))
    normals = np.empty(2 * BLOCK * STRIDE)
    labels = np.zeros(BLOCK * (STRIDE // 2))
    uniforms = np.empty(LANES * STRIDE)
    rest = np.empty(LANES)
    norm = np.empty(LANES)
    first = np.empty(LANES)
    second = np.empty(LANES)
    slow = np.zeros(LANES, dtype=np.bool_)
    arguments, values, slopes = registers[0], registers[value], registers[slope]
    z, a0 = arguments[:LANES], arguments[LANES:]
    for start in range(0, steps, STRIDE):
        fill_normals(stream, normals)
        fill_uniforms(stream, uniforms)
        if noise > 0.0:
            fill_normals(stream, labels)
        for k in range(min(STRIDE, steps - start)):
            b0 = normals[2 * k * BLOCK : 2 * k * BLOCK + LANES]
            b1 = normals[2 * k * BLOCK + LANES : (2 * k + 1) * BLOCK]
            b2 = normals[(2 * k + 1) * BLOCK : (2 * k + 1) * BLOCK + LANES]
            n = normals[(2 * k + 1) * BLOCK + LANES : (2 * k + 2) * BLOCK]
            u = uniforms[k * LANES : (k + 1) * LANES]
            error = labels[k * LANES : (k + 1) * LANES]
            unsettled = 0
            for lane in range(LANES):
                q = n[lane] * spread
                bound = 0.75 * shape * q * q * q * q
                late = not (u[lane] * (1.0 - abs(q)) < 1.0 - abs(q) - bound)
                slow[lane] = late
                unsettled += late
                rest[lane] = 2.0 * shape * (1.0 + q) * (1.0 + q) * (1.0 + q)
            if unsettled:
                for lane in range(LANES):
                    if slow[lane]:
                        rest[lane] = 2.0 * _gamma(stream, lane, shape, n[lane], u[lane])
            for lane in range(LANES):
                along = stretch * (eta1 * b0[lane] + eta2 * b1[lane])
                first[lane] = b0[lane] + eta1 * along
                second[lane] = b1[lane] + eta2 * along
                r = math.sqrt(max(0.0, 1.0 - m1[lane] * m1[lane] - m2[lane] * m2[lane]))
                z[lane] = m1[lane] * first[lane] + m2[lane] * second[lane] + r * b2[lane]
                norm[lane] = first[lane] * first[lane] + second[lane] * second[lane] + b2[lane] * b2[lane] + rest[lane]
                a0[lane] = first[lane]
            execute(instructions, constants, registers)
            for lane in range(LANES):
                c = 2.0 * (values[lane] - values[LANES + lane] - noise * error[lane]) * slopes[lane]
                move = step * c
                growth = move * move * (norm[lane] - z[lane] * z[lane])
                scale = 1.0 / math.sqrt(1.0 + growth) + 0.0 * growth  # an overflow gives NaN, not the overlap 0
                m1[lane] = (m1[lane] - move * (first[lane] - z[lane] * m1[lane])) * scale
                m2[lane] = (m2[lane] - move * (second[lane] - z[lane] * m2[lane])) * scale
            now = done + start + k + 1
            reached = 0
            for lane in range(LANES):
                reached += (m1[lane] >= target) | (even & (m1[lane] <= -target))
            if reached:
                for lane in range(LANES):
                    if hits[lane] < 0 and (m1[lane] >= target or (even and m1[lane] <= -target)):
                        hits[lane] = now
            if now % every == 0:
                for lane in range(LANES):
                    path[now // every - 1, 0, lane] = m1[lane]
                    path[now // every - 1, 1, lane] = m2[lane]


@numba.njit(cache=True, error_model="numpy")
def _word(stream: NDArray[np.uint64], lane: int) -> Any:
    """The next word of one lane alone."""
    a0, a1, a2, a3 = stream[0, lane], stream[1, lane], stream[2, lane], stream[3, lane]
    word = rotate(a0 + a3, 23) + a0
    t = a1 << U64(17)
    a2 ^= a0
    a3 ^= a1
    a1 ^= a2
    a0 ^= a3
    stream[0, lane], stream[1, lane], stream[2, lane], stream[3, lane] = a0, a1, a2 ^ t, rotate(a3, 45)
    return word


@numba.njit(cache=True, error_model="numpy")
def _gamma(stream: NDArray[np.uint64], lane: int, shape: float, n: float, u: float) -> float:
    """Marsaglia and Tsang's rejection, begun with the proposal ``n`` and ``u``, then with words of the lane's own."""
    while True:
        q = n / (3.0 * math.sqrt(shape))
        if q > -1.0:
            v = (1.0 + q) ** 3
            if math.log(u) < 0.5 * n * n + shape * (1.0 - v + 3.0 * math.log1p(q)):
                return shape * v
        radius = math.sqrt(-2.0 * log_unit(_word(stream, lane)))
        n = radius * math.cos(2.0 * math.pi * unit(_word(stream, lane)))
        u = unit(_word(stream, lane))
