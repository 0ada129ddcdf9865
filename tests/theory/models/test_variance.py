"""The variance of a loss along the flow: against enumeration of pairings, and against simulated gradient flow."""

from __future__ import annotations

import json
from fractions import Fraction

import numpy as np
import pytest

from regimes.derive import derive
from theory.autoencoder.model import AUTOENCODER
from theory.engine import pairings
from theory.engine.derivatives import derivatives
from theory.engine.laurent import Laurent
from theory.engine.model import Combination, GaussianMatrix, Loss, MatrixModel, Space, Term
from theory.engine.variance import variance_derivatives
from theory.errors import BudgetError, InputError, ReachError
from theory.models.model import Model
from theory.models.variance import VarianceSeries, predicted_error, variance_series

P, N = Space("p"), Space("n")


def times(left: Combination, right: Combination) -> Combination:
    total: Combination = {}
    for a, x in left.items():
        for b, y in right.items():
            rings = tuple(sorted(a + b))
            total[rings] = total.get(rings, x * 0) + x * y
    return total


def by_enumeration(model: MatrixModel, loss: str) -> tuple[Laurent, Laurent]:
    """V_0 and V_1 from all pairings, connected or not, constants of the loss included."""
    zero, one = derivatives(model, loss, order=1)

    def mean(combination: Combination) -> Laurent:
        return pairings.expectation(combination, model=model)

    return mean(times(zero, zero)) - mean(zero) ** 2, 2 * (mean(times(zero, one)) - mean(zero) * mean(one))


def quartic(coefficient: Fraction) -> MatrixModel:
    """One Gram letter, a constant, and a coefficient of many digits."""
    loss = Loss("train", (Term(coefficient, ("U' U",)), Term(1, ("U' U U' U",)), Term(7)))
    u = GaussianMatrix("U", N, P, variance=Fraction(2, 3), trained=True, rate="g")
    return MatrixModel("quartic", (P, N), (u,), (loss,), train_loss="train")


@pytest.mark.parametrize("coefficient", [Fraction(-3), Fraction(123456789123456789, 10**9), Fraction(1, 10**30)])
def test_packed_words_against_enumeration(coefficient: Fraction) -> None:
    model = quartic(coefficient)
    assert variance_derivatives(model, "train", order=1) == by_enumeration(model, "train")


def test_letters_against_enumeration() -> None:
    """Untied factors, whose rings are not tiled by Gram letters, and a loss with a product of traces."""
    model = Model.named("untied").rings
    assert variance_derivatives(model, "population", order=1)[0] == by_enumeration(model, "population")[0]
    loss = Loss("train", (Term(1, ("U' U", "U' U")), Term(Fraction(1, 2), ("U' U",))))
    squared = MatrixModel("squared", (P, N), (GaussianMatrix("U", N, P, trained=True),), (loss,), train_loss="train")
    assert variance_derivatives(squared, "train", order=1) == by_enumeration(squared, "train")


def test_connected_pairings_lose_two_sizes() -> None:
    weights = {"p": 1, "n": 1, "m": 1, "sigma2": -1}
    for s, v in enumerate(variance_derivatives(AUTOENCODER, "train", order=3)):
        assert v.degree(weights) == -2 - s


def flow(replicas: int, end: float, steps: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Both losses at time ``end`` of the autoencoder at p, n, m = 6, 4, 8, σ² = 1/12: fourth-order Runge–Kutta."""
    p, n, m = 6, 4, 8
    rng = np.random.default_rng(seed)
    U = rng.normal(size=(replicas, n, p)) / 12**0.5
    X = rng.normal(size=(replicas, p, m))
    S = X @ X.transpose(0, 2, 1)

    def slope(U: np.ndarray) -> np.ndarray:
        M = U.transpose(0, 2, 1) @ U
        return -U @ (M @ S + S @ M - 2 * S) / (p * m)

    h = end / steps
    for _ in range(steps):
        a = slope(U)
        b = slope(U + h / 2 * a)
        c = slope(U + h / 2 * b)
        U = U + h / 6 * (a + 2 * b + 2 * c + slope(U + h * c))
    R = np.eye(p) - U.transpose(0, 2, 1) @ U
    return np.sum((R @ X) ** 2, axis=(1, 2)) / (2 * p * m), np.sum(R**2, axis=(1, 2)) / (2 * p)


def test_predicted_standard_errors_are_those_of_simulations() -> None:
    sizes = {"p": 6, "n": 4, "m": 8, "sigma2": Fraction(1, 12)}
    replicas, end = 40_000, 0.2
    measured = dict(zip(("train", "population"), flow(replicas, end, 8, seed=7), strict=True))
    at_start = dict(zip(measured, flow(replicas, 0.0, 1, seed=7), strict=True))
    for loss, values in measured.items():
        series = variance_series(Model.named("autoencoder"), loss, order=4)
        predicted = predicted_error(series, sizes, [end], replicas=replicas)
        centred = values - values.mean()
        variance = float((centred**2).mean())
        error = float((centred**2).std()) / replicas**0.5  # of the variance
        assert error < 0.05 * variance
        found = predicted.stderr[0] ** 2 * replicas
        assert abs(found - variance) <= 4 * error + 2 * predicted.error_estimate[0] / predicted.stderr[0] * variance
        assert predicted.error_estimate[0] < 0.02 * predicted.stderr[0]
        assert abs(variance - float(np.var(at_start[loss]))) > 6 * error  # the variance at time 0 would not do


def test_beyond_the_reach_is_refused() -> None:
    series = variance_series(Model.named("autoencoder"), "train", order=3)
    sizes = {"p": 3, "n": 2, "m": 4, "sigma2": Fraction(1, 4)}
    with pytest.raises(ReachError, match="good up to t = 0"):
        predicted_error(series, sizes, [0, 100], replicas=4)
    with pytest.raises(BudgetError, match="order 30 of the variance of train"):
        variance_series(Model.named("autoencoder"), "train", order=30)
    with pytest.raises(InputError, match="replicas"):
        predicted_error(series, sizes, [0], replicas=0)


def test_the_verb_and_its_forms() -> None:
    series = derive("population", order=1, moment=2)
    assert isinstance(series, VarianceSeries)
    exact = variance_derivatives(AUTOENCODER, "population", order=1)
    pm = Laurent.monomial({"p": 1, "m": 1}, AUTOENCODER.variables)
    assert series.coefficients == (exact[0], pm * exact[1])
    record = json.loads(json.dumps(series.to_json()))
    assert record["moment"] == 2
    assert record["coefficients"][0]["terms"][0] == {"p": 1, "n": 1, "m": 0, "sigma2": 4, "c": "2"}
    assert series.to_latex().startswith(r"\begin{align*}")
    assert "Var L" in series.to_text()
    leading = derive("population", order=1, moment=2, face="mean-field")
    assert str(leading.coefficients[0]) == "2 p^-1 n^3 sigma2^4 - 4 p^-1 n^2 sigma2^3 + 2 p^-1 n sigma2^2"
    planar = derive("population", order=1, moment=2, planar=True)
    assert planar.coefficients[0] == exact[0].leading({"p": 1, "n": 1, "m": 1, "sigma2": -1})
    with pytest.raises(InputError, match="moment"):
        derive("population", order=1, moment=3)
    with pytest.raises(InputError, match="loss"):
        derive("nothing", order=1, moment=2)


def test_models_that_are_no_rings() -> None:
    """By hand: L = Σ a_h⁴/4 has Var L = n(105 − 9)s⁴/16, and dL/dt = −Σ a_h⁶, so that −d Var L/dt = 450 n s⁵."""
    neurons = {"a": {"indices": ["n"], "variance": "s2", "trained": True}}
    quartic_sum = Model.declare("fourth", sizes=["n"], tensors=neurons, losses={"train": "sum[h](a[h]^4) / 4"})
    found = variance_series(quartic_sum, "train", order=1)
    assert [str(v) for v in found.coefficients] == ["6 n s2^4", "450 n s2^5"]
    assert found.leading() == found


def test_a_fresh_input_is_averaged_before_the_loss_is_squared() -> None:
    """By hand: L = E_x (w·x)²/2 = v|w|²/2 has variance v² p s²/2, and decays at the rate 2v."""
    tensors = {
        "w": {"indices": ["p"], "variance": "s2", "trained": True},
        "x": {"indices": ["p"], "variance": "v", "average": True},
    }
    model = Model.declare("probe", sizes=["p"], tensors=tensors, losses={"train": "(w[i] x[i])^2 / 2"})
    found = derive("train", order=2, model=model, moment=2)
    assert [str(v) for v in found.coefficients] == ["1/2 p s2^2 v^2", "2 p s2^2 v^3", "8 p s2^2 v^4"]


def test_a_symmetric_matrix_and_its_covariance() -> None:
    """By hand: Var Tr S of a symmetric matrix with variances v and 2v is 2pv; Var Tr X'X of X = C^½Z is 2 n p c_2."""
    symmetric = {"S": {"indices": ["p", "p"], "variance": "v", "kind": "symmetric", "trained": True}}
    model = Model.declare("trace", sizes=["p"], tensors=symmetric, losses={"train": "tr(S) + 3"})
    assert [str(v) for v in variance_series(model, "train", order=1).coefficients] == ["2 p v", "0"]
    coloured = {"X": {"indices": ["p", "n"], "covariance": "C"}}
    model = Model.declare("data", sizes=["p", "n"], tensors=coloured, losses={"train": "norm2(X)"})
    assert [str(v) for v in variance_series(model, "train", order=0).coefficients] == ["2 p n c_2"]
