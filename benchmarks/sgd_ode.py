"""The ODE limit of erf committees: closed form in numba, against the general quadrature and against plain NumPy.

    python benchmarks/sgd_ode.py

prints the seconds that the ODE of a K = 4, r = 2 committee takes to time 100, after compilation, and, from runs side by
side, how many times longer the same right-hand side takes by quadrature and by array operations.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from theory.sgd.drift import Drift
from theory.sgd.erf_committee import erf_drift, recognise
from theory.sgd.ode import effective_ode
from theory.sgd.state import start_state
from theory.sgd.tasks import committee

Array = NDArray[np.float64]
REPEATS = 9


def seconds(action: Callable[[], object], calls: int = 1) -> float:
    start = time.perf_counter()
    for _ in range(calls):
        action()
    return (time.perf_counter() - start) / calls


def array_drift(M: Array, Q: Array, step: float) -> tuple[Array, Array]:
    """Saad and Solla's equations for b = 1, whole arrays at a time: what one would write without a compiler."""
    K, r = M.shape
    C = np.block([[Q, M], [M.T, np.eye(r)]])
    sign = np.r_[np.ones(K), -np.ones(r)]
    A = 1 + np.diag(C)
    root = np.sqrt(A[:K, None] * A[None] - C[:K] ** 2) * A[:K, None]
    I3 = (C[None] * A[:K, None, None] - C[:K, :, None] * C[:K, None]) / root[:, None] * 2 / np.pi  # i, y, f
    cross = I3 @ sign
    D, L4 = Q, A[:K, None] * A[None, :K] - Q**2
    x, y = C[:K, None, :], C[None, :K, :]
    L1 = L4[..., None] * A - y**2 * A[:K, None, None] - x**2 * A[None, :K, None] + 2 * D[..., None] * x * y
    L0 = (
        L4[..., None, None] * C
        - y[..., None] * y[..., None, :] * A[:K, None, None, None]
        - x[..., None] * x[..., None, :] * A[None, :K, None, None]
        + D[..., None, None] * (x[..., None] * y[..., None, :] + y[..., None] * x[..., None, :])
    )
    angles = np.arcsin(np.clip(L0 / np.sqrt(L1[..., None] * L1[..., None, :]), -1, 1))
    second = 4 / np.pi**2 * (angles @ sign @ sign) / np.sqrt(L4)
    return -cross[:, K:], -(cross[:, :K] + cross[:, :K].T) + step * second


def main() -> None:
    task = committee(students=4, teachers=2, step=0.5)
    state, form = start_state(task), recognise(task)
    assert form is not None
    times = np.linspace(0, 100, 201)
    effective_ode(task, times)
    solve = statistics.median(seconds(lambda: effective_ode(task, times)) for _ in range(REPEATS))
    print(f"ODE, K = 4, r = 2, erf, to time 100, two accuracies: {solve:.4f} s (asked: under 0.2 s)")

    flat, quadrature = state.flat(), Drift.of(task, level=4)
    closed = erf_drift(task, form, state, flat)
    plain = array_drift(state.M, state.Q, task.step)
    assert np.allclose(closed[:8], plain[0].ravel())
    assert np.allclose(closed[8:18], plain[1][np.triu_indices(4)])
    ratios: dict[str, list[float]] = {"quadrature, 2^14 points": [], "arrays": []}
    for _ in range(REPEATS):
        base = seconds(lambda: erf_drift(task, form, state, flat), 500)
        ratios["quadrature, 2^14 points"].append(seconds(lambda: quadrature(state), 5) / base)
        ratios["arrays"].append(seconds(lambda: array_drift(state.M, state.Q, task.step), 100) / base)
    print(f"one right-hand side, closed form: {base * 1e6:.1f} µs")
    for name, values in ratios.items():
        print(f"  {name}: {statistics.median(values):.1f} times that")


if __name__ == "__main__":
    main()
