"""Faces ranked at actual sizes, for any model: where one rate is far ahead, and against the exact flow of a scalar."""

from __future__ import annotations

import numpy as np
import pytest

from regimes.model_ranking import rank_model
from theory.engine.pade import resummed
from theory.errors import InputError
from theory.models.model import Model

SCALARS = Model.declare(
    "vector",
    sizes=["n"],
    parameters=["decay", "pull"],
    tensors={"U": {"indices": ["n", "n"], "variance": "sigma2", "trained": True}},
    losses={"train": "1/2 decay norm2(U) + 1/4 pull tr(U U' U U')"},
)
"""Singular values u of U follow du/dt = −decay u − pull u³."""


def test_a_model_with_two_rates() -> None:
    """Of decay and pull · σ²n the larger wins; the smallest face that misses less than the tolerance is named."""
    near = rank_model(SCALARS, "n=400,sigma2=1/400,decay=1,pull=1")
    assert near.best.vertices == ("decay", "sigma2*pull*n")
    assert near.faces[0].distance_early == 0
    assert rank_model(SCALARS, "n=400,sigma2=1/400,decay=100,pull=1").best.name == "decay"
    assert rank_model(SCALARS, "n=400,sigma2=1/400,decay=1/100,pull=1").best.name == "sigma2*pull*n"
    loose = rank_model(SCALARS, "n=400,sigma2=1/400,decay=1,pull=1/10", tolerance=0.5)
    assert loose.best.name == "decay"


def test_the_miss_is_that_of_the_exact_flow() -> None:
    """At the horizon: singular values squared x = u² follow x' = −2x(decay + pull x), Marchenko–Pastur at time 0."""
    ranking = rank_model(SCALARS, "n=400,sigma2=1/400,decay=1,pull=1/5")
    stated = {r.face.name: r.distance_early for r in ranking.faces}["decay"]
    nodes, weights = np.polynomial.chebyshev.chebgauss(4000)
    x = 2 + 2 * nodes  # the quarter-circle law squared: density √(4/x − 1)/2π on [0, 4]
    density = np.sqrt(4 / x - 1) / (2 * np.pi) * 2 * np.sqrt(1 - nodes**2) * weights

    def change(t: float, pull: float) -> float:
        growth = np.exp(-2 * t)
        moved = x * growth / (1 + pull * x * (1 - growth)) if pull else x * growth
        return float(((moved - x) / 2 + pull * (moved**2 - x**2) / 4) @ density)

    times = np.linspace(0, ranking.reach, 13)[1:]
    exact = np.array([change(t, 0.2) for t in times])
    only = np.array([change(t, 0.0) for t in times])
    assert stated == pytest.approx(float(np.abs(only / exact - 1).max()), rel=0.02)


def test_forms_and_refusals() -> None:
    ranking = rank_model(SCALARS, {"n": 5, "sigma2": "1/5", "decay": 1, "pull": 1})
    record = ranking.to_json()
    assert {"face", "ranking", "warnings", "sizes", "model", "version"} <= record.keys()
    assert any("small" in line for line in ranking.warnings)
    assert "miss" in ranking.to_text()
    assert r"\begin{array}{lr}" in ranking.to_latex()
    huge = rank_model(SCALARS, {"n": 10**60, "sigma2": f"1/{10**60}", "decay": 1, "pull": 1})
    assert huge.best.vertices == ("decay", "sigma2*pull*n")
    for wrong in (
        "n=0,sigma2=1,decay=1,pull=1",
        "n=2.5,sigma2=1,decay=1,pull=1",
        "n=2,sigma2=-1,decay=1,pull=1",
        "n=2",
    ):
        with pytest.raises(InputError):
            rank_model(SCALARS, wrong)
    with pytest.raises(InputError, match="tolerance"):
        rank_model(SCALARS, "n=5,sigma2=1,decay=1,pull=1", tolerance=2)


def test_approximants_continue_a_series_beyond_its_radius() -> None:
    """1/(1 + x) is its own approximant; the logarithm's are close at twice the radius, and say how close."""
    from fractions import Fraction

    geometric = [Fraction((-1) ** s) for s in range(7)]
    value, spread = resummed(geometric, np.array([0.0, 3.0]))
    assert value == pytest.approx([1.0, 0.25])
    assert spread.max() < 1e-12
    logarithm = [Fraction((-1) ** s, s + 1) for s in range(9)]
    value, spread = resummed(logarithm, np.array([2.0]))
    assert abs(value[0] - np.log(3) / 2) <= spread[0] < 1e-2
