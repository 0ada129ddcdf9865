"""The estimate of a mean change: unbiased, with the spread its standard error says, and sharper than either part."""

from __future__ import annotations

import numpy as np
import pytest

from numerics.gradient_flow.control_variate import FEWEST, estimate_change, expected_start
from numerics.gradient_flow.loss_replicas import loss_replicas
from numerics.runs.seeds import replica_seed
from theory.autoencoder.series import LossName, loss_series
from theory.autoencoder.sizes import Sizes

TRIALS = 4000


def samples(count: int) -> np.ndarray:
    """Skewed starts of mean 2; later losses that remember all, half, or nothing of them. Shape (TRIALS, count, 4)."""
    generator = np.random.default_rng(replica_seed(0, 0))
    start = generator.exponential(2.0, (TRIALS, count, 1))
    memory, noise = np.array([1.0, 1.0, 0.5, 0.0]), np.array([0.0, 0.1, 0.3, 0.5])
    later: np.ndarray = start * memory + noise * (generator.exponential(1.0, (TRIALS, count, 4)) - 1.0)
    return later


TRUE = np.array([0.0, 0.0, -1.0, -2.0])


@pytest.mark.parametrize("count", [FEWEST - 1, FEWEST, 24])
def test_no_bias_and_honest_errors(count: int) -> None:
    found = [estimate_change(sample, 2.0) for sample in samples(count)]
    means, errors = np.array([f.mean for f in found]), np.array([f.stderr for f in found])
    assert np.all(means[:, 0] == 0.0)
    spread = means.std(axis=0, ddof=1)
    assert np.all(np.abs(means.mean(axis=0) - TRUE)[1:] < 4 * spread[1:] / np.sqrt(TRIALS))
    stated = np.sqrt((errors**2).mean(axis=0))
    assert np.all(np.abs(stated[1:] / spread[1:] - 1) < 0.1)


def test_it_is_sharper_than_the_change_and_the_level() -> None:
    found = np.array([estimate_change(sample, 2.0).mean for sample in samples(24)]).std(axis=0)
    plain = np.array([estimate_change(sample, None).mean for sample in samples(24)]).std(axis=0)
    level = samples(24).mean(axis=1).std(axis=0)
    assert found[1] < 0.3 * level[1]
    assert found[2] < 0.4 * min(plain[2], level[2])
    assert found[3] < 0.4 * plain[3]


def test_a_wrong_start_would_show() -> None:
    means = np.array([estimate_change(sample, 2.2).mean for sample in samples(24)])
    assert abs(means[:, 3].mean() - TRUE[3]) > 10 * means[:, 3].std() / np.sqrt(TRIALS)


def test_left_out_slopes_are_those_of_the_other_rows() -> None:
    sample = samples(FEWEST)[0]
    others = [np.delete(sample, row, axis=0) for row in range(FEWEST)]
    slopes = np.array([np.polyfit(rest[:, 0], rest[:, 2], 1)[0] for rest in others])
    terms = sample[:, 2] - 2.0 - slopes * (sample[:, 0] - 2.0)
    found = estimate_change(sample, 2.0)
    assert found.beta[2] == pytest.approx(slopes.mean())
    assert found.mean[2] == pytest.approx(terms.mean())
    assert found.stderr[2] == pytest.approx(terms.std(ddof=1) / np.sqrt(FEWEST))


@pytest.mark.parametrize("loss", ["train", "population"])
@pytest.mark.parametrize("sizes", ["p=7,n=4,m=5,sigma2=1/12", "p=1,n=1,m=1,sigma2=2"])
def test_the_start_is_that_of_the_exact_series(loss: LossName, sizes: str) -> None:
    at = Sizes.parse(sizes)
    assert expected_start(at) == pytest.approx(loss_series(loss, order=0).taylor(at)[0], rel=1e-14)


def test_late_times_at_small_sizes_are_no_noisier_than_the_loss_itself() -> None:
    sizes = Sizes.parse("p=30,n=30,m=30,sigma2=1/30")
    run = loss_replicas("late", sizes, (0.0, 0.5, 8.0, 32.0), replicas=16, seed=0)
    for loss in ("train", "population"):
        values = getattr(run, loss)
        level = values.std(axis=0, ddof=1) / 4
        plain = (values - values[:, :1]).std(axis=0, ddof=1) / 4
        found = run.change(loss)[1]
        assert np.all(found[1:] < 1.2 * np.minimum(level, plain)[1:])
        assert np.all(found[2:] < 0.3 * plain[2:])
