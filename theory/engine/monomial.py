"""Monomials as users write them: an exact number times powers of names, such as ``2 sigma2/n`` or ``1/(p m)``."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

from theory.checks import rational
from theory.errors import InputError

MOST_EXPONENT = 10**6
_LONGEST_TEXT = 1000
_TOKEN = re.compile(
    r"\s*(?:(?P<number>\d+(?:\.\d*)?(?:[eE][+-]?\d+)?|\.\d+(?:[eE][+-]?\d+)?)"
    r"|(?P<name>[A-Za-z][A-Za-z0-9_]*)|(?P<sign>\*|/|\(|\)|\^\s*[+-]?\d+))",
    re.ASCII,
)


@dataclass(frozen=True)
class Monomial:
    """``coefficient`` · Π name^power; ``powers`` in order of first use, none of them 0.

    >>> Monomial.parse("2 sigma2/(p m)")
    Monomial(coefficient=Fraction(2, 1), powers=(('sigma2', 1), ('p', -1), ('m', -1)))
    """

    coefficient: Fraction
    powers: tuple[tuple[str, int], ...] = ()

    @classmethod
    def parse(cls, text: str, *, what: str = "monomial") -> Monomial:
        """Read a product of numbers and powers of names; ``/`` divides by what comes next, a bracket for several.

        Raises ``InputError`` for anything else, for 0, and for exponents beyond 10⁶.
        """
        reader = _Reader(text, what)
        coefficient, powers = reader.product(closing=False)
        total: dict[str, int] = {}
        for name, power in powers:
            total[name] = total.get(name, 0) + power
        if not coefficient or any(abs(power) > MOST_EXPONENT for power in total.values()):
            raise reader.error()
        return cls(coefficient, tuple((name, power) for name, power in total.items() if power))

    @property
    def names(self) -> tuple[str, ...]:
        """The names in it."""
        return tuple(name for name, _ in self.powers)


_Factor = tuple[Fraction, list[tuple[str, int]]]


class _Reader:
    """A cursor over the tokens of one text."""

    def __init__(self, text: str, what: str) -> None:
        self._text, self._what = text, what
        if not isinstance(text, str) or len(text) > _LONGEST_TEXT:
            raise self.error()
        self._tokens = list(self._split(text))
        self._at = 0

    def error(self) -> InputError:
        return InputError(
            self._what,
            given=self._text,
            expected="a number, or numbers and powers of names multiplied and divided",
            remedy='give for example 1/2 as Fraction(1, 2), or "sigma2/n"',
        )

    def product(self, *, closing: bool) -> _Factor:
        """Factors up to the end, or to the closing bracket."""
        coefficient, powers = self._power()
        while (token := self._next()) is not None and not (closing and token == ")"):
            if token not in ("*", "/"):
                self._at -= 1
            factor, more = self._power()
            if token == "/" and not factor:
                raise self.error()
            coefficient = coefficient / factor if token == "/" else coefficient * factor
            powers = powers + [(name, -power if token == "/" else power) for name, power in more]
        if closing and token is None:
            raise self.error()
        return coefficient, powers

    def _power(self) -> _Factor:
        token = self._next()
        if token is None or token[0] in "*/)^":
            raise self.error()
        if token == "(":
            coefficient, powers = self.product(closing=True)
        elif token[0].isalpha():
            coefficient, powers = Fraction(1), [(token, 1)]
        else:
            coefficient, powers = rational(self._what, token, remedy="give fewer digits"), []
        following = self._next()
        if following is None or not following.startswith("^"):
            self._at -= following is not None
            return coefficient, powers
        digits = following[1:].strip()
        exponent = int(digits) if len(digits) <= 8 else MOST_EXPONENT + 1
        if abs(exponent) > MOST_EXPONENT or (exponent < 0 and not coefficient):
            raise self.error()
        if coefficient != 1 and abs(exponent) > 1000:
            raise self.error()
        return coefficient**exponent, [(name, power * exponent) for name, power in powers]

    def _next(self) -> str | None:
        if self._at >= len(self._tokens):
            return None
        self._at += 1
        return self._tokens[self._at - 1]

    def _split(self, text: str) -> Iterator[str]:
        at, end = 0, len(text.rstrip())
        while at < end:
            match = _TOKEN.match(text, at)
            if not match:
                raise self.error()
            at = match.end()
            yield match[0].strip()
