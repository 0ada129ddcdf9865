"""Principal components: computed from data, drawn from their exact law, and in the limit."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from numerics.runs.seeds import replica_seed
from numerics.single_index import pca
from numerics.single_index.setting import Setting
from theory.errors import BudgetError
from theory.single_index.link import Link

CUBIC = Link.parse("x**3 - 3*x")


def setting(lam: float, d: int) -> Setting:
    return Setting(CUBIC, lam=lam, eta1=0.45, d=d)


def overlap(one: Setting, vector: np.ndarray) -> float:
    return abs(float(vector[0] * one.eta1 + vector[1] * one.eta2))


@pytest.mark.parametrize(("lam", "d", "samples"), [(1.0, 60, 200), (1.0, 40, 30), (0.3, 50, 100)])
def test_the_law_is_that_of_computed_components(lam: float, d: int, samples: int) -> None:
    one = setting(lam, d)
    computed = [overlap(one, pca.principal_component(one, samples, replica_seed(1, k))) for k in range(300)]
    drawn = [pca.overlap_in_law(one, samples, replica_seed(2, k)) for k in range(2000)]
    assert stats.ks_2samp(computed, drawn).pvalue > 1e-3
    error = np.std(computed) / math.sqrt(300)
    assert error < 0.02
    assert abs(np.mean(computed) - np.mean(drawn)) < 5 * error


def test_the_component_is_numpys() -> None:
    one = setting(1.0, 30)
    data = pca._Samples(one, 80, replica_seed(3, 0))
    matrix = np.vstack([data._generate(k) for k in range(data._count)])
    vector = pca.principal_component(one, 80, replica_seed(3, 0))
    reference = np.linalg.svd(matrix)[2][0]
    assert abs(abs(vector @ reference) - 1) < 1e-8


def test_samples_have_the_spiked_covariance() -> None:
    one = setting(2.0, 6)
    data = pca._Samples(one, 60_000, replica_seed(4, 0))
    matrix = np.vstack([data._generate(k) for k in range(data._count)])
    v = np.array([one.eta1, one.eta2, 0, 0, 0, 0])
    np.testing.assert_allclose(matrix.T @ matrix / 60_000, np.eye(6) + 2 * np.outer(v, v), atol=0.06)


def test_regenerated_samples_give_the_same_component(monkeypatch: pytest.MonkeyPatch) -> None:
    one = setting(1.0, 50)
    kept = pca.principal_component(one, 400, replica_seed(5, 0))
    monkeypatch.setattr(pca, "KEPT_BYTES", 1000)
    monkeypatch.setattr(pca, "BLOCK_BYTES", 8 * 50 * 400)
    regenerated = pca.principal_component(one, 400, replica_seed(5, 0))
    np.testing.assert_array_equal(kept, regenerated)


@pytest.mark.parametrize("lam", [0.6, 1.0, 3.0])
def test_the_limit_above_the_threshold(lam: float) -> None:
    one = setting(lam, 30_000)
    drawn = [pca.overlap_in_law(one, 120_000, replica_seed(6, k)) for k in range(8)]
    assert abs(np.mean(drawn) - pca.limit_overlap(lam, 0.25)) < 0.01


def test_below_the_threshold_the_overlap_vanishes() -> None:
    means = []
    for d in (500, 16_000):
        drawn = [pca.overlap_in_law(setting(0.4, d), 4 * d, replica_seed(7, k)) for k in range(30)]
        means.append(np.mean(drawn))
    assert means[1] < 0.5 * means[0] < 0.15
    assert pca.limit_overlap(0.4, 0.25) == 0 == pca.limit_overlap(0.5, 0.25)


def test_a_component_of_hours_is_refused() -> None:
    with pytest.raises(BudgetError, match="pca-law"):
        pca.principal_component(setting(1.0, 10**6), 10**6, replica_seed(0, 0))
