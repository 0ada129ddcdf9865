"""Every law drawn in the kernel: its distribution, its declared cumulants, its independence."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from numerics.kernels.normals import stream
from numerics.runs.seeds import replica_seed
from numerics.sgd.noise import fill_noise, recipes
from theory.errors import InputError
from theory.sgd.laws import LAWS, Law, law, own_law

_SIZE = 2**19
_DISTRIBUTIONS = {
    "gaussian": stats.norm(),
    "uniform": stats.uniform(-np.sqrt(3), 2 * np.sqrt(3)),
    "laplace": stats.laplace(scale=np.sqrt(0.5)),
    "exponential": stats.expon(loc=-1),
}


def draw(chosen: Law, size: int = _SIZE, replica: int = 0) -> np.ndarray:
    table = recipes([chosen])
    out = np.empty(size)
    state = stream(replica_seed(11, replica))
    fill_noise(table.kinds[0], table.lowest[0], table.jumps[0], table.thresholds[0], state, out)
    return out


@pytest.mark.parametrize("name", [*LAWS, "atoms:-2:0.2,0.5:0.8", "two-point:0.01"])
def test_moments(name: str) -> None:
    chosen = law(name)
    x = draw(chosen)
    moments = (0.0, 1.0, chosen.kappa3, chosen.kappa4 + 3)
    for power, expected in enumerate(moments, start=1):
        stderr = (x**power).std() / np.sqrt(len(x))
        assert abs((x**power).mean() - expected) <= 4.5 * stderr + 1e-12
        assert stderr < 0.02 * max(1.0, expected**2)
    for pairs in (x[1:] * x[:-1], x[32:] * x[:-32], (x[1:] ** 2 - 1) * (x[:-1] ** 2 - 1)):
        assert abs(pairs.mean()) <= 4.5 * pairs.std() / np.sqrt(len(pairs)) + 1e-12


@pytest.mark.parametrize("name", _DISTRIBUTIONS)
def test_continuous_laws_by_kolmogorov_and_smirnov(name: str) -> None:
    assert stats.kstest(draw(law(name)), _DISTRIBUTIONS[name].cdf).pvalue > 1e-3


@pytest.mark.parametrize("name", ["rademacher", "two-point:0.1", "three-point", "atoms:-2:0.2,0.5:0.8"])
def test_atoms_by_their_frequencies(name: str) -> None:
    chosen = law(name)
    values, counts = np.unique(np.round(draw(chosen), 12), return_counts=True)
    np.testing.assert_allclose(values, sorted(chosen.values))
    weights = np.array(chosen.weights)[np.argsort(chosen.values)]
    assert stats.chisquare(counts, _SIZE * weights).pvalue > 1e-3


def test_a_law_known_by_its_moments_alone_cannot_be_drawn() -> None:
    with pytest.raises(InputError, match="can be drawn"):
        recipes([own_law("mine", mean=0, variance=1, kappa3=0, kappa4=0)])
