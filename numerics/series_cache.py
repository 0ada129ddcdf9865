"""A disk cache of derived series: JSON, versioned, checked by hash, safe when several processes write at once.

A file holds one series. It is replaced in one step, so a reader sees an old file or a new one, never a part. A file
that is damaged, of another version or of another declaration is ignored with a warning and written anew.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from numerics.files import make_folder, write_whole
from theory.autoencoder.model import AUTOENCODER
from theory.autoencoder.series import LossName, LossSeries
from theory.errors import InputError

VERSION = 1
"""Of the format and of the engine's results; a file of another version is derived again."""

_FILE = "{loss}-{kind}-{order:02d}.json"
_LARGEST_FILE = 200_000_000


@dataclass(frozen=True)
class SeriesCache:
    """Series kept in a folder. Call it like a source of series: what is not there is derived by ``compute`` and kept.

    ``warn`` is told, in one line each, of files ignored and of a folder that cannot be written; neither is an error.
    """

    folder: Path
    compute: Callable[..., LossSeries]
    warn: Callable[[str], None] = field(default=lambda _: None)

    def __call__(self, loss: LossName, *, order: int, planar: bool) -> LossSeries:
        """The series of a loss to an order: from a file of that order or a higher one, else derived and kept."""
        kept = self._find(loss, order, planar)
        if kept is not None:
            return LossSeries(loss, kept.coefficients[: order + 1], kept.constant)
        series = self.compute(loss, order=order, planar=planar)
        self._keep(series, planar)
        return series

    def path(self, loss: LossName, *, order: int, planar: bool) -> Path:
        """The file of one series."""
        return self.folder / _FILE.format(loss=loss, kind=_kind(planar), order=order)

    def _find(self, loss: LossName, order: int, planar: bool) -> LossSeries | None:
        pattern = re.compile(rf"{loss}-{_kind(planar)}-(\d+)\.json")
        found = []
        try:
            for path in self.folder.iterdir():
                match = pattern.fullmatch(path.name)
                if match and int(match[1]) >= order:
                    found.append((int(match[1]), path))
        except OSError:
            return None
        for _, path in sorted(found):
            series = self._read(path, planar)
            if series is not None and series.loss == loss and series.order >= order:
                return series
        return None

    def _read(self, path: Path, planar: bool) -> LossSeries | None:
        try:
            if path.stat().st_size > _LARGEST_FILE:
                raise ValueError("too large")
            record = json.loads(path.read_text(encoding="utf-8"))
            if record["version"] != VERSION or record["declaration"] != _declaration():
                raise ValueError("written by another version")
            if record["planar"] != planar or record["sha256"] != _digest(record["series"]):
                raise ValueError("the hash does not match")
            return LossSeries.from_json(record["series"])
        except FileNotFoundError:
            return None
        except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
            self.warn(f"cache file {path} ignored and derived again: {_reason(error)}")
            return None

    def _keep(self, series: LossSeries, planar: bool) -> None:
        content = series.to_json()
        record = {
            "version": VERSION,
            "declaration": _declaration(),
            "planar": planar,
            "sha256": _digest(content),
            "series": content,
        }
        path = self.path(series.loss, order=series.order, planar=planar)
        try:
            make_folder(self.folder)
            write_whole(path, json.dumps(record, ensure_ascii=False))
        except InputError as error:
            self.warn(f"series not kept: {_reason(error)}")


def _kind(planar: bool) -> str:
    return "planar" if planar else "exact"


def _declaration() -> str:
    return hashlib.sha256(repr(AUTOENCODER).encode()).hexdigest()


def _digest(content: Any) -> str:
    text = json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()


def _reason(error: Exception) -> str:
    text = " ".join(str(error).split())
    return f"{text[:150]}…" if len(text) > 150 else text
