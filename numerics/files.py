"""Files are written whole or not at all."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from theory.errors import InputError


def write_whole(path: Path, data: str | bytes) -> Path:
    """Write ``data`` (text as UTF-8) to ``path`` in one step: readers see the old file or the new one, never a part.

    Raises ``InputError`` where the folder is missing, read-only or full; the old file is then still there.
    """
    scratch = None
    try:
        handle, scratch = tempfile.mkstemp(dir=path.parent, prefix=f".{path.stem}-", suffix=".part")
        with os.fdopen(handle, "wb") as stream:
            stream.write(data.encode() if isinstance(data, str) else data)
        _share(scratch)
        os.replace(scratch, path)
    except OSError as error:
        raise InputError(
            "output file",
            given=str(path),
            expected=f"a place that can be written ({error.strerror})",
            remedy="choose another folder or free some space",
        ) from error
    finally:
        if scratch is not None:
            Path(scratch).unlink(missing_ok=True)
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


def _share(path: str) -> None:
    """Give the file the permissions that ``open`` would have given it (``mkstemp`` makes it private)."""
    mask = os.umask(0)
    os.umask(mask)
    os.chmod(path, 0o666 & ~mask)
