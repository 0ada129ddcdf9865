"""Vectors with given overlaps: delocalised, partly localised or coordinate-aligned."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from theory.errors import InputError
from theory.sgd.state import State, full_gram
from theory.sgd.task import Task

Array = NDArray[np.float64]
Spread = Literal["random", "flat"]
"""How a delocalised vector is spread: a uniformly random direction, or entries of one size and alternating signs."""


def vectors(task: Task, state: State, d: int, *, spread: Spread, generator: np.random.Generator) -> tuple[Array, Array]:
    """Parameters (K × d) and truths (r × d) whose statistics are exactly ``state``'s.

    Coordinates 0 … L − 1 are the localised ones, with the entries ``state.p`` and ``state.s``; the remainders are
    spread over the others. ``random`` takes uniformly random orthogonal directions, whose cubic sums vanish like
    1/d; ``flat`` takes square waves, (1, 1, …)/√d for the last truth first, whose sums Σ v³ are of order d^{−1/2}.
    Raises ``InputError`` where ``d`` leaves no room for them.

    >>> from theory.sgd.state import start_state
    >>> from theory.sgd.tasks import single_index
    >>> task = single_index()
    >>> W, V = vectors(task, start_state(task), 64, spread="random", generator=np.random.default_rng(0))
    >>> round(float(W[0] @ V[0]), 12), round(float(W[0] @ W[0]), 12)
    (0.3, 0.5)
    """
    K, r, L = len(state.Q), state.M.shape[1], state.localised
    if d < L + K + r:
        raise InputError(
            "d",
            given=d,
            expected=f"at least {L + K + r}, room for {K} parameters, {r} truths and {L} localised coordinates",
            remedy="raise d",
        )
    local = np.concatenate([state.p, state.s])
    # Truths first and in reverse, so that the last ones sit on the frame's first directions.
    order = np.arange(K + r)[::-1]
    remainder = (full_gram(task, state) - local @ local.T)[np.ix_(order, order)]
    factor = _factor(remainder)
    frame = _random_frame(d - L, K + r, generator) if spread == "random" else _flat_frame(d - L, K + r)
    rows = np.empty((K + r, d))
    rows[:, :L] = local
    rows[order, L:] = factor @ frame
    return rows[:K], rows[K:]


def _factor(gram: Array) -> Array:
    """Lower-triangular F with FFᵀ = ``gram``, which may be singular."""
    size = len(gram)
    factor = np.zeros((size, size))
    tolerance = 1e-12 * max(1.0, float(np.abs(gram).max()))
    for j in range(size):
        pivot = gram[j, j] - factor[j, :j] @ factor[j, :j]
        if pivot <= tolerance:
            continue
        factor[j, j] = np.sqrt(pivot)
        factor[j + 1 :, j] = (gram[j + 1 :, j] - factor[j + 1 :, :j] @ factor[j, :j]) / factor[j, j]
    return factor


def _random_frame(d: int, rank: int, generator: np.random.Generator) -> Array:
    frame: Array = np.linalg.qr(generator.standard_normal((d, rank)))[0].T
    return frame


def _flat_frame(d: int, rank: int) -> Array:
    """Orthonormal rows: the first constant, then square waves of halving period, made orthogonal where d is odd."""
    position = np.arange(d)
    waves = np.ones((rank, d))
    for k in range(1, rank):
        waves[k] = 1.0 - 2.0 * ((position * 2**k // d) % 2) if 2**k <= d else 1.0 - 2.0 * (position % (k + 1) == 0)
    q, upper = np.linalg.qr(waves.T)
    frame: Array = (q * np.sign(np.diag(upper))).T
    return frame
