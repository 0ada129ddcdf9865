"""Expectations by pairs of fields: against the closed form, orthant formulas, and tensor rules."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
import sympy

from tests.theory.sgd.test_erf_committee import random_state
from theory.sgd.drift import Drift, expected_loss
from theory.sgd.erf_committee import erf_drift, erf_loss, recognise
from theory.sgd.expectations import GAUSSIAN
from theory.sgd.fluctuations import fixed_point, fluctuations
from theory.sgd.laws import LAWS
from theory.sgd.ode import effective_ode
from theory.sgd.pairwise import PairwiseDrift
from theory.sgd.routes import motion_of
from theory.sgd.state import start_state
from theory.sgd.task import Component, symbols
from theory.sgd.tasks import committee, single_index


def test_six_fields_agree_with_the_closed_form() -> None:
    task = committee(students=3, teachers=3, train_second=True, label_noise=0.3, step=0.7, ridge=0.1)
    state = random_state(task, np.random.default_rng(7))
    state = replace(state, b=np.array([0.8, -0.5, 1.1]))
    drift, form = PairwiseDrift.of(task, level=6), recognise(task)
    assert drift is not None
    assert form is not None
    assert drift(state).flat() == pytest.approx(erf_drift(task, form, state, state.flat()), abs=1e-5)
    assert drift.loss(state) == pytest.approx(erf_loss(task, form, state), abs=1e-5)


def test_relu_has_its_arccos_kernels() -> None:
    """One student, one teacher, ½(relu z − relu u)²: E[c u] and E[c z] by the arccos kernels of Cho and Saul."""
    task = committee(students=1, teachers=1, activation="relu", step=0.0)
    Q, M = 0.7, 0.3
    state = start_state(task, {"M_1_1": M, "Q_1_1": Q})
    rho = M / math.sqrt(Q)
    angle = math.acos(rho)
    product = math.sqrt(Q) / (2 * math.pi) * (math.sin(angle) + (math.pi - angle) * rho)  # E[relu z relu u]
    # E[θ(z) relu(u) u] = E[θ(z) u² θ(u)] = [(π − θ) + sin θ cos θ]/(2π)
    mixed = ((math.pi - angle) + math.sin(angle) * math.cos(angle)) / (2 * math.pi)
    drift = motion_of(task, level=6)(state)
    assert drift.M[0, 0] == pytest.approx(-(M / 2 - mixed), abs=1e-7)
    assert drift.Q[0, 0] == pytest.approx(-2 * (Q / 2 - product), abs=1e-7)
    assert expected_loss(task, state, level=6) == pytest.approx((Q + 1) / 4 - product, abs=1e-7)


@pytest.mark.parametrize("where", ["means", "localised"])
def test_strata_are_the_tensor_rules(where: str) -> None:
    """Means of a mixture and localised coordinates: softplus units against the rule over all fields."""
    task = replace(committee(students=1, teachers=2, activation="softplus", train_second=True, step=0.7), noise=0.6)
    law = GAUSSIAN
    if where == "means":
        task = replace(task, components=(Component(0.3, (0.5, 0.0)), Component(0.7, (-0.2, 0.4))))
    else:
        law = LAWS["exponential"]
    state = random_state(task, np.random.default_rng(2), localised=int(where == "localised"))
    drift = PairwiseDrift.of(task, laws=law, level=6)
    assert drift is not None
    assert drift(state).flat() == pytest.approx(Drift.of(task, laws=law, level=8)(state).flat(), abs=1e-6)


def test_shifted_kinks_are_split() -> None:
    """|z − ½| against |u + 1|: moments of folded normals by panels, compared with a far finer panel rule."""
    (z,), (u,) = symbols("z", 1), symbols("u", 1)
    task = replace(single_index(link="x", step=0.5), loss=(sympy.Abs(z - sympy.Rational(1, 2)) - sympy.Abs(u + 1)) ** 2)
    state = start_state(task, {"M_1_1": 0.4, "Q_1_1": 0.8})
    values = [motion_of(task, level=level)(state).flat() for level in (8, 12)]
    assert values[0] == pytest.approx(values[1], abs=1e-6)
    generator = np.random.default_rng(0)
    g = generator.standard_normal((2, 400_000))
    u_, z_ = g[0], 0.4 * g[0] + math.sqrt(0.8 - 0.16) * g[1]
    c = 2 * np.sign(z_ - 0.5) * (np.abs(z_ - 0.5) - np.abs(u_ + 1))
    samples = np.stack([-c * u_, -2 * c * z_ + 0.5 * c**2])
    bars = samples.std(axis=1) / math.sqrt(samples.shape[1])
    assert (np.abs(samples.mean(axis=1) - values[1]) < 4 * bars).all()
    assert bars.max() < 0.02


def test_a_teacher_that_jumps() -> None:
    """Labels sign(u): E[sign(u) u] = √(2/π), solved at once, and smooth in z, so it fluctuates like any other."""
    (z,), (u,) = symbols("z", 1), symbols("u", 1)
    task = replace(single_index(link="x", step=0.3, ridge=0.5), loss=(z - sympy.sign(u)) ** 2 / 2)
    at = fixed_point(task, start={"M_1_1": 0.5, "Q_1_1": 0.4}, time=2.0)
    assert at.M[0, 0] == pytest.approx(math.sqrt(2 / math.pi) / 1.5, abs=1e-6)
    limit = fluctuations(task, at)
    assert limit.jacobian[0] == pytest.approx([-1.5, 0.0], abs=1e-5)
    # Var(c u) = E[(z − s)²u²] − (E c u)², s = sign u
    Q, M, a = at.Q[0, 0], at.M[0, 0], math.sqrt(2 / math.pi)
    second = (Q + 2 * M**2) - 2 * M * 2 * a + 1  # E[z s u²] = M E|u|³ = 2aM
    assert limit.volatility[0, 0] == pytest.approx(0.3 * (second - (M - a) ** 2), rel=1e-3)


def test_many_units_of_any_activation() -> None:
    """Softplus, four and four: the ODE to 1e-4 with its own error below that."""
    curve = effective_ode(committee(students=2, teachers=2, activation="softplus", step=0.3), [0, 1])
    assert curve.method == "pairs of fields"
    assert curve.error.max() < 1e-4
