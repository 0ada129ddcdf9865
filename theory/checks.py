"""Numbers as users give them: checked once, in one place, and exact where exactness counts."""

from __future__ import annotations

import math
import re
import sys
from decimal import Decimal
from fractions import Fraction
from numbers import Integral, Rational, Real

from theory.errors import InputError

MOST_DIGITS = 1000
"""Exact numbers have at most so many digits above and below: longer ones are not meant, and cannot be printed."""

_MOST_BITS = math.ceil(MOST_DIGITS * math.log2(10))
_TEXT = re.compile(
    r"[+-]?(\d{1,1000}(\.\d{0,1000})?|\.\d{1,1000})([eE][+-]?\d{1,3})?|[+-]?\d{1,1000}/\d{1,1000}", re.ASCII
)


def real(value: object) -> float | None:
    """The float nearest to a real number of any type, infinite where it is beyond all floats; ``None`` for the rest.

    Truth values, texts, complex numbers and arrays are no real numbers.

    >>> real(Fraction(1, 2)), real(10**400), real("0.5"), real(True)
    (0.5, inf, None, None)
    """
    if isinstance(value, bool) or not isinstance(value, Real | Decimal):
        return None
    try:
        return float(value)
    except OverflowError:
        return -math.inf if value < 0 else math.inf
    except ValueError:  # a signalling NaN
        return math.nan


def positive(what: str, value: object, *, remedy: str) -> float:
    """A positive number as a float that has all its digits: neither infinite nor so small that digits are lost.

    >>> positive("eta", Fraction(1, 2), remedy="use eta=1")
    0.5

    Raises ``InputError`` for anything else.
    """
    number = real(value)
    if number is None or not sys.float_info.min <= number < math.inf:
        limits = f" from {sys.float_info.min:.2g} to {sys.float_info.max:.2g}" if number and number > 0 else ""
        raise InputError(what, given=value, expected=f"a positive number{limits}", remedy=remedy)
    return number


def whole(what: str, value: object, *, least: int = 0, most: int | None = None, remedy: str) -> int:
    """A whole number in a range, of any type of whole numbers (numpy's too), as an ``int``.

    >>> whole("order", 6, remedy="ask for order=6")
    6

    Raises ``InputError`` for anything else.
    """
    if isinstance(value, Integral) and not isinstance(value, bool):
        number = int(value)
        if least <= number and (most is None or number <= most):
            return number
    limits = f"from {least}" + (f" to {most}" if most is not None else "")
    raise InputError(what, given=value, expected=f"a whole number {limits}", remedy=remedy)


def rational(what: str, value: object, *, remedy: str) -> Fraction:
    """A number as the exact rational it is written as: ratios and whole numbers as they are, floats as they print.

    So 0.1 is 1/10, of which the float is only the nearest binary fraction; texts such as ``"0.1"`` and ``"1/200"`` are
    numbers too.

    >>> rational("variance", 0.1, remedy="give 1/10"), rational("variance", "1/200", remedy="give 1/10")
    (Fraction(1, 10), Fraction(1, 200))

    Raises ``InputError`` for what is no finite number, and for more than 1000 digits.
    """
    exact = _as_written(value)
    if exact is None or max(abs(exact.numerator), exact.denominator).bit_length() > _MOST_BITS:
        raise InputError(
            what, given=value, expected=f"a finite decimal or ratio of up to {MOST_DIGITS} digits", remedy=remedy
        )
    return exact


def _as_written(value: object) -> Fraction | None:
    if isinstance(value, Rational) and not isinstance(value, bool):
        return Fraction(int(value.numerator), int(value.denominator))
    if not isinstance(value, str | Real | Decimal) or isinstance(value, bool):
        return None
    text = str(value).strip()
    if not _TEXT.fullmatch(text):
        return None
    try:
        return Fraction(text)
    except ZeroDivisionError:
        return None
