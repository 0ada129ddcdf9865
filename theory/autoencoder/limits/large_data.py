"""Large data: S is m times the identity, and the eigenvalues of M evolve one by one. [P] §4.

Faces {R,N,P}×m and {N,P}×m. With q = e^{4ηt/p} − 1 an eigenvalue x of M(0) has left (1 − x)/(1 + qx) of its distance to
1; the integral over Marchenko–Pastur is algebraic in its resolvent at −1/q. Without the target it has x/(1 + qx) left,
q = 4ηt/p.
"""

from __future__ import annotations

import math

import mpmath as mp
import numpy as np

from theory.autoencoder.limits.marchenko_pastur import MarchenkoPastur
from theory.autoencoder.limits.moments import weight_moment
from theory.autoencoder.limits.scalar_flows import LOGISTIC, RATIONAL, ScalarFlow
from theory.autoencoder.limits.solution import (
    ONE,
    Asymptote,
    Curves,
    FloatArray,
    Formula,
    LimitSolution,
    Loss,
    M,
    Ratios,
)
from theory.engine.laurent import Laurent

_SETTLED = 100.0
"""At ηt/p beyond this, plus the logarithms of the scales, every correction to the asymptote is below 1e−16."""


def closed_form(q: mp.mpf, ratio: float, scale: float, *, target: bool, digits: int) -> mp.mpf:
    """L(t) from the Marchenko–Pastur resolvent at −1/q, in ``digits`` decimal digits beyond those that cancel. [P] §4.

    >>> float(closed_form(mp.mpf(1), 1.0, 1.0, target=True, digits=20))
    0.1583592135001262
    """
    if q == 0:
        second = mp.mpf(scale) ** 2 * (ratio + mp.mpf(ratio) ** 2) / 2
        return second - mp.mpf(scale) * ratio + mp.mpf(1) / 2 if target else second
    lost = 4 * abs(float(mp.log10(q))) + 2 * abs(math.log10(scale)) + 2 * abs(math.log10(ratio))
    with mp.workdps(int(digits + lost) + 5):
        r, w = mp.mpf(ratio), 1 / (q * mp.mpf(scale))
        root = mp.sqrt((w + 1 + r) ** 2 - 4 * r)
        once = (root - w + 1 - r) / 2  # ∫ dMP/(1 + qx)
        slope = ((w + 1 + r) / root - 1) / 2  # its derivative in w
        twice = once - w * slope  # ∫ dMP/(1 + qx)²
        if target:
            return ((1 + 1 / q) ** 2 * twice - 2 / q * (1 + 1 / q) * once + 1 / q**2) / 2
        return (1 - 2 * once + twice) / (2 * q**2)


def _curves(ratios: Ratios, times: FloatArray, *, target: bool) -> Curves:
    y = 4 * ratios.per_p * times
    settled = _SETTLED + 2 * abs(math.log(ratios.a_p)) + 2 * abs(math.log(ratios.weights))
    values, errors = np.empty_like(y), np.empty_like(y)
    tail = _asymptote(ratios, times, target=target).population
    assert tail is not None
    for i, exponent in enumerate(y):
        if target and exponent > settled:
            values[i], errors[i] = tail[i], 4e-16 * tail[i]
            continue
        q = mp.expm1(mp.mpf(exponent)) if target else mp.mpf(exponent)
        values[i], check = (
            float(closed_form(q, ratios.weights, ratios.a_p, target=target, digits=digits)) for digits in (20, 30)
        )
        errors[i] = abs(values[i] - check) + 4e-16 * abs(values[i])
    return Curves(values, values.copy(), errors)


def _asymptote(ratios: Ratios, times: FloatArray, *, target: bool) -> Asymptote:
    law, a, y = MarchenkoPastur(ratios.weights), ratios.a_p, 4 * ratios.per_p * times
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        if not target:
            value = min(1.0, law.ratio) / (2 * y**2)
        elif law.ratio == 1:
            value = np.exp(-y / 2) / (4 * math.sqrt(a))
        else:
            first, second = law.inverse_moments
            left = np.exp(-y - math.log(a))  # e^{−y}/a, whose square would not fit for the smallest a
            value = law.atom / 2 + (second * left**2 - 2 * first * left * np.exp(-y)) / 2
            value = value + min(1.0, law.ratio) / 2 * np.exp(-2 * y)
    return Asymptote(value, value)


def _taylor(flow: ScalarFlow, order: int) -> tuple[Laurent, ...]:
    coefficients = []
    for s, polynomial in enumerate(flow.taylor(order)):
        value = ONE * 0
        for k, c in enumerate(polynomial):
            value = value + c * weight_moment(k)
        coefficients.append((4 * M) ** s * value)
    return tuple(coefficients)


def _solution(face: str, flow: ScalarFlow, formula: Formula, *, target: bool) -> LimitSolution:
    def curves(ratios: Ratios, times: FloatArray) -> Curves:
        return _curves(ratios, times, target=target)

    def taylor(loss: Loss, order: int) -> tuple[Laurent, ...]:  # noqa: ARG001
        return _taylor(flow, order)

    def asymptote(ratios: Ratios, times: FloatArray) -> Asymptote:
        return _asymptote(ratios, times, target=target)

    return LimitSolution(
        face, "closed form", "Marchenko–Pastur resolvent, at two precisions", formula, curves, taylor, asymptote
    )


_LAW = r"\mathrm{MP}_M = \text{law of } \sigma^2 p \cdot \mathrm{MP}(n/p)"
LARGE_DATA = _solution(
    "R,N,P|m",
    LOGISTIC,
    Formula(
        train=r"\frac{1 + 2(z-1)G(z) + (z-1)^2 G'(z)}{2q^2}",
        population=r"\hat{L}",
        where=(
            r"q = e^{4\eta t/p} - 1",
            r"z = -\frac{1}{q}",
            r"G(z) = \int \frac{d\mathrm{MP}_M(x)}{x-z}",
            _LAW,
        ),
        large_time=r"\frac{1}{2}\left(1-\frac{n}{p}\right)_+ + O(e^{-8\eta t/p}),\quad n=p:\ "
        r"\frac{e^{-2\eta t/p}}{4\sqrt{\sigma^2 p}}",
    ),
    target=True,
)
LARGE_DATA_NO_TARGET = _solution(
    "N,P|m",
    RATIONAL,
    Formula(
        train=r"\frac{1 + 2zG(z) + z^2 G'(z)}{2q^2}",
        population=r"\hat{L}",
        where=(r"q = \frac{4\eta t}{p}", r"z = -\frac{1}{q}", r"G(z) = \int \frac{d\mathrm{MP}_M(x)}{x-z}", _LAW),
        large_time=r"\min\left(1,\frac{n}{p}\right)\frac{p^2}{32\,\eta^2 t^2}",
    ),
    target=False,
)
