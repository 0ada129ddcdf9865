"""Starts on invariant sets stay there, and are said to; rates are those of the linearised flow, known by hand."""

from __future__ import annotations

import math
import warnings
from dataclasses import replace

import numpy as np
import pytest
import sympy

from theory.errors import InputError
from theory.sgd.expectations import GAUSSIAN
from theory.sgd.fluctuations import fixed_point
from theory.sgd.invariant import invariant_set
from theory.sgd.laws import law
from theory.sgd.ode import effective_ode
from theory.sgd.state import start_state
from theory.sgd.task import Task, symbols
from theory.sgd.tasks import committee, logistic, single_index, xor


def test_a_saddle_is_kept_and_its_rate_is_said() -> None:
    """Loss (z² − u²)²: Ṁ = 12(1 − Q)M to first order in M, so the rate at the end is 12(1 − Q)."""
    task = single_index(step=0.02)
    curve = effective_ode(task, [0, 5, 20], start={"M_1_1": 0.0, "Q_1_1": 0.6})
    assert (curve.values[:, 0] == 0).all()
    assert curve.invariant is not None
    assert curve.invariant.relations == ("M_1_1 = 0",)
    assert curve.invariant.end == pytest.approx(12 * (1 - curve.values[-1, 1]), rel=1e-4)
    assert any("invariant set" in text for text in curve.warnings)
    assert curve.to_json()["warnings"] == list(curve.warnings)


@pytest.mark.parametrize("activation", ["erf", "tanh"])
def test_equal_students_stay_equal(activation: str) -> None:
    task = committee(activation=activation, step=0.5)
    start = {"M_1_1": 0.1, "M_1_2": 0.2, "M_2_1": 0.1, "M_2_2": 0.2, "Q_1_1": 0.5, "Q_1_2": 0.5, "Q_2_2": 0.5}
    last = 1000.0 if activation == "erf" else 20.0
    end = effective_ode(task, [0, last], start=start, tolerance=1e-3).at_end()
    assert end.M[0].tolist() == end.M[1].tolist()
    assert end.Q[0, 0] == end.Q[0, 1] == end.Q[1, 1]
    assert np.ptp(end.M) > 0.0 or abs(end.M[0, 0] - end.M[0, 1]) < 1e-6  # teachers may be told apart or not


def test_a_symmetric_plateau_is_kept() -> None:
    """Both students alike but not equal: the permutation holds them on the plateau, which repels."""
    start = {"M_1_1": 0.1, "M_1_2": 0.1, "M_2_1": 0.1, "M_2_2": 0.1, "Q_1_2": 0.1}
    curve = effective_ode(committee(), [0, 200], start=start)
    end = curve.at_end()
    assert np.ptp(end.M) == 0.0
    assert curve.invariant is not None
    assert curve.invariant.end > 0


def test_signed_permutations_are_found() -> None:
    """XOR's own start: units come in pairs w, −w along one mean; nothing else holds."""
    task = xor()
    found = invariant_set(task, start_state(task), laws=GAUSSIAN)
    assert found is not None
    assert "M_1_1 = −M_2_1" in " ".join(found.relations)
    y = np.random.default_rng(0).standard_normal(found.embed.shape[1])
    assert found.reduce(found.expand(y)) == pytest.approx(y)
    off = found.transverse()
    assert off.shape == (len(found.embed), len(found.embed) - len(y))
    assert off.T @ found.embed == pytest.approx(0, abs=1e-12)


def test_many_fields_are_judged_by_symmetry_alone() -> None:
    """Eight fields, where expectations are not exact: a parity in one teacher is still seen."""
    z, u = symbols("z", 4), symbols("u", 4)
    residual = sum(sympy.tanh(x) for x in z) - u[0] ** 2 * sympy.tanh(u[1]) - u[2] * u[3]
    task = Task(name="own", parameters=("a", "b", "c", "d"), truths=tuple("pqrs"), loss=residual**2, step=0.1)
    start = {f"Q_{i}_{i}": 0.5 + 0.1 * i for i in range(1, 5)} | {f"M_{i}_2": 0.05 * i for i in range(1, 5)}
    found = invariant_set(task, start_state(task, start), laws=GAUSSIAN)
    assert found is not None
    still = found.relations[0].split(" = ")[:-1]
    assert sorted(still) == [f"M_{i}_{a}" for i in range(1, 5) for a in (1, 3, 4)]


def test_a_general_start_is_on_no_such_set() -> None:
    assert invariant_set(committee(), start_state(committee()), laws=GAUSSIAN, frozen=(7, 8)) is None
    assert invariant_set(logistic(), start_state(logistic()), laws=GAUSSIAN) is None  # M = 0 is left at once


def test_fixed_point_finds_the_saddle_it_was_started_at() -> None:
    """(z² − u²)² at M = 0: the fixed point of Q̇, by hand."""
    task = single_index(step=0.02)
    at = fixed_point(task, start={"M_1_1": 0.0, "Q_1_1": 0.6})
    assert at.M[0, 0] == 0.0
    Q = at.Q[0, 0]
    # Q̇ = −2E[4z²(z² − u²)] + δE[16z²(z² − u²)²] = −8(3Q² − Q) + 16δ(15Q³ − 6Q² + 3Q)
    velocity = -8 * (3 * Q**2 - Q) + 16 * 0.02 * (15 * Q**3 - 6 * Q**2 + 3 * Q)
    assert velocity == pytest.approx(0, abs=1e-6)


def test_schedule_and_batch_move_the_clock_and_the_correction() -> None:
    """Linear regression with δ(t) = δ/(1 + t), B inputs a step: M = 1 − (1 − M_0)(1 + t)^{−2}, and R by hand."""
    linear = single_index(link="x", step=0.5)
    t = sympy.Symbol("t", real=True)
    task = replace(linear, schedule=1 / (1 + t), batch=4)
    times = np.array([0.0, 1.0, 3.0])
    curve = effective_ode(task, times, start={"M_1_1": 0.2, "Q_1_1": 0.7})
    assert curve.values[:, 0] == pytest.approx(1 - 0.8 * (1 + times) ** -2.0, abs=1e-7)
    # Ṙ = (−4 s + 4 (δ/B) s²) R, s = 1/(1 + t)
    R = 1.3 * (1 + times) ** -4.0 * np.exp(4 * 0.5 / 4 * (1 - 1 / (1 + times)))
    assert curve.values[:, 1] - 2 * curve.values[:, 0] + 1 == pytest.approx(R, abs=1e-7)
    with pytest.raises(InputError, match="schedule"):
        effective_ode(replace(linear, schedule=1 - t), [0, 2])
    with pytest.raises(InputError, match="schedule"):
        replace(linear, schedule=sympy.Symbol("x"))


def test_laws_that_do_not_enter_or_do_not_exist_are_said_or_refused() -> None:
    moments = law("moments:mean=0,variance=1,kappa3=1,kappa4=3")
    curve = effective_ode(logistic(), [0, 1], laws=moments)
    assert any("does not enter" in text for text in curve.warnings)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(InputError, match="variance 1"):
            law("atoms:1e200:0.5,-1e200:0.5")


def test_an_error_above_the_tolerance_is_a_warning_everywhere() -> None:
    """A chaotic clock: started next to the saddle, the time of escape has an error of its own."""
    task = single_index(step=0.02)
    curve = effective_ode(task, [0, 5], start={"M_1_1": 1e-12, "Q_1_1": 0.6})
    assert curve.error.max() < 1e-4 or any("estimated error" in text for text in curve.warnings)
    assert math.isfinite(curve.error.max())
