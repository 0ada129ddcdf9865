"""Rows of the results store: their tables, their checksums, and the outcomes they stand for."""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from numerics.runs.outcome import Failure, Json, Outcome
from numerics.runs.store_errors import damaged

SCHEMA = (
    "CREATE TABLE runs (id INTEGER PRIMARY KEY, experiment TEXT NOT NULL UNIQUE, parameters TEXT NOT NULL,"
    " seed INTEGER NOT NULL, created TEXT NOT NULL, checksum TEXT NOT NULL)",
    "CREATE TABLE environments (id INTEGER PRIMARY KEY, description TEXT NOT NULL UNIQUE)",
    "CREATE TABLE replicas (run INTEGER NOT NULL REFERENCES runs, replica INTEGER NOT NULL,"
    " status TEXT NOT NULL CHECK (status IN ('finished', 'failed', 'lost')), result TEXT NOT NULL,"
    " seconds REAL NOT NULL, environment INTEGER NOT NULL REFERENCES environments, written TEXT NOT NULL,"
    " checksum TEXT NOT NULL, PRIMARY KEY (run, replica))",
)

_SELECT = (
    "SELECT replica, status, result, seconds, description, written, checksum FROM replicas"
    " LEFT JOIN environments ON environments.id = environment WHERE run = ?"
)


@dataclass(frozen=True)
class RunKey:
    """What determines the results of a run: the experiment, its parameters (canonical JSON), the seed."""

    experiment: str
    parameters: str
    seed: int

    def difference(self, other: RunKey) -> str:
        """What this run has and the other has not, for a message."""
        mine = {"seed": self.seed, **json.loads(self.parameters)}
        theirs = {"seed": other.seed, **json.loads(other.parameters)}
        absent = object()
        return ", ".join(f"{name}={value}" for name, value in mine.items() if theirs.get(name, absent) != value) or "—"


@dataclass(frozen=True)
class Row:
    """One replica as stored. ``result`` is JSON: named lists of floats, or the reason of a failure as a string."""

    replica: int
    status: str
    result: str
    seconds: float
    environment: str
    written: str

    @classmethod
    def of(cls, outcome: Outcome) -> Row:
        """The row of an outcome, stamped with the time of day (for the reader only: nothing depends on it)."""
        result = outcome.result
        failed = isinstance(result, Failure)
        status = result.kind if isinstance(result, Failure) else "finished"
        return cls(
            outcome.replica,
            status,
            json.dumps(result.reason if isinstance(result, Failure) else result, allow_nan=failed),
            outcome.seconds,
            outcome.environment,
            _now(),
        )

    def outcome(self) -> Outcome:
        """The outcome this row stands for: the floats come back bit for bit."""
        result = json.loads(self.result)
        if self.status != "finished":
            result = Failure(self.replica, result, "failed" if self.status == "failed" else "lost")
        return Outcome(self.replica, result, self.seconds, self.environment)


def canonical(parameters: Mapping[str, Json]) -> str:
    """The parameters as JSON with sorted keys.

    >>> canonical({"p": 2, "n": [1.0]})
    '{"n": [1.0], "p": 2}'
    """
    return json.dumps(dict(parameters), sort_keys=True, allow_nan=False, ensure_ascii=False)


def insert_run(cursor: sqlite3.Cursor, key: RunKey) -> int:
    """Enter a new run; its id."""
    created = _now()
    cursor.execute(
        "INSERT INTO runs (experiment, parameters, seed, created, checksum) VALUES (?, ?, ?, ?, ?)",
        (key.experiment, key.parameters, key.seed, created, _checksum(key, created)),
    )
    run = cursor.lastrowid
    assert run is not None
    return run


def read_run(cursor: sqlite3.Cursor, run: int, path: Path) -> RunKey:
    """The key of a run, checked against its checksum."""
    cursor.execute("SELECT experiment, parameters, seed, created, checksum FROM runs WHERE id = ?", (run,))
    *fields, created, checksum = cursor.fetchone()
    key = RunKey(*fields)
    if _checksum(key, created) != checksum:
        raise damaged(path, f"the parameters of {key.experiment!r} do not match their checksum")
    return key


def read_rows(cursor: sqlite3.Cursor, run: int, key: RunKey, path: Path, *, below: int | None = None) -> list[Row]:
    """The rows of a run in replica order, checked against their checksums."""
    if below is None:
        cursor.execute(f"{_SELECT} ORDER BY replica", (run,))
    else:
        cursor.execute(f"{_SELECT} AND replica < ? ORDER BY replica", (run, below))
    return [_row(record, key, path) for record in cursor.fetchall()]


def read_row(cursor: sqlite3.Cursor, run: int, key: RunKey, path: Path, replica: int) -> Row | None:
    """The row of one replica, checked, or none."""
    cursor.execute(f"{_SELECT} AND replica = ?", (run, replica))
    record = cursor.fetchone()
    return None if record is None else _row(record, key, path)


def write_row(cursor: sqlite3.Cursor, run: int, key: RunKey, row: Row) -> None:
    """Write a row, in place of one that says the replica was lost."""
    cursor.execute("INSERT OR IGNORE INTO environments (description) VALUES (?)", (row.environment,))
    cursor.execute(
        "INSERT OR REPLACE INTO replicas (run, replica, status, result, seconds, environment, written, checksum)"
        " VALUES (?, ?, ?, ?, ?, (SELECT id FROM environments WHERE description = ?), ?, ?)",
        (
            run,
            row.replica,
            row.status,
            row.result,
            row.seconds,
            row.environment,
            row.written,
            _checksum(key, row),
        ),
    )


def _row(record: tuple[int, str, str, float, str | None, str, str], key: RunKey, path: Path) -> Row:
    replica, status, result, seconds, environment, written, checksum = record
    row = Row(replica, status, result, seconds, environment or "", written)
    if _checksum(key, row) != checksum:
        raise damaged(path, f"replica {replica} of {key.experiment!r} does not match its checksum")
    return row


def _checksum(key: RunKey, content: Row | str) -> str:
    """Over the run's key too, so that a row moved to another run is found out."""
    fields = [key.experiment, key.parameters, key.seed]
    if isinstance(content, Row):
        fields += [
            content.replica,
            content.status,
            content.result,
            repr(content.seconds),
            content.environment,
            content.written,
        ]
    else:
        fields += [content]
    return hashlib.sha256(json.dumps(fields).encode()).hexdigest()


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
