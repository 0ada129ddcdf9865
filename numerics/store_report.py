"""What a results store holds: a summary to show, and tables to take elsewhere."""

from __future__ import annotations

import csv
import json
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from numerics.files import whole_file
from numerics.rows import Row, RunKey
from numerics.store import Store
from theory.errors import InputError

FORMATS = (".csv", ".parquet")
_COLUMNS = ("experiment", "seed", "replica", "status", "name", "index", "value", "reason", "seconds", "environment")


@dataclass(frozen=True)
class RunSummary:
    """One run of a store: what determines it, how many replicas it has, what made them, and which failed."""

    key: RunKey
    counts: dict[str, int]
    seconds: float
    environments: tuple[str, ...]
    failures: tuple[tuple[int, str], ...]

    @classmethod
    def of(cls, key: RunKey, rows: list[Row]) -> RunSummary:
        """The summary of a run's rows."""
        return cls(
            key,
            dict(Counter(row.status for row in rows)),
            sum(row.seconds for row in rows),
            tuple(sorted({row.environment for row in rows})),
            tuple((row.replica, json.loads(row.result)) for row in rows if row.status != "finished"),
        )

    def to_json(self) -> dict[str, Any]:
        """Everything, with parameters and environments as JSON."""
        return {
            "experiment": self.key.experiment,
            "parameters": json.loads(self.key.parameters),
            "seed": self.key.seed,
            "replicas": self.counts,
            "seconds": self.seconds,
            "environments": [json.loads(text) for text in self.environments],
            "failures": [{"replica": replica, "reason": reason} for replica, reason in self.failures],
        }


@dataclass(frozen=True)
class StoreSummary:
    """All runs of a store. ``verified`` is the number of rows whose checksums were found right."""

    path: Path
    runs: tuple[RunSummary, ...]
    verified: int

    def to_json(self) -> dict[str, Any]:
        """The runs, and the number of rows verified."""
        return {"store": str(self.path), "verified": self.verified, "runs": [run.to_json() for run in self.runs]}

    def to_text(self) -> str:
        """One paragraph a run."""
        lines = [f"{self.path}: {len(self.runs)} runs, {self.verified} rows, all checksums right"]
        for run in self.runs:
            counts = ", ".join(f"{count} {status}" for status, count in sorted(run.counts.items())) or "no replicas yet"
            lines += ["", f"{run.key.experiment}, seed {run.key.seed}: {counts}; {run.seconds:.3g} s of work"]
            lines.append(f"  parameters {run.key.parameters}")
            lines += [f"  made by {environment}" for environment in run.environments]
            lines += [f"  replica {replica}: {reason}" for replica, reason in run.failures]
        return "\n".join(lines)


def summary(path: str | Path, *, structure: bool = False) -> StoreSummary:
    """Read a store and check every row; with ``structure`` the file's pages and indices too.

    Raises ``InputError`` for a file that is no store, or damaged.
    """
    with Store.open(path, mode="read") as store:
        if structure:
            store.verify()
        runs = [(key, rows) for key, rows in store.runs()]
    return StoreSummary(
        Path(path), tuple(RunSummary.of(key, rows) for key, rows in runs), sum(len(rows) for _, rows in runs)
    )


def export(path: str | Path, target: str | Path) -> int:
    """Write the store's values to ``target`` (.csv or .parquet), one row a number; the number of rows.

    Columns: experiment, seed, replica, status, name, index, value, reason, seconds, environment. A replica that failed
    has one row with its reason. Raises ``InputError`` for another suffix, a missing pyarrow, a file that is there, or a
    place that cannot be written.
    """
    to = Path(target)
    writers: dict[str, Callable[[Iterator[tuple[Any, ...]], Path], int]] = {
        ".csv": _write_csv,
        ".parquet": _write_parquet,
    }
    if to.suffix not in writers:
        raise InputError(
            "export", given=str(target), expected=f"a name ending in {' or '.join(FORMATS)}", remedy="rename it"
        )
    if to.exists():
        raise InputError(
            "export", given=str(target), expected="a new name", remedy="remove the file that is there first"
        )
    with Store.open(path, mode="read") as store:
        records = (record for key, rows in store.runs() for row in rows for record in _records(key, row))
        with whole_file(to, what="export") as scratch:
            count = writers[to.suffix](records, scratch)
    return count


def _records(key: RunKey, row: Row) -> Iterator[tuple[Any, ...]]:
    result = json.loads(row.result)
    head = (key.experiment, key.seed, row.replica, row.status)
    tail = (row.seconds, row.environment)
    if row.status != "finished":
        yield (*head, None, None, None, result, *tail)
        return
    for name, values in result.items():
        for index, value in enumerate(values):
            yield (*head, name, index, value, None, *tail)


def _write_csv(records: Iterator[tuple[Any, ...]], path: Path) -> int:
    count = 0
    with path.open("w", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(_COLUMNS)
        for count, record in enumerate(records, start=1):  # noqa: B007 (the last count is the result)
            writer.writerow(record)
    return count


def _write_parquet(records: Iterator[tuple[Any, ...]], path: Path) -> int:
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError as error:
        raise InputError(
            "export",
            given=str(path.suffix),
            expected="pyarrow to be installed",
            remedy='run pip install "ringprism[parquet]"',
        ) from error
    rows = list(records)
    types = (
        pyarrow.string(),
        pyarrow.int64(),
        pyarrow.int64(),
        pyarrow.string(),
        pyarrow.string(),
        pyarrow.int64(),
        pyarrow.float64(),
        pyarrow.string(),
        pyarrow.float64(),
        pyarrow.string(),
    )
    arrays = [pyarrow.array([row[k] for row in rows], type=kind) for k, kind in enumerate(types)]
    parquet.write_table(pyarrow.table(arrays, names=list(_COLUMNS)), path)
    return len(rows)
