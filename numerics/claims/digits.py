"""Real inputs: the handwritten digits that come with scikit-learn, whitened."""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import NDArray

from theory.errors import InputError

Floats = NDArray[np.float64]

COMPONENTS = 61
"""Of the 64 pixels three are dark in every image."""


def whitened_digits(components: int) -> Floats:
    """1797 images by ``components``: leading principal components, each with mean 0 and variance 1.

    The leading 40 hold 98.8 % of the variance and have norms close to Gaussian ones; the last 20 are pixels lit in
    a handful of images, and whitening makes heavy tails of them.

    Raises ``InputError`` where scikit-learn is not installed or there are fewer components.
    """
    if not 1 <= components <= COMPONENTS:
        raise InputError("components", given=components, expected=f"from 1 to {COMPONENTS}", remedy="use 40")
    return _all_components()[:, :components]


@cache
def _all_components() -> Floats:
    try:
        from sklearn.datasets import load_digits
    except ImportError as error:
        raise InputError(
            "digits", given="no scikit-learn", expected="scikit-learn", remedy="pip install 'ringprism[data]'"
        ) from error
    images = np.asarray(load_digits().data, dtype=float)
    left, _, _ = np.linalg.svd(images - images.mean(axis=0), full_matrices=False)
    whitened: Floats = left[:, :COMPONENTS] * np.sqrt(len(images))
    whitened.flags.writeable = False
    return whitened
