"""The spectrum of the data's covariance, as the autoencoder's verbs take it. THEORY H."""

from __future__ import annotations

import numpy as np

from theory.autoencoder.sizes import Sizes
from theory.errors import BudgetError, InputError
from theory.spectrum import Spectrum, read_spectrum

LARGEST = 10**6
"""The most coordinates whose eigenvalues are listed one by one."""


def covariance_spectrum(spectrum: object, sizes: Sizes) -> Spectrum:
    """The eigenvalues of C for these sizes, from a text (``isotropic``, ``power:0.7``, …) or a ``Spectrum``.

    >>> covariance_spectrum("values:2*1,0.5*3", Sizes.parse("p=8,n=4,m=6,sigma2=1")).counts.tolist()
    [2, 6]

    Raises ``InputError`` for anything else or another number of eigenvalues than p, ``BudgetError`` for too many.
    """
    if isinstance(spectrum, Spectrum):
        if spectrum.size != sizes.p:
            raise InputError(
                "spectrum",
                given=f"{spectrum.size} eigenvalues",
                expected=f"p = {sizes.p} of them",
                remedy="read it with that size",
            )
        return spectrum
    if isinstance(spectrum, str) and spectrum.strip().startswith("power:") and sizes.p > LARGEST:
        raise BudgetError(
            "spectrum",
            estimate=f"{sizes.p} different eigenvalues",
            limit=f"{LARGEST}",
            remedy="take a smaller p, or group them: values:V1*K1,V2*K2,…",
        )
    return read_spectrum(spectrum, sizes.p)  # type: ignore[arg-type]


def is_isotropic(spectrum: Spectrum) -> bool:
    """Whether C is the identity.

    >>> is_isotropic(read_spectrum("power:0", 5)), is_isotropic(read_spectrum("values:2*1", 5))
    (True, False)
    """
    return bool(np.all(spectrum.values == 1.0))
