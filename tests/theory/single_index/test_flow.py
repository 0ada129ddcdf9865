"""The population flow, its fixed points, basins and sets."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from theory.errors import BudgetError, InputError
from theory.single_index.basin import basin, reaches_target, separatrices, warm_start_succeeds
from theory.single_index.fixed_points import fixed_points, hessian, indices_complete
from theory.single_index.flow import destinations, flow
from theory.single_index.link import Link
from theory.single_index.loss import PopulationLoss
from theory.single_index.regions import (
    ascent,
    bounding_lines,
    edge_flow,
    landing_overlap,
    quadrant,
    trapping_wedge,
    wedge_traps,
)

CUBIC = PopulationLoss(Link.parse("x**3-3*x"), lam=1.0, eta1=0.45)
SETTINGS = [
    *(
        ("x**3-3*x", lam, eta1)
        for lam, eta1 in ((1.0, 0.45), (1.0, 0.1), (1.0, 0.8), (1.0, 1.0), (0.0, 0.5), (5.0, 0.3))
    ),
    *((text, 1.0, 0.45) for text in ("tanh(x)", "relu(x)", "x**2", "He(4,x)", "(x-x**3)*exp(-x**2)")),
]
points_in_disc = st.tuples(st.floats(0, 1), st.floats(0, 2 * math.pi)).map(
    lambda p: (p[0] * math.cos(p[1]) * (1 - 1e-12), p[0] * math.sin(p[1]) * (1 - 1e-12))
)


def losses(settings: list[tuple[str, float, float]]) -> list[PopulationLoss]:
    return [PopulationLoss(Link.parse(text), lam=lam, eta1=eta1) for text, lam, eta1 in settings]


@settings(max_examples=12, deadline=None)
@given(st.sampled_from(SETTINGS), points_in_disc)
def test_stays_in_the_disc_and_descends(setting: tuple[str, float, float], start: tuple[float, float]) -> None:
    (loss,) = losses([setting])
    path = flow(loss, start, np.linspace(0, 1, 12))
    assert np.all(np.hypot(path.m1, path.m2) <= 1 + 1e-12)
    scale = float(np.ptp(path.value)) + loss.error + 1e-9
    assert np.all(np.diff(path.value) <= 1e-6 * scale)


def test_the_circle_is_invariant() -> None:
    path = flow(CUBIC, (math.cos(2.0), math.sin(2.0)), [0.01, 0.1, 1.0])
    np.testing.assert_allclose(np.hypot(path.m1, path.m2), 1.0, atol=1e-7)


def test_closes_on_the_overlaps() -> None:
    """Euler steps of the flow of X itself on the sphere in R^5, from differences of Φ(X·v_0, X·v_⊥)."""
    X = np.array([0.35, 0.3, 0.5, -0.4, 0.0])
    X[-1] = math.sqrt(1 - X @ X)
    steps, end = 800, 0.01
    for _ in range(steps):
        slope = np.zeros(5)
        for i in range(2):
            ahead, behind = X[:2].copy(), X[:2].copy()
            ahead[i] += 1e-6
            behind[i] -= 1e-6
            slope[i] = float(CUBIC.value(*ahead) - CUBIC.value(*behind)) / 2e-6
        X = X - end / steps * (slope - X * (X @ slope))
        X /= np.linalg.norm(X)
    path = flow(CUBIC, (0.35, 0.3), [end])
    assert [path.m1[0], path.m2[0]] == pytest.approx([X[0], X[1]], abs=3e-4)
    assert abs(X[0] - 0.35) > 0.01


@pytest.mark.parametrize("loss", losses(SETTINGS), ids=str)
def test_fixed_points_are_fixed_and_complete(loss: PopulationLoss) -> None:
    points = fixed_points(loss)
    assert indices_complete(loss, points)
    speed = max(abs(float(part)) for m in (0.5, 0.9) for part in loss.spherical_gradient(m, 0.1))
    for point in points:
        assert max(abs(float(part)) for part in loss.spherical_gradient(point.m1, point.m2)) < 1e-6 * (1 + speed)
    target = [p for p in points if (p.m1, p.m2) == (1.0, 0.0)]
    assert [p.stability for p in target] == ["stable"]
    for p in points:
        if p.stability == "stable" and not loss.planar:
            x, y, _ = destinations(loss, [0.98 * p.m1 - 0.01 * p.m2], [0.98 * p.m2 + 0.01 * p.m1])
            assert math.hypot(x[0] - p.m1, y[0] - p.m2) < 0.03


def test_the_fixed_points_of_the_cubic() -> None:
    found = {p.stability: p for p in fixed_points(CUBIC)}
    assert (found["half-stable"].m1, found["half-stable"].m2) == (0.0, 0.0)
    assert found["half-stable"].rates == pytest.approx((-36.0, 0.0), abs=1e-4)
    np.testing.assert_allclose(
        hessian(CUBIC, 0.0, 0.0), 36 * np.outer([0.45, CUBIC.eta2], [0.45, CUBIC.eta2]), atol=1e-4
    )
    assert found["saddle"].m1 < 0 < found["saddle"].m2
    assert len(fixed_points(CUBIC)) == 5


def test_a_missing_point_is_noticed() -> None:
    points = fixed_points(CUBIC)
    assert not indices_complete(CUBIC, points[1:])


def test_spurious_minimum_without_trap() -> None:
    """V′(1) < 0: zero overlap is left along ±v, and one side ends in a minimum that is not the target."""
    loss = PopulationLoss(Link.parse("(x-x**3)*exp(-x**2)"), lam=1.0, eta1=0.45)
    assert [p.stability for p in fixed_points(loss)].count("stable") == 2
    reaches, _ = reaches_target(loss, [0.1, -0.1], [0.2, -0.2])
    assert reaches.tolist() == [True, False]


@settings(max_examples=20, deadline=None)
@given(points_in_disc)
def test_no_path_leaves_the_wedge(start: tuple[float, float]) -> None:
    wedge = trapping_wedge(CUBIC)
    assert wedge_traps(CUBIC)
    if wedge.contains(np.array(start[0]), np.array(start[1])):
        path = flow(CUBIC, start, np.geomspace(1e-3, 5, 30))
        slack = 1e-8
        s, _, c = CUBIC.fields(path.m1, path.m2)
        assert np.all(s >= -slack)
        assert np.all(c <= slack)
        assert not reaches_target(CUBIC, [start[0]], [start[1]])[0][0]


@pytest.mark.parametrize(("lam", "eta1"), [(1.0, 0.45), (100.0, 0.8)])
def test_edge_flow_is_the_change_of_the_fields(lam: float, eta1: float) -> None:
    """ds̄/dt and dC/dt along a short piece of the flow; at λ = 100, η_1 = 0.8 the wedge leaks."""
    loss = PopulationLoss(Link.parse("x**3-3*x"), lam=lam, eta1=eta1)
    dt = 1e-9
    for name, index, sign in (("spike", 0, 1.0), ("covariance", 1, -1.0)):
        a, b = (0.3 * part for part in bounding_lines(loss)[name])
        path = flow(loss, (a, b), [0.0, dt])
        fields = loss.fields(path.m1, path.m2)
        field = fields[0] if name == "spike" else fields[2]
        assert field[0] == pytest.approx(0.0, abs=1e-12)
        change = sign * float(field[1] - field[0]) / dt
        assert change == pytest.approx(float(edge_flow(loss, np.array([0.3]))[index][0]), rel=1e-3)
    assert wedge_traps(loss) == (lam == 1.0)


def test_random_starts_land_where_told() -> None:
    """From small overlaps the fast decay of s̄ leaves m_1 = η_2(η_2m_1 − η_1m_2)."""
    m1, m2 = 0.004, 0.003
    path = flow(CUBIC, (m1, m2), [0.3])
    s, _, _ = CUBIC.fields(path.m1, path.m2)
    assert abs(float(s[0])) < 1e-4
    assert path.m1[0] == pytest.approx(float(landing_overlap(CUBIC, m1, m2)), rel=0.05)


def test_basin_and_separatrix_agree() -> None:
    """Points a little to either side of the separatrix end differently."""
    curves = separatrices(CUBIC, fixed_points(CUBIC))
    assert len(curves) >= 2
    for curve in curves[:2]:
        i = len(curve) // 2
        along = curve[i + 1] - curve[i - 1]
        normal = np.array([-along[1], along[0]]) / np.hypot(*along)
        sides = curve[i] + np.outer([-0.004, 0.004], normal)
        reaches, _ = reaches_target(CUBIC, sides[:, 0], sides[:, 1])
        assert reaches[0] != reaches[1]


def test_basin_grid() -> None:
    starts = basin(CUBIC, grid=21)
    assert starts.reaches.shape == (21, 21)
    assert not starts.reaches[0, 0]
    assert not (starts.monotone & ~starts.reaches).any()
    assert 0.5 < starts.share < 0.65
    with pytest.raises(BudgetError):
        basin(CUBIC, grid=10_000)


def test_warm_starts() -> None:
    assert warm_start_succeeds(CUBIC, 0.9) == (True, True)
    assert warm_start_succeeds(PopulationLoss(CUBIC.link, lam=1.0, eta1=1.0), 0.05) == (False, False)


def test_sets() -> None:
    for k, (m1, m2) in enumerate([(0.1, 0.2), (-0.1, 0.2), (-0.1, -0.2), (0.1, -0.2)], start=1):
        inside = [bool(quadrant(q).contains(np.array(m1), np.array(m2))) for q in (1, 2, 3, 4)]
        assert inside == [q == k for q in (1, 2, 3, 4)]
    with pytest.raises(InputError, match="quadrant"):
        quadrant(5)
    region = ascent(CUBIC)
    assert bool(region.contains(np.array(0.5), np.array(0.3)))
    step = flow(CUBIC, (0.1, 0.8), [0.0, 1e-6])
    assert bool(region.contains(np.array(0.1), np.array(0.8))) == (step.m1[1] > step.m1[0])


def test_bad_requests() -> None:
    with pytest.raises(InputError, match="disc"):
        flow(CUBIC, (1.0, 1.0), [1.0])
    with pytest.raises(BudgetError):
        flow(CUBIC, (0.1, 0.1), np.arange(100_001.0))
