"""Fluctuations at a fixed point: exact enumeration at small d, solvable diffusions, the linear algebra."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from theory.errors import InputError, ReachError
from theory.sgd.compiled import on_arrays
from theory.sgd.drift import Drift
from theory.sgd.fluctuations import Fluctuations, fixed_point, fluctuations, moving_statistics, step_covariance
from theory.sgd.laws import LAWS, Law, two_point_law
from theory.sgd.state import State, start_state
from theory.sgd.task import Component, Task
from theory.sgd.tasks import committee, logistic, single_index, xor
from theory.sgd.third_order import Shape, field_shape, third_order_shift

Array = NDArray[np.float64]
EVEN = Shape(np.ones(1), np.ones((1, 1, 1)))


def test_the_solvable_example() -> None:
    """[U]: y = He_2(u), loss −y w·a + |w|²/2, v = (1, …, 1)/√d: dx = (κ_3 − x) dt + √(10 δ) dB for x = √d M."""
    task = single_index(loss="correlation", ridge=1.0, step=0.4)
    point = fixed_point(task)
    for name, kappa3 in (("gaussian", 0.0), ("exponential", 2.0), ("rademacher", 0.0), ("two-point:0.1", 8 / 3)):
        limit = fluctuations(task, point, laws=LAWS[name], truths=EVEN)
        M = limit.names.index("M_1_1")
        assert limit.jacobian[M] == pytest.approx([-1, 0], abs=1e-8)
        assert limit.shift[M] == pytest.approx(kappa3, abs=1e-9)
        assert limit.volatility[M, M] == pytest.approx(10 * 0.4, abs=1e-9)
        assert limit.stationary_mean()[M] == pytest.approx(kappa3, abs=1e-8)
        assert limit.stationary_covariance()[M, M] == pytest.approx(5 * 0.4, abs=1e-8)
        t = 0.7
        assert limit.mean(t)[M] == pytest.approx(kappa3 * (1 - math.exp(-t)), abs=1e-8)
        assert limit.covariance(t)[M, M] == pytest.approx(5 * 0.4 * (1 - math.exp(-2 * t)), abs=1e-8)


def test_an_aligned_truth_changes_the_volatility() -> None:
    """v = e_1, law {0, ±√3}: u² is 0 or 3, so E[(u² − 1)² u²] = (1/3)·4·3 = 4 instead of 10."""
    task = single_index(loss="correlation", ridge=1.0, step=0.4)
    state = start_state(task, {"M_1_1": 0.0, "Q_1_1": 0.4, "s_1_1": 1.0})
    drift = Drift.of(task, laws=LAWS["three-point"])
    assert drift(state).flat() == pytest.approx(0, abs=1e-12)
    assert step_covariance(drift, state)[0, 0] == pytest.approx(0.4 * 4, abs=1e-9)
    assert step_covariance(Drift.of(task), state)[0, 0] == pytest.approx(0.4 * 10, abs=1e-9)


def enumerated(task: Task, state: State, W: Array, V: Array, rho: float) -> Array:
    """The drift at finite d for the two-point law, exactly, over all 2^d inputs: −E[c_i u_α] …, as ``State.flat``."""
    d, K = W.shape
    law = two_point_law(rho)
    bits = np.array(list(itertools.product((0, 1), repeat=d)))
    x = math.sqrt(task.noise) * np.array(law.values)[bits]
    weight = np.prod(np.array(law.weights)[bits], axis=1)
    compute = on_arrays(task, [*task.gradients.c, *task.gradients.b])
    total = np.zeros(len(state.flat()))
    for component in task.components:
        a = x + V @ np.array(component.mean)
        z, u = a @ W, a @ V
        ones = np.ones(len(a))
        values = compute(*z.T, *u.T, *(b * ones for b in state.b), *(y * ones for y in component.labels), 0 * ones)
        c, g = values[:K], values[K:]
        square = (a**2).sum(axis=1) / d
        h = [-c[i] * u[:, t] for i in range(K) for t in range(V.shape[1])]
        h += [
            -c[i] * z[:, j] - c[j] * z[:, i] + task.step * c[i] * c[j] * square for i in range(K) for j in range(i, K)
        ]
        h += [-value for value in g] if task.train_second else [0 * ones] * len(state.b)
        total += component.weight * np.array([weight @ change for change in h])
    return total


@pytest.mark.parametrize(
    ("task", "students"),
    [
        (single_index(link="x**2 + x", step=0.8), 1),
        (single_index(link="softplus", step=2.0), 1),
        (committee(teachers=1, activation="softplus", step=1.0, train_second=True), 2),
        (replace(logistic(step=3.0, noise=0.6, ridge=0.0), components=(Component(1.0, (0.8,), (1.0,)),)), 1),
        (replace(committee(teachers=1, activation="softplus", step=3.0), noise=0.5), 2),
    ],
    ids=["polynomial", "softplus", "committee", "cloud", "noise"],
)
def test_third_cumulants_shift_the_drift_as_enumeration_says(task: Task, students: int) -> None:
    """At d = 16, within an eighth: what is odd in κ_3 is the shift over √d, and a remainder 1/d times as large."""
    d, rho = 16, 0.35
    v = np.full((d, 1), 1 / math.sqrt(d))
    tilt = np.where(np.arange(d) % 4 == 0, 1.5, 0.4)
    columns = [0.5 * v[:, 0] + 0.5 * tilt / math.sqrt(d), 0.3 * tilt[::-1] / math.sqrt(d)]
    W = np.column_stack(columns[:students])
    state = State(W.T @ v, W.T @ W, np.ones(len(task.b)), np.zeros((students, 0)), np.zeros((1, 0)))
    law, mirrored = two_point_law(rho), two_point_law(1 - rho)
    assert mirrored.kappa3 == pytest.approx(-law.kappa3)
    # The mirrored law has −κ_3 and the same even cumulants: half the difference is what is odd.
    measured = math.sqrt(d) / 2 * (enumerated(task, state, W, v, rho) - enumerated(task, state, W, v, 1 - rho))
    predicted = _shift_of_vectors(task, state, law, np.column_stack([W, v]))
    assert np.abs(predicted).max() > 0.04
    assert measured == pytest.approx(predicted, abs=0.125 * np.abs(predicted).max())


def _shift_of_vectors(task: Task, state: State, law: Law, X: Array) -> Array:
    """The shift for given vectors: their own third-order sums in place of the long-run ones."""
    import theory.sgd.third_order as module

    own = Shape.of(X)
    patch = pytest.MonkeyPatch()
    with patch.context() as context:
        context.setattr(module, "field_shape", lambda *_: own)
        return third_order_shift(Drift.of(task, laws=law, level=8), state, EVEN).flat()


def test_the_long_runs_shape_of_fields() -> None:
    """Parameters that are a combination of truths plus spread noise: third-order sums of such vectors, averaged."""
    task = committee(students=2, teachers=2)
    rng = np.random.default_rng(0)
    d, draws = 2000, 400
    V = np.column_stack([np.ones(d), np.where(np.arange(d) < d // 2, 1.5, -0.5)])
    V = np.linalg.qr(V)[0] * [-1, 1]
    A = np.array([[0.7, -0.4], [0.2, 0.5]])
    spread = np.linalg.cholesky(np.array([[0.5, 0.2], [0.2, 0.3]]))
    total: Array = np.zeros((4, 4, 4))
    for _ in range(draws):
        W = V @ A.T + rng.normal(size=(d, 2)) @ spread.T / math.sqrt(d)
        total += Shape.of(np.column_stack([W, V])).third / draws
    state = State(A, A @ A.T + spread @ spread.T, np.ones(2), np.zeros((2, 0)), np.zeros((2, 0)))
    predicted = field_shape(task, state, Shape.of(V)).third
    assert np.abs(predicted).max() > 1
    assert total == pytest.approx(predicted, abs=0.02)


def test_a_random_truth_sees_no_third_cumulant() -> None:
    task = single_index(loss="correlation", ridge=1.0)
    limit = fluctuations(task, fixed_point(task), laws=LAWS["exponential"])
    assert limit.shift == pytest.approx(0, abs=1e-12)


def test_fluctuations_of_linear_regression() -> None:
    """Loss (z − u − e)²: everything in closed form. Var of h_M = 4E[(ru)²] with r = z − u − e, R = E r²."""
    delta, s2 = 0.3, 0.5
    task = single_index(link="x", step=delta, label_noise=s2)
    point = fixed_point(task)
    R = delta * s2 / (1 - delta) + s2  # E r², the fixed point of Q − 2M + 1, plus the noise
    assert point.named() == pytest.approx({"M_1_1": 1.0, "Q_1_1": R - s2 + 1}, abs=1e-8)
    limit = fluctuations(task, point, laws=LAWS["laplace"])
    # Ṁ = 2 − 2M;  Q̇ = −4(Q − M) + 4δ(Q − 2M + 1 + s2)
    assert limit.jacobian == pytest.approx(np.array([[-2, 0], [4 - 8 * delta, -4 + 4 * delta]]), abs=1e-6)
    # r and u are uncorrelated at the fixed point: E[4 r²u²] = 4R, mean 0.
    assert limit.volatility[0, 0] == pytest.approx(4 * delta * R, abs=1e-8)
    # h_Q = 4rz − 4δr²; z = u + (r + e); moments of r, e: E r⁴ = 3R², E r²(r+e)² etc.
    q = R - s2
    Erz = q  # E[r z], z = u + ζ, ζ = r + e of variance q, independent of u and e
    second = 16 * (R * (1 + q) + 2 * q**2) - 32 * delta * 3 * R * Erz + 16 * delta**2 * 3 * R**2
    mean = 4 * Erz - 4 * delta * R
    assert limit.volatility[1, 1] == pytest.approx(delta * (second - mean**2), abs=1e-7)


@pytest.mark.parametrize(
    "task",
    [logistic(step=1.0), committee(students=1, teachers=1, label_noise=0.3, step=0.5, train_second=True, ridge=0.05)],
    ids=["logistic", "committee"],
)
def test_volatility_against_sampling(task: Task) -> None:
    """δ Cov(h) from a million draws of the fields."""
    point = fixed_point(task)
    limit = fluctuations(task, point, level=8)
    rng = np.random.default_rng(1)
    n, K = 10**6, 1
    gram = np.block([[point.Q, point.M], [point.M.T, np.eye(1)]])
    k = rng.integers(len(task.components), size=n)
    mean = np.array([c.mean for c in task.components])[k] @ gram[K:]
    F = mean + math.sqrt(task.noise) * rng.normal(size=(n, 2)) @ np.linalg.cholesky(gram).T
    labels = np.array([c.labels for c in task.components]).reshape(len(task.components), -1)[k]
    e = math.sqrt(task.label_noise) * rng.normal(size=n)
    b = point.b[:, None] * np.ones(n)
    c, *g = on_arrays(task, [*task.gradients.c, *task.gradients.b])(*F.T, *b, *labels.T, e)
    z, u = F.T
    h = np.array([c * u, 2 * c * z - task.step * task.noise * c * c, *g])
    measured = task.step * np.cov(h)
    assert limit.volatility == pytest.approx(measured, rel=0.02, abs=0.005 * np.abs(measured).max())
    assert np.linalg.eigvals(limit.jacobian).real.max() < 0


def test_the_linear_algebra_of_the_diffusion() -> None:
    task = committee(students=1, teachers=2, label_noise=0.2, step=0.5, train_second=True, ridge=0.02)
    limit = fluctuations(task, fixed_point(task))
    assert limit.names == ("M_1_1", "M_1_2", "Q_1_1", "b_1")
    J, S = limit.jacobian, limit.volatility
    C = limit.stationary_covariance()
    assert np.abs(J @ C + C @ J.T + S).max() < 1e-9
    assert limit.covariance(400.0) == pytest.approx(C, abs=1e-6)
    h = 1e-4
    slope = (limit.covariance(1 + h) - limit.covariance(1 - h)) / (2 * h)
    assert slope == pytest.approx(J @ limit.covariance(1.0) + limit.covariance(1.0) @ J.T + S, abs=1e-6)
    assert np.linalg.eigvalsh(S).min() > -1e-10


def test_an_unstable_point_has_no_stationary_law() -> None:
    point = start_state(single_index(), {"M_1_1": 0.0, "Q_1_1": 0.0})
    growing = Fluctuations(("M_1_1",), point, np.array([[0.2]]), np.array([[1.0]]), np.array([0.0]))
    assert growing.covariance(1.0)[0, 0] == pytest.approx((math.exp(0.4) - 1) / 0.4)
    with pytest.raises(ReachError, match="finite time"):
        growing.stationary_covariance()


def test_a_frozen_second_layer_does_not_fluctuate() -> None:
    task = committee(students=1, teachers=1, label_noise=0.2)
    assert moving_statistics(task, start_state(task)) == [0, 1]


def test_refusals() -> None:
    kinked = xor(students=1, activation="relu")
    with pytest.raises(InputError, match="smooth"):
        fluctuations(kinked, start_state(kinked))
    with pytest.raises(InputError, match="kink"):
        third_order_shift(Drift.of(kinked, laws=LAWS["exponential"]), start_state(kinked), Shape.generic(2))
    task = logistic()
    with pytest.raises(InputError, match="drift of 0"):
        fluctuations(task, start_state(task, {"M_1_1": 0.5, "Q_1_1": 1.0}))
    recovery = single_index(link="x")
    with pytest.raises(InputError, match="linearly independent"):
        fluctuations(recovery, start_state(recovery, {"M_1_1": 1.0, "Q_1_1": 1.0}))
