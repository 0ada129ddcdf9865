"""Resummed series: the error estimate covers, on functions known otherwise, and the reach is where it stops."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import mpmath
import pytest

from theory.models.resummation import Resummation, pade


def taylor(function: Callable[[mpmath.mpf], mpmath.mpf], order: int) -> tuple[Fraction, ...]:
    with mpmath.workdps(40):
        return tuple(Fraction(mpmath.nstr(c, 30)) for c in mpmath.taylor(function, 0, order))


def stieltjes(t: float) -> float:
    """∫ e^(−x)/(1 + xt) dx, whose series Σ s! (−t)^s diverges at once."""
    return float(mpmath.quad(lambda x: mpmath.exp(-x) / (1 + x * t), [0, mpmath.inf]))


def gaussian(t: float) -> float:
    """E e^(−x⁴t) for a standard normal x."""
    density = lambda x: mpmath.exp(-(x**4) * t - x * x / 2) / mpmath.sqrt(2 * mpmath.pi)  # noqa: E731
    return float(mpmath.quad(density, [-mpmath.inf, 0, mpmath.inf]))


def fourth(s: int) -> Fraction:
    return Fraction((-1) ** s * math.prod(range(1, 4 * s, 2)), math.factorial(s))


def logistic(t: mpmath.mpf) -> mpmath.mpf:
    growth = mpmath.exp(t)
    return (1 - growth / 10 / (1 + (growth - 1) / 10)) ** 2 / 2


CASES: list[tuple[str, tuple[Fraction, ...], Callable[[float], float], float]] = [
    ("decay", tuple(Fraction((-1) ** s, math.factorial(s)) for s in range(9)), lambda t: math.exp(-t), 2.5),
    ("growth", tuple(Fraction(4**s, math.factorial(s)) for s in range(9)), lambda t: math.exp(4 * t), 0.3),
    ("logarithm", (Fraction(0), *(Fraction((-1) ** s, s) for s in range(1, 9))), lambda t: -math.log1p(t), 4),
    ("stieltjes", tuple(Fraction((-1) ** s * math.factorial(s)) for s in range(9)), stieltjes, 0.5),
    ("quartic", tuple(fourth(s) for s in range(9)), gaussian, 0.02),
    ("logistic", taylor(logistic, 10), lambda t: float(logistic(mpmath.mpf(t))), 2),
]


@pytest.mark.parametrize(("name", "coefficients", "exact", "least"), CASES, ids=[case[0] for case in CASES])
def test_the_error_covers_and_the_reach_is_useful(
    name: str, coefficients: tuple[Fraction, ...], exact: Callable[[float], float], least: float
) -> None:
    del name
    resummed = Resummation(coefficients)
    reach = resummed.reach(tolerance=0.05)
    assert least < reach < 1e5
    for part in (0.1, 0.3, 0.6, 1.0):
        found = resummed(part * reach)
        assert abs(found.value - exact(part * reach)) <= found.error + 1e-12
        assert found.error <= 0.06 * abs(found.value - resummed.start)


def test_few_orders_vouch_for_nothing() -> None:
    short = Resummation((Fraction(1), Fraction(-1), Fraction(1)))
    assert short(0.1).error == math.inf
    assert short.reach(tolerance=0.05) == 0.0
    resting = Resummation((Fraction(1), Fraction(0), Fraction(0), Fraction(0), Fraction(0)))
    assert (resting(3.0).value, resting(3.0).error) == (1.0, 0.0)


def test_pade_of_a_rational_function_is_that_function() -> None:
    """(1 + 2t)/(1 − t + 3t²) from its first four coefficients, by long division."""
    series = [Fraction(1), Fraction(3), Fraction(0), Fraction(-9)]
    assert pade(series, 1, 2) == ((1, 2), (1, -1, 3))
