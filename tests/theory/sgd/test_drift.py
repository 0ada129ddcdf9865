"""The drift against one step of SGD itself, drawn with numpy at finite d, for every task and for several laws."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from theory.sgd.compiled import on_arrays
from theory.sgd.drift import Drift
from theory.sgd.expectations import GAUSSIAN, Laws
from theory.sgd.laws import LAWS, Law
from theory.sgd.state import State, full_gram, start_state
from theory.sgd.task import Task
from theory.sgd.tasks import committee, logistic, single_index, xor

Array = NDArray[np.float64]

DIMENSION, BATCH, BATCHES = 300, 4000, 12


def vectors(task: Task, state: State, d: int, rng: np.random.Generator) -> Array:
    """Columns (w_1 … w_K, v_1 … v_r) with the state's Gram matrix, localised entries first, random directions after."""
    local = np.concatenate([state.p, state.s])
    rest = full_gram(task, state) - local @ local.T
    values, basis = np.linalg.eigh(rest)
    frame = np.linalg.qr(rng.normal(size=(d - local.shape[1], len(rest))))[0]
    spread = frame @ (basis * np.sqrt(np.clip(values, 0, None))).T
    return np.concatenate([local.T, spread])


def noise(law: Law, shape: tuple[int, ...], rng: np.random.Generator) -> Array:
    if law.recipe == "gaussian":
        return rng.normal(size=shape)
    if law.recipe == "exponential":
        return rng.exponential(size=shape) - 1
    return rng.choice(law.values, p=law.weights, size=shape)


def one_step(task: Task, state: State, law: Law, rng: np.random.Generator) -> tuple[Array, Array]:
    """(d/δ)·E[change of the statistics in one step], with standard errors, by sampling inputs."""
    K, r = state.M.shape
    X = vectors(task, state, DIMENSION, rng)
    compute = on_arrays(task, [*task.gradients.c, *task.gradients.b])
    means, totals = [], []
    for _ in range(BATCHES):
        k = rng.choice(len(task.components), p=[c.weight for c in task.components], size=BATCH)
        mu = np.array([c.mean for c in task.components])[k] @ X[:, K:].T
        labels = np.array([c.labels for c in task.components]).reshape(len(task.components), -1)[k]
        a = mu + math.sqrt(task.noise) * noise(law, (BATCH, DIMENSION), rng)
        e = math.sqrt(task.label_noise) * rng.normal(size=BATCH)
        F = a @ X
        values = np.array(compute(*F.T, *(b * np.ones(BATCH) for b in state.b), *labels.T, e))
        c, g = values[:K], values[K:]
        h = task.step / DIMENSION
        # The share of ‖a‖² along the k vectors themselves is of order 1/d: it is left off, and the rest scaled up.
        inverse = np.linalg.pinv(X.T @ X, hermitian=True)
        ranks = np.linalg.matrix_rank(X)
        square = ((a**2).sum(axis=1) - np.einsum("nf,fg,ng->n", F, inverse, F)) * DIMENSION / (DIMENSION - ranks)
        steps = []
        for i in range(K):
            steps += [-c[i] * F[:, K + t] - task.ridge * state.M[i, t] for t in range(r)]
        for i in range(K):
            for j in range(i, K):
                # (w_i − h(c_i a + β w_i))·(w_j − h(c_j a + β w_j)) − w_i·w_j, over h, ridge terms of order h dropped
                linear = -c[i] * F[:, j] - c[j] * F[:, i] - 2 * task.ridge * state.Q[i, j]
                steps.append(linear + h * c[i] * c[j] * square)
        if task.train_second:
            steps += [-g[i] - task.ridge * state.b[i] for i in range(len(state.b))]
        else:
            steps += [np.zeros(BATCH)] * len(state.b)
        steps += [-c[i] * a[:, x] - task.ridge * state.p[i, x] for i in range(K) for x in range(state.localised)]
        means.append([step.mean() for step in steps])
        totals.append([step.var() for step in steps])
    return np.mean(means, axis=0), np.sqrt(np.mean(totals, axis=0) / (BATCH * BATCHES))


CASES = [
    (single_index(link="x", label_noise=0.2, step=0.5), {}),
    (single_index(link="tanh(x)", step=1.0, ridge=0.3), {}),
    (committee(students=2, teachers=1, train_second=True, step=1.5), {"Q_1_2": 0.1}),
    (logistic(step=2.0), {"M_1_1": 0.4}),
    (logistic(classes=3, step=2.0), {"M_1_2": 0.2}),
    (xor(students=3, step=4.0), {"b_1": 1.0, "b_2": 0.8, "b_3": -1.0}),
    (xor(students=2, activation="relu", step=2.0), {"Q_1_2": 0.2}),
]


@pytest.mark.parametrize(("task", "start"), CASES, ids=[f"{task.name}-{k}" for k, (task, _) in enumerate(CASES)])
@pytest.mark.parametrize("law", ["gaussian", "exponential"])
def test_drift_is_the_mean_of_one_step(task: Task, start: dict[str, float], law: str) -> None:
    state = start_state(task, start)
    measured, stderr = one_step(task, state, LAWS[law], np.random.default_rng(11))
    predicted = Drift.of(task, level=6)(state).flat()
    # Gaussian: exact at every d. Otherwise the law is felt at order 1/d, since the directions are random.
    allowance = 1e-4 if law == "gaussian" else 3 / DIMENSION * np.abs(predicted).max()
    assert stderr.max() < 0.02 * (1 + np.abs(predicted).max())
    assert np.all(np.abs(measured - predicted) < 4.5 * stderr + allowance)
    no_correction = Drift.of(replace(task, step=0.0), level=6)(state).flat()
    assert np.any(np.abs(measured - no_correction) > 4.5 * stderr + allowance)


LOCALISED = [
    (single_index(link="erf", step=1.0), {"Q_1_1": 2.0, "M_1_1": 0.0, "p_1_1": 1.3}, "rademacher"),
    (single_index(link="erf", step=1.0), {"Q_1_1": 2.0, "M_1_1": 0.5, "p_1_1": 1.2, "s_1_1": 0.6}, "three-point"),
    (logistic(noise=0.5, step=1.0), {"Q_1_1": 3.0, "M_1_1": 0.9, "p_1_1": 1.5, "s_1_1": 0.7}, "exponential"),
    (committee(students=1, teachers=1, step=1.0), {"Q_1_1": 3.0, "p_1_1": 1.0, "p_1_2": -1.2}, "two-point:0.1"),
]


@pytest.mark.parametrize(("task", "start", "law"), LOCALISED, ids=["start", "truth", "mean", "two coordinates"])
def test_localised_coordinates_keep_their_law(task: Task, start: dict[str, float], law: str) -> None:
    state = start_state(task, start)
    measured, stderr = one_step(task, state, LAWS[law], np.random.default_rng(12))
    predicted = Drift.of(task, laws=LAWS[law], level=6)(state).flat()
    allowance = 3 / DIMENSION
    assert stderr.max() < 0.015
    assert np.all(np.abs(measured - predicted) < 4.5 * stderr + allowance)
    gaussian = Drift.of(task, level=4)(state).flat()
    assert np.any(np.abs(measured - gaussian) > 4.5 * stderr + allowance)


@pytest.mark.parametrize("laws", [GAUSSIAN, LAWS["laplace"], LAWS["rademacher"]])
def test_the_law_is_not_read_where_nothing_is_localised(laws: Laws) -> None:
    task = xor(students=2)
    state = start_state(task)
    assert (Drift.of(task, laws=laws)(state).flat() == Drift.of(task)(state).flat()).all()


def test_a_gaussian_localised_coordinate_is_like_any_other() -> None:
    task = single_index(link="tanh(x)")
    spread = start_state(task)
    aligned = start_state(task, {"M_1_1": 0.3, "p_1_1": 0.6, "s_1_1": 0.2})
    drift = Drift.of(task, level=10)
    assert drift(aligned).flat()[:2] == pytest.approx(drift(spread).flat(), abs=1e-7)


def test_components_may_have_laws_of_their_own() -> None:
    task = logistic()
    state = start_state(task, {"p_1_1": 0.7})
    laws = (LAWS["rademacher"], LAWS["exponential"])
    mixed = Drift.of(task, laws=laws)(state).flat()
    apart = [
        Drift.of(replace(task, components=(replace(k, weight=1.0),)), laws=law)(state).flat()
        for k, law in zip(task.components, laws, strict=True)
    ]
    assert mixed == pytest.approx(sum(apart) / 2, abs=1e-12)
