"""What produced a result: the version of the code that decides it, of Python, and of the libraries beneath."""

from __future__ import annotations

import json
import platform
from collections.abc import Callable
from functools import cache, partial
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from numerics.runs.code import code_digest

_LIBRARIES = ("numpy", "scipy", "numba")
UNKNOWN = "{}"
"""The environment of what nobody stamped: an outcome that goes to no store, or was lost."""


def code_version(function: Callable[..., Any]) -> str:
    """The release, and the digest of the code that decides what ``function`` gives (see ``numerics.runs.code``)."""
    return f"{_version('ringprism')}+{code_digest(function)}"


def environment(function: Callable[..., Any]) -> str:
    """The code version and the versions of Python and the libraries, as one line of JSON.

    >>> from numerics.runs.seeds import child
    >>> sorted(json.loads(environment(child)))
    ['code', 'machine', 'numba', 'numpy', 'python', 'scipy']
    """
    while isinstance(function, partial):
        function = function.func
    return _environment(function)


@cache
def _environment(function: Callable[..., Any]) -> str:
    described = {"code": code_version(function), "python": platform.python_version(), "machine": platform.machine()}
    described |= {library: _version(library) for library in _LIBRARIES}
    return json.dumps(described, sort_keys=True)


def code_in(environment: str) -> str | None:
    """The code version that an environment names.

    >>> code_in('{"code": "0.1.0+abc"}'), code_in(UNKNOWN)
    ('0.1.0+abc', None)
    """
    try:
        found = json.loads(environment)["code"]
    except (ValueError, KeyError, TypeError):
        return None
    return found if isinstance(found, str) else None


@cache
def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"
