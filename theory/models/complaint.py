"""The errors of the model language: one sentence, then the expression with a caret under the place."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NoReturn

from theory.errors import BudgetError, InputError, RingprismError

_WINDOW = 60
"""Characters of a long expression shown on each side of the caret."""


class ExpressionError(InputError):
    """A place in an expression that cannot be read; the last two lines of the message are the place and its caret."""

    def __init__(self, message: str) -> None:
        RingprismError.__init__(self, message)


class ExpansionError(BudgetError):
    """An expression whose expansion would be too large; the last two lines of the message point at the place."""

    def __init__(self, message: str) -> None:
        RingprismError.__init__(self, message)


@dataclass(frozen=True)
class Source:
    """The text of an expression and the name under which errors speak of it."""

    what: str
    text: str

    def cut(self, start: int, end: int) -> str:
        """A part of the text, as errors quote it."""
        part = " ".join(self.text[start:end].split())
        return part if len(part) <= _WINDOW else f"{part[:_WINDOW]}…"

    def refuse(self, place: int, problem: str, remedy: str) -> NoReturn:
        """Raise ``ExpressionError``: what is wrong at a character (from 0), and what to write in its place."""
        raise ExpressionError(self._message(place, problem, remedy))

    def refuse_size(self, place: int, *, estimate: str, limit: str) -> NoReturn:
        """Raise ``ExpansionError``: the expansion at a character would not fit."""
        problem = f"the expansion here would need {estimate}, the limit is {limit}"
        raise ExpansionError(self._message(place, problem, "lower the power, or declare a smaller model"))

    def _message(self, place: int, problem: str, remedy: str) -> str:
        flat = self.text.replace("\n", " ").replace("\t", " ").replace("\r", " ")
        first, last = max(0, place - _WINDOW), min(len(flat), place + _WINDOW)
        before, after = ("…" if first else ""), ("…" if last < len(flat) else "")
        shown = f"{before}{flat[first:last]}{after}"
        return (
            f"{self.what}, character {place + 1}: {problem}; {remedy}\n{shown}\n{' ' * (place - first + len(before))}^"
        )


def one_line(message: str) -> str:
    """A message on one line; the caret of an expression goes into the expression, as ``[^]`` before the place.

    >>> one_line("loss train, character 3: …; …\\nU V\\n  ^")
    'loss train, character 3: …; … in: U [^]V'
    """
    *rest, shown, caret = ["", "", *message.split("\n")]
    if caret.strip() == "^" and any(rest):
        place = len(caret) - 1
        message = f"{' '.join(rest)} in: {shown[:place]}[^]{shown[place:]}"
    return " ".join(message.split())


def nearest(name: str, known: Iterable[str]) -> str:
    """``did you mean …?`` with the nearest known name, or all of them.

    >>> nearest("varience", ["variance", "trained"]), nearest("zzz", ["p", "n"])
    ("did you mean 'variance'?", 'known are p, n')
    """
    names = list(known)
    close = difflib.get_close_matches(name, names, n=1, cutoff=0.6)
    close = close or [other for other in names if other.lower() == name.lower()]
    return f"did you mean {close[0]!r}?" if close else f"known are {', '.join(names) or 'none'}"
