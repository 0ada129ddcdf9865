"""Random starts have the law of random vectors; ends and shares are those that symmetry gives."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from numerics.sgd.basins import basins, wilson
from numerics.sgd.random_starts import random_start
from theory.errors import InputError
from theory.sgd.laws import law
from theory.sgd.tasks import committee, single_index, xor


@pytest.mark.parametrize("kind", ["gaussian", "spherical"])
def test_starts_are_those_of_random_vectors(kind: str) -> None:
    """Overlaps and norms against vectors drawn entry by entry, by Kolmogorov and Smirnov."""
    task, d, generator = committee(), 12, np.random.default_rng(1)
    states = [random_start(task, d=d, law=kind, scale=1.5, generator=generator) for _ in range(2000)]  # type: ignore[arg-type]
    W = 1.5 * generator.standard_normal((2000, 2, d)) / np.sqrt(d)
    if kind == "spherical":
        W *= 1.5 / np.linalg.norm(W, axis=2, keepdims=True)
    Q = np.einsum("nik,njk->nij", W, W)
    pairs = [
        ([x.M[0, 1] for x in states], W[:, 0, 1]),
        ([x.Q[0, 1] for x in states], Q[:, 0, 1]),
        ([x.M[1, 0] * x.Q[0, 1] for x in states], W[:, 1, 0] * Q[:, 0, 1]),
    ]
    if kind == "gaussian":
        pairs.append(([x.Q[1, 1] for x in states], Q[:, 1, 1]))
    for ours, drawn in pairs:
        assert stats.ks_2samp(ours, drawn).pvalue > 1e-3


@pytest.mark.parametrize("method", ["reduced", "full", "ode"])
def test_both_signs_are_ends_of_an_even_link(method: str) -> None:
    """(w·a)² does not know the sign of w: half the starts go to v, half to −v, by any route."""
    replicas = 6 if method == "ode" else 40
    found = basins(single_index(step=0.02), time=5.0, replicas=replicas, seed=3, d=60, method=method)  # type: ignore[arg-type]
    assert sorted(round(end.statistics["M_1_1"], 2) for end in found.ends) == [-1.0, 1.0]
    assert sum(end.share for end in found.ends) == pytest.approx(1)
    assert all(end.low < 0.5 < end.high for end in found.ends)
    assert len(found.levels) == 1
    assert found.to_json()["replicas"] == replicas


def test_students_that_change_places_are_one_end() -> None:
    found = basins(committee(), time=100.0, replicas=12, seed=0, d=1000, scale=0.7)
    best = [end for end in found.ends if end.loss < 0.01]
    assert len(best) == 1
    assert best[0].time > 5  # the plateau


def test_wilson_is_the_score_interval() -> None:
    low, high = wilson(3, 40)
    for bound in (low, high):
        assert abs(3 / 40 - bound) / np.sqrt(bound * (1 - bound) / 40) == pytest.approx(1.959964, abs=1e-5)
    assert wilson(0, 10)[0] == 0.0


def test_refusals() -> None:
    task = xor()
    with pytest.raises(InputError, match="method"):
        basins(task, time=1.0, replicas=4, seed=0, law=law("rademacher"), method="reduced")
    with pytest.raises(InputError, match="dimension"):
        basins(task, time=1.0, replicas=4, seed=0, d=None, method="full")
