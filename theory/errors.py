"""The one exception family. Every message names what was given, what was expected, and the way out."""

from __future__ import annotations

import math
from collections.abc import Callable

_LONGEST_QUOTE = 60


class RingprismError(Exception):
    """Base of everything this project raises on purpose; the command line turns it into one line and exit code 2.

    Remedies speak Python: an argument is written ``name=value``, or ``name=`` where its value does not matter. Whoever
    speaks to users of another interface puts this into its own words: see ``spoken``. An error comes whole out of a
    worker process.
    """

    remedy = ""
    """The end of the message: what to do."""

    def __reduce__(self) -> tuple[object, ...]:
        return _again, (type(self), str(self), self.remedy)

    def spoken(self, words: Callable[[str], str]) -> str:
        """The message with the remedy put through ``words``.

        >>> error = InputError("d", given="d=x", expected="a number", remedy="use d=5")
        >>> error.spoken(lambda text: text.replace("=", " "))
        "d: got 'd=x', expected a number; use d 5"
        """
        return str(self).removesuffix(self.remedy) + words(self.remedy)


class InputError(RingprismError, ValueError):
    """A value that cannot be used.

    ``what`` names the input, ``given`` is quoted (shortened when long), ``expected`` says what would have been
    accepted, and ``remedy`` is what to do about it.

    >>> raise InputError("order", given=-1, expected="an integer from 0", remedy="ask for order=6")
    Traceback (most recent call last):
        ...
    theory.errors.InputError: order: got -1, expected an integer from 0; ask for order=6
    """

    def __init__(self, what: str, *, given: object, expected: str, remedy: str) -> None:
        self.remedy = remedy
        super().__init__(f"{what}: got {quoted(given)}, expected {expected}; {remedy}")


class BudgetError(RingprismError):
    """A request that would not fit in memory or would take hours; the message gives the estimate and the way on."""

    def __init__(self, what: str, *, estimate: str, limit: str, remedy: str) -> None:
        self.remedy = remedy
        super().__init__(f"{what}: would need {estimate}, the limit is {limit}; {remedy}")


class ReachError(RingprismError):
    """A resummation or truncation asked for an answer beyond the point up to which it can vouch for one."""

    def __init__(self, what: str, *, given: object, reach: str, remedy: str) -> None:
        self.remedy = remedy
        super().__init__(f"{what}: got {quoted(given)}, good up to {reach}; {remedy}")


def _again(kind: type[RingprismError], message: str, remedy: str) -> RingprismError:
    error = kind.__new__(kind)
    error.remedy = remedy
    Exception.__init__(error, message)
    return error


def quoted(value: object) -> str:
    """The value on one short line, as the messages quote it; one that cannot print itself is described instead.

    >>> quoted(6), quoted(10**5000)
    ('6', 'a whole number of about 5001 digits')
    """
    try:
        text = repr(value)
    except Exception:  # Python prints no integer of more than 4300 digits, and a message must not fail for its subject
        text = _described(value)
    if len(text) > _LONGEST_QUOTE:
        text = f"{text[:_LONGEST_QUOTE]}… ({len(text)} characters)"
    return " ".join(text.split())


def _described(value: object) -> str:
    if isinstance(value, int):
        sign = "negative " if value < 0 else ""
        return f"a {sign}whole number of about {math.ceil(abs(value).bit_length() * math.log10(2))} digits"
    return f"a {type(value).__name__} that cannot be printed"
