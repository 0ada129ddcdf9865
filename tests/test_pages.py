"""The code in README.md and on the site's pages runs, and prints what the pages show."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from ringprism.cli import main
from tests.prose import blocks, commands, difference

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_the_code_of_a_page_runs(
    page: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    printed = ""
    for block in blocks(page.read_text(encoding="utf-8")):
        place = f"{page.name}:{block.line}"
        if block.title is not None:
            (tmp_path / block.title).write_text(block.text)
        elif block.kind == "python":
            exec(compile(block.text, place, "exec"), names)
            printed = capsys.readouterr().out
        elif block.kind == "text" and printed:
            assert difference(block.text, printed) is None, f"{place} shows what is not printed:\n{printed}"
        elif block.kind == "console":
            for command in commands(block.text):
                if command.arguments[:1] != ("ringprism",):
                    continue
                with pytest.raises(SystemExit) as ended:
                    main(list(command.arguments[1:]))
                captured = capsys.readouterr()
                shown = f"{place}: ringprism {' '.join(command.arguments[1:])}"
                assert ended.value.code in (0, 1), f"{shown}\n{captured.err}"
                assert difference(command.output, captured.out) is None, f"{shown}\nprints\n{captured.out}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_the_files_a_page_links_exist(page: Path) -> None:
    links = re.findall(r"\]\(([^)#\s]+)[^)]*\)", page.read_text(encoding="utf-8"))
    local = [link for link in links if not link.startswith(("http", "mailto"))]
    assert [link for link in local if not (page.parent / link).exists()] == []


def test_a_wrong_number_is_seen() -> None:
    assert difference("train 0.32", "train 0.3200000000001") is None
    assert difference("train 0.32", "train 0.33") == "train 0.32"
    assert difference("train 0.32 …", "train 0.32 and more") is None
    assert difference("a\n…\nz", "a\nb\n") == "z"
