"""What can go wrong with a store's file, each with the way out."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from numerics.runs.places import PlaceError
from theory.errors import RingprismError

_KEPT = "finished replicas are kept; repeat the command to go on"


def foreign(path: Path) -> PlaceError:
    """The error for a file that is not a results store."""
    return PlaceError(
        "store",
        given=str(path),
        expected="a results store of ringprism or a new name",
        remedy="name another file; this one was left as it is",
    )


def damaged(path: Path, finding: str) -> PlaceError:
    """The error for a store that does not hold together."""
    return PlaceError(
        f"store {path}",
        given=finding,
        expected="an undamaged results store",
        remedy="bring back a copy or begin a new file; this one was left as it is",
    )


def read_only(path: Path, finding: str) -> PlaceError:
    """The error for a store that cannot be written."""
    return PlaceError(
        f"store {path}",
        given=finding,
        expected="a file and folder that can be written",
        remedy="change the permissions or name another file",
    )


@contextmanager
def translated(path: Path) -> Iterator[None]:
    """Turn SQLite's and the system's errors into one that says what to do."""
    try:
        yield
    except sqlite3.Error as error:
        raise _explain(path, error) from error
    except (UnicodeError, ValueError, TypeError) as error:
        if isinstance(error, RingprismError):
            raise
        raise damaged(path, f"{type(error).__name__}: {error}"[:200]) from error
    except OSError as error:
        raise PlaceError(
            "store", given=str(path), expected=f"a file that can be opened ({error.strerror})", remedy="name another"
        ) from error


def _explain(path: Path, error: sqlite3.Error) -> PlaceError:
    name = getattr(error, "sqlite_errorname", "")
    what = f"store {path}"
    if name.startswith(("SQLITE_FULL", "SQLITE_IOERR")):
        return PlaceError(what, given=str(error), expected="room on its disk", remedy=f"free some space; {_KEPT}")
    if name.startswith(("SQLITE_READONLY", "SQLITE_CANTOPEN", "SQLITE_PERM", "SQLITE_AUTH")):
        return read_only(path, str(error))
    if name.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
        return PlaceError(what, given=str(error), expected="its turn within a minute", remedy=f"wait; {_KEPT}")
    return damaged(path, str(error))
