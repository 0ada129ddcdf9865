"""Show the examples of docstrings as code on the site: a fence around each run of ``>>>`` lines and what they print."""

from __future__ import annotations

import re
from typing import Any

import griffe

_SOURCE = re.compile(r"\[(?=[A-Z]\])")
"""The mark of a source, [P]: not a link, even where two stand side by side."""


class Doctests(griffe.Extension):
    """Fences in every docstring that is collected."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        if obj.docstring is not None:
            obj.docstring.value = fenced(obj.docstring.value)


def fenced(text: str) -> str:
    """The docstring, its examples in fences. An example ends at an empty line."""
    lines: list[str] = []
    inside = False
    for line in [*text.splitlines(), ""]:
        if not inside and line.lstrip().startswith(">>>"):
            lines += ["", "```pycon"]
            inside = True
        elif inside and not line.strip():
            lines.append("```")
            inside = False
        lines.append(line if inside else _SOURCE.sub(r"\\[", line))
    return "\n".join(lines)
