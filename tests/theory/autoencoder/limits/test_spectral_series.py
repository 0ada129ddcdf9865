"""The limits with a spectrum against the exact series with c_k = Tr C^k/p as symbols, far out in the sizes."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from theory.autoencoder.limits.scalar_flows import LOGISTIC
from theory.autoencoder.limits.spectral import spectral_curves
from theory.autoencoder.limits.spectral_law import Rule, SpectralLaw
from theory.autoencoder.limits.table import SOLVED
from theory.autoencoder.sizes import Sizes
from theory.models.model import Model
from theory.models.series import model_series
from theory.spectrum import read_spectrum

ORDER = 3
SPECTRUM = "values:2*1,0.5*3"
FAR = 10**12
LOSSES = ("train", "population")
Coefficients = dict[str, list[float]]


def exact(p: int, n: int, m: int, sigma2: Fraction) -> Coefficients:
    """d^sL/d(−t)^s at t = 0."""
    moments = {f"c_{k}": Fraction(2**k + 3 * Fraction(1, 2**k)) / 4 for k in range(1, 9)}
    point = {**moments, "p": Fraction(p), "n": Fraction(n), "m": Fraction(m), "sigma2": sigma2}
    model = Model.named("autoencoder-covariance")
    return {
        loss: [float(c.evaluate(point)) for c in model_series(model, loss, order=ORDER).coefficients] for loss in LOSSES
    }


def law(ratio: Fraction) -> Rule:
    """The law of S/m at p/m = ``ratio``."""
    found = SpectralLaw(read_spectrum(SPECTRUM, 4 * ratio.numerator), 4 * ratio.denominator)
    return found.rule(lambda x: np.stack([x**k for k in range(ORDER + 2)]))[0]


@pytest.mark.parametrize("ratio", [Fraction(2, 3), Fraction(3, 1)])
def test_wide(ratio: Fraction) -> None:
    a, rule = 0.75, law(ratio)
    m = 3 * FAR
    p, n = int(m * ratio), FAR**2
    series = exact(p, n, m, Fraction(3, 4) / n)
    for s, polynomial in enumerate(LOGISTIC.taylor(ORDER)):
        value = sum(float(c) * a**k for k, c in enumerate(polynomial)) + (0.5 if s == 0 else 0.0)
        for loss, weights in (("train", rule.weights * rule.x), ("population", rule.population)):
            found = (4 / p) ** s * value * float(weights @ rule.x**s)
            assert found == pytest.approx(series[loss][s], rel=1e-10)


@pytest.mark.parametrize("ratio", [Fraction(2, 3), Fraction(3, 1)])
def test_narrow(ratio: Fraction) -> None:
    a, rule = 0.75, law(ratio)
    m = 3 * FAR**2
    p, n = int(m * ratio), FAR
    series = exact(p, n, m, Fraction(3, 4) / p)
    # D = e^{−2(Ax + B)} as a power series in ηt/p, A′ = g_0 − 2, B′ = g_1; the moments of D are g_0, g_1 and c_0
    terms, moments = [np.ones_like(rule.x)], np.zeros((3, ORDER + 1))
    for k in range(ORDER + 1):
        moments[:, k] = [
            a * float(terms[k] @ weights) for weights in (rule.weights, rule.weights * rule.x, rule.population)
        ]
        slopes = [(moments[0, j] - 2 * (j == 0)) * rule.x + moments[1, j] for j in range(k + 1)]
        terms.append(-2 / (k + 1) * sum(slopes[j] * terms[k - j] for j in range(k + 1)))
    for s in range(1, ORDER + 1):
        for loss, which in (("train", 1), ("population", 2)):
            value = float(moments[0, : s + 1] @ moments[which, s::-1]) / 2 - moments[which, s]
            found = n / p * math.factorial(s) * value * (-1 / p) ** s
            assert found == pytest.approx(series[loss][s], rel=1e-10)


P_FAR = 3 * FAR**2
LITTLE = [
    ("R,N,P|p", P_FAR * 2, Fraction(1, P_FAR)),
    ("N,P|p", P_FAR // 3, Fraction(FAR, P_FAR)),
    ("R,N|p", P_FAR * FAR, Fraction(3, 4 * P_FAR * FAR)),
    ("N|p", P_FAR * FAR, Fraction(1, P_FAR)),
    ("R|p", P_FAR * FAR, Fraction(1, P_FAR * FAR**2)),
    ("R,P|p", P_FAR // FAR, Fraction(3, 4 * P_FAR)),
    ("P|p", P_FAR // FAR, Fraction(FAR // 10**6, P_FAR)),
]


@pytest.mark.parametrize(("face", "n", "sigma2"), LITTLE)
def test_little_data(face: str, n: int, sigma2: Fraction) -> None:
    p, m = P_FAR, FAR
    series = exact(p, n, m, sigma2)
    tau, kappa = Fraction(7, 8), Fraction(2**2 + 3 * Fraction(1, 4)) / 4 / Fraction(7, 8)
    point = {"p": Fraction(p), "n": Fraction(n), "m": Fraction(m), "sigma2": sigma2}
    train, population = ([c.evaluate(point) for c in SOLVED[face].taylor(loss, ORDER)] for loss in LOSSES)
    for s in range(1, ORDER + 1):
        scale = (tau / (p * m)) ** s
        assert series["train"][s] == pytest.approx(float(scale * tau * train[s]), rel=1e-5)
        change = tau * population[s] + Fraction(m, p) * (kappa - tau) * train[s]
        assert series["population"][s] == pytest.approx(float(scale * change), rel=1e-5)


@pytest.mark.parametrize(
    ("face", "p", "m", "t", "left"),  # the last: what the fourth order, and finite p, leave of the change
    [
        ("R,N,P|p", 4 * 10**8, 40, 0.02, 1e-5),
        ("R,N,P|m,p", 4 * 10**8, 3 * 10**8, 4 * 10**5, 5e-5),
        ("R,N,P|m,p", 4 * 10**8, 9 * 10**8, 4 * 10**5, 5e-5),
        ("R,N,P|m", 4 * 10**4, 10**9, 40.0, 2e-4),
    ],
)
def test_they_begin_as_the_exact_series(face: str, p: int, m: int, t: float, left: float) -> None:
    n = p // 2
    series = exact(p, n, m, Fraction(1, p))
    sizes = Sizes(p, n, m, Fraction(1, p))
    found = spectral_curves(face, sizes, read_spectrum(SPECTRUM, p), np.array([0.0, t]), eta=1.0)
    for loss, curve in (("train", found.curves.train), ("population", found.curves.population)):
        expected = sum(c * (-t) ** s / math.factorial(s) for s, c in enumerate(series[loss]) if s)
        assert curve[0] == pytest.approx(series[loss][0], rel=left)
        assert curve[1] - curve[0] == pytest.approx(expected, rel=left)
