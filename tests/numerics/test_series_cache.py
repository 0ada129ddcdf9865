"""The disk cache: instant second calls, damaged files, concurrent writers, places that cannot be written."""

from __future__ import annotations

import json
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import pytest

from numerics.files import cache_folder
from numerics.series_cache import SeriesCache
from regimes.derive import compute
from theory.autoencoder.series import LossName, LossSeries


class Counting:
    """Derives, and counts how often it had to."""

    def __init__(self) -> None:
        self.calls = 0

    def __call__(self, loss: LossName, *, order: int, planar: bool) -> LossSeries:
        self.calls += 1
        return compute(loss, order=order, planar=planar)


@pytest.fixture
def derivation() -> Counting:
    return Counting()


def test_the_second_call_derives_nothing(tmp_path: Path, derivation: Counting) -> None:
    cache = SeriesCache(tmp_path / "deep" / "er", derivation)
    first = cache("train", order=3, planar=False)
    assert cache("train", order=3, planar=False) == first
    assert cache("train", order=2, planar=False) == compute("train", order=2, planar=False)
    assert derivation.calls == 1
    assert cache("train", order=3, planar=True) != first
    assert cache("population", order=3, planar=False) != first
    cache("train", order=4, planar=False)
    assert derivation.calls == 4


def _truncate(text: str) -> str:
    return text[: len(text) // 2]


def _one_digit(text: str) -> str:
    return text.replace('"c": "4"', '"c": "5"', 1)


def _older(text: str) -> str:
    return json.dumps({**json.loads(text), "version": 0})


def _other_model(text: str) -> str:
    return json.dumps({**json.loads(text), "declaration": "0" * 64})


@pytest.mark.parametrize(
    "damage",
    [_truncate, _one_digit, _older, _other_model, lambda _: "", lambda _: "[]", lambda _: "null", lambda _: "[" * 9999],
)
def test_a_damaged_file_is_ignored_and_written_anew(
    tmp_path: Path, derivation: Counting, damage: Callable[[str], str]
) -> None:
    warnings: list[str] = []
    cache = SeriesCache(tmp_path, derivation, warnings.append)
    expected = cache("population", order=2, planar=False)
    path = cache.path("population", order=2, planar=False)
    sound = path.read_text()
    damaged = damage(sound)
    assert damaged != sound
    path.write_text(damaged)
    assert cache("population", order=2, planar=False) == expected
    assert derivation.calls == 2
    assert len(warnings) == 1
    assert str(path) in warnings[0]
    assert path.read_text() == sound


def test_bytes_that_are_no_text_are_ignored(tmp_path: Path, derivation: Counting) -> None:
    warnings: list[str] = []
    cache = SeriesCache(tmp_path, derivation, warnings.append)
    cache.path("train", order=1, planar=False).write_bytes(b"\xff\xfe\x00")
    cache("train", order=1, planar=False)
    assert (derivation.calls, len(warnings)) == (1, 1)


def test_a_folder_that_cannot_be_made_is_a_warning(tmp_path: Path, derivation: Counting) -> None:
    warnings: list[str] = []
    (tmp_path / "file").write_text("in the way")
    cache = SeriesCache(tmp_path / "file" / "cache", derivation, warnings.append)
    assert cache("train", order=1, planar=False) == compute("train", order=1, planar=False)
    assert [line.startswith("series not kept") for line in warnings] == [True]


def _write_many(folder: str) -> int:
    cache = SeriesCache(Path(folder), compute)
    series = compute("train", order=2, planar=False)
    for _ in range(30):
        cache._keep(series, False)
        found = cache._read(cache.path("train", order=2, planar=False), False)
        if found != series:
            return 1
    return 0


def test_concurrent_writers_leave_a_whole_file(tmp_path: Path) -> None:
    with ProcessPoolExecutor(3) as pool:
        assert list(pool.map(_write_many, [str(tmp_path)] * 3)) == [0, 0, 0]
    assert [path.name for path in tmp_path.iterdir()] == ["train-exact-02.json"]


def test_the_folder_follows_the_platform(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("RINGPRISM_CACHE", str(tmp_path))
    assert cache_folder("series") == tmp_path / "series"
    monkeypatch.delenv("RINGPRISM_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr("sys.platform", "linux")
    assert cache_folder("series") == tmp_path / "ringprism" / "series"
    monkeypatch.setattr("sys.platform", "win32")
    monkeypatch.setenv("LOCALAPPDATA", str(tmp_path / "local"))
    assert cache_folder("series") == tmp_path / "local" / "ringprism" / "series"
