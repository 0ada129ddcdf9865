"""Small data: S is p times a projector on m orthogonal vectors that do not feel each other. [P] §4.

Faces {R,N,P}×p and {N,P}×p. With v one of the data vectors and P = vvᵀ, M moves by

    dM = −(η/m)(PM² + M²P + 2MPM − 2PM − 2MP) dt          (no −2 terms without the target).

In the Krylov basis of v, M(0) is the Jacobi matrix of its Marchenko–Pastur law and v is e_1, so a few rows of it give
the moments h_k = vᵀM^k v: L̂ = ½h_2 − h_1 + ½. The population loss moves at order m/p,
dL/dt = −(4η/p)(h_3 − 2h_2 + h_1).
"""

from __future__ import annotations

import math

import numpy as np
from scipy.integrate import solve_ivp

from theory.engine.laurent import Laurent
from theory.errors import BudgetError
from theory.limits.marchenko_pastur import MarchenkoPastur
from theory.limits.moments import weight_moment
from theory.limits.solution import (
    ONE,
    Asymptote,
    Curves,
    FloatArray,
    Formula,
    LimitSolution,
    Loss,
    M,
    P,
    Ratios,
)

_ROWS = (16, 24)
_TOLERANCES = (1e-9, 1e-11)
_MOST_RATE_TIMES = 1e5


def _solve(ratios: Ratios, times: FloatArray, *, target: bool, rows: int, tolerance: float) -> tuple[FloatArray, ...]:
    """Train loss, and the population loss's change divided by m/p."""
    pull = 2.0 if target else 0.0
    diagonal, off_diagonal = MarchenkoPastur(ratios.weights).jacobi(rows)
    start = ratios.a_p * (np.diag(diagonal) + np.diag(off_diagonal, 1) + np.diag(off_diagonal, -1))

    def slope(_: float, state: FloatArray) -> FloatArray:
        matrix = state[:-1].reshape(rows, rows)
        column = matrix[0]
        change = -2 * np.outer(column, column)
        row = pull * column - matrix @ column  # e_1ᵀ(2M − M²)
        change[0] += row
        change[:, 0] += row
        h1, h2, h3 = column[0], column @ column, column @ matrix @ column
        drop = -4 * (h3 - pull * h2 + (h1 if target else 0.0))
        return np.append(change.ravel(), drop)

    T = ratios.per_m * times
    fastest = ratios.a_p * MarchenkoPastur(ratios.weights).upper_edge
    if T[-1] * max(fastest, fastest**2) > _MOST_RATE_TIMES:
        raise BudgetError(
            "small-data limit",
            estimate=f"about {T[-1] * max(fastest, fastest**2):.0e} steps of the hierarchy",
            limit=f"{_MOST_RATE_TIMES:.0e}",
            remedy="ask for earlier times",
        )
    run = solve_ivp(
        slope,
        (0.0, max(float(T[-1]), 1e-300)),
        np.append(start.ravel(), 0.0),
        method="DOP853",
        t_eval=T,
        rtol=tolerance,
        atol=tolerance * 1e-3,
    )
    columns, change = run.y[:rows], run.y[-1]
    if target:
        columns = columns - np.eye(rows, 1)
    return np.einsum("ij,ij->j", columns, columns) / 2, change


def _curves(ratios: Ratios, times: FloatArray, *, target: bool) -> Curves:
    rough, fine = (
        _solve(ratios, times, target=target, rows=rows, tolerance=tolerance)
        for rows, tolerance in zip(_ROWS, _TOLERANCES, strict=True)
    )
    population = _start(ratios, target=target) + ratios.data * fine[1]
    error = np.maximum(np.abs(fine[0] - rough[0]), ratios.data * np.abs(fine[1] - rough[1])) + 1e-15
    return Curves(fine[0], population, error)


def _start(ratios: Ratios, *, target: bool) -> float:
    second = ratios.a_n * (ratios.a_p + ratios.a_n) / 2
    return second - ratios.a_n + 0.5 if target else second


def _taylor(loss: Loss, order: int, *, target: bool) -> tuple[Laurent, ...]:
    """Power series in −ηt/pm of the hierarchy of h_k."""
    zero = ONE * 0
    pull = 2 if target else 0
    top = order + 3
    series = [[ONE if k == 0 else weight_moment(k)] for k in range(top + 1)]

    def product(i: int, j: int, s: int) -> Laurent:
        return sum((series[i][a] * series[j][s - a] for a in range(s + 1)), start=zero)

    for s in range(order):
        series[0].append(zero)
        new = []
        for k in range(1, top - s):
            total = zero
            for i in range(k):
                total = total + product(i, k + 1 - i, s) + product(i + 2, k - 1 - i, s) + 2 * product(i + 1, k - i, s)
                if target:
                    total = total - pull * product(i, k - i, s) - pull * product(i + 1, k - 1 - i, s)
            new.append(P * total / (s + 1))
        for k, value in enumerate(new, start=1):
            series[k].append(value)
    coefficients = []
    for s in range(order + 1):
        h1, h2 = series[1][s], series[2][s]
        if loss == "train" or s == 0:
            coefficients.append(math.factorial(s) * (h2 / 2 - (h1 if target else zero)))
        else:
            h1, h2, h3 = (series[k][s - 1] for k in (1, 2, 3))
            coefficients.append(4 * math.factorial(s - 1) * M * (h3 - pull * h2 + (h1 if target else zero)))
    return tuple(coefficients)


def _asymptote(ratios: Ratios, times: FloatArray, *, target: bool) -> Asymptote:
    """Without the target and with n ≥ p, v ends as an eigenvector of M whose eigenvalue decays like m/(4ηt)."""
    train = None if target or ratios.weights < 1 else 1 / (32 * (ratios.per_m * times) ** 2)
    return Asymptote(train, None)


_WHERE_TARGET = (
    r"h_k' = -\frac{\eta}{m}\sum_{i=0}^{k-1}\left[h_ih_{k+1-i} + h_{i+2}h_{k-1-i} + 2h_{i+1}h_{k-i} "
    r"- 2h_ih_{k-i} - 2h_{i+1}h_{k-1-i}\right]"
)
_WHERE = r"h_k' = -\frac{\eta}{m}\sum_{i=0}^{k-1}\left[h_ih_{k+1-i} + h_{i+2}h_{k-1-i} + 2h_{i+1}h_{k-i}\right]"
_START = (
    r"h_0 = 1",
    r"h_k(0) = \int x^k d\mathrm{MP}_M(x)",
    r"\mathrm{MP}_M = \text{law of } \sigma^2 p \cdot \mathrm{MP}(n/p)",
)
_METHOD = "rank-one flow of the Jacobi matrix of M(0), at two sizes and tolerances"

SMALL_DATA = LimitSolution(
    "R,N,P|p",
    "hierarchy",
    _METHOD,
    Formula(
        train=r"\frac{1}{2}h_2 - h_1 + \frac{1}{2}",
        population=r"L(0) - \frac{4\eta}{p}\int_0^t (h_3 - 2h_2 + h_1)\,dt'",
        where=(_WHERE_TARGET, *_START, r"L(0) = \hat{L}(0)"),
        large_time=r"\hat{L} \sim e^{-2(1+\lambda_-)\eta t/m}\text{ up to a power of } t,\quad "
        r"\lambda_- = \sigma^2 p\left(1-\sqrt{n/p}\right)^2\text{ for } n>p,\ \lambda_- = 0\text{ for } n \le p",
    ),
    lambda ratios, times: _curves(ratios, times, target=True),
    lambda loss, order: _taylor(loss, order, target=True),
    lambda ratios, times: _asymptote(ratios, times, target=True),
)
SMALL_NO_TARGET = LimitSolution(
    "N,P|p",
    "hierarchy",
    _METHOD,
    Formula(
        train=r"\frac{1}{2}h_2",
        population=r"L(0) - \frac{4\eta}{p}\int_0^t h_3\,dt'",
        where=(_WHERE, *_START, r"L(0) = \hat{L}(0)"),
        large_time=r"n \ge p:\ \hat{L} \approx \frac{m^2}{32\,\eta^2t^2};\quad n<p:\ "
        r"\hat{L} \sim e^{-2\sigma^2p\left(1-\sqrt{n/p}\right)^2\eta t/m}\text{, up to a power of } t",
    ),
    lambda ratios, times: _curves(ratios, times, target=False),
    lambda loss, order: _taylor(loss, order, target=False),
    lambda ratios, times: _asymptote(ratios, times, target=False),
)
