"""Saad and Solla's closed form against quadrature, and which losses it is recognised in."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import sympy

from theory.sgd.drift import Drift, expected_loss
from theory.sgd.erf_committee import erf_drift, erf_loss, recognise
from theory.sgd.laws import LAWS
from theory.sgd.ode import effective_ode
from theory.sgd.state import State, start_state
from theory.sgd.task import Task, symbols
from theory.sgd.tasks import committee, logistic, single_index


def random_state(task: Task, rng: np.random.Generator, *, localised: int = 0) -> State:
    """Statistics of random vectors of length 1 or so."""
    K, r = len(task.z), len(task.u)
    truths = np.linalg.qr(rng.normal(size=(12, r)))[0]
    W = rng.normal(size=(12, K)) / np.sqrt(12) + truths @ rng.normal(size=(r, K)) * 0.3
    return State(
        W.T @ truths, W.T @ W, rng.normal(size=len(task.b)), W[:localised].T.copy(), truths[:localised].T.copy()
    )


CASES = [
    (committee(students=1, teachers=1), 0, 14, 1e-9),
    (committee(students=2, teachers=1, train_second=True, label_noise=0.3, ridge=0.2, step=0.7), 0, 14, 1e-8),
    (committee(students=1, teachers=2, step=2.0, label_noise=0.1), 1, 6, 2e-4),
    (committee(students=2, teachers=2, train_second=True), 0, 12, 1e-5),
    (single_index(link="erf", label_noise=0.2, step=0.5), 0, 16, 1e-9),
    (replace(committee(students=2, teachers=1), noise=0.6), 0, 14, 1e-9),
]


@pytest.mark.parametrize(("task", "localised", "level", "tolerance"), CASES, ids=range(len(CASES)))
def test_closed_form_is_the_quadrature(task: Task, localised: int, level: int, tolerance: float) -> None:
    form = recognise(task)
    assert form is not None
    for seed in range(2):
        state = random_state(task, np.random.default_rng(seed), localised=localised)
        exact = erf_drift(task, form, state, state.flat())
        assert Drift.of(task, level=level)(state).flat() == pytest.approx(exact, rel=tolerance, abs=tolerance)


def test_the_expected_loss_is_the_quadratures() -> None:
    """A law of its own on a coordinate where every entry is 0 changes nothing but the route."""
    task = committee(students=2, teachers=1, label_noise=0.3, ridge=0.1, train_second=True)
    state = random_state(task, np.random.default_rng(6))
    idle = replace(state, p=np.zeros((2, 1)), s=np.zeros((1, 1)))
    by_quadrature = expected_loss(task, idle, laws=LAWS["rademacher"], level=12)
    assert expected_loss(task, state) == pytest.approx(by_quadrature, abs=1e-7)


def test_many_units_need_no_quadrature() -> None:
    curve = effective_ode(committee(students=16, teachers=16, step=0.2), [0, 1])
    assert curve.method == "closed form"
    assert curve.error.max() < 1e-5


def test_closed_form_is_the_quasi_monte_carlo() -> None:
    """Six fields: the third route, good to its own error."""
    task = committee(students=4, teachers=2, step=1.0)
    form, state = recognise(task), random_state(committee(students=4), np.random.default_rng(5))
    assert form is not None
    drift = Drift.of(task, level=6)
    assert drift.quadrature.rule(6).method == "quasi-Monte Carlo"
    error = np.abs(drift(state).flat() - erf_drift(task, form, state, state.flat())).max()
    assert 1e-9 < error < 3e-4


def test_what_is_no_erf_committee() -> None:
    z, u, b = symbols("z", 2), symbols("u", 1), symbols("b", 2)
    g = [sympy.erf(x / sympy.sqrt(2)) for x in (*z, *u)]
    task = committee(students=2, teachers=1)
    for loss in (
        (b[0] * g[0] + b[1] * g[1] - g[2]) ** 4,
        (b[0] * b[1] * g[0] - g[2]) ** 2,
        (b[0] * g[0] + b[1] * g[1] - u[0]) ** 2,
        (b[0] * sympy.erf(z[0] ** 2) + b[1] * g[1] - g[2]) ** 2,
        (b[0] * sympy.erf(z[0] - 1) + b[1] * g[1] - g[2]) ** 2,
        (b[0] * g[0] + b[1] * g[1] - g[2] + b[0] * b[1]) ** 2,
    ):
        assert recognise(replace(task, loss=loss)) is None
    assert recognise(replace(task, label_noise=0.1, loss=(b[0] * g[0] + b[1] * g[1] - g[2]) ** 2)) is None
    assert recognise(logistic()) is None
    swapped = recognise(replace(task, loss=3 * (b[1] * g[0] + b[0] * g[1] - 2 * g[2]) ** 2))
    assert swapped is not None
    assert dict(zip(swapped.field.tolist(), swapped.second.tolist(), strict=True)) == {0: 1, 1: 0, 2: -1}
    assert swapped.scale == 6.0


@pytest.mark.parametrize(
    "loss",
    [
        "(b1*erf(z1) - 2*b2*tanh(z2/2) - erf(u1/2) + b1/3 - 1/5)**2",
        "(b1*tanh(z1) + b1*tanh(2*z1)/3 + b2*tanh(z2) - tanh(u1))**2/2",
    ],
)
def test_other_sigmoids_are_the_quadrature(loss: str) -> None:
    """Slopes, factors, constants, and tanh by its mixture of slopes, whose own error is 1e-6."""
    names = {str(x): x for x in (*symbols("z", 2), *symbols("u", 1), *symbols("b", 2))}
    task = replace(
        committee(students=2, teachers=1, train_second=True, ridge=0.1, step=0.7), loss=sympy.sympify(loss, names)
    )
    form = recognise(task)
    assert form is not None
    state = random_state(task, np.random.default_rng(4))
    exact = Drift.of(task, level=14)(state).flat()
    assert erf_drift(task, form, state, state.flat()) == pytest.approx(exact, abs=3e-6)
    assert erf_loss(task, form, state) == pytest.approx(
        expected_loss(task, state, level=14) - ridge(task, state), abs=3e-6
    )


def ridge(task: Task, state: State) -> float:
    """What the ridge adds to the expected loss."""
    return task.ridge / 2 * float(np.trace(state.Q) + state.b @ state.b)


def test_second_layer_weights_follow_their_own_unit() -> None:
    z, u, b = symbols("z", 2), symbols("u", 1), symbols("b", 2)
    g = [sympy.erf(x / sympy.sqrt(2)) for x in (*z, *u)]
    task = replace(
        committee(students=2, teachers=1, train_second=True), loss=3 * (b[1] * g[0] + b[0] * g[1] - 2 * g[2]) ** 2
    )
    form, state = recognise(task), start_state(task, {"b_1": 0.4, "b_2": -0.7, "Q_1_2": 0.1})
    assert form is not None
    assert Drift.of(task, level=12)(state).flat() == pytest.approx(erf_drift(task, form, state, state.flat()), abs=1e-7)
