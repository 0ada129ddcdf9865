"""The results store: what it keeps, what it refuses, and that it leaves alone what it refuses."""

from __future__ import annotations

import csv
import json
import shutil
import sqlite3
import threading
from pathlib import Path

import pytest

from numerics.runs.machine import Machine
from numerics.runs.outcome import Experiment, Outcome
from numerics.runs.places import PlaceError
from numerics.runs.replicas import run_replicas
from numerics.runs.store import Store
from numerics.runs.store_report import export, summary, verify
from tests.numerics.runs.experiments import normals, tiny
from theory.errors import InputError


@pytest.fixture
def path(tmp_path: Path) -> Path:
    found = tmp_path / "run.db"
    run_replicas(tiny(fails=True), replicas=8, seed=3, machine=Machine(store=found))
    return found


def change(path: Path, statement: str) -> None:
    connection = sqlite3.connect(path)
    connection.execute(statement)
    connection.commit()
    connection.close()


def test_other_parameters_are_refused_with_both_shown(path: Path) -> None:
    before = path.read_bytes()
    with pytest.raises(InputError, match=r"got 'size=41', expected the parameters stored for tiny, size=40"):
        run_replicas(tiny(size=41, fails=True), replicas=8, seed=3, machine=Machine(store=path))
    with pytest.raises(InputError, match=r"got 'seed=4', expected the parameters stored for tiny, seed=3"):
        run_replicas(tiny(fails=True), replicas=8, seed=4, machine=Machine(store=path))
    with pytest.raises(InputError, match=r"got '—', expected the parameters stored for tiny, fails=True"):
        run_replicas(tiny(), replicas=8, seed=3, machine=Machine(store=path))
    assert path.read_bytes() == before


def test_runs_of_other_names_live_beside_each_other(path: Path) -> None:
    run_replicas(Experiment("other", {"size": 5}, normals), replicas=2, seed=9, machine=Machine(store=path))
    assert [(run.key.experiment, sum(run.counts.values())) for run in summary(path).runs] == [("other", 2), ("tiny", 8)]


def test_versions_are_recorded_and_a_mixture_is_told(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (run,) = summary(path).runs
    assert set(json.loads(run.environments[0])) == {"code", "python", "numpy", "scipy", "numba", "machine"}
    other = json.dumps({**json.loads(run.environments[0]), "numpy": "other"})
    monkeypatch.setattr("numerics.runs.replicas.environment", lambda _: other)
    resumed = run_replicas(tiny(fails=True), replicas=10, seed=3, machine=Machine(store=path))
    assert 'mixes replicas made by {"code": "0.' in resumed.warnings[0]
    assert "other" in resumed.warnings[0]
    assert len(summary(path).runs[0].environments) == 2


def test_replicas_of_other_code_are_refused_or_told(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("numerics.runs.replicas.code_version", lambda _: "0.1.0+other")
    with pytest.raises(InputError, match=r"made by other code.*expected those of the code that runs, 0\.1\.0\+other"):
        run_replicas(tiny(fails=True), replicas=8, seed=3, machine=Machine(store=path))
    told: list[str] = []
    run = run_replicas(tiny(fails=True), replicas=8, seed=3, machine=Machine(store=path, reuse=True, warn=told.append))
    assert "8 of 8 replicas were made by other code" in run.warnings[0]
    assert told == list(run.warnings)
    assert run.reused == 8


@pytest.mark.parametrize("content", [b"some notes", b"SQLite format 3\0" + bytes(200), bytes(5000)])
def test_foreign_files_are_refused_and_left(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "notes"
    path.write_bytes(content)
    for mode in ("write", "read"):
        with pytest.raises(InputError, match="left as it is"):
            Store.open(path, mode=mode)  # type: ignore[arg-type]
    assert path.read_bytes() == content


def test_another_programs_database_is_refused_and_left(tmp_path: Path) -> None:
    path = tmp_path / "other.db"
    change(path, "CREATE TABLE mine (x)")
    before = path.read_bytes()
    with pytest.raises(InputError, match="expected a results store of ringprism"):
        run_replicas(tiny(), replicas=1, seed=0, machine=Machine(store=path))
    assert path.read_bytes() == before


def test_an_empty_file_becomes_a_store(tmp_path: Path) -> None:
    path = tmp_path / "empty.db"
    path.touch()
    run_replicas(tiny(), replicas=1, seed=0, machine=Machine(store=path))
    assert summary(path).verified == 1


@pytest.mark.parametrize("journal", [False, True])
def test_a_file_without_tables_has_no_runs_yet(tmp_path: Path, journal: bool) -> None:
    path = tmp_path / "new.db"
    path.touch()
    if journal:  # its writer is creating it
        path.with_name("new.db-journal").touch()
    assert summary(path).runs == ()
    with Store.open(path, mode="read") as store:
        assert store.verify() == 0


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE replicas SET result = x'ff00'",
        "UPDATE replicas SET replica = x'ff00' WHERE replica = 0",
        "UPDATE replicas SET result = CAST(x'ff22' AS TEXT)",
        "UPDATE runs SET parameters = x'ff00'",
    ],
)
def test_values_of_another_kind_are_damage(path: Path, statement: str) -> None:
    change(path, statement)
    with pytest.raises(PlaceError, match="undamaged"):
        summary(path)


def test_a_schema_that_is_no_text_is_damage(path: Path) -> None:
    content = path.read_bytes()
    place = content.index(b"CREATE TABLE runs")
    path.write_bytes(content[: place + 14] + b"\xff" + content[place + 15 :])
    for reading in (
        lambda: summary(path),
        lambda: run_replicas(tiny(), replicas=1, seed=3, machine=Machine(store=path)),
    ):
        with pytest.raises(PlaceError, match="undamaged"):
            reading()


def test_a_folder_or_a_missing_folder_is_refused(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "no" / "such.db"):
        with pytest.raises(InputError, match="store"):
            Store.open(path)
    with pytest.raises(InputError, match="give the name of one"):
        Store.open(tmp_path / "none.db", mode="read")


def test_every_damaged_page_is_found(path: Path) -> None:
    """Overwrite one stretch of the file after another: each is refused, and the file left, or the rows are whole."""
    whole = path.read_bytes()
    expected = run_replicas(tiny(fails=True), replicas=8, seed=3)
    outcomes = []
    for start in range(0, len(whole), 256):
        damaged = whole[:start] + bytes(byte ^ 0x5A for byte in whole[start : start + 256]) + whole[start + 256 :]
        path.write_bytes(damaged)
        try:
            assert run_replicas(tiny(fails=True), replicas=8, seed=3, machine=Machine(store=path)) == expected
            outcomes.append("whole")
        except InputError:
            assert path.read_bytes() == damaged
            outcomes.append("refused")
    assert outcomes[0] == "refused"
    assert outcomes.count("refused") >= len(whole) / 4096  # most of each small page is unused space


def test_a_truncated_store_is_refused_and_left(path: Path) -> None:
    half = path.read_bytes()[: 3 * 4096]
    path.write_bytes(half)
    with pytest.raises(InputError, match="undamaged"):
        run_replicas(tiny(fails=True), replicas=8, seed=3, machine=Machine(store=path))
    assert path.read_bytes() == half


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE replicas SET result = replace(result, '1', '2') WHERE replica = (SELECT max(replica) FROM replicas)",
        "UPDATE replicas SET replica = 99 WHERE replica = 7",
        "UPDATE replicas SET status = 'failed' WHERE status = 'finished'",
        "UPDATE runs SET seed = 4",
        "UPDATE environments SET description = '{}'",
        "DELETE FROM environments",
        "DELETE FROM runs",
    ],
)
def test_changed_rows_are_found(path: Path, statement: str) -> None:
    change(path, statement)
    with pytest.raises(InputError, match="undamaged"), Store.open(path, mode="read") as store:
        store.verify()


def test_a_later_format_is_refused(path: Path) -> None:
    change(path, "PRAGMA user_version = 2")
    with pytest.raises(InputError, match="use the release that wrote it"):
        Store.open(path)


def test_a_result_that_is_not_determined_by_its_seed_is_refused(path: Path) -> None:
    with Store.open(path) as store:
        record = store.record("tiny", tiny(fails=True).parameters, 3)
        stored = record.load(8)[0]
        assert record.write(stored) == stored
        with pytest.raises(InputError, match="parameters and seed alone"):
            record.write(Outcome(0, {"product": [1.0]}, 0.1, stored.environment))
        assert record.write(Outcome(0, {"product": [1.0]}, 0.1, "elsewhere")) == stored


def test_a_half_written_transaction_is_undone_before_reading(path: Path, tmp_path: Path) -> None:
    """The state that kill -9 leaves within a commit: changed pages in the file, the old ones in its journal."""
    moved = tmp_path / "moved"
    moved.mkdir()
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA cache_size = 1")
    connection.execute("BEGIN IMMEDIATE")
    connection.execute("UPDATE replicas SET result = result || hex(zeroblob(4000))")
    for name in ("run.db", "run.db-journal"):
        shutil.copy(tmp_path / name, moved / name)
    connection.execute("ROLLBACK")
    connection.close()
    assert (moved / "run.db").read_bytes() != path.read_bytes()
    assert verify(moved / "run.db").summary.runs == summary(path).runs
    assert (moved / "run.db").read_bytes() == path.read_bytes()


def test_a_locked_store_is_waited_for(path: Path) -> None:
    other = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    other.execute("BEGIN EXCLUSIVE")
    threading.Timer(0.4, other.rollback).start()
    run_replicas(tiny(fails=True), replicas=9, seed=3, machine=Machine(store=path))
    assert summary(path).verified == 9
    other.close()


def test_exports_hold_every_value(path: Path, tmp_path: Path) -> None:
    from pyarrow import parquet

    run = run_replicas(tiny(fails=True), replicas=8, seed=3)
    flat = [value for values in run for row in values.values() for value in row]
    assert export(path, tmp_path / "a.csv") == len(flat) + len(run.failures)
    export(path, tmp_path / "a.parquet")
    with (tmp_path / "a.csv").open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert [float(row["value"]) for row in rows if row["value"]] == flat
    assert {row["reason"] for row in rows if not row["value"]} == {failure.reason for failure in run.failures}
    table = parquet.read_table(tmp_path / "a.parquet").to_pylist()
    assert [row["value"] for row in table if row["value"] is not None] == flat
    for name in ("a.csv", "b.txt", "no/b.csv"):
        with pytest.raises(InputError, match="export"):
            export(path, tmp_path / name)


def test_export_says_what_parquet_needs(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    with pytest.raises(InputError, match="pip install pyarrow"):
        export(path, tmp_path / "a.parquet")
    assert [found.name for found in tmp_path.iterdir()] == ["run.db"]


def test_an_export_overwrites_nothing(path: Path, tmp_path: Path) -> None:
    (tmp_path / "a.csv.json").write_text("mine")
    with pytest.raises(InputError, match="expected a new name"):
        export(path, tmp_path / "a.csv")
    assert not (tmp_path / "a.csv").exists()
    assert (tmp_path / "a.csv.json").read_text() == "mine"


def test_summary_in_text_and_json(path: Path) -> None:
    found = summary(path)
    assert "1 run, 8 rows, all checksums right" in found.to_text()
    assert "diverged at t = 3" in found.to_text()
    described = json.loads(json.dumps(found.to_json(), allow_nan=False))
    assert described["runs"][0]["parameters"] == {"fails": True, "size": 40}
