"""Planar moments of M(0) and S as exact polynomials in the sizes, whole or restricted to one part of a face."""

from __future__ import annotations

from typing import Literal

from theory.autoencoder.limits.marchenko_pastur import narayana
from theory.autoencoder.limits.solution import ONE, SIGMA2, M, N, P
from theory.engine.laurent import Laurent

Part = Literal["both", "degrees", "dimension"]
"""Which pairings count: all planar ones, those with most nodes of the other kind (n or m), those with most p nodes."""


def planar_moment(k: int, degrees: Laurent, part: Part = "both") -> Laurent:
    """(1/p) E Tr (GᵀG)^k for G with ``degrees`` rows and p columns, leading order. Narayana numbers.

    >>> print(planar_moment(2, M))
    p m + m^2
    """
    if k == 0:
        return ONE
    if part == "degrees":
        return degrees**k
    if part == "dimension":
        return degrees * P ** (k - 1)
    total = ONE * 0
    for j, count in enumerate(narayana(k)):
        if count:
            total = total + count * degrees**j * P ** (k - j)
    return total


def weight_moment(k: int, part: Part = "both") -> Laurent:
    """(1/p) E Tr M(0)^k to leading order."""
    return SIGMA2**k * planar_moment(k, N, part)


def data_moment(k: int, part: Part = "both") -> Laurent:
    """(1/p) E Tr S^k to leading order."""
    return planar_moment(k, M, part)
