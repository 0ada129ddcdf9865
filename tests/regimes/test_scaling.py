"""Scalings: exact exponents, refused text, rates against the brute-force powers of the sizes."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from regimes.faces import FACES, Face, face_of_vertices
from regimes.scaling import Scaling, parse_exponent, representative
from theory.errors import InputError

EXPONENTS = st.fractions(min_value=-3, max_value=3, max_denominator=4)

RATES = {  # [P] §4, as functions of the sizes
    "R|m": lambda p, _n, _m, _s: 1 / p,
    "R|p": lambda _p, _n, m, _s: 1 / m,
    "N|m": lambda p, n, _m, s: s * n / p,
    "N|p": lambda _p, n, m, s: s * n / m,
    "P|m": lambda _p, _n, _m, s: s,
    "P|p": lambda p, _n, m, s: s * p / m,
}

# one scaling inside each cone, found by hand from argmax{0, σ²n, σ²p} × argmax{m, p}
INSIDE = {
    "interior": (1, 1, 1, -1),
    "large-data": (1, 1, 2, -1),
    "small-data": (2, 2, 1, -2),
    "mean-field": (1, 2, 1, -2),
    "narrow-latent": (2, 1, 2, -2),
    "free": (1, 1, 1, "-1/2"),
    "R|m,p": (1, 1, 1, -2),
    "N|m,p": (1, 2, 1, -1),
    "P|m,p": (2, 1, 2, -1),
    "R,N|m": (1, 2, 2, -2),
    "R,N|p": (2, 3, 1, -3),
    "R,P|m": (2, 1, 3, -2),
    "R,P|p": (2, 1, 1, -2),
    "N,P|m": (1, 1, 2, 0),
    "N,P|p": (2, 2, 1, -1),
    "R|m": (1, 1, 2, -2),
    "R|p": (2, 1, 1, -3),
    "N|m": (1, 2, 2, 0),
    "N|p": (2, 3, 1, -2),
    "P|m": (2, 1, 3, -1),
    "P|p": (4, 1, 2, -2),
}


@pytest.mark.parametrize("face", FACES, ids=lambda face: face.name)
def test_every_face_is_named_from_exponents(face: Face) -> None:
    assert Scaling(*INSIDE[face.name]).face() == face
    inside = representative(face)
    assert inside.face() == face
    assert min(inside.p, inside.n, inside.m) > 0


@settings(deadline=None)
@given(p=EXPONENTS, n=EXPONENTS, m=EXPONENTS, sigma2=EXPONENTS)
def test_the_face_is_where_the_six_rates_are_largest(p: Fraction, n: Fraction, m: Fraction, sigma2: Fraction) -> None:
    """The oracle evaluates the six rates at sizes 2^(12 α), whole powers of two: exact, and knows of no vectors."""
    sizes = [Fraction(2) ** int(12 * alpha) for alpha in (p, n, m, sigma2)]
    values = {name: rate(*sizes) for name, rate in RATES.items()}
    largest = max(values.values())
    scaling = Scaling(p, n, m, sigma2)
    assert set(scaling.face().vertices) == {name for name, value in values.items() if value == largest}
    assert Fraction(2) ** int(12 * scaling.rate_exponent) == largest


@settings(deadline=None)
@given(p=EXPONENTS, n=EXPONENTS, m=EXPONENTS, sigma2=EXPONENTS, unit=st.fractions(min_value="1/9", max_value=9))
def test_the_choice_of_the_large_number_does_not_matter(
    p: Fraction, n: Fraction, m: Fraction, sigma2: Fraction, unit: Fraction
) -> None:
    assert Scaling(p, n, m, sigma2).face() == Scaling(p * unit, n * unit, m * unit, sigma2 * unit).face()


@pytest.mark.parametrize(
    ("text", "value"),
    [("1", 1), ("-1/2", Fraction(-1, 2)), ("0.1", Fraction(1, 10)), (" +.5 ", Fraction(1, 2)), ("−2", -2), ("2.", 2)],
)
def test_exponents_are_read_exactly(text: str, value: Fraction) -> None:
    assert parse_exponent("p", text) == value


WRONG = ["nan", "inf", "-inf", "1e400", "1e3", "", "1/0", "1/2/3", "0x1", "sqrt(2)", "1" * 400, "1,0", "１", "1_0"]


@pytest.mark.parametrize("wrong", [*WRONG, 0.5, float("nan"), None, True, 1j, [1]])
def test_what_is_not_an_exact_rational_is_refused(wrong: object) -> None:
    with pytest.raises(InputError, match=r"exponent of n: got .* expected .*; give "):
        parse_exponent("n", wrong)


def test_a_set_of_vertices_that_is_no_face_is_refused() -> None:
    with pytest.raises(InputError, match="vertices of one face"):
        face_of_vertices(["R|m", "N|p"])
