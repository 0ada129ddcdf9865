"""Files are written whole or not at all."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from theory.errors import InputError


@contextmanager
def whole_file(path: Path, *, what: str = "output file") -> Iterator[Path]:
    """A scratch file beside ``path`` that takes its place at the end: readers see the old file or the new one.

    Raises ``InputError``, naming ``what``, where the folder is missing, read-only or full; the old file is then still
    there.
    """
    scratch = None
    try:
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.stem}-", suffix=path.suffix)
        os.close(handle)
        scratch = Path(name)
        yield scratch
        _share(scratch)
        os.replace(scratch, path)
    except OSError as error:
        raise InputError(
            what,
            given=str(path),
            expected=f"a place that can be written ({error.strerror})",
            remedy="choose another folder or free some space",
        ) from error
    finally:
        if scratch is not None:
            scratch.unlink(missing_ok=True)


def write_whole(path: Path, text: str) -> Path:
    """Write ``text`` to ``path`` in one step, as UTF-8."""
    with whole_file(path) as scratch:
        scratch.write_text(text, encoding="utf-8")
    return path


def make_folder(path: Path) -> Path:
    """Make a folder, and those above it, where it is not there yet; ``InputError`` where that cannot be done."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(
            "output folder",
            given=str(path),
            expected=f"a folder that can be made ({error.strerror})",
            remedy="choose another place",
        ) from error
    return path


def cache_folder(kind: str) -> Path:
    """Where what can be made again is kept: under ``RINGPRISM_CACHE`` if set, else the platform's folder for caches."""
    given = os.environ.get("RINGPRISM_CACHE")
    if given:
        return Path(given) / kind
    if sys.platform == "darwin":
        base = Path.home() / "Library" / "Caches"
    elif sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    else:
        base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return base / "ringprism" / kind


def _share(path: Path) -> None:
    """Give the file the permissions that ``open`` would have given it (``mkstemp`` makes it private)."""
    mask = os.umask(0)
    os.umask(mask)
    path.chmod(0o666 & ~mask)
