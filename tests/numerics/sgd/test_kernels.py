"""The compiled loops against plain numpy: the same inputs, the same numbers; other inputs, the same law."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import sympy
from scipy import stats

from numerics.kernels.normals import stream
from numerics.runs.machine import Machine
from numerics.runs.seeds import replica_seed
from numerics.sgd.full import advance
from numerics.sgd.gradient import gradient_kernel
from numerics.sgd.noise import recipes
from numerics.sgd.reduced import fill_chi_square
from numerics.sgd.simulate import simulate_sgd
from numerics.sgd.vectors import vectors
from theory.sgd.laws import own_law
from theory.sgd.state import start_state
from theory.sgd.task import TIME, Task
from theory.sgd.tasks import committee, logistic, single_index, xor

_TASKS = {
    "single-index": single_index(link="tanh", step=0.3, label_noise=0.2),
    "committee": committee(students=3, teachers=2, train_second=True, ridge=0.1, label_noise=0.1),
    "logistic": logistic(noise=0.7),
    "three classes": logistic(classes=3),
    "xor": xor(),
    "xor with kinks": xor(activation="relu"),
}


def plain_sgd(
    task: Task,
    inputs: np.ndarray,
    components: np.ndarray,
    errors: np.ndarray,
    W: np.ndarray,
    V: np.ndarray,
    b: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:
    """One step a batch, written from the definition, gradients from SymPy's own numerics."""
    W, b, d = W.copy(), b.copy(), W.shape[1]
    compute = sympy.lambdify(task.arguments, [*task.gradients.c, *task.gradients.b], modules=["scipy", "numpy"])
    K, moving, size = len(W), len(task.gradients.b), task.batch
    for n in range(len(inputs) // size):
        rate = task.step / d * float(sympy.sympify(task.schedule or 1).subs(TIME, n * task.step / d))
        of_w, of_b = np.zeros_like(W), np.zeros(moving)
        for x, k, e in zip(*(part[n * size : (n + 1) * size] for part in (inputs, components, errors)), strict=True):
            component = task.components[k]
            a = np.sqrt(task.noise) * x + np.array(component.mean) @ V
            gradient = np.array(compute(*(W @ a), *(V @ a), *b, *component.labels, e), dtype=float)
            of_w += np.outer(gradient[:K], a) / size
            of_b += gradient[K:] / size
        W -= rate * (of_w + task.ridge * W)
        b[:moving] -= rate * (of_b + task.ridge * b[:moving])
    return W, b


@pytest.mark.parametrize("name", _TASKS)
@pytest.mark.parametrize("d", [60, 64])
@pytest.mark.parametrize("batch", [1, 3])
def test_full_loop_is_plain_sgd(name: str, d: int, batch: int) -> None:
    """Own inputs, coordinates of different size, batches and a step that falls: against a loop in numpy."""
    task = replace(_TASKS[name], batch=batch, schedule=1 / (1 + TIME))
    generator = np.random.default_rng(3)
    start = start_state(task)
    W, V = vectors(task, start, d, spread="random", generator=generator)
    steps = 150
    inputs, errors = generator.laplace(size=(steps, d)), generator.standard_normal(steps)
    components = generator.integers(len(task.components), size=steps)
    deviations = np.linspace(0.5, 1.5, d)
    expected, expected_b = plain_sgd(task, inputs * deviations, components, errors, W, V, start.b)

    width = 64
    padded, fixed = (np.ascontiguousarray(np.pad(rows, ((0, 0), (0, width - d)))) for rows in (W, V))
    means = np.array([component.mean for component in task.components]) @ fixed
    labels = np.array([component.labels for component in task.components], dtype=float)
    own = recipes([own_law("own", mean=0, variance=1, kappa3=0, kappa4=3, sampler=lambda g, s: g.laplace(size=s))])
    second = start.b.copy()
    advance(
        gradient_kernel(task),
        np.repeat(own.kinds, len(task.components)),
        np.zeros(len(task.components)),
        np.zeros((len(task.components), 1)),
        np.zeros((len(task.components), 1)),
        stream(replica_seed(0, 0)),
        inputs,
        d,
        float(np.sqrt(task.noise)),
        np.ascontiguousarray(means) if means.any() else np.zeros((0, width)),
        labels.reshape(len(task.components), -1),
        components,
        errors,
        task.step / d * task.pace(task.step / d * np.arange(steps // batch)),
        task.ridge,
        batch,
        deviations,
        padded,
        fixed,
        second,
        len(task.gradients.b),
    )
    np.testing.assert_allclose(padded[:, :d], expected, rtol=1e-9, atol=1e-12)
    np.testing.assert_array_equal(padded[:, d:], 0.0)
    np.testing.assert_allclose(second, expected_b, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("degrees", [1, 2, 3, 17, 996])
def test_chi_square(degrees: int) -> None:
    x = np.empty(2**16)
    fill_chi_square(stream(replica_seed(8, degrees)), degrees, x)
    assert stats.kstest(x, stats.chi2(degrees).cdf).pvalue > 1e-3
    assert abs(x.mean() - degrees) < 4.5 * np.sqrt(2 * degrees / len(x))


_STARTS: dict[str, dict[str, float]] = {
    "committee": {},
    "logistic": {},
    "xor": {},
    "localised": {"M_1_1": 0.3, "Q_1_1": 0.6, "p_1_1": 0.7, "s_1_1": 0.5},
    "aligned": {"M_1_1": 0.4, "Q_1_1": 0.5, "p_1_1": 0.4, "s_1_1": 1.0},
}


@pytest.mark.parametrize("name", _STARTS)
def test_reduced_chain_has_the_law_of_the_full_loop(name: str) -> None:
    """In dimension 9 the squared norm's chi-square matters much; a chain for d = 10 is told apart."""
    task = _TASKS.get(name, single_index(link="tanh", step=0.5, ridge=0.05))
    if name == "xor":
        task = xor(students=3, noise=0.8)
    start = start_state(task, _STARTS[name])
    times, replicas = [0.0, 4.0], 1000
    full, reduced = (
        simulate_sgd(
            task, times, d=9, replicas=replicas, seed=seed, start=start, method=method, machine=Machine(workers=2)
        )
        for seed, method in ((1, "full"), (2, "reduced"))
    )
    np.testing.assert_allclose(full.values[:, 0], reduced.values[:, 0], atol=1e-12)
    for k, statistic in enumerate(full.names):
        one, other = full.values[:, 1, k], reduced.values[:, 1, k]
        if np.ptp(one) > 0:
            assert stats.ks_2samp(one, other).pvalue > 1e-4, statistic
        assert abs(one.mean() - other.mean()) <= 4.5 * np.hypot(one.std(), other.std()) / np.sqrt(replicas) + 1e-12


def test_the_comparison_would_see_one_degree_of_freedom() -> None:
    task = logistic(step=3.0, ridge=0.0)
    full = simulate_sgd(task, [4.0], d=9, replicas=1000, seed=1, method="full", machine=Machine(workers=2)).values[
        :, 0, 1
    ]
    wrong = simulate_sgd(replace(task, step=3.0 * 10 / 9), [4.0], d=10, replicas=1000, seed=2).values[:, 0, 1]
    assert stats.ks_2samp(full, wrong).pvalue < 1e-4
