"""Flows whose speed spans many orders of magnitude: large spikes, starts close to a fixed point, overflow."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from theory.errors import ReachError
from theory.single_index.flow import destinations, flow
from theory.single_index.flow_report import describe_flow
from theory.single_index.link import Link
from theory.single_index.loss import PopulationLoss
from theory.single_index.trap import trap

CUBIC = Link.parse("x**3-3*x")


@pytest.mark.parametrize("start", [(-0.108, -0.432), (-0.1, -0.43)])
def test_a_large_spike_is_followed_to_the_end(start: tuple[float, float]) -> None:
    """The speed falls from 10⁹ to 10 on the slow line and grows again; another solver tells where it goes."""
    loss = PopulationLoss(CUBIC, lam=1000.0, eta1=0.45)

    def velocity(_: float, m: np.ndarray) -> np.ndarray:
        return -np.array([float(part) for part in loss.spherical_gradient(*m)])

    other = solve_ivp(velocity, (0, 1e-4), start, method="Radau", rtol=1e-7, atol=1e-11).y[:, -1]
    assert np.hypot(other[0] - 1, other[1]) < 1e-2
    m1, m2, _ = destinations(loss, [start[0]], [start[1]])
    assert np.hypot(m1[0] - 1, m2[0]) < 1e-8
    assert describe_flow(loss, start=start, times=[1e-2]).reaches_target
    assert flow(loss, start, [1e-2]).m1[-1] == pytest.approx(1, abs=1e-9)


def test_a_start_beside_a_half_stable_point_leaves_it() -> None:
    """dm/dt = 36m²(1−m²) + …: from 10⁻⁹ the overlap doubles by t = 1/(72·10⁻⁹); from −10⁻⁹ it comes back to 0."""
    loss = PopulationLoss(CUBIC, lam=0.0, eta1=1.0)
    report = describe_flow(loss, start=(1e-9, 0.0), times=[1e9 / 72, 1e8])
    assert report.path.m1[0] == pytest.approx(2e-9, rel=1e-3)
    assert report.path.m1[1] == pytest.approx(1, abs=1e-6)
    assert report.end.kind == "target"
    back = describe_flow(loss, start=(-1e-9, 0.0), times=[1.0])
    assert (back.end.kind, back.end.m1) == ("half-stable", 0.0)


def test_starts_on_both_sides_of_the_smallest_trap() -> None:
    loss = PopulationLoss(CUBIC, lam=1000.0, eta1=1.0)  # r* = 4.0e-7
    starts = [1e-9, 1e-7, 3.9e-7, 3.99e-7, 3.995e-7, 4.1e-7, 1e-3]
    m1, _, _ = destinations(loss, starts, [0.0] * len(starts))
    np.testing.assert_allclose(m1, [0, 0, 0, 0, 1, 1, 1], atol=1e-8)


@pytest.mark.parametrize("lam", [0.3, 1.0, 10.0])
def test_starts_along_the_target_part_at_the_trap(lam: float) -> None:
    """Every start goes to 0 or to 1, and nowhere else, on its side of the trap's radius."""
    radius = trap(CUBIC, lam=lam).radius
    assert radius is not None
    starts = np.concatenate([np.linspace(0.02, 0.999, 60), radius * np.array([0.99, 0.999, 1.001, 1.01])])
    m1, _, _ = destinations(PopulationLoss(CUBIC, lam=lam, eta1=1.0), starts, 0 * starts)
    np.testing.assert_allclose(m1, starts > radius, atol=1e-8)


@pytest.mark.parametrize(
    ("link", "lam", "eta1", "start", "end"),
    [
        ("tanh(2*x)", 0.0, 0.5, (-0.5, 0.2), (1.0, None)),  # through m = 0, at full speed
        ("x", 1.0, 0.0, (-0.1, 0.0), (1.0, 0.0)),
        ("x-0.4*He(3,x)", 1.0, 1.0, (-0.5, 0.0), (-0.100505, None)),
        ("x**3-3*x", 1e-6, 0.5, (-0.205, 0.831), (0.0, 0.0)),  # along a slow curve, beside a fast one
        ("x**3-3*x", 13.9734, 0.99998436, (-0.23884, -0.81052), (0.00564, -0.99998)),
        ("He(5,x)", 1.08e-8, 0.16625, (-0.506, 0.822), (0.0, 0.0)),
        ("x-0.4*He(3,x)", 322.5295817433809, 4.51993e-5, (-0.985933, 0.161051), (1.0, 0.0)),
        ("He(5,x)", 19.495757, 0.161574, (-0.35217, -0.32189), (0.0, 0.0)),
    ],
)
def test_paths_are_neither_left_nor_stopped_on(
    link: str, lam: float, eta1: float, start: tuple[float, float], end: tuple[float, float | None]
) -> None:
    m1, m2, _ = destinations(PopulationLoss(Link.parse(link), lam=lam, eta1=eta1), [start[0]], [start[1]])
    assert m1[0] == pytest.approx(end[0], abs=1e-5)
    if end[1] is not None:
        assert m2[0] == pytest.approx(end[1], abs=1e-5)


def test_a_landscape_that_overflows_is_refused() -> None:
    loss = PopulationLoss(Link.parse("exp(x)"), lam=1000.0, eta1=1.0)
    with pytest.raises(ReachError, match="lower lambda"):
        flow(loss, (0.5, 0.0), [0, 1])
    with pytest.raises(ReachError, match="lower lambda"):
        destinations(loss, [0.5], [0.0])
