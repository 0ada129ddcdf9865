"""The verb ``simulate``: against the exact series, whatever the workers, in the formulation that the sizes call for."""

from __future__ import annotations

import json
import math
from fractions import Fraction

import numpy as np
import pytest

from numerics.gradient_flow.formulation import choose
from numerics.gradient_flow.simulate import simulate
from numerics.runs.machine import Machine
from theory.autoencoder.series import loss_series
from theory.autoencoder.sizes import Sizes
from theory.errors import BudgetError, InputError

SMALL = Sizes.parse("p=6,n=4,m=5,sigma2=1/12")


def test_means_are_those_of_the_exact_series() -> None:
    """Taylor polynomials of order 5, at times where their last term is far below the standard error."""
    eta, times = 0.8, np.array([0.0, 0.04, 0.08])
    found = simulate(SMALL, times, replicas=2000, seed=2, eta=eta)
    for loss in ("train", "population"):
        taylor = loss_series(loss, order=5).taylor(SMALL, eta)  # type: ignore[arg-type]
        predicted = sum(c * times**s for s, c in enumerate(taylor))
        estimate, change = getattr(found, loss), getattr(found, f"{loss}_change")
        assert abs(taylor[-1] * times[-1] ** 5) < 0.1 * change.stderr[-1]
        assert np.all(np.abs(estimate.mean - predicted) < 4 * estimate.stderr)
        expected = (predicted - predicted[0])[1:]
        assert np.all(np.abs(change.mean[1:] - expected) < 4 * change.stderr[1:])
        assert np.all(change.stderr[1:] < 0.05 * np.abs(expected))
        # Sharp enough to see a derivative a fifth too large.
        assert np.all(np.abs(change.mean[1:] - expected - 0.2 * taylor[1] * times[1:]) > 4 * change.stderr[1:])


def test_workers_do_not_matter() -> None:
    one, three = (simulate(SMALL, [0, 3], replicas=7, seed=5, machine=Machine(workers=workers)) for workers in (1, 3))
    assert json.dumps(one.to_json()) == json.dumps(three.to_json())
    assert simulate(SMALL, [0, 3], replicas=7, seed=6).to_json() != one.to_json()


@pytest.mark.parametrize(
    ("sizes", "end", "formulation"),
    [
        ("p=300,n=2,m=300,sigma2=1/300", 100.0, "thin latent"),
        ("p=300,n=300,m=2,sigma2=1/300", 2.0, "few data"),
        ("p=5,n=100000,m=1000000,sigma2=1/100000", 5.0, "full: 5 coordinates"),
        ("p=1000000000,n=2,m=3,sigma2=1/1000000000", 1.0, "full: 5 coordinates"),
    ],
)
def test_the_formulation_is_chosen_by_the_sizes_and_stated(sizes: str, end: float, formulation: str) -> None:
    found = simulate(Sizes.parse(sizes), [0, end], replicas=2, seed=0)
    assert found.formulation.startswith(formulation)
    assert formulation in found.to_text()
    assert np.all(np.isfinite(found.train.mean))


def test_descent_with_a_small_step_is_near_the_flow() -> None:
    flow = simulate(SMALL, [0, 2], replicas=5, seed=1, tolerance=1e-8)
    descent = simulate(SMALL, [0, 2], replicas=5, seed=1, method="descent", step=0.01)
    assert descent.method == "gradient descent, step 0.01"
    np.testing.assert_allclose(descent.train.mean, flow.train.mean, rtol=0.02)
    assert abs(descent.train.mean[1] - flow.train.mean[1]) > 1e-6


def test_replicas_that_diverge_are_shown() -> None:
    wild = Sizes(SMALL.p, SMALL.n, SMALL.m, Fraction(3))
    found = simulate(wild, [0, 39.96], replicas=60, seed=1, method="descent", step=0.18)
    assert 0 < len(found.failures) < 60
    assert found.replicas == 60 - len(found.failures)
    assert "diverged before t = 39.96" in found.to_text()
    assert found.to_json()["failures"][0]["reason"].startswith("FloatingPointError: gradient descent")


def test_what_would_not_fit_is_refused_with_its_estimate() -> None:
    huge = Sizes.parse("p=100000,n=60000,m=60000,sigma2=1/100000")
    with pytest.raises(BudgetError, match=r"would need .* GB, the limit is"):
        simulate(huge, [0, 1], replicas=1, seed=0, force=True)
    long = Sizes.parse("p=600,n=600,m=600,sigma2=1/600")
    with pytest.raises(BudgetError, match="hours"):
        simulate(long, [0, 100], replicas=10**6, seed=0)
    assert choose(long, end=100.0, eta=1.0, tolerance=1e-4).seconds < 60


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"tolerance": 0.5}, "tolerance"),
        ({"tolerance": math.nan}, "tolerance"),
        ({"eta": -1.0}, "eta"),
        ({"eta": math.inf}, "eta"),
        ({"step": 0.1}, "step"),
        ({"method": "descent", "step": -1.0}, "step"),
        ({"method": "descent", "step": 0.7}, r"t = 1 is not; use step=0.5"),
        ({"method": "descent", "step": 3.0}, r"t = 1 is not; use step=1,"),
        ({"replicas": 0}, "replicas"),
        ({"replicas": 2.5}, "replicas"),
        ({"eta": 1e300, "times": [0, 1e300]}, "floating-point"),
    ],
)
def test_unusable_arguments_are_refused(options: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        simulate(SMALL, **{"times": [0, 1], "replicas": 2, "seed": 0, **options})  # type: ignore[arg-type]


def test_a_machine_without_workers_is_refused() -> None:
    with pytest.raises(InputError, match="workers"):
        Machine(workers=0)


def test_numbers_of_numpy_are_numbers_and_sizes_are_asked_for() -> None:
    from_numpy = Sizes(np.int64(20), np.int32(10), np.int64(30), 0.05)  # type: ignore[arg-type]
    assert from_numpy == Sizes.parse("p=20,n=10,m=30,sigma2=1/20")
    assert json.dumps(from_numpy.to_json())
    runs = [simulate(from_numpy, times, replicas=2, seed=0) for times in (np.array([0, 1]), [0, 1])]
    assert runs[0].to_json() == runs[1].to_json()
    with pytest.raises(InputError, match="expected a Sizes"):
        simulate("p=20", [0, 1], replicas=2, seed=0)  # type: ignore[arg-type]
