"""More coefficients, and curves beyond the radius of convergence, against independent routes."""

from __future__ import annotations

from fractions import Fraction
from math import factorial

import mpmath as mp
import pytest

from regimes.limit import limit
from tests.theory.equations.faces import series
from theory.autoencoder.sizes import Sizes
from theory.equations.continuation import continue_curve, extend
from theory.equations.operators import Operator
from theory.equations.reduced import plain_series
from theory.equations.search import search
from theory.errors import InputError, ReachError


@pytest.mark.parametrize("face", ["R,N|m", "R|m,p", "large-data"])
def test_extended_series_is_that_of_the_solution_by_hand(face: str) -> None:
    known = series(face, "population", 10 if face == "R|m,p" else 8)
    longer = extend(search(known).operators, known, 13)
    expected = series(face, "population", 13)
    assert dict(longer.coefficients) == dict(expected.coefficients)


def test_curve_at_numbers_agrees_with_the_formula() -> None:
    # {R}×{m,p} at m = p: an entire function, ∫ exp(4ηst/pm) dMP_S, far beyond the coefficients given
    known = series("R|m,p", "population", 10)
    longer = extend(search(known).operators, known, 60).at({"r": Fraction(1)})
    sizes = Sizes(100, 1, 100, Fraction(1, 100))
    times = [10.0, 100.0, 400.0]
    curve = continue_curve(longer, [-Fraction(t) / sizes.m for t in times])
    expected = limit("R|m,p", sizes, times).population
    got = [0.5 + float(sizes.sigma2) * v for v in curve.values]
    assert got == pytest.approx(list(expected), rel=1e-12)


def test_curve_beyond_a_singularity() -> None:
    # J_0(2√x) through x y″ + y′ + y = 0, from its first 21 coefficients
    known = plain_series([Fraction((-1) ** k, factorial(k) ** 2) for k in range(21)])
    curve = continue_curve(known, [Fraction(1), Fraction(200)])
    with mp.workdps(40):
        expected = [float(mp.besselj(0, 2 * mp.sqrt(t))) for t in (1, 200)]
    assert list(curve.values) == pytest.approx(expected, rel=1e-12)


def test_open_coefficients_are_refused() -> None:
    euler = Operator({((1,), (1,)): Fraction(1), ((0,), (0,)): Fraction(-5)})  # says nothing about x^5
    with pytest.raises(ReachError, match="order 5"):
        extend([euler], plain_series([0, 0, 0, 0, 0]), 5)
    with pytest.raises(InputError, match="time alone"):
        continue_curve(series("mean-field", "train", 10), [Fraction(1)])
