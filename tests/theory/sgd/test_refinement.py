"""Refined quadratures: the error they claim, against an independent quadrature; how far they go, and how fast."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.integrate import solve_ivp

from theory.errors import BudgetError
from theory.sgd import drift, solver
from theory.sgd.drift import Drift
from theory.sgd.law_rules import CONTINUOUS, continuous_rule
from theory.sgd.laws import law
from theory.sgd.ode import effective_ode
from theory.sgd.state import start_state
from theory.sgd.tasks import committee, single_index

Array = NDArray[np.float64]
TIMES = (0.0, 0.5, 1.0)

# Of each link the function and its derivative, written out by hand.
STEEP: dict[str, tuple[float, Callable[[Array], Array], Callable[[Array], Array]]] = {
    "tanh(20*x)": (0.01, lambda x: np.tanh(20 * x), lambda x: 20 / np.cosh(20 * np.clip(x, -9, 9)) ** 2),
    "tanh(20*(x-1.5))": (
        0.01,
        lambda x: np.tanh(20 * (x - 1.5)),
        lambda x: 20 / np.cosh(20 * np.clip(x - 1.5, -9, 9)) ** 2,
    ),
    "exp(-50*x**2)": (0.01, lambda x: np.exp(-50 * x**2), lambda x: -100 * x * np.exp(-50 * x**2)),
    "1/(1+30*x**2)": (0.05, lambda x: 1 / (1 + 30 * x**2), lambda x: -60 * x / (1 + 30 * x**2) ** 2),
    "exp(-300*(x-2)**2)": (
        0.05,
        lambda x: np.exp(-300 * (x - 2) ** 2),
        lambda x: -600 * (x - 2) * np.exp(-300 * (x - 2) ** 2),
    ),
    "relu": (0.2, lambda x: np.maximum(x, 0), lambda x: (x > 0).astype(float)),
    "abs(x-1)": (0.2, lambda x: np.abs(x - 1), lambda x: np.sign(x - 1)),
}


def trapezoid(link: str) -> Array:
    """The ODE of the squared loss by the trapezoidal rule on a square, solved by a Runge–Kutta pair."""
    step, f, slope = STEEP[link]
    x = np.linspace(-6.2, 6.2, 621)
    w = np.exp(-(x**2) / 2)
    u, v = np.meshgrid(x, x, indexing="ij")
    weights = np.outer(w, w) / w.sum() ** 2

    def drift(_: float, state: Array) -> list[float]:
        M, Q = state
        z = M * u + np.sqrt(max(Q - M * M, 0.0)) * v
        c = 2 * (f(z) - f(u)) * slope(z)
        weighted = weights * c
        return [-float((weighted * u).sum()), float((weighted * (step * c - 2 * z)).sum())]

    result: Array = solve_ivp(drift, (0, TIMES[-1]), [0.3, 0.5], t_eval=TIMES, rtol=1e-6, atol=1e-8).y.T
    return result


@pytest.mark.parametrize("link", STEEP)
def test_the_claimed_error_holds_against_another_quadrature(link: str) -> None:
    task, truth = single_index(link=link, step=STEEP[link][0]), trapezoid(link)
    for tolerance in (1e-2, 1e-4):
        curve = effective_ode(task, TIMES, tolerance=tolerance)
        assert np.abs(curve.values - truth).max() < curve.error.max() + 2e-5
        assert 0 < curve.error.max() < 3 * tolerance  # an estimate that would cover anything says nothing
    assert curve.error[0].max() == 0


def test_where_the_levels_run_out_the_last_two_are_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    truth = trapezoid("tanh(20*x)")
    monkeypatch.setattr(drift, "_FINEST", 6)
    curve = effective_ode(single_index(link="tanh(20*x)", step=0.01), TIMES)
    actual = float(np.abs(curve.values - truth).max())
    assert actual > 1e-3
    assert actual < curve.error.max() < 10 * actual
    (warning,) = curve.warnings
    assert warning == f"quadrature: estimated error {curve.error.max():.1e}, above the tolerance 0.0001"


def test_levels_that_miss_the_same_feature_do_not_agree() -> None:
    """A spike between the nodes of the first two levels: to both of them nothing moves. Ṁ = E[f(u) u]."""
    curve = effective_ode(single_index(link="exp(-2000*(x-0.9)**2)", loss="correlation", step=0.1), [0, 1])
    x = np.linspace(-8, 8, 400_001)
    w = np.exp(-(x**2) / 2)
    expected = float(w @ (np.exp(-2000 * (x - 0.9) ** 2) * x) / w.sum())
    assert expected > 0.005
    assert curve.values[1, 0] - curve.values[0, 0] == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize("name", ["uniform", "laplace", "exponential"])
def test_the_law_of_a_coordinate_is_refined_too(name: str) -> None:
    """w = p e_1 and nothing else: z = p a_1, a steep function of one coordinate, whose law no Gaussian smooths."""
    task = single_index(link="tanh(20*x)", step=0.01)
    start = start_state(task, {"M_1_1": 0.0, "Q_1_1": 0.25, "p_1_1": 0.5})
    # ṗ = −E[c a_1], c = 2 (f(z) − f(u)) f′(z), with f odd and u independent: E f(u) = 0.
    x, w = midpoints(name)
    f = np.tanh(10 * x)
    expected = -float(w @ (2 * f * 20 * (1 - f**2) * x))
    drifts = [float(Drift.of(task, laws=law(name), level=level)(start).p[0, 0]) for level in (6, 8)]
    assert drifts[1] == pytest.approx(expected, rel=0.02)
    assert abs(drifts[0] - expected) > 2 * abs(drifts[1] - expected)  # 96 nodes do not do it
    rough, fine = (
        effective_ode(task, [0, 0.01], start=start, laws=law(name), tolerance=tolerance) for tolerance in (1e-2, 1e-3)
    )
    assert np.abs(fine.values - rough.values).max() < rough.error.max() + fine.error.max()


def midpoints(name: str) -> tuple[Array, Array]:
    """A law by its quantiles."""
    q = (np.arange(400_000) + 0.5) / 400_000
    quantile: dict[str, Array] = {
        "uniform": np.sqrt(3) * (2 * q - 1),
        "exponential": -np.log1p(-q) - 1,
        "laplace": -np.sign(q - 0.5) * np.log1p(-2 * np.abs(q - 0.5)) / np.sqrt(2),
    }
    return quantile[name], np.full(q.size, 1 / q.size)


@pytest.mark.parametrize("name", CONTINUOUS)
def test_long_rules_are_rules_of_the_same_law(name: str) -> None:
    short, long = (continuous_rule(name, order) for order in (96, 384))
    for power in range(9):
        assert long[1] @ long[0] ** power == pytest.approx(short[1] @ short[0] ** power, rel=1e-9, abs=1e-9)
    if name != "gaussian":
        x, w = midpoints(name)
        assert long[1] @ np.cos(20 * long[0]) == pytest.approx(w @ np.cos(20 * x), abs=1e-5)


def test_two_coordinates_of_a_continuous_law_stay_within_the_budget() -> None:
    """The level that checks the drift may hold too many points: the difference of two levels is then all there is."""
    start = {"p_1_1": 0.6, "p_1_2": 0.2, "Q_1_1": 0.5}
    curve = effective_ode(single_index(link="tanh", step=0.5), [0, 1], start=start, laws=law("laplace"))
    assert 0 < curve.error.max() < 1e-2


def test_times_out_of_reach_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    task = committee(students=3, teachers=3, activation="tanh")
    monkeypatch.setattr(solver, "_PACE", 150)
    with pytest.raises(BudgetError, match=r"more steps of the solver from time .* to 1e\+09.*earlier times"):
        effective_ode(task, [0, 1e9])
