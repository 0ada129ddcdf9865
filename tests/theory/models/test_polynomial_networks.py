"""Networks with polynomial activations: the first coefficients of their series against exact quadrature."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import numpy.typing as npt
import pytest

from theory.engine.series import expected_derivatives_together
from theory.models.model import Model

Array = npt.NDArray[np.float64]

VARIANCES = {"sigma2_a": Fraction(1, 2), "sigma2_w": Fraction(1, 3), "tau2": Fraction(1, 5)}
NODES = 8
"""Gauss–Hermite nodes: exact to degree 15 in every entry, where the squared gradients have at most 14."""

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
@pytest.mark.parametrize(("p", "n", "m"), [(1, 1, 2), (1, 2, 1)])
def test_first_coefficients_against_exact_quadrature(name: str, p: int, n: int, m: int) -> None:
    sizes = {"p": p, "n": n, "m": m}
    shapes = {"sigma2_a": (n,), "sigma2_w": (n, p), "tau2": (p,), "data": (p, m)}
    counts = [int(np.prod(shape)) for shape in shapes.values()]
    node, weight = np.polynomial.hermite_e.hermegauss(NODES)
    grids = np.meshgrid(*[node] * sum(counts), indexing="ij")
    weights = np.prod(np.meshgrid(*[weight / weight.sum()] * sum(counts), indexing="ij"), axis=0).ravel()
    columns = np.split(np.stack([grid.ravel() for grid in grids], axis=1), np.cumsum(counts)[:-1], axis=1)
    a, W, V, data = (
        np.sqrt(float(VARIANCES.get(key, 1))) * column.reshape(-1, *shape)
        for (key, shape), column in zip(shapes.items(), columns, strict=True)
    )
    train, by_train = gradient(name, a, W, V, data)
    found = expected_derivatives_together(Model.named(name).plan, {"train": 1, "population": 1})
    exact = {loss: [float(c.evaluate(sizes | VARIANCES)) for c in row] for loss, row in found.items()}
    assert exact["train"] == pytest.approx([weights @ train, weights @ (by_train**2).sum(axis=1)], rel=1e-10)
    population, slope = 0.0, 0.0
    for point in itertools.product(range(NODES), repeat=p):  # the fresh input of the population loss
        fresh = np.broadcast_to(node[list(point)][:, None], (len(a), p, 1))
        value, by_fresh = gradient(name, a, W, V, fresh)
        share = np.prod(weight[list(point)] / weight.sum())
        population += share * (weights @ value)
        slope += share * (weights @ (by_fresh * by_train).sum(axis=1))
    assert exact["population"] == pytest.approx([population, slope], rel=1e-10)


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
