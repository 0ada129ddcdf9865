"""What produced a result: the version of this code, of Python, and of the libraries that make the numbers."""

from __future__ import annotations

import hashlib
import json
import platform
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

_LIBRARIES = ("numpy", "scipy", "numba")
_LAYERS = ("theory", "regimes", "numerics")


@cache
def code_version() -> str:
    """The release and a digest of the sources beneath: two different working copies never look alike."""
    root = Path(__file__).parents[2]
    digest = hashlib.sha256()
    for layer in _LAYERS:
        for file in sorted((root / layer).rglob("*.py")):
            digest.update(str(file.relative_to(root)).encode() + b"\0" + file.read_bytes() + b"\0")
    return f"{_version('ringprism')}+{digest.hexdigest()[:12]}"


@cache
def environment() -> str:
    """The code version and the versions of Python and the libraries, as one line of JSON.

    >>> sorted(json.loads(environment()))
    ['code', 'machine', 'numba', 'numpy', 'python', 'scipy']
    """
    described = {"code": code_version(), "python": platform.python_version(), "machine": platform.machine()}
    described |= {library: _version(library) for library in _LIBRARIES}
    return json.dumps(described, sort_keys=True)


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"
