"""The command-line library's own complaints in the words of this project: what was given, expected, and the way out."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from theory.errors import quoted

# Phrases of the library's versions, the newer first; what is left after them says what was expected.
_BESIDE = re.compile(r"^Invalid value for .*?: |Value error, |Input should be |, unable to .*$")


_ARGUMENT = re.compile(r"\b([A-Za-z]\w*)=((?:'[^']*'|\"[^\"]*\"|\[[^]]*\]|\([^)]*\)|[^\s,;()]*[^\s,;().])?)")
"""``name=value`` as Python writes it: the value a text, a list, or one word."""


def in_options(text: str, command: Any) -> str:
    """Python's ``name=value`` in the options of a command; names that are none of its options are left alone.

    >>> from click import Command, Option
    >>> options = [Option(["--dims"]), Option(["--lambda", "lam"]), Option(["--force"], is_flag=True)]
    >>> command = Command("c", params=options)
    >>> in_options("use lam=0.5, dims=[100, 200] or force=True (p=20)", command)
    'use --lambda 0.5, --dims 100,200 or --force (p=20)'
    """
    known = {str(option.name): option for option in command.params if getattr(option, "opts", None)}
    if "delta" in known:
        known.setdefault("step", known["delta"])  # a task's step in Python
    for name, other in (("sign", "pca_sign"), ("laws", "law"), ("law", "laws")):
        if other in known:
            known.setdefault(name, known[other])

    def replaced(found: re.Match[str]) -> str:
        name, value = found[1], found[2]
        option = known.get(name)
        if option is None or not option.opts[0].startswith("-"):
            return found[0]
        spelled = max(option.opts, key=len)
        if getattr(option, "is_flag", False):
            others = [*option.secondary_opts, spelled]
            return str(others[0]) if value == "False" else str(spelled)
        if value[:1] in ("'", '"'):
            value = value[1:-1]
        elif value[:1] in ("[", "("):
            value = ",".join(part.strip().strip("'\"") for part in value[1:-1].split(","))
        return f"{spelled} {value}".rstrip()

    return _ARGUMENT.sub(replaced, text)


def command_of(root: Any, arguments: Sequence[str]) -> Any:
    """The command that the arguments name, as deep as they go."""
    command = root
    for argument in arguments:
        inner = getattr(command, "commands", {}).get(argument)
        if inner is None:
            break
        command = inner
    return command


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
