"""The notebooks run, and print what they show."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

from tests.prose import difference

ROOT = Path(__file__).parent.parent
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))


def texts(cell: Any) -> str:
    """What a cell prints or answers in words; pictures are not compared."""
    found = [output.get("text") or output.get("data", {}).get("text/plain", "") for output in cell.get("outputs", ())]
    lines = "\n".join(text for text in found if text and not text.startswith("<Figure")).splitlines()
    return "\n".join(line for line in lines if line.strip())


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_imports_the_public_face_alone(path: Path) -> None:
    stored = nbformat.read(path, as_version=4)
    code = "\n".join(cell.source for cell in stored.cells if cell.cell_type == "code")
    assert re.findall(r"^\s*(?:from|import) (?:theory|regimes|numerics)\b.*", code, flags=re.MULTILINE) == []


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
@pytest.mark.timeout(900)
def test_a_notebook_prints_what_it_shows(path: Path) -> None:
    stored = nbformat.read(path, as_version=4)
    fresh = nbformat.read(path, as_version=4)
    NotebookClient(fresh, timeout=850, resources={"metadata": {"path": str(ROOT / "notebooks")}}).execute()
    for number, (old, new) in enumerate(zip(stored.cells, fresh.cells, strict=True)):
        assert difference(texts(old), texts(new)) is None, f"{path.name}, cell {number} now prints\n{texts(new)}"
