"""The digits are white, in as many components as there are."""

from __future__ import annotations

import numpy as np
import pytest

from numerics.claims.digits import COMPONENTS, whitened_digits
from theory.errors import InputError


def test_they_are_white() -> None:
    images = whitened_digits(COMPONENTS)
    assert images.shape == (1797, COMPONENTS)
    np.testing.assert_allclose(images.mean(axis=0), 0.0, atol=1e-10)
    np.testing.assert_allclose(images.T @ images / len(images), np.eye(COMPONENTS), atol=1e-10)


def test_the_leading_components_have_near_gaussian_norms_and_the_rest_heavy_tails() -> None:
    def radial(d: int) -> float:
        return float(np.mean(np.sum(whitened_digits(d) ** 2, axis=1) ** 2)) / (d * (d + 2))

    assert abs(radial(40) - 1.0) < 0.1
    assert radial(COMPONENTS) > 2.5


@pytest.mark.parametrize("components", [0, COMPONENTS + 1])
def test_there_are_no_more(components: int) -> None:
    with pytest.raises(InputError, match="components"):
        whitened_digits(components)
