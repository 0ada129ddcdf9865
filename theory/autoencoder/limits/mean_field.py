"""M stays a function of S: the latent space is wide. Faces {R,N}, {N} and {R}, each × {m,p}, {m} and {p}. [P] §4.

M(0) is a_n = σ²n times the identity, and the eigenvalue of M on an eigenvector of S with eigenvalue s follows a scalar
flow at rate 4ηs/pm. What differs between the faces is the flow (with both R and N, without the target, R alone) and the
law of s: Marchenko–Pastur; the number m (S ≈ m); or m eigenvalues p and the rest 0 (m ≪ p).
"""

from __future__ import annotations

import math

import numpy as np
from scipy.integrate import quad

from theory.autoencoder.limits.marchenko_pastur import MarchenkoPastur
from theory.autoencoder.limits.moments import Part, data_moment
from theory.autoencoder.limits.scalar_flows import EXPONENTIAL, LOGISTIC, RATIONAL, ScalarFlow
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


def _taylor(flow: ScalarFlow, part: Part, loss: Loss, order: int) -> tuple[Laurent, ...]:
    coefficients = []
    for s, polynomial in enumerate(flow.taylor(order)):
        value = ONE * 0
        for k, c in enumerate(polynomial):
            value = value + c * (SIGMA2 * N) ** k
        weight = data_moment(s, part) if loss == "population" else data_moment(s + 1, part) * M**-1
        coefficients.append(4**s * weight * value)
    return tuple(coefficients)


def _integral(flow: ScalarFlow, ratios: Ratios, times: FloatArray) -> Curves:
    law = MarchenkoPastur(ratios.data)
    y = 4 * ratios.per_m * times
    if flow.grows:
        check_exponent(y * law.upper_edge, f"{flow.triangle}|m,p", times)

    def population(x: FloatArray) -> FloatArray:
        return flow.loss(ratios.a_n, np.outer(y, x))

    def train(x: FloatArray) -> FloatArray:
        return x / law.ratio * population(x)

    scale = float(y[-1]) * max(1.0, ratios.a_n)
    (a, a_error), (b, b_error) = law.expectation(train, scale=scale), law.expectation(population, scale=scale)
    return Curves(flow.offset + a, flow.offset + b, np.maximum(a_error, b_error))


def _many_data(flow: ScalarFlow, ratios: Ratios, times: FloatArray) -> Curves:
    y = 4 * ratios.per_p * times
    if flow.grows:
        check_exponent(y, f"{flow.triangle}|m", times)
    loss = flow.offset + flow.loss(ratios.a_n, y)
    return Curves(loss, loss.copy(), 4e-16 * np.abs(loss) + _rounding(flow, ratios.a_n, y))


def _rounding(flow: ScalarFlow, a: float, y: FloatArray) -> FloatArray:
    """What the last digits of a and y do to the loss."""
    loss = flow.loss(a, y)
    inputs = np.abs(flow.loss(a * (1 + 4e-16), y) - loss) + np.abs(flow.loss(a, y * (1 + 4e-16)) - loss)
    return np.asarray(inputs + 4e-16 * np.abs(loss) + np.finfo(float).tiny)


def _few_data(flow: ScalarFlow, ratios: Ratios, times: FloatArray) -> Curves:
    y = 4 * ratios.per_m * times
    if flow.grows:
        check_exponent(y, f"{flow.triangle}|p", times)
    train, start = flow.loss(ratios.a_n, y), flow.loss(ratios.a_n, np.array(0.0))
    population = start + ratios.data * (train - start)
    error = 4e-16 * (flow.offset + np.abs(start) + np.abs(train)) + _rounding(flow, ratios.a_n, y)
    return Curves(flow.offset + train, flow.offset + population, np.maximum(1.0, ratios.data) * error)


def _scale(flow: ScalarFlow, a: float, y: FloatArray) -> FloatArray:
    """Where the flow at one rate goes: the leading form of its loss at large y."""
    if flow is LOGISTIC:
        return np.asarray(((1 - a) * np.exp(-y - math.log(a))) ** 2 / 2)
    return 1 / (2 * y**2) if flow is RATIONAL else flow.loss(a, y)


def _many_data_asymptote(flow: ScalarFlow, ratios: Ratios, times: FloatArray) -> Asymptote:
    value = flow.offset + _scale(flow, ratios.a_n, 4 * ratios.per_p * times)
    return Asymptote(value, value)


def _few_data_asymptote(flow: ScalarFlow, ratios: Ratios, times: FloatArray) -> Asymptote:
    train = _scale(flow, ratios.a_n, 4 * ratios.per_m * times)
    start = flow.loss(ratios.a_n, np.array(0.0))
    return Asymptote(flow.offset + train, flow.offset + start + ratios.data * (train - start))


def _integral_asymptote(flow: ScalarFlow, ratios: Ratios, times: FloatArray) -> Asymptote:
    law, a, y = MarchenkoPastur(ratios.data), ratios.a_n, 4 * ratios.per_m * times
    r = law.ratio
    rest = law.atom * float(flow.loss(a, np.array(0.0)))
    if flow is EXPONENTIAL:  # the upper edge, where the density is C √(x₊ − x)
        edge = law.upper_edge
        population = -a * law.upper_edge_density * math.gamma(1.5) * y**-1.5 * np.exp(edge * y)
        return Asymptote(0.5 + edge / r * population, 0.5 + population)
    if r == 1:  # the hard edge, where the density is 1/(π √x)
        first, zeroth = (_hard_edge(flow, a, k) / math.pi for k in (1, 0))
        return Asymptote(first * y**-1.5, zeroth * y**-0.5)
    if flow is RATIONAL:
        first, second = law.inverse_moments
        return Asymptote(first / (2 * r * y**2), rest + second / (2 * y**2))
    edge = law.lower_edge
    decay = _scale(flow, a, edge * y) * law.lower_edge_density * math.gamma(1.5) * (2 * y) ** -1.5
    return Asymptote(edge / r * decay, rest + decay)


def _hard_edge(flow: ScalarFlow, a: float, k: int) -> float:
    """∫_0^∞ u^{k−1/2} loss(a, u) du, for the logistic flow in u = e^w."""
    if flow is RATIONAL:
        return float(math.pi / 4 * a ** (1.5 - k))

    def integrand(w: float) -> float:
        return math.exp((k + 0.5) * w) * float(flow.loss(a, np.array(math.exp(w))))

    turn = math.log(max(1 / (1 + a), math.log1p(1 / a)))
    first, last = turn - 60, math.log(math.log1p(1 / a) + 40)
    halves = (quad(integrand, *ends, epsabs=0, epsrel=1e-10, limit=400)[0] for ends in ((first, turn), (turn, last)))
    return float(sum(halves))


_MU = {
    "R,N": r"\mu(y) = \frac{a_n e^{y}}{1 + a_n(e^{y}-1)}",
    "N": r"\mu(y) = \frac{a_n}{1 + a_n y}",
    "R": r"\mu(y) = a_n e^{y}",
}
_LOSS = {"R,N": r"\frac{1}{2}(1-\mu)^2", "N": r"\frac{1}{2}\mu^2", "R": r"-\mu"}
_HALF = {"R,N": "", "N": "", "R": r"\frac{1}{2} + "}
_A_N = r"a_n = \sigma^2 n"
_MANY_TIMES = {
    "R,N": r"\frac{(1-a_n)^2}{2a_n^2} e^{-8\eta t/p}",
    "N": r"\frac{p^2}{32\,\eta^2t^2}",
    "R": r"\frac{1}{2} - a_n e^{4\eta t/p}",
}
_INTEGRAL_TIMES = {
    "R,N": r"\hat{L} \propto t^{-3/2} e^{-8 x_- \eta t/m},\ x_- = (1-\sqrt{m/p})^2;\quad "
    r"m=p:\ \hat{L} \propto t^{-3/2},\ L \propto t^{-1/2}",
    "N": r"\hat{L} \approx \frac{m^2}{32\,\eta^2t^2}\frac{p}{m}\frac{\min(1,m/p)}{|m/p-1|};\quad "
    r"m=p:\ \hat{L} \propto t^{-3/2},\ L \propto t^{-1/2}",
    "R": r"-\hat{L} \propto t^{-3/2} e^{4 x_+ \eta t/m},\ x_+ = (1+\sqrt{m/p})^2",
}


def _integral_solution(flow: ScalarFlow) -> LimitSolution:
    half, loss = _HALF[flow.triangle], _LOSS[flow.triangle].replace(r"\mu", r"\mu_s")
    return LimitSolution(
        f"{flow.triangle}|m,p",
        "quadrature",
        "Gauss quadrature over the Marchenko–Pastur law of S, nodes doubled until two rules agree",
        Formula(
            train=rf"{half}\int \frac{{s}}{{m}}\left[{loss}\right] d\mathrm{{MP}}_S(s)",
            population=rf"{half}\int \left[{loss}\right] d\mathrm{{MP}}_S(s)",
            where=(
                r"\mu_s = \mu\left(\frac{4\eta s t}{pm}\right)",
                _MU[flow.triangle],
                _A_N,
                r"\mathrm{MP}_S = \text{law of } p \cdot \mathrm{MP}(m/p)",
            ),
            large_time=_INTEGRAL_TIMES[flow.triangle],
        ),
        lambda ratios, times: _integral(flow, ratios, times),
        lambda which, order: _taylor(flow, "both", which, order),
        lambda ratios, times: _integral_asymptote(flow, ratios, times),
    )


def _many_data_solution(flow: ScalarFlow) -> LimitSolution:
    return LimitSolution(
        f"{flow.triangle}|m",
        "closed form",
        "elementary function",
        Formula(
            train=_HALF[flow.triangle] + _LOSS[flow.triangle],
            population=r"\hat{L}",
            where=(r"\mu = \mu\left(\frac{4\eta t}{p}\right)", _MU[flow.triangle], _A_N),
            large_time=_MANY_TIMES[flow.triangle],
        ),
        lambda ratios, times: _many_data(flow, ratios, times),
        lambda which, order: _taylor(flow, "degrees", which, order),
        lambda ratios, times: _many_data_asymptote(flow, ratios, times),
    )


def _few_data_taylor(flow: ScalarFlow, which: Loss, order: int) -> tuple[Laurent, ...]:
    coefficients = []
    for s, value in enumerate(_taylor(flow, "degrees", "train", order)):
        train = value * (P * M**-1) ** s
        coefficients.append(train * M * P**-1 if which == "population" and s else train)
    return tuple(coefficients)


def _few_data_solution(flow: ScalarFlow) -> LimitSolution:
    return LimitSolution(
        f"{flow.triangle}|p",
        "closed form",
        "elementary function",
        Formula(
            train=_HALF[flow.triangle] + _LOSS[flow.triangle],
            population=r"L(0) + \frac{m}{p}\left(\hat{L} - \hat{L}(0)\right)",
            where=(r"\mu = \mu\left(\frac{4\eta t}{m}\right)", _MU[flow.triangle], _A_N, r"L(0) = \hat{L}(0)"),
            large_time=r"\hat{L} \approx " + _MANY_TIMES[flow.triangle].replace("/p}", "/m}").replace("p^2", "m^2"),
        ),
        lambda ratios, times: _few_data(flow, ratios, times),
        lambda which, order: _few_data_taylor(flow, which, order),
        lambda ratios, times: _few_data_asymptote(flow, ratios, times),
    )


_FLOWS = (LOGISTIC, RATIONAL, EXPONENTIAL)
MEAN_FIELD, WIDE_NO_TARGET, TARGET_ALONE = (_integral_solution(flow) for flow in _FLOWS)
SCALAR_SOLUTIONS: tuple[LimitSolution, ...] = tuple(
    build(flow) for flow in _FLOWS for build in (_many_data_solution, _few_data_solution)
)
