"""Small data: S is p times a projector on m orthogonal vectors that do not feel each other. [P] §4.

Faces {R,N,P}×p and {N,P}×p. With v one of the data vectors and P = vvᵀ, M moves by

    dM = −(η/m)(PM² + M²P + 2MPM − 2PM − 2MP) dt          (no −2 terms without the target).

In the Krylov basis of v, M(0) is the Jacobi matrix of its Marchenko–Pastur law and v is e_1, so a few rows of it give
the moments h_k = vᵀM^k v: L̂ = ½h_2 − h_1 + ½. The population loss moves at order m/p,
dL/dt = −(4η/p)(h_3 − 2h_2 + h_1).

What is integrated is a factor B, M = σ²p BᵀB, in B′ = −(η/m) B(MP + PM − 2P): M then stays positive, where rounding
would give a flow of M a negative eigenvalue that runs away. B(0) is bidiagonal, √(n/p) on the diagonal and 1 above. For
n < p it has one row less than columns, so that the atom of M at 0 is there exactly: a small eigenvalue in its place
would grow to 1 in time, and with it a rank that M has not.
"""

from __future__ import annotations

import math

import numpy as np

from theory.autoencoder.limits.integration import integrate
from theory.autoencoder.limits.marchenko_pastur import MarchenkoPastur
from theory.autoencoder.limits.moments import weight_moment
from theory.autoencoder.limits.solution import (
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
    refuse_where,
)
from theory.engine.laurent import Laurent
from theory.errors import BudgetError

_ROWS = (16, 24)
_TOLERANCES = (1e-9, 1e-11)
_MOST_RATE_TIMES = 1e5
_REACH = 0.01


def _solve(ratios: Ratios, times: FloatArray, *, target: bool, rows: int, tolerance: float) -> tuple[FloatArray, ...]:
    """Train loss, and the population loss's change divided by m/p."""
    pull = 2.0 if target else 0.0
    a, root = ratios.a_p, math.sqrt(ratios.weights)
    start = np.eye(rows - 1 if ratios.weights < 1 else rows, rows) * root
    start += np.eye(start.shape[0], rows, 1)

    def slope(state: FloatArray) -> FloatArray:
        factor = state[:-1].reshape(start.shape)
        first = factor[:, 0]
        column = a * (first @ factor)  # M e_1
        image = factor @ column
        change = np.outer(-first, column)
        change[:, 0] += pull * first - image
        h1, h2, h3 = column[0], column @ column, a * (image @ image)
        drop = -4 * (h3 - pull * h2 + (h1 if target else 0.0))
        return np.append(change.ravel(), drop)

    T = ratios.per_m * times
    fastest = a * MarchenkoPastur(ratios.weights).upper_edge
    steps = float(T[-1]) * max(fastest, fastest**2, 1.0 if target else 0.0)
    if steps > _MOST_RATE_TIMES:
        raise BudgetError(
            "small-data limit",
            estimate=f"about {steps:.0e} steps of the hierarchy",
            limit=f"{_MOST_RATE_TIMES:.0e}",
            remedy="ask for earlier times",
        )
    smallest = np.full(start.size + 1, tolerance * 1e-3 * min(1.0, root))
    smallest[-1] = tolerance * 1e-3 * min(1.0, a * root**2)  # the population loss starts to move at rate h_1
    found = integrate(
        slope,
        np.append(start.ravel(), 0.0),
        T,
        face="R,N,P|p" if target else "N,P|p",
        times=times,
        method="DOP853",
        rtol=tolerance,
        atol=smallest,
    )
    factors = found[:-1].reshape(*start.shape, -1)
    columns = a * np.einsum("kt,kjt->jt", factors[:, 0], factors)
    if target:
        columns = columns - np.eye(rows, 1)
    return np.einsum("ij,ij->j", columns, columns) / 2, found[-1]


def _curves(ratios: Ratios, times: FloatArray, *, target: bool) -> Curves:
    rough, fine = (
        _solve(ratios, times, target=target, rows=rows, tolerance=tolerance)
        for rows, tolerance in zip(_ROWS, _TOLERANCES, strict=True)
    )
    start = _start(ratios, target=target)
    population = start + ratios.data * fine[1]
    error = np.maximum(np.abs(fine[0] - rough[0]), ratios.data * np.abs(fine[1] - rough[1]))
    error += 1e-15 * (start + (1 if target else 0))
    refuse_where(
        error > _REACH * np.maximum(fine[0], np.abs(population)),
        "R,N,P|p" if target else "N,P|p",
        times,
        "after which two resolutions differ",
    )
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
_METHOD = "rank-one flow of a factor of the Jacobi matrix of M(0), at two sizes and tolerances"

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
