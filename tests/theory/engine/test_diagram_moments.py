"""Moments of a fixed covariance: a series evaluated with them against plain traces, and their growth with p."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from theory.engine.diagram_model import DiagramLoss, DiagramModel, DiagramTerm, product_of
from theory.engine.diagram_moments import moment_exponent, spectral_moments
from theory.engine.diagram_series import diagram_derivatives
from theory.engine.diagram_tensor import Tensor
from theory.errors import InputError


def test_a_series_takes_the_moments_of_a_spectrum() -> None:
    # ½‖X'w‖²/m without noise: E D⁰ = ½σ² Tr C, and E D¹ = E|XX'w|²/m² = σ² [Tr C² (m+1) + (Tr C)²] / m
    w = Tensor("w", ("p",), "s2", trained=True)
    X = Tensor("X", ("p", "m"), covariance="C")
    term = DiagramTerm(Fraction(1, 2), (("m", -1),), product_of("w[i] X[i,k] X[j,k] w[j]"))
    model = DiagramModel("regression", ("p", "m"), (w, X), (DiagramLoss("train", (term,)),), "train")
    first, second = diagram_derivatives(model, {"train": 1})["train"]
    eigenvalues = [Fraction(1, 3), Fraction(2), Fraction(5, 7)]
    point = {"p": 3, "m": 4, "s2": Fraction(2, 9), **spectral_moments(eigenvalues, second.variables)}
    trace, square = sum(eigenvalues), sum(x * x for x in eigenvalues)
    assert first.evaluate(point) == Fraction(1, 9) * trace
    assert second.evaluate(point) == Fraction(2, 9) * (square * 5 + trace**2) / 4


@pytest.mark.parametrize(
    ("k", "alpha"), [(2, Fraction(1, 5)), (2, Fraction(4, 5)), (3, Fraction(1, 2)), (2, Fraction(2))]
)
def test_moments_of_a_power_law_grow_as_stated(k: int, alpha: Fraction) -> None:
    slopes = []
    for p in (10**4, 10**6):
        law = np.arange(1, p + 1) ** -float(alpha)
        slopes.append(np.log(((law / law.mean()) ** k).mean()))
    slope = (slopes[1] - slopes[0]) / np.log(100)
    assert slope == pytest.approx(float(moment_exponent(k, alpha)), abs=0.05)


def test_bad_spectra_are_refused() -> None:
    with pytest.raises(InputError, match="at least one"):
        spectral_moments([], ("c_1",))
    with pytest.raises(InputError, match="from 0"):
        moment_exponent(1, -1)
