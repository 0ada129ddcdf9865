"""The search: what it must find, what it must not, and what it says of the rest."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from math import factorial

import pytest

from tests.theory.equations.faces import series
from theory.equations.operators import Box, Operator
from theory.equations.reduced import ReducedSeries, plain_series
from theory.equations.search import minimal, search
from theory.errors import InputError


def _terms(text: dict[tuple[tuple[int, ...], tuple[int, ...]], int]) -> Operator:
    return Operator({key: Fraction(c) for key, c in text.items()}).normalised()


def _changed(known: ReducedSeries, powers: tuple[int, ...], by: Fraction = Fraction(1, 7)) -> ReducedSeries:
    values = dict(known.coefficients)
    values[powers] = values.get(powers, Fraction(0)) + by
    return replace(known, coefficients=values)


def test_logistic_face_is_first_order() -> None:
    # dL/dx = −4 A (1 − A) dL/dA in x = um = −ηt/p: the logistic flow of the one eigenvalue A
    found = search(series("R,N|m", "population", 8))
    assert found.operators == (_terms({((1, 0), (0, 0)): 1, ((0, 1), (0, 1)): 4, ((0, 1), (0, 2)): -4}),)
    assert found.checked_to == found.fitted_to + 2 == 8


def test_large_data_obeys_the_marchenko_pastur_equation() -> None:
    found = search(series("large-data", "train", 8))
    law = _terms({((0, 2, 0), (0, 1, 0)): 1, ((0, 0, 2), (0, 0, 1)): -1, ((0, 0, 1), (0, 0, 0)): -2})
    assert law in found.operators  # A L_AA = 2 L_B + B L_BB
    assert (found.box.order, found.box.time_degree) == (2, 0)
    assert found.box.degree <= 3
    assert any(operator.evolves for operator in found.operators)
    later = series("large-data", "train", 12)
    assert all(not operator.residue(later) for operator in found.operators)
    assert found.checked_to >= found.fitted_to + 2


def test_mean_field_has_three_second_order_equations() -> None:
    found = search(series("mean-field", "population", 10))
    assert (found.box.order, found.box.degree, found.box.time_degree) == (2, 3, 1)
    assert len(found.operators) == 3
    assert all(operator.order == 2 and operator.evolves for operator in found.operators)
    later = series("mean-field", "population", 12)
    assert all(not operator.residue(later) for operator in found.operators)


@pytest.mark.parametrize("face", ["R,N|m", "large-data"])
def test_a_changed_coefficient_leaves_no_equation(face: str) -> None:
    known = series(face, "population", 8)
    box = search(known).box
    for order in (1, 3, 6, 7, 8) if face == "large-data" else range(1, 9):
        for powers in [p for p in known.coefficients if p[0] == order][:: 12 if face == "large-data" else 2]:
            found = search(_changed(known, powers), order=box.order, degree=box.degree, time_degree=box.time_degree)
            assert found.operators == (), powers


def test_every_printed_equation_holds_on_what_was_given() -> None:
    known = _changed(series("R,N|m", "population", 8), (5, 3))
    found = search(known)
    assert all(not operator.residue(known) for operator in found.operators)


def test_no_equation_for_numbers_without_law() -> None:
    digits = "14159265358979323846264338327950288419716939937510"
    found = search(plain_series([int(d) for d in digits]), time_degree=5)
    assert found.operators == ()
    assert found.box == Box(2, 0, 5)
    assert found.unknowns == 3 * 6
    assert found.checked_to == 49


def test_ordinary_equations_at_given_numbers() -> None:
    bessel = [Fraction((-1) ** k, factorial(k) ** 2) for k in range(20)]  # x y″ + y′ + y = 0
    found = search(plain_series(bessel), time_degree=2)
    assert found.operators == (_terms({((2,), (1,)): 1, ((1,), (0,)): 1, ((0,), (0,)): 1}),)


def test_multiples_are_no_generators() -> None:
    grow = _terms({((1,), (0,)): 1, ((0,), (0,)): -1})
    assert minimal([grow.after((1,), (0,)), grow, grow.after((0,), (2,))], 1) == (grow,)


def test_constant_belongs_to_the_loss() -> None:
    # ½ + F has the equation y′ = 2 y, F alone has not
    whole = [Fraction(1, 2) * Fraction(2**k, factorial(k)) for k in range(12)]
    found = search(plain_series([0, *whole[1:]], constant=Fraction(1, 2)))
    assert found.operators == (_terms({((1,), (0,)): 1, ((0,), (0,)): -2}),)


def test_short_series_is_refused() -> None:
    with pytest.raises(InputError, match="at least 4"):
        search(plain_series([1, 2]))
