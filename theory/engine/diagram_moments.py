"""Numbers for the symbols c_k = Tr C^k / p of one fixed symmetric matrix, from its spectrum; how they grow with p."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from fractions import Fraction

from theory.checks import rational
from theory.errors import InputError

_MOMENT = re.compile(r"c_([1-9]\d{0,3})")


def spectral_moments(eigenvalues: Sequence[Fraction | int | float], variables: Iterable[str]) -> dict[str, Fraction]:
    """The value of each c_k among ``variables``, exactly, from all p eigenvalues; other variables are left out.

    >>> spectral_moments([1, 3], ("p", "c_1", "c_2"))
    {'c_1': Fraction(2, 1), 'c_2': Fraction(5, 1)}

    Raises ``InputError`` for no eigenvalues, or one that is no number.
    """
    values = [rational("eigenvalue", value, remedy="give numbers, for example 1/2") for value in eigenvalues]
    if not values:
        raise InputError("eigenvalues", given=eigenvalues, expected="at least one", remedy="give as many as dimensions")
    powers = {name: int(match[1]) for name in variables if (match := _MOMENT.fullmatch(name))}
    return {name: sum((x**k for x in values), Fraction(0)) / len(values) for name, k in powers.items()}


def moment_exponent(k: int, alpha: Fraction | int) -> Fraction:
    """The power of p to which c_k grows under λ_j ∝ j^−α with mean 1 (logarithms at kα = 1 and α = 1 left out).

    λ_j ~ p^min(α,1) j^−α and Σ_j j^−kα ~ p^max(0, 1−kα), so that c_k ~ p^(k min(α,1) + max(0, 1−kα) − 1).

    >>> moment_exponent(2, Fraction(1, 3)), moment_exponent(2, Fraction(3, 4)), moment_exponent(3, 2)
    (Fraction(0, 1), Fraction(1, 2), Fraction(2, 1))
    """
    exact = rational("alpha", alpha, remedy="give for example 1/2")
    if exact < 0:
        raise InputError("alpha", given=alpha, expected="a number from 0", remedy="eigenvalues fall as j^−α")
    return k * min(exact, Fraction(1)) + max(Fraction(0), 1 - k * exact) - 1
