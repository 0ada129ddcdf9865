"""The results store: one SQLite file, one row a finished replica, written at once."""

from __future__ import annotations

import os
import sqlite3
import threading
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from types import TracebackType
from typing import Literal

from numerics.runs import rows
from numerics.runs.outcome import Json, Outcome
from numerics.runs.places import PlaceError
from numerics.runs.provenance import UNKNOWN
from numerics.runs.rows import SCHEMA, Row, RunKey
from numerics.runs.store_errors import damaged, foreign, read_only, translated

APPLICATION_ID = 0x52505253  # "RPRS", in the file's header
FORMAT = 1
BUSY_SECONDS = 60.0

_LOOKS, _LOOK_SECONDS = 40, 0.05
_MAGIC = b"SQLite format 3\0"
_THREADS = threading.RLock()
"""Closing any handle on a file drops all of this process's locks on it: one thread at a time opens or writes."""


class Store:
    """An open results store.

    A store holds one run (parameters, seed) under each experiment name. SQLite's rollback journal keeps every
    transaction in the one file, on local and network disks alike, so that a killed run's file can be moved; several
    processes may write, and a row once written stays.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder, Store.open(f"{folder}/run.db") as store:
    ...     list(store.runs())
    []
    """

    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        self.path = path
        self._connection = connection

    @classmethod
    def open(cls, path: str | Path, *, mode: Literal["write", "read"] = "write") -> Store:
        """Open the store at ``path``; with ``mode="write"`` make it where there is none.

        Raises ``InputError`` for a file that is something else, is damaged, or cannot be written (or, with
        ``mode="read"``, is not there). Such a file is left as it is.
        """
        target = Path(path)
        if mode == "read" and not target.is_file():
            raise PlaceError("store", given=str(path), expected="a results store", remedy="give the name of one")
        with _THREADS, translated(target):
            _refuse_foreign(target)
            if mode == "write":
                _refuse_read_only(target)
            access = "rwc" if mode == "write" else "rw" if _interrupted(target) else "ro"
            uri = f"{target.absolute().as_uri()}?mode={access}"
            connection = sqlite3.connect(uri, uri=True, isolation_level=None, timeout=BUSY_SECONDS)
            connection.text_factory = _text
            try:
                _prepare(target, connection, mode)
            except BaseException:
                connection.close()
                raise
        return cls(target, connection)

    def __enter__(self) -> Store:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the file; every row is in it already."""
        self._connection.close()

    def record(self, experiment: str, parameters: Mapping[str, Json], seed: int) -> Record:
        """The rows of one run, entered in the store where it is new.

        Raises ``InputError``, with both shown, where the store holds other parameters or another seed for this
        experiment.
        """
        key = RunKey(experiment, rows.canonical(parameters), seed)
        with self.transaction() as cursor:
            cursor.execute("SELECT id FROM runs WHERE experiment = ?", (experiment,))
            known = cursor.fetchone()
            if known is None:
                run = rows.insert_run(cursor, key)
            else:
                run = known[0]
                stored = rows.read_run(cursor, run, self.path)
                if stored != key:
                    raise PlaceError(
                        f"store {self.path}",
                        given=key.difference(stored),
                        expected=f"the parameters stored for {experiment}, {stored.difference(key)}",
                        remedy="use another store= file for other parameters",
                    )
        return Record(self, run, key)

    def runs(self) -> Iterator[tuple[RunKey, list[Row]]]:
        """Every run in the store with its rows in replica order, each row checked against its checksum."""
        with translated(self.path), closing(self._connection.cursor()) as cursor:
            if _without_tables(self._connection):
                return
            for (run,) in cursor.execute("SELECT id FROM runs ORDER BY experiment").fetchall():
                key = rows.read_run(cursor, run, self.path)
                yield key, rows.read_rows(cursor, run, key, self.path)

    def verify(self) -> int:
        """Check the file's structure and every row's checksum; the number of rows.

        Raises ``InputError`` at the first thing that is not right.
        """
        with translated(self.path):
            report = [line for (line,) in self._connection.execute("PRAGMA integrity_check").fetchall()]
            if report != ["ok"]:
                raise damaged(self.path, report[0])
            orphans = (
                0
                if _without_tables(self._connection)
                else self._connection.execute(
                    "SELECT count(*) FROM replicas WHERE run NOT IN (SELECT id FROM runs)"
                ).fetchone()[0]
            )
        if orphans:
            raise damaged(self.path, f"{orphans} rows belong to no run")
        return sum(len(found) for _, found in self.runs())

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Cursor]:
        """One transaction, on disk when the body has ended, undone when it raises."""
        with _THREADS, translated(self.path), closing(self._connection.cursor()) as cursor:
            cursor.execute("BEGIN IMMEDIATE")
            try:
                yield cursor
                cursor.execute("COMMIT")
            except BaseException:
                if self._connection.in_transaction:
                    cursor.execute("ROLLBACK")
                raise


class Record:
    """The rows of one run in a store."""

    def __init__(self, store: Store, run: int, key: RunKey) -> None:
        self._store = store
        self._run = run
        self._key = key

    @property
    def path(self) -> Path:
        """The store's file."""
        return self._store.path

    def load(self, replicas: int) -> dict[int, Outcome]:
        """The outcomes stored for replicas below ``replicas``, without those lost with their workers."""
        with self._store.transaction() as cursor:
            found = rows.read_rows(cursor, self._run, self._key, self._store.path, below=replicas)
        return {row.replica: row.outcome() for row in found if row.status != "lost"}

    def pending(self, found: dict[int, Outcome], replicas: int) -> Iterator[int]:
        """The replicas still to run, each looked up again when its turn comes.

        Processes that share the run start at different places, and one finds in ``found`` what another has finished:
        they divide the work without claims on it that could outlive their owners.
        """
        missing = [replica for replica in range(replicas) if replica not in found]
        start = os.getpid() % len(missing) if missing else 0
        for replica in missing[start:] + missing[:start]:
            with self._store.transaction() as cursor:
                row = rows.read_row(cursor, self._run, self._key, self._store.path, replica)
            if row is None or row.status == "lost":
                yield replica
            else:
                found[replica] = row.outcome()

    def write(self, outcome: Outcome) -> Outcome:
        """Write one outcome, at once; the stored one, where another process has been faster.

        Raises ``InputError`` where the same code gave another result for the same replica.
        """
        new = Row.of(outcome)
        with self._store.transaction() as cursor:
            old = rows.read_row(cursor, self._run, self._key, self._store.path, outcome.replica)
            if old is None or (old.status == "lost" and new.status != "lost"):
                rows.write_row(cursor, self._run, self._key, new)
                return outcome
        if new.status != "lost" and old.environment == new.environment and old.result != new.result:
            raise PlaceError(
                f"store {self._store.path}",
                given=new.result,
                expected=f"the result stored for replica {outcome.replica}, {old.result[:60]}",
                remedy="make the experiment depend on its parameters and seed alone",
            )
        return old.outcome()

    def warnings(self, outcomes: Iterable[Outcome]) -> tuple[str, ...]:
        """A sentence when the replicas were made by more than one version of the code or its libraries."""
        environments = sorted({outcome.environment for outcome in outcomes} - {UNKNOWN})
        if len(environments) < 2:
            return ()
        return (f"store {self._store.path} mixes replicas made by {' and '.join(environments)}",)


def _refuse_foreign(path: Path) -> None:
    """Look at the header before SQLite touches the file; an absent or empty file is a new store."""
    for _ in range(_LOOKS):
        try:
            with path.open("rb") as stream:
                header = stream.read(100)
        except FileNotFoundError:
            return
        if not header or (header[:16] == _MAGIC and int.from_bytes(header[68:72], "big") == APPLICATION_ID):
            return
        if not path.with_name(f"{path.name}-journal").exists():
            break
        time.sleep(_LOOK_SECONDS)  # its writer may be creating it just now
    raise foreign(path)


def _refuse_read_only(path: Path) -> None:
    """Before any work: SQLite itself would open the file and fail at the first row. The folder holds its journal."""
    for place in (path, path.parent):
        if place.exists() and not os.access(place, os.W_OK):
            raise read_only(path, f"no permission to write {place}")


def _interrupted(path: Path) -> bool:
    """Whether a writer was killed within a transaction, which must be undone (and may) before anyone can read."""
    return path.with_name(f"{path.name}-journal").exists() and os.access(path, os.W_OK)


def _without_tables(connection: sqlite3.Connection) -> bool:
    """Whether the file is empty, or its writer is just creating it: it has no runs yet."""
    return not connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]


def _text(raw: bytes) -> str:
    """Text of the file; bytes that are none are damage, and not for the caller's decoder to find."""
    try:
        return raw.decode()
    except UnicodeDecodeError as error:
        raise sqlite3.DatabaseError(f"text that is not UTF-8: {error.reason}") from error


def _prepare(path: Path, connection: sqlite3.Connection, mode: Literal["write", "read"]) -> None:
    connection.execute("PRAGMA synchronous = FULL")
    if mode == "write":
        connection.execute("BEGIN IMMEDIATE")
        if not connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
            connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
            connection.execute(f"PRAGMA user_version = {FORMAT}")
            for statement in SCHEMA:
                connection.execute(statement)
        connection.execute("COMMIT")
    version = connection.execute("PRAGMA user_version").fetchone()[0]
    if version != FORMAT and not _without_tables(connection):
        raise PlaceError(
            f"store {path}", given=version, expected=f"format {FORMAT}", remedy="use the release that wrote it"
        )
    report = connection.execute("PRAGMA quick_check(1)").fetchone()[0]
    if report != "ok":
        raise damaged(path, report)
