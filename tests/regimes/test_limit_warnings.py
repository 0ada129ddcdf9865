"""What a limit says about itself: impossible losses, faces far from the sizes, estimates above what was asked."""

from __future__ import annotations

import json
from fractions import Fraction

import numpy as np
import pytest

from regimes.faces import parse_face
from regimes.limit import interior_curves, limit
from regimes.limit_warnings import limit_warnings
from theory.autoencoder.limits.solution import Curves
from theory.autoencoder.sizes import Sizes


def test_a_formal_limit_beyond_its_validity_says_so() -> None:
    curves = limit("R|m,p", Sizes(200, 10, 150, Fraction(1, 200000)), [0.0, 1.0, 160.0])
    assert curves.train[-1] < 0
    assert any(warning.startswith("impossible: the train loss is -4.8") for warning in curves.warnings)
    assert json.loads(json.dumps(curves.to_json()))["warnings"] == list(curves.warnings)


def test_a_face_far_from_the_sizes_says_so_in_python() -> None:
    curves = limit("mean-field", Sizes(784, 64, 60000, Fraction(1, 784)), [0.0, 100.0])
    assert any("mean-field misses" in warning for warning in curves.warnings)
    assert not limit("mean-field", Sizes(100, 100_000, 200, Fraction(1, 200_000)), [0.0, 1.0]).warnings


@pytest.mark.parametrize(("part", "said"), [(0.009, False), (0.011, True)])
def test_an_estimate_above_one_per_cent_of_the_free_loss_is_said(part: float, said: bool) -> None:
    times, losses = np.array([0.0, 1.0]), np.array([1.0, 0.5])
    curves = Curves(losses, losses, part * losses)
    sizes = Sizes(1000, 1000, 1000, Fraction(1))
    found = limit_warnings(parse_face("free"), sizes, times, curves, corrected=True)
    assert any(warning.startswith("uncertain: from t = 0") for warning in found) == said


def test_a_rising_train_loss_is_impossible() -> None:
    times, losses = np.array([0.0, 1.0]), np.array([0.5, 0.6])
    curves = Curves(losses, np.array([0.5, 0.7]), np.zeros(2))
    found = limit_warnings(parse_face("interior"), Sizes(50, 50, 50, Fraction(1, 50)), times, curves, corrected=False)
    assert [warning for warning in found if "rises up to t = 1" in warning]


def test_the_interior_answers_with_an_error_for_each_loss() -> None:
    found = interior_curves(Sizes(100, 50, 200, Fraction(1, 100)), [2.0])
    assert 0 < found.train_error[0] <= 0.02 * found.train[0]
    assert found.error_estimate[0] == max(found.train_error[0], found.population_error[0])
