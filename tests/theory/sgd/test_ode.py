"""The ODE: solvable cases, fixed points known exactly, invariants, degenerate starts, honest errors, refusals."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest

from theory.errors import InputError, ReachError
from theory.sgd.drift import Drift, expected_loss
from theory.sgd.expectations import Laws
from theory.sgd.fluctuations import fixed_point
from theory.sgd.laws import LAWS, law
from theory.sgd.ode import effective_ode
from theory.sgd.stability import largest_step
from theory.sgd.state import full_gram, start_state
from theory.sgd.task import Task
from theory.sgd.tasks import build_task, committee, logistic, single_index, xor

TIMES = np.linspace(0, 8, 9)


@pytest.mark.parametrize("step", [0.0, 0.3, 0.9])
@pytest.mark.parametrize("label_noise", [0.0, 0.5])
def test_linear_regression_is_solved(step: float, label_noise: float) -> None:
    """Loss (z − u − e)²: M = 1 − (1 − M_0)e^{−2t}, and R = Q − 2M + 1 obeys Ṙ = −4R + 4δ(R + Var e)."""
    task = single_index(link="x", step=step, label_noise=label_noise)
    curve = effective_ode(task, TIMES, start={"M_1_1": 0.2, "Q_1_1": 0.7})
    rest, rate = step * label_noise / (1 - step), 4 * (1 - step)
    M = 1 - 0.8 * np.exp(-2 * TIMES)
    R = rest + (1.3 - rest) * np.exp(-rate * TIMES)
    assert curve.values == pytest.approx(np.column_stack([M, R + 2 * M - 1]), abs=1e-7)
    assert curve.error.max() < 1e-5


def test_coordinate_aligned_linear_regression_is_solved() -> None:
    """Linear gradients: p = M-like, ṗ = −2(p − s), whatever the law; Q does not see the alignment."""
    task = single_index(link="x", step=0.5)
    start = {"M_1_1": 0.2, "Q_1_1": 0.7, "p_1_1": 0.6, "s_1_1": 0.3}
    curve = effective_ode(task, TIMES, start=start, laws=LAWS["exponential"])
    assert curve.values[:, 2] == pytest.approx(0.3 + 0.3 * np.exp(-2 * TIMES), abs=1e-6)
    assert curve.values[:, :2] == pytest.approx(
        effective_ode(task, TIMES, start={"M_1_1": 0.2, "Q_1_1": 0.7}).values, abs=1e-6
    )


@pytest.mark.parametrize("task", [committee(students=2), single_index(), single_index(link="x**3 - 3*x", step=0.001)])
def test_perfect_recovery_is_a_fixed_point(task: Task) -> None:
    perfect = {"M_1_1": 1.0, "Q_1_1": 1.0}
    if len(task.z) == 2:
        perfect |= {"M_2_2": 1.0, "Q_2_2": 1.0}
    state = start_state(task, perfect)
    assert Drift.of(task, level=8)(state).flat() == pytest.approx(0, abs=1e-9)
    curve = effective_ode(task, [0, 1], start=perfect)
    assert curve.values[1] == pytest.approx(state.flat(), abs=1e-6)


def test_logistic_regression_finds_the_bayes_classifier() -> None:
    """Two clouds N(±s v, τ²I), vanishing step: the minimum is w = (2s/τ²) v exactly."""
    task = logistic(separation=0.8, noise=0.5, ridge=0.0, step=0.0)
    point = fixed_point(task, time=400.0)
    best = 2 * 0.8 / 0.5
    assert point.named() == pytest.approx({"M_1_1": best, "Q_1_1": best**2}, abs=1e-5)


def test_softmax_and_logistic_regression_agree() -> None:
    """Two-class softmax is the logistic loss of z_1 − z_2: with antisymmetric weights one ODE contains the other."""
    three = logistic(classes=3, step=0.0, ridge=0.0)
    state = start_state(three, {"M_1_1": 0.3, "M_2_2": 0.3, "M_3_3": 0.3})
    drift = Drift.of(three, level=8)(state)
    assert drift.M.sum(axis=0) == pytest.approx(0, abs=1e-9)  # Σ_i c_i = 0
    assert drift.M[0, 0] == pytest.approx(drift.M[2, 2], abs=1e-9)


@pytest.mark.parametrize(
    ("task", "laws"),
    [
        (committee(students=3, teachers=2, train_second=True), LAWS["gaussian"]),
        (single_index(link="tanh(x)", step=1.0), LAWS["three-point"]),
        (logistic(classes=3), LAWS["gaussian"]),
        (xor(), LAWS["gaussian"]),
        (single_index(link="erf", step=0.5), LAWS["rademacher"]),
    ],
    ids=["committee", "single-index", "logistic", "xor", "aligned"],
)
def test_the_gram_matrix_stays_positive_semi_definite(task: Task, laws: Laws) -> None:
    start = {"p_1_1": 0.6} if task.name == "single-index" else None
    curve = effective_ode(task, TIMES, start=start, laws=laws)
    for row in curve.values:
        state = curve.start.moved(row)
        local = np.concatenate([state.p, state.s])
        assert np.linalg.eigvalsh(full_gram(task, state) - local @ local.T).min() > -1e-6
    moved = np.abs(curve.values[-1] - curve.values[0]).max()
    assert moved > 0.1  # an invariant of a flow that goes nowhere would say little


@pytest.mark.parametrize("name", ["single-index", "committee", "logistic", "xor"])
def test_without_the_correction_the_loss_falls(name: str) -> None:
    task = replace(build_task(name), step=0.0)
    curve = effective_ode(task, np.linspace(0, 1, 5))
    losses = [expected_loss(task, curve.start.moved(row), level=6) for row in curve.values]
    assert all(after < before - 1e-6 for before, after in itertools.pairwise(losses))


def test_identical_students_are_one_student() -> None:
    """A singular Gram: two equal units with b = ½ each move as one unit with b = 1 would at half the speed."""
    pair = committee(students=2, teachers=1, activation="tanh", step=0.0)
    both = {"M_1_1": 0.3, "M_2_1": 0.3, "Q_1_1": 0.6, "Q_2_2": 0.6, "Q_1_2": 0.6, "b_1": 0.5, "b_2": 0.5}
    twin = effective_ode(pair, 2 * TIMES, start=both, tolerance=1e-6)
    single = committee(students=1, teachers=1, activation="tanh", step=0.0)
    alone = effective_ode(single, TIMES, start={"M_1_1": 0.3, "Q_1_1": 0.6}, tolerance=1e-6)
    assert twin.values[:, 0] == pytest.approx(alone.values[:, 0], abs=2e-5)
    assert twin.values[:, 3] == pytest.approx(twin.values[:, 2], abs=1e-9)


def test_a_start_at_the_origin() -> None:
    """Q = 0: fields that are 0 for sure. The link tanh then sees its slope at 0 only: Ṁ(0) = 2E[tanh(u) u]."""
    task = single_index(link="tanh(x)", step=0.0)
    state = start_state(task, {"M_1_1": 0.0, "Q_1_1": 0.0})
    u, w = np.polynomial.hermite_e.hermegauss(60)
    expected = 2 * float(w @ (np.tanh(u) * u)) / math.sqrt(2 * math.pi)
    assert Drift.of(task, level=12)(state).M[0, 0] == pytest.approx(expected, abs=1e-6)
    assert np.isfinite(effective_ode(task, TIMES, start={"M_1_1": 0.0, "Q_1_1": 0.0}).values).all()


def test_the_closed_form_and_the_quadrature_give_one_curve() -> None:
    closed = effective_ode(committee(students=1, teachers=1), TIMES)
    assert closed.method == "closed form"
    localised = effective_ode(committee(students=1, teachers=1), TIMES, start={"p_1_1": 0.0}, laws=LAWS["laplace"])
    assert localised.method == "Gauss-Hermite"
    assert localised.values[:, : closed.values.shape[1]] == pytest.approx(closed.values, abs=1e-4)


def test_error_estimates_are_honest() -> None:
    task = single_index(link="tanh(2*x)", step=0.5)
    rough, fine = (effective_ode(task, TIMES, tolerance=tolerance) for tolerance in (1e-3, 1e-8))
    actual = np.abs(rough.values - fine.values).max()
    assert fine.error.max() < 1e-7
    assert actual <= 2 * rough.error.max() <= 2e-3


def test_a_kinked_loss_is_solved_with_a_warning() -> None:
    task = committee(students=1, teachers=1, activation="relu", step=0.5)
    curve = effective_ode(task, [0, 2, 20], tolerance=1e-3)
    assert any("kink" in warning for warning in curve.warnings)
    assert curve.values[-1, :2] == pytest.approx([1, 1], abs=0.02)


def test_steps_beyond_stability() -> None:
    task = single_index(link="x", step=1.2, label_noise=0.0)
    assert largest_step(task, start_state(task)) == pytest.approx(1.0, abs=1e-6)
    assert any("beyond stability" in warning for warning in effective_ode(task, [0, 3]).warnings)
    with pytest.raises(ReachError, match="beyond stability"):
        effective_ode(task, [0, 60])
    assert not effective_ode(replace(task, step=0.9), [0, 60]).warnings
    with pytest.raises(ReachError, match="leave every bound"):
        effective_ode(single_index(step=0.5), [0, 5])


@pytest.mark.parametrize("times", [[3], [0, 1, 2, 3], [0, 0.5]])
@pytest.mark.parametrize("link", ["x**3", "x**4", "abs(x)**3"])
def test_a_blow_up_within_one_step_is_out_of_reach(link: str, times: list[float]) -> None:
    with pytest.raises(ReachError, match="leave every bound"):
        effective_ode(single_index(link=link, step=1.0), times)


def test_a_localised_coordinate_wants_a_law_with_a_distribution() -> None:
    moments = law("moments:mean=0,variance=1,kappa3=0.5,kappa4=1")
    assert np.isfinite(effective_ode(single_index(), [0, 1], laws=moments).values).all()
    with pytest.raises(InputError, match="localised"):
        effective_ode(single_index(), [0, 1], laws=moments, start={"p_1_1": 0.3})
    with pytest.raises(InputError, match="one law"):
        effective_ode(logistic(), [0, 1], laws=(LAWS["laplace"],) * 3, start={"p_1_1": 0.3})


def test_json_and_text_and_latex() -> None:
    curve = effective_ode(logistic(), [0, 1])
    data = curve.to_json()
    assert data.keys() == {"times", "statistics", "stderr", "task", "law", "delta", "method", "stderr_is"} | {
        "error_rate",
        "invariant",
        "loss",
        "warnings",
    }
    assert data["statistics"].keys() == data["stderr"].keys() == {"M_1_1", "Q_1_1"}  # type: ignore[attr-defined]
    assert "M_1_1" in curve.to_text()
    assert r"\dot Q_{ij}" in curve.to_latex()
