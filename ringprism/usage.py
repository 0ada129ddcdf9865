"""The command-line library's own complaints in the words of this project: what was given, expected, and the way out."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from theory.errors import quoted

# Phrases of the library's versions, the newer first; what is left after them says what was expected.
_BESIDE = re.compile(r"^Invalid value for .*?: |Value error, |Input should be |, unable to .*$")


def usage_message(error: Exception, arguments: Sequence[str]) -> str:
    """One line for a usage error raised while reading ``arguments``."""
    message = " ".join(str(getattr(error, "format_message")()).split())  # noqa: B009  the class is the library's own
    context: Any = getattr(error, "ctx", None)
    remedy = f"see {context.command_path if context else 'ringprism'} --help"
    parameter: Any = getattr(error, "param", None)
    if parameter is None or not message.startswith("Invalid value"):
        return f"{message.rstrip('.')}; {remedy}"
    names = [*getattr(parameter, "opts", ())] or [str(parameter.name)]
    name = max(names, key=len)
    expected = re.sub(r"^'.*?' is not ", "", _BESIDE.sub("", message)).rstrip(".")
    given = _given(names, arguments)
    got = "" if given is None else f"got {quoted(given)}, "
    return f"{name}: {got}expected {_number(expected)}; {remedy}"


def _given(names: Sequence[str], arguments: Sequence[str]) -> str | None:
    """What stands behind the option, the last time it is there."""
    found = None
    for place, argument in enumerate(arguments):
        option, equals, value = argument.partition("=")
        if option in names:
            found = value if equals else next(iter(arguments[place + 1 : place + 2]), None)
    return found


def _number(expected: str) -> str:
    """``greater than or equal to 1`` is said of a number."""
    return f"a number {expected}" if expected.startswith(("greater", "less")) else expected
