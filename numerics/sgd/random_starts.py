"""Random starts of SGD: their summary statistics, drawn from the exact law at d, or in the limit."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from theory.errors import InputError
from theory.sgd.state import State, start_state
from theory.sgd.task import Task

Array = NDArray[np.float64]
StartLaw = Literal["gaussian", "spherical"]
SecondLaw = Literal["start", "signs", "gaussian"]
LIMIT_OVERLAP = 1e-4
"""The size of overlaps that stands for d^{−1/2} in the limit: their directions alone decide how a saddle is left."""


def random_start(
    task: Task,
    *,
    d: int | None,
    law: StartLaw = "gaussian",
    scale: float = 1.0,
    second: SecondLaw = "start",
    generator: np.random.Generator,
) -> State:
    """The statistics of parameters with independent N(0, scale²/d) entries, or uniform on the sphere of radius scale.

    In the span of the truths the overlaps are Gaussian; the Gram matrix of the rests is a Wishart matrix of d − r
    degrees of freedom (Bartlett). ``d=None`` is the limit: rests orthogonal, overlaps of size 1e-4. The second layer is
    the task's own start, that with random signs, or Gaussian of that size.

    >>> from theory.sgd.tasks import committee
    >>> state = random_start(committee(), d=100, law="spherical", generator=np.random.default_rng(0))
    >>> state.Q.diagonal().round(12).tolist()
    [1.0, 1.0]
    """
    K, r = len(task.z), len(task.u)
    if d is not None and d < K + r:
        raise InputError("d", given=d, expected=f"at least {K + r}", remedy="raise d")
    values, vectors = np.linalg.eigh(np.array(task.truth_gram, dtype=float).reshape(r, r))
    root = vectors * np.sqrt(np.clip(values, 0.0, None))
    normals = generator.standard_normal((K, r))
    if d is None:
        along, rest = LIMIT_OVERLAP * normals, np.eye(K)
    else:
        along = normals / np.sqrt(d)
        factor = np.tril(generator.standard_normal((K, K)), -1)
        factor[np.diag_indices(K)] = np.sqrt(generator.chisquare(d - r - np.arange(K)))
        rest = factor @ factor.T / d
    M, Q = along @ root.T, rest + along @ along.T
    if law == "spherical":
        lengths = np.sqrt(np.diag(Q))
        M, Q = M / lengths[:, None], Q / np.outer(lengths, lengths)
    b = start_state(task).b
    if second == "signs":
        b = np.abs(b) * generator.choice([-1.0, 1.0], size=len(b))
    elif second == "gaussian":
        b = (np.sqrt(np.mean(b**2)) if len(b) else 1.0) * generator.standard_normal(len(b))
    return State(scale * M, scale**2 * Q, b, np.zeros((K, 0)), np.zeros((r, 0)))
