"""The engine knows nothing of the autoencoder: an untied one, f(x) = VUx, declared here and checked by two routes."""

from __future__ import annotations

from fractions import Fraction
from math import comb

import numpy as np
import numpy.typing as npt
import pytest

from numerics.runs.seeds import replica_seed
from theory.engine import pairings
from theory.engine.composite import composite_plan
from theory.engine.derivatives import derivatives
from theory.engine.model import GaussianMatrix, Loss, MatrixModel, Space, Term
from theory.engine.series import expected_derivatives

Array = npt.NDArray[np.float64]
P, N, M = Space("p"), Space("n"), Space("m")
HALF = Fraction(1, 2)

UNTIED = MatrixModel(
    "untied linear autoencoder",
    (P, N, M),
    (
        GaussianMatrix("V", P, N, variance="sigmaV", trained=True),
        GaussianMatrix("U", N, P, variance="sigmaU", trained=True),
        GaussianMatrix("X", P, M),
    ),
    (
        Loss(
            "train",
            (
                Term(HALF, ("V U X X' U' V'",), (("p", -1), ("m", -1))),
                Term(-1, ("V U X X'",), (("p", -1), ("m", -1))),
                Term(HALF, ("X X'",), (("p", -1), ("m", -1))),
            ),
        ),
        Loss("population", (Term(HALF, ("V U U' V'",), (("p", -1),)), Term(-1, ("V U",), (("p", -1),)), Term(HALF))),
    ),
    train_loss="train",
)


def taylor_derivatives(V: Array, U: Array, X: Array, *, order: int) -> dict[str, Array]:
    """(−1)^s d^sL/d(ηt)^s for given matrices, by Leibniz' rule on the flow with time reversed.

    With E = VU − I that is dV/dt = E S Uᵀ/pm, dU/dt = Vᵀ E S/pm.
    """
    p, m = X.shape[1:]
    S = X @ X.transpose(0, 2, 1)
    v, u = [V], [U]
    e: list[Array] = []
    for k in range(order + 1):
        product = sum((comb(k, i) * (v[i] @ u[k - i]) for i in range(k + 1)), start=np.zeros_like(S))
        e.append(product - (np.eye(p) if k == 0 else 0.0))
        forces = [x @ S for x in e]
        v.append(
            sum((comb(k, i) * forces[i] @ u[k - i].transpose(0, 2, 1) for i in range(k + 1)), start=0 * V) / (p * m)
        )
        u.append(
            sum((comb(k, i) * v[i].transpose(0, 2, 1) @ forces[k - i] for i in range(k + 1)), start=0 * U) / (p * m)
        )
    sums: dict[str, list[Array]] = {"train": [], "population": []}
    for s in range(order + 1):
        terms = [(comb(s, i), e[i], e[s - i]) for i in range(s + 1)]
        sums["population"].append(sum(c * np.einsum("kij,kij->k", a, b) for c, a, b in terms) / (2 * p))
        sums["train"].append(sum(c * np.einsum("kij,kij->k", a, b @ S) for c, a, b in terms) / (2 * p * m))
    return {name: np.array(values) for name, values in sums.items()}


@pytest.mark.parametrize("loss", ["train", "population"])
def test_series_is_enumeration(loss: str) -> None:
    assert composite_plan(UNTIED) is None
    order = 2
    enumerated = tuple(
        pairings.expectation(combination, model=UNTIED) for combination in derivatives(UNTIED, loss, order=order)
    )
    assert expected_derivatives(UNTIED, loss, order=order) == enumerated
    assert str(enumerated[0]).startswith("1/2 p n sigmaV sigmaU")


def test_series_is_monte_carlo() -> None:
    """Within 4 standard errors, which are below 4 % of the value, s ≤ 3; a tied flow (twice the rate) is rejected."""
    p, n, m, draws = 3, 4, 5, 150_000
    sigma = {"sigmaV": Fraction(1, 8), "sigmaU": Fraction(1, 5)}
    generator = np.random.default_rng(replica_seed(3, 0))
    V = generator.standard_normal((draws, p, n)) * float(sigma["sigmaV"]) ** 0.5
    U = generator.standard_normal((draws, n, p)) * float(sigma["sigmaU"]) ** 0.5
    X = generator.standard_normal((draws, p, m))
    measured = taylor_derivatives(V, U, X, order=3)
    for loss in ("train", "population"):
        for s, expected in enumerate(expected_derivatives(UNTIED, loss, order=3)):
            predicted = float(expected.evaluate({"p": p, "n": n, "m": m, **sigma}))
            mean, stderr = float(measured[loss][s].mean()), float(measured[loss][s].std()) / draws**0.5
            assert abs(mean - predicted) <= 4 * stderr, (loss, s)
            assert stderr <= 0.04 * abs(predicted), (loss, s)
            assert s == 0 or abs(mean - 2**s * predicted) > 4 * stderr
