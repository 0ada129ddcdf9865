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
from numerics.runs.rows import Row, RunKey
from numerics.runs.store import Store
from theory.errors import InputError

FORMATS = (".csv", ".parquet")
_TIMED = ("train", "population")
"""Values of an autoencoder's run that belong to its times."""

_COLUMNS = ("experiment", "seed", "replica", "status", "name", "index", "time", "value", "reason", "seconds")


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

    @property
    def totals(self) -> str:
        """How much there is, and that each row is as it was written."""
        return f"{counted(len(self.runs), 'run')}, {counted(self.verified, 'row')}, all checksums right"

    def to_json(self) -> dict[str, Any]:
        """The runs, and the number of rows verified."""
        return {"store": str(self.path), "verified": self.verified, "runs": [run.to_json() for run in self.runs]}

    def to_text(self) -> str:
        """One paragraph a run."""
        lines = [f"{self.path}: {self.totals}"]
        for run in self.runs:
            counts = ", ".join(f"{count} {status}" for status, count in sorted(run.counts.items())) or "no replicas yet"
            lines += ["", f"{run.key.experiment}, seed {run.key.seed}: {counts}; {run.seconds:.3g} s of work"]
            lines.append(f"  parameters {run.key.parameters}")
            lines += [f"  made by {environment}" for environment in run.environments]
            lines += [f"  replica {replica}: {reason}" for replica, reason in run.failures]
        return "\n".join(lines)


@dataclass(frozen=True)
class Verification:
    """A store in which all was found right: what was looked at."""

    summary: StoreSummary

    def to_json(self) -> dict[str, Any]:
        """The numbers of runs and rows, and the checks that they passed."""
        return {
            "store": str(self.summary.path),
            "runs": len(self.summary.runs),
            "verified": self.summary.verified,
            "checks": list(_CHECKS),
        }

    def to_text(self) -> str:
        """What was checked, and the outcome."""
        return "\n".join([f"{self.summary.path}: {self.summary.totals}", *(f"  {check}" for check in _CHECKS)])


_CHECKS = (
    "the file: every page, index and constraint (SQLite's integrity check), and no row without its run",
    "every run: name, parameters and seed against their SHA-256",
    "every replica: its result or failure, seconds, versions and time of writing, with its run, against their SHA-256",
)


def verify(path: str | Path) -> Verification:
    """Check a store's structure and every row; ``InputError`` at the first thing that is not right."""
    with Store.open(path, mode="read") as store:
        store.verify()
    return Verification(summary(path))


def counted(count: int, what: str) -> str:
    """A number of things in words.

    >>> counted(1, "run"), counted(2, "run")
    ('1 run', '2 runs')
    """
    return f"{count} {what}" if count == 1 else f"{count} {what}s"


def summary(path: str | Path) -> StoreSummary:
    """Read a store and check every row.

    Raises ``InputError`` for a file that is no store, or damaged.
    """
    with Store.open(path, mode="read") as store:
        runs = [(key, rows) for key, rows in store.runs()]
    return StoreSummary(
        Path(path), tuple(RunSummary.of(key, rows) for key, rows in runs), sum(len(rows) for _, rows in runs)
    )


def export(path: str | Path, target: str | Path) -> int:
    """Write the store's values to ``target`` (.csv or .parquet), one row a number; the number of rows.

    Columns: experiment, seed, replica, status, name, index, time, value, reason, seconds. ``time`` is that of a value
    that belongs to one of its experiment's ``times``; a replica that failed has one row with its reason. Beside the
    table, in ``sidecar(target)``, the parameters and versions of each run. Raises ``InputError`` for another suffix, a
    missing pyarrow, a file that is there, or a place that cannot be written.
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
    for place in (to, sidecar(to)):
        if place.exists():
            raise InputError(
                "export", given=str(place), expected="a new name", remedy="remove the file that is there first"
            )
    with Store.open(path, mode="read") as store:
        runs = list(store.runs())
    records = (record for key, rows in runs for row in rows for record in _records(key, row))
    with whole_file(to, what="export") as scratch:
        count = writers[to.suffix](records, scratch)
    described = {key.experiment: RunSummary.of(key, rows).to_json() for key, rows in runs}
    with whole_file(sidecar(to), what="export") as scratch:
        scratch.write_text(json.dumps(described, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    return count


def sidecar(target: Path) -> Path:
    """The file beside an exported table that describes its runs, by experiment.

    >>> sidecar(Path("table.csv")).name
    'table.csv.json'
    """
    return target.with_name(f"{target.name}.json")


def _records(key: RunKey, row: Row) -> Iterator[tuple[Any, ...]]:
    result = json.loads(row.result)
    head = (key.experiment, key.seed, row.replica, row.status)
    if row.status != "finished":
        yield (*head, None, None, None, None, result, row.seconds)
        return
    times = json.loads(key.parameters).get("times")
    for name, values in result.items():
        timed = isinstance(times, list) and len(values) == len(times) and name in _TIMED
        for index, value in enumerate(values):
            yield (*head, name, index, times[index] if timed else None, value, None, row.seconds)


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
            remedy="run pip install pyarrow",
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
        pyarrow.float64(),
        pyarrow.string(),
        pyarrow.float64(),
    )
    arrays = [pyarrow.array([row[k] for row in rows], type=kind) for k, kind in enumerate(types)]
    parquet.write_table(pyarrow.table(arrays, names=list(_COLUMNS)), path)
    return len(rows)
