"""Which code decides a number: a digest of the modules that a function imports, blind to comments, names and places.

Each module counts by its syntax tree, without docstrings and without the places that it imports from, so that a comment
or a moved file changes nothing. Modules outside ``theory``, ``regimes`` and ``numerics`` do not count, but for the one
that the function itself stands in.
"""

from __future__ import annotations

import ast
import hashlib
import inspect
import json
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

from numerics.files import cache_folder, make_folder, write_whole
from theory.errors import InputError

_ROOT = Path(__file__).parents[2]
_LAYERS = ("theory", "regimes", "numerics")
_FORMAT = 1


@dataclass(frozen=True)
class Source:
    """What one module contributes: the digest of its tree, and the project's modules that it imports."""

    digest: str
    imports: tuple[str, ...]

    @classmethod
    def of(cls, text: str) -> Source:
        """Read a module's text.

        >>> one = Source.of('import theory.errors\\nx = 1  # a comment')
        >>> other = Source.of('\"\"\"Documented.\"\"\"\\nimport theory.errors\\n\\nx = 1')
        >>> one == other, one.imports, one.digest == Source.of("x = 2").digest
        (True, ('theory.errors',), False)
        """
        tree = ast.parse(text)
        imports = sorted({name for node in _running(tree) for name in _imported(node)})
        content = hashlib.sha256("\n".join(_lines(tree)).encode()).hexdigest()
        return cls(content, tuple(imports))


def code_digest(function: Callable[..., Any]) -> str:
    """The digest of the code that decides what ``function`` gives: twelve hexadecimal digits.

    >>> from numerics.runs.seeds import child
    >>> len(code_digest(child))
    12
    """
    while isinstance(function, partial):
        function = function.func
    own = function.__module__
    return _digest_below(own) if _file(own) else _digest_of(_outside(function))


@cache
def _digest_below(module: str) -> str:
    found: dict[str, Source] = {}
    waiting = [module]
    kept = _kept_sources()
    while waiting:
        name = waiting.pop()
        path = _file(name)
        if name not in found and path is not None:
            found[name] = _read(path, kept)
            waiting += found[name].imports
    _keep_sources(kept)
    return _digest_of(*found.values())


def _digest_of(*sources: Source) -> str:
    return hashlib.sha256("\n".join(sorted(source.digest for source in sources)).encode()).hexdigest()[:12]


def _outside(function: Callable[..., Any]) -> Source:
    """The module of a function of the user's (a script, a notebook's cell) with all that it imports of ours."""
    module = sys.modules.get(function.__module__)
    text = ""
    with suppress(OSError, TypeError, SyntaxError):
        file = getattr(module, "__file__", None)
        text = Path(file).read_text(encoding="utf-8") if file else inspect.cleandoc(inspect.getsource(function))
        source = Source.of(text)
        below = [_digest_below(name) for name in source.imports]
        return Source(_digest_of(Source(source.digest, ()), *(Source(digest, ()) for digest in below)), ())
    return Source(hashlib.sha256(text.encode()).hexdigest(), ())


@cache
def _file(module: str) -> Path | None:
    """The file of one of the project's modules."""
    if module.partition(".")[0] not in _LAYERS:
        return None
    place = _ROOT.joinpath(*module.split("."))
    return next((file for file in (place.with_suffix(".py"), place / "__init__.py") if file.is_file()), None)


def _running(node: ast.AST) -> Iterator[ast.AST]:
    """The nodes of a tree, without what is there for type checkers only."""
    yield node
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.If) and "TYPE_CHECKING" in ast.dump(child.test):
            for other in child.orelse:
                yield from _running(other)
        else:
            yield from _running(child)


def _imported(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names if _file(alias.name))
    elif isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
        for alias in node.names:
            inside = f"{node.module}.{alias.name}"
            if _file(inside):
                yield inside
            elif _file(node.module):
                yield node.module


def _lines(node: ast.AST) -> Iterator[str]:
    """A tree as text: kinds of nodes and their values, without bare strings, places and what Python's version adds."""
    if isinstance(node, ast.Import | ast.ImportFrom):
        yield "import " + " ".join(sorted(alias.asname or alias.name.rpartition(".")[2] for alias in node.names))
        return
    if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test):
        for other in node.orelse:
            yield from _lines(other)
        return
    yield type(node).__name__
    for field, value in ast.iter_fields(node):
        if value is None or value == [] or field in ("type_comment", "kind", "ctx"):
            continue
        yield field
        for item in value if isinstance(value, list) else [value]:
            if (
                isinstance(item, ast.Expr)
                and isinstance(item.value, ast.Constant)
                and isinstance(item.value.value, str)
            ):
                continue
            if isinstance(item, ast.AST):
                yield from _lines(item)
            else:
                yield repr(item)
    yield "."


def _read(path: Path, kept: dict[str, Any]) -> Source:
    """A module's contribution, from the file of those kept where the module has not changed since."""
    state = path.stat()
    stamp = [state.st_mtime_ns, state.st_size]
    known = kept["sources"].get(str(path))
    if known is not None and known[0] == stamp:
        return Source(known[1], tuple(known[2]))
    source = Source.of(path.read_text(encoding="utf-8"))
    kept["sources"][str(path)] = [stamp, source.digest, list(source.imports)]
    kept["changed"] = True
    return source


def _kept_sources() -> dict[str, Any]:
    try:
        kept = json.loads((cache_folder("code") / "sources.json").read_text(encoding="utf-8"))
        if kept["format"] == _FORMAT and kept["reader"] == _reader():
            return {"sources": dict(kept["sources"]), "changed": False}
    except (OSError, ValueError, KeyError, TypeError):
        pass
    return {"sources": {}, "changed": False}


def _keep_sources(kept: dict[str, Any]) -> None:
    if not kept["changed"]:
        return
    record = {"format": _FORMAT, "reader": _reader(), "sources": kept["sources"]}
    with suppress(InputError, OSError):
        write_whole(make_folder(cache_folder("code")) / "sources.json", json.dumps(record))


@cache
def _reader() -> str:
    """The digest of this file: another way of reading makes other digests."""
    return hashlib.sha256(Path(__file__).read_bytes()).hexdigest()[:12]
