"""Scalings: the sizes as powers of one large number N, with exact rational exponents."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from numbers import Rational

from regimes.faces import Face, face_of_vertices
from regimes.prism import SIZE_NAMES, VERTICES
from theory.errors import InputError

_EXPONENT = re.compile(r"[+-]?(\d{1,18}(/\d{1,18})?|\d{1,18}\.\d{0,18}|\.\d{1,18})", re.ASCII)
_LONGEST = 10**36
"""Above what a text can give: 18 digits before and 18 after the point."""
_EXPECTED = "an exact rational exponent of up to 18 digits"
_REMEDY = "give for example 1, -1/2 or 0.25, as text, a whole number or a Fraction"


def parse_exponent(name: str, given: object) -> Fraction:
    """The exponent of one size as an exact rational; ``name`` is quoted in the error.

    Text is a whole number, a ratio or a decimal, each taken exactly: ``"1"``, ``"-1/2"``, ``"0.1"`` (which is 1/10).
    Binary floats are refused, since ties between the rates decide the face and 0.1 + 0.2 is not 0.3.

    >>> parse_exponent("sigma2", "-1/2"), parse_exponent("sigma2", "0.1")
    (Fraction(-1, 2), Fraction(1, 10))

    Raises ``InputError`` for anything else: NaN, infinities, ``1e400``, text too long to be meant.
    """
    if isinstance(given, Rational) and not isinstance(given, bool):
        exact = Fraction(int(given.numerator), int(given.denominator))
        if abs(exact.numerator) < _LONGEST and exact.denominator < _LONGEST:
            return exact
    text = given.strip().replace("−", "-") if isinstance(given, str) else ""
    if not _EXPONENT.fullmatch(text):
        raise InputError(f"exponent of {name}", given=given, expected=_EXPECTED, remedy=_REMEDY)
    try:
        return Fraction(text)
    except ZeroDivisionError as error:
        raise InputError(
            f"exponent of {name}", given=given, expected="a ratio with a non-zero denominator", remedy=_REMEDY
        ) from error


@dataclass(frozen=True)
class Scaling:
    """p = N^``p``, n = N^``n``, m = N^``m``, σ² = N^``sigma2`` as N → ∞. [P] §4.

    Exponents may be given as whole numbers, ``Fraction`` or text and are kept as exact fractions.

    >>> Scaling(p=1, n=1, m=2, sigma2="-1").face().name
    'large-data'

    Raises ``InputError`` for an exponent that is not an exact rational.
    """

    p: Fraction
    n: Fraction
    m: Fraction
    sigma2: Fraction

    def __init__(
        self, p: Fraction | int | str, n: Fraction | int | str, m: Fraction | int | str, sigma2: Fraction | int | str
    ) -> None:
        for name, given in zip(SIZE_NAMES, (p, n, m, sigma2), strict=True):
            object.__setattr__(self, name, parse_exponent(name, given))

    @property
    def exponents(self) -> tuple[Fraction, Fraction, Fraction, Fraction]:
        """The exponents of (p, n, m, σ²), the order in which the prism's rate vectors are written."""
        return (self.p, self.n, self.m, self.sigma2)

    @property
    def weights(self) -> dict[str, Fraction]:
        """The exponents by name, as ``Laurent.leading`` takes them."""
        return dict(zip(SIZE_NAMES, self.exponents, strict=True))

    @property
    def rates(self) -> Mapping[str, Fraction]:
        """Each vertex's rate as an exponent of N: ⟨q, α⟩ for its rate vector q. [P] §4.

        >>> dict(Scaling(p=1, n=1, m=1, sigma2=0).rates)["N|m"]
        Fraction(0, 1)
        """
        return {vertex.name: vertex.rate_exponent(self.exponents) for vertex in VERTICES}

    @property
    def rate_exponent(self) -> Fraction:
        """The largest rate: the loss moves on the time scale ηt ~ N^(−rate_exponent). [P] §4.

        >>> Scaling(p=1, n=1, m=1, sigma2=-1).rate_exponent
        Fraction(-1, 1)
        """
        return max(self.rates.values())

    @property
    def time_exponent(self) -> Fraction:
        """The exponent of the time ηt on which the loss moves."""
        return -self.rate_exponent

    def face(self) -> Face:
        """The face of the prism on which the rate ⟨q, α⟩ is largest. Ties are exact. [P] §4."""
        rates = self.rates
        largest = max(rates.values())
        return face_of_vertices(name for name, rate in rates.items() if rate == largest)

    def to_json(self) -> dict[str, str]:
        """The four exponents as exact ratios in strings."""
        return {name: str(exponent) for name, exponent in zip(SIZE_NAMES, self.exponents, strict=True)}

    def __str__(self) -> str:
        symbols = ("p", "n", "m", "σ²")
        return ", ".join(f"{name} = {power(exponent)}" for name, exponent in zip(symbols, self.exponents, strict=True))


def power(exponent: Fraction) -> str:
    """A power of N as text.

    >>> power(Fraction(0)), power(Fraction(1)), power(Fraction(-1, 2))
    ('1', 'N', 'N^(-1/2)')
    """
    if exponent == 0:
        return "1"
    if exponent == 1:
        return "N"
    return f"N^{exponent}" if exponent.denominator == 1 and exponent > 0 else f"N^({exponent})"


def representative(face: Face) -> Scaling:
    """A scaling inside the face's cone, with p, n and m all growing.

    >>> from regimes.faces import parse_face
    >>> print(representative(parse_face("mean-field")))
    p = N^3, n = N^4, m = N^3, σ² = N^(-4)
    """
    top = 0 if "R" in face.triangle else 1
    wide, narrow = (top if letter in face.triangle else top - 1 for letter in "NP")  # exponents of σ²n and σ²p
    data = 3 + ("m" in face.segment) - ("p" in face.segment)
    return Scaling(p=3, n=3 + wide - narrow, m=data, sigma2=narrow - 3)
