"""Pages whose code is run: what a page holds, and whether an output is the one it shows.

In a page, ``python`` blocks run from top to bottom in one namespace, ``console`` blocks give commands after ``$`` and
what they print, and a block with a title (``toml title="my-model.toml"``) is a file that the commands find. A ``text``
block right after a ``python`` block is what that block prints. Blocks of other kinds (``bash``, ``ini``) are not run.
"""

from __future__ import annotations

import math
import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass

RELATIVE = 1e-6
"""Numbers in an output may differ by this part: the last digits are the machine's."""

_FENCE = re.compile(r"^```(\w+)([^\n]*)\n(.*?)^```", flags=re.DOTALL | re.MULTILINE)
_NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?")
_TITLE = re.compile(r'title="([^"]+)"')


@dataclass(frozen=True)
class Block:
    """One fenced block: its language, its file name if it has one, its text, and its line in the page."""

    kind: str
    title: str | None
    text: str
    line: int


@dataclass(frozen=True)
class Command:
    """A command of a ``console`` block, as arguments, and the output it shows (empty: any)."""

    arguments: tuple[str, ...]
    output: str


def blocks(page: str) -> list[Block]:
    """The fenced blocks of a page, in order.

    >>> [(b.kind, b.title) for b in blocks('```toml title="a.toml"\\nx = 1\\n```\\n')]
    [('toml', 'a.toml')]
    """
    found = []
    for match in _FENCE.finditer(page):
        title = _TITLE.search(match[2])
        found.append(Block(match[1], title[1] if title else None, match[3], page.count("\n", 0, match.start()) + 1))
    return found


def commands(text: str) -> Iterator[Command]:
    """The commands of a ``console`` block, each with what stands beneath it.

    >>> list(commands("$ ringprism derive --loss train --order 0\\nY_0 = 1\\n$ true\\n"))[0].output
    'Y_0 = 1'
    """
    joined = re.sub(r"\\\n\s*", " ", text)
    for part in re.split(r"^\$ ", joined, flags=re.MULTILINE)[1:]:
        command, _, output = part.partition("\n")
        yield Command(tuple(shlex.split(command, comments=True)), output.strip("\n"))


def difference(shown: str, printed: str) -> str | None:
    """The first shown line that is not printed, or None. A line ``…`` stands for any lines, ``…`` in one for anything.

    >>> difference("a 1.0\\n…\\nc", "a 1.00000000001\\nb\\nb\\nc") is None
    True
    >>> difference("a 1.1", "a 1.0")
    'a 1.1'
    """
    got, free = iter(printed.splitlines()), False
    for line in shown.splitlines():
        if line.strip() == "…":
            free = True
            continue
        for candidate in got:
            if _alike(line.rstrip(), candidate.rstrip()):
                break
            if not free:
                return line
        else:
            return line
        free = False
    return None


def _alike(shown: str, printed: str) -> bool:
    words, numbers = _NUMBER.split(shown), _NUMBER.findall(shown)
    patterns = [re.escape(_spaces(word)).replace("…", ".*").replace(r"\ ", r"\s+") for word in words]
    pattern = f"({_NUMBER.pattern})".join(patterns)
    match = re.fullmatch(pattern.strip(), printed)
    if match is None:
        return False
    return all(
        math.isclose(float(a), float(b), rel_tol=RELATIVE, abs_tol=1e-12)
        for a, b in zip(numbers, match.groups(), strict=True)
    )


def _spaces(text: str) -> str:
    return re.sub(r"\s+", " ", text)
