"""SGD with groups of coordinates: solvable regression, the isotropic ODE, and simulations of unequal coordinates."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from numerics.sgd.simulate import simulate_sgd
from theory.errors import InputError
from theory.sgd.grouped import GroupedDrift, GroupedState, grouped_ode
from theory.sgd.laws import law
from theory.sgd.ode import effective_ode
from theory.sgd.state import start_state
from theory.sgd.task import Component
from theory.sgd.tasks import committee, logistic, single_index
from theory.spectrum import read_spectrum


def test_linear_regression_group_by_group() -> None:
    """Ṁ^g = 2λ_g(f_g − M^g); the excess E^g of group g obeys Ė^g = −4λ_g E^g + 4δ λ_g f_g (Σ λE + Var e)."""
    task = single_index(link="x", step=0.2, label_noise=0.3)
    times = np.linspace(0, 2, 5)
    curve = grouped_ode(task, times, read_spectrum("values:2*1,0.5*3"), start={"M_1_1": 0.0, "Q_1_1": 0.0})
    variances, fractions = np.array([2.0, 0.5]), np.array([0.25, 0.75])
    for g in range(2):
        assert curve.groups[:, g, 0] == pytest.approx(fractions[g] * (1 - np.exp(-2 * variances[g] * times)), abs=1e-6)
    E, h, seen = fractions.copy(), 1e-4, [fractions.copy()]
    for n in range(20_000):
        E = E + h * (-4 * variances * E + 0.8 * variances * fractions * (variances @ E + 0.3))
        if (n + 1) % 5000 == 0:
            seen.append(E.copy())
    excess = curve.groups[:, :, 1] - 2 * curve.groups[:, :, 0] + fractions
    assert excess == pytest.approx(np.array(seen), abs=2e-3)


@pytest.mark.parametrize("task", [single_index(link="tanh", step=0.5), logistic(), committee(step=0.3)])
def test_equal_variances_are_the_isotropic_ode(task) -> None:  # type: ignore[no-untyped-def]
    plain = effective_ode(task, [0, 1], tolerance=1e-6)
    grouped = grouped_ode(task, [0, 1], read_spectrum("values:1*1,1*2"), tolerance=1e-6)
    assert grouped.values == pytest.approx(plain.values, abs=5e-6)
    assert grouped.groups[1, 1] == pytest.approx(2 * grouped.groups[1, 0], abs=1e-9)


@pytest.mark.parametrize("name", ["gaussian", "rademacher"])
def test_three_groups_against_simulation(name: str) -> None:
    """tanh student and teacher, three groups; any product law."""
    task = single_index(link="tanh", step=0.5)
    spectrum = "values:2*1,1*1,0.2*1"
    curve = grouped_ode(task, [0, 1, 3], read_spectrum(spectrum))
    run = simulate_sgd(task, [0, 1, 3], d=300, replicas=48, seed=2, laws=law(name), spectrum=spectrum)
    assert run.method == "full"
    assert run.stderr.max() < 0.02
    assert (np.abs(run.mean - curve.values)[1:] < 4 * run.stderr[1:] + 4 / 300).all()
    isotropic = effective_ode(task, [0, 1, 3]).values
    assert (np.abs(run.mean - isotropic) > 4 * run.stderr + 4 / 300).any()  # the test can tell


def test_a_mixture_keeps_its_means() -> None:
    """E[c F^g] by sampling vectors: two clouds whose means have parts in every group."""
    task = replace(
        logistic(separation=1.5, noise=0.7),
        components=(Component(0.4, (1.5,), (1.0,)), Component(0.6, (-0.5,), (0.0,))),
    )
    variances, fractions = np.array([2.0, 0.5]), np.array([0.5, 0.5])
    state = GroupedState.spread(task, start_state(task, {"M_1_1": 0.3, "Q_1_1": 0.8}), fractions)
    velocity = GroupedDrift.of(task, variances, fractions, level=10)(state)
    d, n, generator = 40, 200_000, np.random.default_rng(0)
    v = np.zeros(d)
    v[[0, d // 2]] = np.sqrt(0.5)
    w = 0.3 * v
    w[[1, d // 2 + 1]] = np.sqrt((0.8 - 0.09) / 2)
    k = (generator.random(n) > 0.4).astype(int)
    a = np.sqrt(0.7 * np.repeat(variances, d // 2)) * generator.standard_normal((n, d))
    a += np.array([1.5, -0.5])[k, None] * v
    c = 1 / (1 + np.exp(-a @ w)) - (1 - k)
    for g, part in enumerate((slice(0, d // 2), slice(d // 2, d))):
        of_u, of_z = c * (a[:, part] @ v[part]), c * (a[:, part] @ w[part])
        M, Q = velocity.M[g, 0, 0] + task.ridge * 0.15, velocity.Q[g, 0, 0] + 2 * task.ridge * 0.4
        Q -= task.step * 0.7 * variances[g] * 0.5 * float((c**2).mean())
        assert -of_u.mean() == pytest.approx(M, abs=4 * of_u.std() / np.sqrt(n))
        assert -2 * of_z.mean() == pytest.approx(Q, abs=8 * of_z.std() / np.sqrt(n) + 1e-3)
        assert of_u.std() / np.sqrt(n) < 3e-3


def test_a_power_law_is_binned_with_a_stated_error() -> None:
    task = single_index(link="x", step=0.2)
    curve = grouped_ode(task, [0, 1], read_spectrum("power:0.5", 500), start={"M_1_1": 0.0, "Q_1_1": 0.0}, groups=16)
    exact = 1 - np.exp(-2 * read_spectrum("power:0.5", 500).eigenvalues()).mean()
    assert abs(curve.values[1, 0] - exact) <= curve.error[1, 0]
    assert curve.error.max() < 0.01
    assert any("binned" in text for text in curve.warnings)
    with pytest.raises(InputError, match="localised"):
        grouped_ode(task, [0, 1], read_spectrum("power:1"), start={"p_1_1": 0.5})
