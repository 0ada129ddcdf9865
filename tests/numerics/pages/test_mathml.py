"""Formulas as MathML: all of the atlas's can be shown, and what cannot is refused."""

from __future__ import annotations

import xml.etree.ElementTree as ET

import pytest

from numerics.pages.mathml import mathml
from regimes.atlas import ATLAS
from theory.errors import InputError


@pytest.mark.parametrize("name", ATLAS)
def test_every_formula_of_the_atlas_is_wellformed(name: str) -> None:
    entry = ATLAS[name]
    formula = entry.limit.formula
    lines = (formula.train, formula.population, *formula.where, formula.large_time, *entry.cone, entry.time_scale)
    for line in (*lines, *entry.loss_scales):
        element = ET.fromstring(mathml(line))
        assert element.tag == "math"
        assert "\\" not in "".join(element.itertext())


def test_scripts_of_one_base_stay_together() -> None:
    assert "<msubsup><mi>h</mi><mi>k</mi><mo>′</mo></msubsup>" in mathml("h_k'")


@pytest.mark.parametrize("latex", [r"\unknown{x}", r"\frac{1}", r"\left(x", "{x", r"\text{x"])
def test_anything_else_is_refused(latex: str) -> None:
    with pytest.raises(InputError, match="formula"):
        mathml(latex)


def test_a_parenthesis_with_an_exponent_stays_on_its_line() -> None:
    """A stretchy one is centred on the fraction axis, lower than its partner."""
    assert '<msup><mo stretchy="false">)</mo><mn>2</mn></msup>' in mathml("(1-M)^2")
