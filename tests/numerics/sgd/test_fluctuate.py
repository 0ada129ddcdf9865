"""The study of fluctuations: [U]'s solvable example by hand, a path, a saddle, and the same measured."""

from __future__ import annotations

import math

import numpy as np
import pytest

from numerics.sgd.fluctuate import study_fluctuations
from theory.errors import InputError
from theory.sgd.laws import law
from theory.sgd.tasks import single_index


def test_the_solvable_example_and_its_split_between_laws() -> None:
    """dx = (κ_3 − x)dt + √(10δ)dB: shift κ_3, variance 5δ(1 − e^{−2t}), and the simulation on both."""
    task = single_index(loss="correlation", ridge=1.0, step=0.2)
    study = study_fluctuations(
        task, laws=[law("gaussian"), law("exponential")], spread="flat", d=256, replicas=200, seed=1, times=(0, 1, 2)
    )
    assert study.kind == "stable"
    for result, kappa in zip(study.laws, (0.0, 2.0), strict=True):
        assert result.shift[0] == pytest.approx(kappa, abs=1e-6)
        assert result.volatility[0, 0] == pytest.approx(2.0, rel=1e-6)
        assert result.covariance is not None
        assert result.covariance[0, 0] == pytest.approx(1.0, rel=1e-6)
        assert result.mean[-1, 0] == pytest.approx(kappa * (1 - math.exp(-2)), abs=1e-6)
        run = result.measured
        assert run is not None
        assert abs(run.mean[-1, 0] - result.mean[-1, 0]) < 4 * run.mean_stderr[-1, 0] + 0.15
        assert run.mean_stderr[-1, 0] < 0.1
        assert result.verdict != "fails"
    data = study.to_json()
    assert data["kind"] == "stable"
    assert {"at", "drift", "volatility", "shift", "covariance", "simulated", "warnings"} <= data.keys()


def test_sample_paths_have_the_law_of_the_diffusion() -> None:
    task = single_index(loss="correlation", ridge=1.0, step=0.2)
    study = study_fluctuations(task, laws=[law("exponential")], spread="flat", paths=600, times=(0, 1))
    (result,) = study.laws
    ends = result.paths[:, -1, 0]
    assert ends.mean() == pytest.approx(result.mean[-1, 0], abs=4 * math.sqrt(result.variance[-1, 0] / 600))
    assert ends.var() == pytest.approx(result.variance[-1, 0], rel=4 * math.sqrt(2 / 600))


def test_along_the_ode_and_at_a_saddle() -> None:
    """Linear regression along its path: J is constant; a start on the saddle of an even link is about the saddle."""
    linear = single_index(link="x", step=0.1, label_noise=0.5)
    path = study_fluctuations(linear, start={"M_1_1": 0.2, "Q_1_1": 0.7}, along=True, times=(0, 2))
    assert path.kind == "path"
    assert path.laws[0].drift[0] == pytest.approx([-2.0, 0.0], abs=1e-6)
    # Var(c u) with c = 2(z − u − e): 4(R + S + Var e), S = (M − 1)²; Ċ = −4C + δ·that along the path
    M, R, C, h = 0.2, 0.7 - 0.4 + 1.0, 0.0, 1e-3
    for _ in range(2000):
        C += h * (-4 * C + 0.1 * 4 * (R + (M - 1) ** 2 + 0.5))
        M, R = M + h * 2 * (1 - M), R + h * (-4 * R + 0.4 * (R + 0.5))
    assert path.laws[0].variance[-1, 0] == pytest.approx(C, rel=1e-2)
    saddle = study_fluctuations(single_index(step=0.02), start={"M_1_1": 0.0, "Q_1_1": 0.6}, times=(0, 0.1))
    assert saddle.kind == "saddle"
    assert saddle.laws[0].covariance is None
    assert saddle.at["M_1_1"] == 0.0
    assert any("saddle" in text for text in saddle.warnings)
    assert np.isfinite(saddle.laws[0].variance).all()


def test_refusals() -> None:
    with pytest.raises(InputError, match="replicas"):
        study_fluctuations(single_index(), replicas=1)
    with pytest.raises(InputError, match="laws"):
        study_fluctuations(single_index(), laws=[])
