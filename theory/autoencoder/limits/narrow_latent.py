"""Narrow latent space: U stays U(0) times a function of S. Faces {R,P}×{m,p} and {P}×{m,p}. [P] §4.

U(t) = U(0) exp(−(η/pm)(A S + B)) with A′ = g_0 − 2 and B′ = g_1 (no −2 without the target), where g_k is the k-th
moment of S under σ²p exp(−2(η/pm)(A s + B)) dMP_S. Since g_1 = g_0 ⟨s⟩, with ⟨·⟩ the mean under Marchenko–Pastur
tilted by e^{λx}, s = px, two numbers suffice and nothing overflows: in T = ηt/m,

    g_0′ = 4⟨x⟩ g_0 (1 − g_0),  λ′ = 2(2 − g_0)        without the target  g_0′ = −4⟨x⟩ g_0²,  λ′ = −2g_0.

The logarithm of g_0 is integrated, so that the smallest start is as accurate as any.
"""

from __future__ import annotations

import math

import numpy as np

from theory.autoencoder.limits.integration import integrate
from theory.autoencoder.limits.marchenko_pastur import MarchenkoPastur
from theory.autoencoder.limits.moments import data_moment
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
)
from theory.engine.laurent import Laurent

_NODES = (12, 16)
_TOLERANCES = (1e-10, 1e-12)
_LARGEST = 700.0


def _solve(ratios: Ratios, times: FloatArray, *, target: bool, nodes: int, tolerance: float) -> tuple[FloatArray, ...]:
    """g_0 and ⟨x⟩ at the times."""
    law, T = MarchenkoPastur(ratios.data), ratios.per_m * times
    steepest = 2 * float(T[-1]) * max(2.0, ratios.a_p)  # |λ| stays below
    x, below, w = law.rule(scale=steepest, nodes=nodes)
    bottom, top = float(x.min()), law.upper_edge

    def mean(tilt: float) -> float:
        if tilt > 0:
            tilted = w * np.exp(-tilt * below)
            return top - float(tilted @ below / tilted.sum())
        tilted = w * np.exp(tilt * (x - bottom))
        return float(tilted @ x / tilted.sum())

    def slope(state: FloatArray) -> FloatArray:
        log_g, tilt = min(state[0], _LARGEST), state[1]  # which a step of the solver's may try to exceed
        g = math.exp(log_g)
        if target:
            return np.array([-4 * mean(tilt) * math.expm1(log_g), 2 * (2 - g)])
        return np.array([-4 * mean(tilt) * g, -2 * g])

    log_g, tilts = integrate(
        slope,
        np.array([math.log(ratios.a_p), 0.0]),
        T,
        face="R,P|m,p" if target else "P|m,p",
        times=times,
        method="LSODA",
        rtol=tolerance,
        atol=tolerance * 1e-4,
    )
    return np.exp(log_g), np.array([mean(tilt) for tilt in tilts])


def _losses(ratios: Ratios, g: FloatArray, x: FloatArray, *, target: bool) -> tuple[FloatArray, FloatArray]:
    loss = g**2 / 2 - (g if target else 0.0)
    offset = 0.5 if target else 0.0
    return offset + ratios.weights / ratios.data * x * loss, offset + ratios.weights * loss


def _curves(ratios: Ratios, times: FloatArray, *, target: bool) -> Curves:
    rough, fine = (
        _losses(ratios, *_solve(ratios, times, target=target, nodes=k, tolerance=tolerance), target=target)
        for k, tolerance in zip(_NODES, _TOLERANCES, strict=True)
    )
    error = np.maximum(np.abs(fine[0] - rough[0]), np.abs(fine[1] - rough[1]))
    digits = 1e-15 * (1 + abs(math.log(ratios.a_p)))  # of e to the logarithm of g_0
    error += digits * np.maximum(np.abs(fine[0]), np.abs(fine[1])) + (1e-15 if target else 0.0)
    return Curves(fine[0], fine[1], error)


def _taylor(loss: Loss, order: int, *, target: bool) -> tuple[Laurent, ...]:
    """Power series in −ηt/pm of e^{2(as + b)}, a′ = g_0 − 2, b′ = g_1, its coefficients as polynomials in s."""
    zero = ONE * 0
    density: list[list[Laurent]] = [[ONE]]
    moments: list[tuple[Laurent, Laurent]] = []
    for k in range(order + 1):
        g = [SIGMA2 * P * sum((c * data_moment(i + j) for i, c in enumerate(density[k])), start=zero) for j in (0, 1)]
        moments.append((g[0], g[1]))
        following = [zero] * (len(density[k]) + 1)
        for j, (g0, g1) in enumerate(moments):
            slope = g0 - 2 if target and j == 0 else g0
            for i, c in enumerate(density[k - j]):
                following[i + 1] = following[i + 1] + 2 * slope * c
                following[i] = following[i] + 2 * g1 * c
        density.append([c / (k + 1) for c in following])
    share = N * P**-1 if loss == "population" else N * (P * M) ** -1
    which = 0 if loss == "population" else 1
    coefficients = []
    for s in range(order + 1):
        value = sum((moments[j][0] * moments[s - j][which] for j in range(s + 1)), start=zero) / 2
        if target:
            value = value - moments[s][which]
        coefficients.append(math.factorial(s) * share * value)
    return tuple(coefficients)


def _target_asymptote(ratios: Ratios, times: FloatArray) -> Asymptote:
    """U's rows turn to the top of the spectrum of S, whose edge is felt as 3/(2λ) below x₊, λ ≈ 2T."""
    edge, T = MarchenkoPastur(ratios.data).upper_edge, ratios.per_m * times
    train = 0.5 - ratios.weights / (2 * ratios.data) * (edge - 3 / (4 * T))
    return Asymptote(train, np.full_like(T, 0.5 - ratios.weights / 2))


def _no_target_asymptote(ratios: Ratios, times: FloatArray) -> Asymptote:  # noqa: ARG001
    """The tilt grows like the logarithm of t, so that no power law is clean."""
    return Asymptote(None, None)


_WHERE = (
    r"g_k = \sigma^2 p \int s^k e^{-2(\eta/pm)(As+B)} d\mathrm{MP}_S(s)",
    r"B' = g_1",
    r"A(0) = B(0) = 0",
    r"\mathrm{MP}_S = \text{law of } p \cdot \mathrm{MP}(m/p)",
)
_METHOD = "ODE in g_0 and the tilt of the Marchenko–Pastur law of S, at two resolutions and tolerances"

NARROW_LATENT = LimitSolution(
    "R,P|m,p",
    "ODE",
    _METHOD,
    Formula(
        train=r"\frac{1}{2} + \frac{n}{pm}\left(\frac{1}{2}g_0g_1 - g_1\right)",
        population=r"\frac{1}{2} + \frac{n}{p}\left(\frac{1}{2}g_0^2 - g_0\right)",
        where=(r"A' = g_0 - 2", *_WHERE),
        large_time=r"\hat{L} \approx \frac{1}{2} - \frac{n}{2m}\left(x_+ - \frac{3m}{4\eta t}\right),\ "
        r"x_+ = (1+\sqrt{m/p})^2,\quad L \to \frac{1}{2} - \frac{n}{2p}",
    ),
    lambda ratios, times: _curves(ratios, times, target=True),
    lambda loss, order: _taylor(loss, order, target=True),
    _target_asymptote,
)
NARROW_NO_TARGET = LimitSolution(
    "P|m,p",
    "ODE",
    _METHOD,
    Formula(
        train=r"\frac{n}{2pm} g_0g_1",
        population=r"\frac{n}{2p} g_0^2",
        where=(r"A' = g_0", *_WHERE),
        large_time=r"m>p:\ L, \hat{L} \propto t^{-2}\text{ up to logarithms};\quad "
        r"m=p:\ L \propto t^{-1},\ \hat{L} \propto t^{-3/2};\quad m<p:\ L \to \text{const} > 0",
    ),
    lambda ratios, times: _curves(ratios, times, target=False),
    lambda loss, order: _taylor(loss, order, target=False),
    _no_target_asymptote,
)
