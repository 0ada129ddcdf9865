"""Starts side by side: intervals, censoring, and what the sentence says."""

from __future__ import annotations

import json

import pytest

from numerics.figures.single_index_compare import comparison_figure
from numerics.single_index.censoring import order_interval, wilson
from numerics.single_index.compare import NAMES, compare
from numerics.single_index.setting import Setting
from theory.errors import InputError
from theory.single_index.link import Link

CUBIC = Setting(Link.parse("x**3-3*x"), lam=1.0, eta1=0.45, d=60)


def test_wilson_by_its_equation() -> None:
    """The bounds solve |p̂ − p| = z√(p(1−p)/n)."""
    for k, n in ((3, 17), (0, 8), (8, 8), (50, 100)):
        for p in wilson(k, n):
            if 0 < p < 1:
                assert abs(k / n - p) == pytest.approx(1.959963984540054 * (p * (1 - p) / n) ** 0.5, rel=1e-9)


def test_order_statistics() -> None:
    assert order_interval([5, None, None]) == (None, 5.0, None)
    middle, low, high = order_interval(list(range(1, 101)))
    assert (middle, low, high) == (50.5, 40.0, 61.0)


def test_a_comparison_has_every_start() -> None:
    result = compare(CUBIC, replicas=16, seed=3)
    record = json.loads(json.dumps(result.to_json(), allow_nan=False))
    assert set(record["starts"]) == set(NAMES)
    for one in record["starts"].values():
        assert one["low"] <= one["share"] <= one["high"]
        assert {"samples_median", "samples_low", "samples_high", "theory"} <= set(one)
    pca, random = record["starts"]["pca"], record["starts"]["random"]
    assert pca["theory"]["exponent"] == 1
    assert random["theory"]["exponent"] == 2
    assert pca["samples_median"] < random["samples_median"]
    assert pca["unlabelled"] == 240
    assert record["starts"]["pca-labels"]["labels"] == 100
    assert "Pre-training" in result.sentence
    assert comparison_figure(result).axes


def test_a_short_budget_censors() -> None:
    result = compare(CUBIC, starts=["random"], budget=100, replicas=8)
    (route,) = result.routes
    assert (route.arrived, route.median, route.censored) == (0, None, 8)
    assert sum(route.failures.values()) == 8
    assert "does not find the target within 100 samples" in result.sentence


def test_without_a_spike_there_is_no_pca() -> None:
    plain = Setting(Link.parse("x**2-1"), lam=0.0, eta1=1.0, d=50)
    result = compare(plain, replicas=4)
    assert [route.name for route in result.routes] == ["random", "transfer"]
    assert any("left out" in warning for warning in result.warnings)


@pytest.mark.parametrize("changes", [{"starts": ["best"]}, {"target": 1.0}, {"budget": 0}, {"starts": ["pca", "pca"]}])
def test_refusals(changes: dict[str, object]) -> None:
    with pytest.raises(InputError):
        compare(CUBIC, **changes)  # type: ignore[arg-type]
