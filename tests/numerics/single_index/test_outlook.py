"""Verdicts at a dimension, start and budget, beside simulation; the leak of a trap; the Python namespace."""

from __future__ import annotations

import math

import pytest

import ringprism as rp
from numerics.single_index.batches import Plan
from numerics.single_index.chains import run_chains
from numerics.single_index.escape import leak
from numerics.single_index.outlook import outlook
from numerics.single_index.rates import choose_steps
from numerics.single_index.setting import Setting
from numerics.single_index.starts import parse_start
from theory.errors import ReachError
from theory.single_index.link import Link

CUBIC = Link.parse("x**3-3*x")


def test_random_starts_without_a_spike_need_more_than_the_papers_budget() -> None:
    """[S]'s Figure 1 budget, 1.5 d², and the share that simulation finds with ten times that."""
    plain = Setting(CUBIC, lam=0.0, eta1=1.0, d=200)
    step, random = 0.1 / 200**2, parse_start("random")
    assert outlook(plain, random, budget=1.5 * 200**2, step=step).prospect == "too slow"
    longer = outlook(plain, random, budget=4e5, step=step)
    runs = run_chains(plain, random, Plan(400_000, step, target=0.5, stop=True), replicas=32, seed=5)
    share = sum(run.hit is not None for run in runs.replicas) / 32
    assert abs(longer.share - share) < 0.25


def test_a_trap_leaks_as_its_diffusion_does() -> None:
    """The mean escape time of 64 chains at a large step; their exposure over their number is its estimate."""
    setting = Setting(CUBIC, lam=1.0, eta1=1.0, d=100)
    step, limit = 1.5e-6, 2_000_000
    expected = leak(setting, step, 0.2)
    runs = run_chains(setting, parse_start("0,0"), Plan(limit, step, target=0.2, stop=True), replicas=64, seed=2)
    hits = [run.hit for run in runs.replicas]
    escapes = sum(hit is not None for hit in hits)
    assert escapes > 40
    measured = sum(limit if hit is None else hit for hit in hits) / escapes
    assert abs(math.log(measured) - expected.log_samples) < 0.15 + 4 / math.sqrt(escapes)
    assert leak(setting, step / 4).log_samples > expected.log_samples + 1


def test_no_trap_no_leak() -> None:
    with pytest.raises(ReachError):
        leak(Setting(CUBIC, lam=1.0, eta1=0.45, d=100), 1e-6)


def test_the_namespace() -> None:
    report = rp.single_index.loss("x**3-3*x", lam=1.0, eta1=0.45, point=(0.3, 0.2))
    assert report.point is not None
    assert report.point.value == pytest.approx(17.734238, abs=1e-6)
    path = rp.single_index.flow("x**2", lam=1.0, eta1=0.45, start=(0.4, 0.1), times=[0, 1])
    assert path.reaches_target
    found = rp.single_index.outlook("x**2-1", lam=0.0, eta1=1.0, d=100, budget=1e6)
    assert found.prospect == "arrives"
    assert all(hasattr(rp.single_index, name) for name in rp.single_index.__all__)


def test_a_linear_drift_takes_a_step_of_its_own() -> None:
    """(x − x³)e^{−x²}: the spike drives starts out at first order in m, as the normalisation holds them: δ ~ 1."""
    driven = Setting(Link.parse("(x-x**3)*exp(-x**2)"), lam=1.0, eta1=0.45, d=100)
    steps = choose_steps(driven, parse_start("random"), (100, 400, 1600), 0.5)
    assert [step * d for step, d in zip(steps, (100, 400, 1600), strict=True)] == pytest.approx([steps[0] * 100] * 3)
