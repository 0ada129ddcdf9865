"""What theory says: exponents, steps, gradient noise, the ODE with its normalisation term."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from numerics.runs.machine import Machine
from numerics.single_index.batches import Plan
from numerics.single_index.chains import run_chains
from numerics.single_index.rates import choose_steps, noise_strength, ode_samples, theory_exponent
from numerics.single_index.setting import Setting
from numerics.single_index.starts import parse_start
from theory.single_index.link import Link

CUBIC = Link.parse("x**3 - 3*x")


@pytest.mark.parametrize(
    ("link", "lam", "eta1", "start", "exponent"),
    [
        ("erf(x)", 0.0, 1.0, "random", 1.0),
        ("He(2, x)", 0.0, 1.0, "random", 1.0),
        ("He(3, x)", 0.0, 1.0, "random", 2.0),
        ("He(4, x)", 0.0, 1.0, "random", 3.0),
        ("He(5, x)", 0.0, 1.0, "transfer:0.25", 2.5),
        ("He(3, x)", 1.0, 0.45, "random", 2.0),
        ("He(3, x)", 1.0, 0.45, "pca-law:4d", 1.0),
        ("He(3, x)", 1.0, 0.45, "pca-law:0.5d", 2.0),
        ("He(3, x)", 1.0, 1.0, "random", None),
        ("(x - x**3)*exp(-x**2)", 1.0, 1.0, "random", 1.0),
    ],
)
def test_exponents(link: str, lam: float, eta1: float, start: str, exponent: float | None) -> None:
    setting = Setting(Link.parse(link), lam=lam, eta1=eta1, d=1000)
    assert theory_exponent(setting, parse_start(start)) == exponent


@pytest.mark.parametrize("noise", [0.0, 2.0])
def test_the_gradient_noise_is_that_of_samples(noise: float) -> None:
    setting = Setting(CUBIC, lam=1.0, eta1=0.45, d=50, noise=noise)
    m1, m2 = 0.6, 0.3
    rng = np.random.default_rng(0)
    g = rng.standard_normal((3, 2_000_000))
    along = setting.stretch * (setting.eta1 * g[0] + setting.eta2 * g[1])
    label = g[0] + setting.eta1 * along
    z = m1 * label + m2 * (g[1] + setting.eta2 * along) + math.sqrt(1 - m1**2 - m2**2) * g[2]
    y = CUBIC.value(label) + math.sqrt(noise) * rng.standard_normal(z.size)
    squares = 4 * (CUBIC.value(z) - y) ** 2 * CUBIC.derivative(z) ** 2
    error = squares.std() / math.sqrt(z.size)
    assert error < 0.1 * squares.mean()
    assert abs(squares.mean() - noise_strength(setting, m1, m2)) < 5 * error


def test_the_ode_with_its_normalisation_term_is_what_sgd_does() -> None:
    """At [S]'s own δ; without the term the ODE would arrive a tenth earlier."""
    setting = Setting(CUBIC, lam=1.0, eta1=0.45, d=5000)
    start = parse_start("0.35,0.69")
    step = 1e-4 / setting.d
    predicted = ode_samples(setting, (0.35, 0.69), step, 0.9)
    without = ode_samples(setting, (0.35, 0.69), step * 1e-6, 0.9)
    assert predicted is not None
    assert without is not None
    runs = run_chains(
        setting,
        start,
        Plan(int(1.3 * predicted), step, target=0.9, stop=True),
        replicas=32,
        seed=0,
        machine=Machine(workers=2),
    )
    hits = np.array([run.hit or math.inf for run in runs.replicas])
    error = 1.25 * hits.std() / math.sqrt(len(hits))
    assert error < 0.02 * predicted
    assert abs(np.median(hits) - predicted) < 4 * error + 0.01 * predicted
    assert abs(np.median(hits) - without * 1e-6) > 0.05 * predicted


def test_steps_shrink_as_the_overlap_asks() -> None:
    setting = Setting(Link.parse("He(4, x)"), lam=0.0, eta1=1.0, d=100)
    dims = (100, 400)
    random = choose_steps(setting, parse_start("random"), dims, 0.5)
    assert random[0] * 100 / (random[1] * 400) == pytest.approx(4.0)  # δ ∝ m_0² ∝ 1/d
    warm = choose_steps(setting, parse_start("0.4,0"), dims, 0.5)
    assert warm[0] * 100 == pytest.approx(warm[1] * 400)
    for d, step in zip(dims, random, strict=True):
        assert ode_samples(replace(setting, d=d), (1 / math.sqrt(d), 0.0), step, 0.5) is not None


def test_a_trapped_start_never_arrives() -> None:
    setting = Setting(CUBIC, lam=1.0, eta1=1.0, d=1000)
    assert ode_samples(setting, (0.05, 0.0), 1e-9, 0.5) is None
    assert ode_samples(setting, (0.12, 0.0), 1e-9, 0.5) is not None


@pytest.mark.parametrize("text", ["He(2,x)-0.5*He(4,x)", "x-0.4*He(3,x)"])
def test_a_low_exponent_does_not_save_a_trapped_start(text: str) -> None:
    """At η_1 = 1 zero overlap, or a minimum beside it, holds every random start although k ≤ 2."""
    setting = Setting(Link.parse(text), lam=1.0, eta1=1.0, d=1000)
    assert theory_exponent(setting, parse_start("random")) is None
