"""The one-dimensional diffusion behind the claim on the trap: its drift, its noise, its escape time."""

from __future__ import annotations

import math

import numpy as np
import pytest

from numerics.claims import single_index_trap as claim
from numerics.single_index.setting import Setting
from theory.single_index.link import Link

SETTING = Setting(Link.parse("x**3 - 3*x"), lam=1.0, eta1=1.0, d=1000)


@pytest.mark.parametrize("m", [0.0, 0.3])
def test_drift_and_diffusion_are_those_of_one_step(m: float) -> None:
    """The mean and the variance of the change of m in one step of the chain, by plain sampling."""
    rng = np.random.default_rng(0)
    count, step = 4_000_000, 1e-7
    field = math.sqrt(2) * rng.standard_normal(count)
    across = rng.standard_normal(count)
    z = m * field + math.sqrt(1 - m**2) * across
    c = 2 * (SETTING.link.value(z) - SETTING.link.value(field)) * SETTING.link.derivative(z)
    norm = 1 + (step * c) ** 2 * (field**2 + across**2 + rng.chisquare(SETTING.d - 2, count) - z**2)
    change = ((m - step * c * (field - z * m)) / np.sqrt(norm) - m) / step
    error = change.std() / math.sqrt(count)
    assert error < 0.3
    assert abs(change.mean() - claim.drift(SETTING, step, m)) < 4 * error
    assert change.var() == pytest.approx(claim.diffusion(SETTING, m), rel=0.05)


def test_the_saddle_is_the_traps_radius_moved_outwards_by_the_normalisation() -> None:
    small, blur = claim.saddle(SETTING, 1e-12)
    large, _ = claim.saddle(SETTING, 1e-7)
    assert small == pytest.approx(0.0933004, abs=1e-5)
    assert 0.094 < large < 0.098
    assert blur < 1e-4


def test_escape_takes_exponentially_long_in_the_inverse_step() -> None:
    """d log T / d(1/step) is 2∫|b|/D, had here by a plain sum over the way up to the saddle."""
    steps = (2e-8, 2.5e-8)
    times = [claim.mean_escape_time(SETTING, step) for step in steps]
    growth = math.log(times[0] * steps[0] / (times[1] * steps[1])) / (1 / steps[0] - 1 / steps[1])
    m = np.linspace(0, claim.saddle(SETTING, 2.2e-8)[0], 401)
    slope = [-claim.drift(SETTING, 2.2e-8, x) / claim.diffusion(SETTING, x) for x in m]
    assert growth == pytest.approx(2 * np.sum(slope) * (m[1] - m[0]), rel=0.05)
