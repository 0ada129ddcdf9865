"""Input laws: declared cumulants against quadrature, quadrature against adaptive integration, and what is refused."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable

import numpy as np
import pytest
from scipy import stats
from scipy.integrate import quad

from theory.errors import InputError
from theory.sgd.laws import LAWS, Law, discrete_law, law, own_law

TEXTS = (*LAWS, "two-point:0.3", "atoms:-2:0.2,0.5:0.8")
DENSITIES = {
    "gaussian": stats.norm(),
    "uniform": stats.uniform(-math.sqrt(3), 2 * math.sqrt(3)),
    "laplace": stats.laplace(scale=1 / math.sqrt(2)),
    "exponential": stats.expon(loc=-1),
}


@pytest.mark.parametrize("text", TEXTS)
def test_declared_moments_are_the_quadratures(text: str) -> None:
    known = law(text)
    x, w = known.nodes(16)
    moments = [float(w @ x**k) for k in range(5)]
    assert moments == pytest.approx([1, 0, 1, known.kappa3, known.kappa4 + 3], abs=1e-9)


@pytest.mark.parametrize("name", DENSITIES)
@pytest.mark.parametrize("function", [np.tanh, lambda x: np.exp(-((x - 0.3) ** 2)), np.cos])
def test_quadrature_against_adaptive_integration(name: str, function: Callable[..., np.ndarray]) -> None:
    density = DENSITIES[name]
    x, w = LAWS[name].nodes(96)
    edges = [max(density.support()[0], -40.0), 0.0, min(density.support()[1], 40.0)]
    pieces = [quad(lambda y: function(y) * density.pdf(y), a, b, limit=200)[0] for a, b in itertools.pairwise(edges)]
    assert float(w @ function(x)) == pytest.approx(sum(pieces), abs=2e-6)


def test_every_discrete_law_is_refused_unless_matched() -> None:
    with pytest.raises(InputError, match="mean 0 and variance 1"):
        discrete_law("two", [0.0, 1.0], [0.5, 0.5])
    with pytest.raises(InputError, match="sum to 1"):
        discrete_law("two", [-1.0, 1.0], [0.5, 0.6])


@pytest.mark.parametrize("missing", ["mean", "variance", "kappa3", "kappa4"])
def test_an_own_law_declares_all_its_moments(missing: str) -> None:
    moments = {"mean": 0.0, "variance": 1.0, "kappa3": 0.5, "kappa4": 1.0}
    assert own_law("mine", **moments).kappa3 == 0.5  # type: ignore[arg-type]
    del moments[missing]
    with pytest.raises(InputError, match=missing):
        own_law("mine", **moments)  # type: ignore[arg-type]


def test_impossible_cumulants_are_refused() -> None:
    with pytest.raises(InputError, match="kappa4"):
        own_law("mine", mean=0, variance=1, kappa3=2, kappa4=1)


def test_a_law_known_by_moments_has_no_quadrature() -> None:
    moments = law("moments:mean=0,variance=1,kappa3=0,kappa4=0")
    assert not moments.has_quadrature
    with pytest.raises(InputError, match="quadrature"):
        moments.nodes(4)
    with_rule = own_law("mine", mean=0, variance=1, kappa3=0, kappa4=-2, quadrature=([-1, 1], [0.5, 0.5]))
    assert with_rule.nodes(7)[0].tolist() == [-1, 1]


@pytest.mark.parametrize(
    "text", ["cauchy", "two-point:x", "two-point:2", "atoms:1", "moments:skew=1", "__import__", ""]
)
def test_unknown_laws_are_refused(text: str) -> None:
    with pytest.raises(InputError, match="law"):
        law(text)


def test_laws_compare_and_hash_by_what_they_are() -> None:
    assert law("two-point:0.1") == LAWS["two-point:0.1"]
    assert isinstance(hash(LAWS["laplace"]), int)
    assert isinstance(LAWS["uniform"], Law)
