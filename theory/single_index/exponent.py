"""The information exponent: the first Hermite coefficient that carries a signal. [O] Def. 1.1, [S] §3."""

from __future__ import annotations

import math
from dataclasses import dataclass

import sympy

from theory.errors import ReachError
from theory.single_index.link import Link
from theory.single_index.moments import derivative_mean, hermite_coefficient
from theory.single_index.panels import field_means
from theory.single_index.quadrature import Estimate

_LAST = 32
_NOISE = 1e-11


@dataclass(frozen=True)
class InformationExponent:
    """``exponent`` k, and F_0, …, F_k at the variance looked through, with errors."""

    exponent: int
    variance: float
    coefficients: tuple[Estimate, ...]


def information_exponent(link: Link, *, variance: float = 1.0) -> InformationExponent:
    """The least k ≥ 1 with F_k(A) = E f^(k)(√A G) ≠ 0.

    At variance 1 this is the exponent of the link: a field a·X without overlap with the spike sees it. A field
    with more variance (the label's, B = 1 + λη_1²) can see a lower one. For polynomials the test is exact
    at variance 1; otherwise a coefficient counts as zero when it is below ten times its quadrature error.

    >>> cubic = Link.parse("x**3-3*x")
    >>> information_exponent(cubic).exponent, information_exponent(cubic, variance=1.2).exponent
    (3, 1)

    Raises ``ReachError`` where F_1, …, F_32 all vanish.
    """
    coefficients = [hermite_coefficient(link, 0, variance=variance)]
    for k in range(1, _LAST + 1):
        coefficients.append(hermite_coefficient(link, k, variance=variance))
        if not vanishes(link, k, coefficients[-1], variance=variance):
            return InformationExponent(k, variance, tuple(coefficients))
    raise ReachError(
        "information exponent", given=link.text, reach=f"k = {_LAST}", remedy="take a link with a lower coefficient"
    )


def vanishes(link: Link, k: int, coefficient: Estimate, *, variance: float = 1.0) -> bool:
    """Whether F_k counts as zero: exactly for polynomials at variance 1, within ten errors otherwise.

    The rounding allowance is relative to √(k! V), the largest |F_k| that a link of this second moment can have.
    """
    if link.is_polynomial and variance == 1:
        return bool(derivative_mean(link, k, sympy.Integer(1)).equals(0))
    largest = math.sqrt(math.factorial(k)) * link_scale(link, variance)
    return abs(coefficient.value) <= 10 * coefficient.error + _NOISE * largest


def link_scale(link: Link, variance: float) -> float:
    """√V(A): the root mean square of f(√A G)."""
    root = math.sqrt(variance)
    return math.sqrt(field_means(link, variance, lambda g: link.value(root * g) ** 2)[0])
