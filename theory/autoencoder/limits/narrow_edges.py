"""Narrow latent space with much or little data: elementary functions. Faces {R,P} and {P}, each × {m} and {p}. [P] §4.

Much data: g_0 of the narrow-latent solution becomes an eigenvalue μ of M on its n-dimensional range, moving by the
scalar flow from a_p = σ²p. Little data: a row of U is turned by the data at a constant rate, e = exp(−2(a_p − 2)ηt/m).
"""

from __future__ import annotations

import numpy as np

from theory.autoencoder.limits.scalar_flows import LOGISTIC, RATIONAL, ScalarFlow
from theory.autoencoder.limits.solution import (
    ONE,
    SIGMA2,
    Asymptote,
    Curves,
    FloatArray,
    Formula,
    LimitSolution,
    Loss,
    M,
    N,
    P,
    Ratios,
    check_exponent,
)
from theory.engine.laurent import Laurent


def _many_data(flow: ScalarFlow, ratios: Ratios, times: FloatArray) -> Curves:
    y = 4 * ratios.per_p * times
    loss = ratios.weights * flow.loss(ratios.a_p, y)
    error = 1e-15 * (1 + ratios.weights + np.abs(loss))
    if flow is LOGISTIC:  # the other p − n directions stay at distance 1
        loss = 0.5 + loss - ratios.weights / 2
    return Curves(loss, loss.copy(), error)


def _many_data_taylor(flow: ScalarFlow, order: int) -> tuple[Laurent, ...]:
    coefficients = []
    for s, polynomial in enumerate(flow.taylor(order)):
        value = ONE * 0
        for k, c in enumerate(polynomial):
            value = value + c * (SIGMA2 * P) ** k
        coefficients.append((4 * M) ** s * N * P**-1 * value)
    return tuple(coefficients)


def _many_data_asymptote(flow: ScalarFlow, ratios: Ratios, times: FloatArray) -> Asymptote:
    a, y = ratios.a_p, 4 * ratios.per_p * times
    if flow is LOGISTIC:
        value = 0.5 - ratios.weights / 2 + ratios.weights / 2 * ((1 - a) * np.exp(-y - np.log(a))) ** 2
    else:
        value = ratios.weights / (2 * y**2)
    return Asymptote(value, value)


def _few_data_target(ratios: Ratios, times: FloatArray) -> Curves:
    a, a_n, T = ratios.a_p, ratios.a_n, ratios.per_m * times
    rate = -2 * (a - 2)
    check_exponent(rate * T, "R,P|p", times)
    train = 0.5 + a_n * (a / 2 - 1) * np.exp(rate * T)
    turned = -2 * T if a == 2 else np.expm1(rate * T) / (a - 2)  # (e − 1)/(a_p − 2)
    change = ratios.weights * ratios.data * a * (2 * a - 2) * (a - 1) * turned
    population = 0.5 + a_n * (a / 2 - 1) + change
    return Curves(train, population, 4e-16 * (1 + np.abs(train) + np.abs(change)) * (1 + np.abs(rate * T)))


def _few_data_free(ratios: Ratios, times: FloatArray) -> Curves:
    a, a_n, T = ratios.a_p, ratios.a_n, ratios.per_m * times
    start = a_n * a / 2
    change = 2 * ratios.weights * ratios.data * a**2 * np.expm1(-2 * a * T)
    return Curves(start * np.exp(-2 * a * T), start + change, 4e-16 * (start + np.abs(change)))


def _few_data_taylor(loss: Loss, order: int, *, target: bool) -> tuple[Laurent, ...]:
    a, a_n, share = SIGMA2 * P, SIGMA2 * N, N * M * P**-2
    rate = 2 * P * ((a - 2) if target else a)
    start = a_n * ((a / 2 - 1) if target else a / 2)
    first = share * (2 * P * a * (2 * a - 2) * (a - 1) if target else 4 * P * a**3)
    later = [start, *(first * rate ** (s - 1) for s in range(1, order + 1))]
    return tuple(later) if loss == "population" else tuple(start * rate**s for s in range(order + 1))


def _target_asymptote(ratios: Ratios, times: FloatArray) -> Asymptote:
    exact = _few_data_target(ratios, times)
    if ratios.a_p <= 2:
        return Asymptote(exact.train, exact.population)
    a = ratios.a_p
    final = 0.5 + ratios.a_n * (a / 2 - 1) - ratios.weights * ratios.data * a * (2 * a - 2) * (a - 1) / (a - 2)
    return Asymptote(exact.train, np.full_like(times, final))


def _free_asymptote(ratios: Ratios, times: FloatArray) -> Asymptote:
    a = ratios.a_p
    final = ratios.a_n * a / 2 - 2 * ratios.weights * ratios.data * a**2
    return Asymptote(_few_data_free(ratios, times).train, np.full_like(times, final))


def _many_data_solution(face: str, flow: ScalarFlow, formula: Formula) -> LimitSolution:
    return LimitSolution(
        face,
        "closed form",
        "elementary function",
        formula,
        lambda ratios, times: _many_data(flow, ratios, times),
        lambda _, order: _many_data_taylor(flow, order),
        lambda ratios, times: _many_data_asymptote(flow, ratios, times),
    )


_A_P, _A_N = r"a_p = \sigma^2 p", r"a_n = \sigma^2 n"
NARROW_EDGES: tuple[LimitSolution, ...] = (
    _many_data_solution(
        "R,P|m",
        LOGISTIC,
        Formula(
            train=r"\frac{1}{2} + \frac{n}{p}\left(\frac{1}{2}\mu^2 - \mu\right)",
            population=r"\hat{L}",
            where=(r"\mu = \frac{a_p e^{y}}{1 + a_p(e^{y}-1)}", r"y = \frac{4\eta t}{p}", _A_P),
            large_time=r"\frac{1}{2} - \frac{n}{2p} + \frac{n}{p}\frac{(1-a_p)^2}{2a_p^2} e^{-8\eta t/p}",
        ),
    ),
    _many_data_solution(
        "P|m",
        RATIONAL,
        Formula(
            train=r"\frac{n}{2p}\mu^2",
            population=r"\hat{L}",
            where=(r"\mu = \frac{a_p}{1 + 4a_p\eta t/p}", _A_P),
            large_time=r"\frac{n}{p}\frac{p^2}{32\,\eta^2t^2}",
        ),
    ),
    LimitSolution(
        "R,P|p",
        "closed form",
        "elementary function",
        Formula(
            train=r"\frac{1}{2} + a_n\left(\frac{1}{2}a_p - 1\right)e",
            population=r"L(0) + \frac{nm}{p^2}\,a_p\,\frac{e-1}{a_p-2}\,2(a_p-1)^2",
            where=(r"e = e^{-2(a_p-2)\eta t/m}", _A_N, _A_P, r"L(0) = \hat{L}(0)"),
            large_time=r"a_p>2:\ \hat{L} \to \frac{1}{2};\quad a_p<2:\ \text{grows like } e^{2(2-a_p)\eta t/m}",
        ),
        _few_data_target,
        lambda loss, order: _few_data_taylor(loss, order, target=True),
        _target_asymptote,
    ),
    LimitSolution(
        "P|p",
        "closed form",
        "elementary function",
        Formula(
            train=r"\frac{1}{2}a_na_p e",
            population=r"L(0) + \frac{2nm}{p^2}a_p^2(e-1)",
            where=(r"e = e^{-2a_p\eta t/m}", _A_N, _A_P, r"L(0) = \hat{L}(0)"),
            large_time=r"\hat{L} = \frac{1}{2}a_na_p e^{-2a_p\eta t/m},\quad L \to L(0) - \frac{2nm}{p^2}a_p^2",
        ),
        _few_data_free,
        lambda loss, order: _few_data_taylor(loss, order, target=False),
        _free_asymptote,
    ),
)
