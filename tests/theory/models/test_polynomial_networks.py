"""Networks with polynomial activations: the first coefficients of their series against gradients of random draws."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import numpy.typing as npt
import pytest

from theory.engine.series import expected_derivatives_together
from theory.models.model import Model

Array = npt.NDArray[np.float64]

P, N, M = 4, 3, 8
VALUES = {"p": P, "n": N, "m": M, "sigma2_a": Fraction(1, 4), "sigma2_w": Fraction(1, 16), "tau2": Fraction(1, 16)}
DRAWS = 100_000

ACTIVATIONS = {
    "quadratic": (lambda z: z**2, lambda z: 2 * z),
    "hermite-2": (lambda z: z**2 - 1, lambda z: 2 * z),
    "hermite-3": (lambda z: z**3 - 3 * z, lambda z: 3 * z**2 - 3),
}


def gradient(name: str, a: Array, W: Array, V: Array, X: Array) -> tuple[Array, Array]:
    """The loss on the data X (draw, p, samples), mean over samples, and its gradient in a and W, one row a draw."""
    activation, slope = ACTIVATIONS[name]
    z = np.einsum("dhi,dik->dhk", W, X)
    error = np.einsum("dh,dhk->dk", a, activation(z)) - activation(np.einsum("di,dik->dk", V, X))
    samples = X.shape[2]
    by_a = np.einsum("dk,dhk->dh", error, activation(z)) / samples
    by_w = np.einsum("dk,dh,dhk,dik->dhi", error, a, slope(z), X) / samples
    return (error**2).mean(axis=1) / 2, np.concatenate([by_a, by_w.reshape(len(a), -1)], axis=1)


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_first_coefficients_against_gradients(name: str) -> None:
    rng = np.random.default_rng(14)
    scale = {key: np.sqrt(float(value)) for key, value in VALUES.items()}
    a = scale["sigma2_a"] * rng.standard_normal((DRAWS, N))
    W = scale["sigma2_w"] * rng.standard_normal((DRAWS, N, P))
    V = scale["tau2"] * rng.standard_normal((DRAWS, P))
    data, fresh = rng.standard_normal((DRAWS, P, M)), rng.standard_normal((DRAWS, P, 8))
    train, by_train = gradient(name, a, W, V, data)
    population, by_population = gradient(name, a, W, V, fresh)  # unbiased: a fresh input enters its gradient alone
    samples = {
        "train": (train, (by_train**2).sum(axis=1)),
        "population": (population, (by_population * by_train).sum(axis=1)),
    }
    found = expected_derivatives_together(Model.named(name).plan, {"train": 1, "population": 1})
    for loss, rows in samples.items():
        for s, row in enumerate(rows):
            predicted = float(found[loss][s].evaluate(VALUES))
            stderr = row.std() / np.sqrt(DRAWS)
            assert stderr < (0.1 if name == "hermite-3" else 0.05) * abs(predicted)  # its tails are heavy
            assert abs(row.mean() - predicted) < 4 * stderr, (loss, s)


def test_phase_retrieval_is_the_quadratic_network_of_one_neuron_without_a_second_layer() -> None:
    found = expected_derivatives_together(Model.named("phase-retrieval").plan, {"train": 1, "population": 1})
    p, m, s, t = 3, 4, Fraction(1, 3), Fraction(1, 5)
    point = {"p": p, "m": m, "sigma2": s, "tau2": t}
    # E_x ½((w·x)² − (v·x)²)² = ½(3|w|⁴ + 3|v|⁴ − 2|w|²|v|² − 4(w·v)²); E|w|⁴ = p(p+2)σ⁴
    mean = (3 * p * (p + 2) * (s * s + t * t) - 2 * p * p * s * t - 4 * p * s * t) / 2
    assert found["train"][0].evaluate(point) == found["population"][0].evaluate(point) == mean
    # without limit of samples |∇L|² is that of the population: ∇ = 6|w|²w − 2|v|²w − 4(w·v)v
    w6, w4, w2 = p * (p + 2) * (p + 4) * s**3, p * (p + 2) * s * s, p * s
    v4, v2 = p * (p + 2) * t * t, p * t
    square = 36 * w6 + 4 * v4 * w2 + 16 * v4 * w2 / p - 24 * w4 * v2 - 48 * w4 * v2 / p + 16 * v4 * w2 / p
    at_infinity = found["population"][1].leading({"p": 0, "m": 1, "sigma2": 0, "tau2": 0})
    assert at_infinity.evaluate(point) == square
