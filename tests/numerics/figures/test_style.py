"""Figures: the same figure gives the same bytes, and a failed write leaves the old file."""

from __future__ import annotations

from pathlib import Path

import pytest

from numerics.figures.style import SUFFIXES, colours, figure, panels, save
from theory.errors import InputError


def _draw(path: Path) -> bytes:
    fig = figure(3, 2)
    (axes,) = panels(fig)
    axes.plot([0, 1, 2], [1, 3, 2], color=colours(1)[0], label="theory")
    axes.legend()
    return save(fig, path).read_bytes()


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_same_figure_same_bytes(tmp_path: Path, suffix: str) -> None:
    first = _draw(tmp_path / f"a{suffix}")
    assert first == _draw(tmp_path / f"b{suffix}")
    assert {path.name for path in tmp_path.iterdir()} == {f"a{suffix}", f"b{suffix}"}


def test_a_failed_write_keeps_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = tmp_path / "figure.svg"
    old = _draw(target)

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    fig = figure(3, 2)
    monkeypatch.setattr(fig, "savefig", full)
    with pytest.raises(InputError, match="No space left on device"):
        save(fig, target)
    assert target.read_bytes() == old
    assert [path.name for path in tmp_path.iterdir()] == ["figure.svg"]


def test_unusable_paths_are_refused(tmp_path: Path) -> None:
    fig = figure(3, 2)
    for name in ("figure.bmp", "no/such/folder/figure.png", "figure"):
        with pytest.raises(InputError, match="figure"):
            save(fig, tmp_path / name)
