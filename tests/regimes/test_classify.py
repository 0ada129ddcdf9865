"""Classification: scales against the exact series, reasons, warnings, the three forms of the result."""

from __future__ import annotations

import json
from functools import cache

import pytest

from regimes.atlas import ATLAS
from regimes.classify import classify
from regimes.faces import FACES
from regimes.scaling import Scaling
from tests.regimes.test_scaling import INSIDE
from theory.autoencoder.series import LossName, loss_series
from theory.engine.laurent import Laurent

ORDER = 4


@cache
def derivatives(loss: LossName) -> tuple[Laurent, ...]:
    series = loss_series(loss, order=ORDER)
    per_derivative = Laurent.monomial({"p": -1, "m": -1}, series.coefficients[0].variables)
    return tuple(per_derivative**s * y for s, y in enumerate(series.coefficients))


@pytest.mark.parametrize("name", [face.name for face in FACES])
def test_scales_are_the_degrees_of_the_exact_series(name: str) -> None:
    """Every derivative of the loss, in units of the time scale, is of the order claimed for the moving part."""
    scaling = Scaling(*INSIDE[name])
    result = classify(scaling)
    weights = scaling.weights
    for s in range(1, ORDER + 1):
        unit = s * result.rate_exponent
        assert derivatives("train")[s].degree(weights) - unit == result.train_scale
        assert derivatives("population")[s].degree(weights) - unit == result.population_scale


@pytest.mark.parametrize("name", [face.name for face in FACES])
def test_json_is_what_scripts_rely_on(name: str) -> None:
    data = json.loads(json.dumps(classify(Scaling(*INSIDE[name])).to_json(), allow_nan=False))
    assert list(data) == [
        "version", "model", "scaling", "face", "vertices", "dimension", "rate_exponent", "train_scale",
        "population_scale", "scales", "solution", "warnings", "terms",
    ]  # fmt: skip
    assert data["face"] == name
    assert {term["vertex"] for term in data["terms"] if term["margin"] == "0"} == set(data["vertices"])
    assert data["solution"] == ATLAS[name].solution


def test_exponents_in_json_are_exact() -> None:
    data = classify(Scaling("1/3", "1/3", "1/3", "-1/3")).to_json()
    assert (data["face"], data["rate_exponent"]) == ("interior", "-1/3")


def test_the_text_says_which_terms_win_and_by_how_much() -> None:
    text = classify(Scaling(1, 1, 2, -1)).to_text()
    assert "large-data" in text
    assert "ηt ~ N\n" in text
    lines = {line.split()[0]: line for line in text.splitlines() if "|" in line.split(" ")[0]}
    assert all("wins" in lines[name] for name in ("R|m", "N|m", "P|m"))
    assert all("loses by N" in lines[name] for name in ("R|p", "N|p", "P|p"))


def test_a_size_that_does_not_grow_is_warned_of() -> None:
    warnings = classify(Scaling(1, 0, 1, -1)).warnings
    assert any("n does not grow" in warning and "1/n" in warning for warning in warnings)
    assert any("n shrinks" in warning for warning in classify(Scaling(1, "-1/2", 1, -1)).warnings)
    assert classify(Scaling(1, 1, 1, -1)).warnings == ()


def test_a_near_tie_is_warned_of_and_an_exact_one_is_none() -> None:
    (warning, *_) = classify(Scaling(1, 1, "101/100", -1)).warnings
    assert "R|p loses by only N^(1/100)" in warning
    assert not classify(Scaling(1, 1, 2, -1)).warnings


def test_latex_names_the_scales() -> None:
    latex = classify(Scaling(2, 2, 1, -2)).to_latex()
    assert r"\text{(small-data)}" in latex
    assert r"L(t) - L(0) & \sim N^{-1}" in latex
