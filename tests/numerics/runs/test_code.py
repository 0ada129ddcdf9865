"""The digest of the code that decides the numbers: blind to comments, docstrings and places, and to nothing else."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from numerics.runs import code

LAYOUT = {
    "theory/__init__.py": "",
    "theory/law.py": "RATE = 2.0\n",
    "theory/unused.py": "RATE = 3.0\n",
    "theory/typed.py": "Kind = float\n",
    "numerics/__init__.py": "from theory.unused import RATE\n",
    "numerics/sim.py": (
        '"""A simulator."""\nfrom typing import TYPE_CHECKING\nfrom numerics.parts import rate\n'
        "if TYPE_CHECKING:\n    from theory.typed import Kind\n\n\n"
        'def run(x):\n    """Runs."""\n    return rate() * x\n'
    ),
    "numerics/parts.py": "def rate():\n    from theory.law import RATE\n    return RATE\n",
}


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setattr(code, "_ROOT", tmp_path)
    monkeypatch.setenv("RINGPRISM_CACHE", str(tmp_path / "cache"))
    for name, text in LAYOUT.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    yield tmp_path
    clear()


def clear() -> None:
    code._file.cache_clear()
    code._digest_below.cache_clear()


def digest() -> str:
    clear()
    return code._digest_below("numerics.sim")


@pytest.mark.parametrize(
    ("name", "old", "new", "matters"),
    [
        ("theory/law.py", "2.0", "2.5", True),
        ("numerics/sim.py", "* x", "+ x", True),
        ("numerics/parts.py", "return RATE", "return -RATE", True),
        ("theory/law.py", "2.0", "2.0  # per step", False),
        ("numerics/sim.py", "Runs.", "Runs for long.", False),
        ("theory/unused.py", "3.0", "4.0", False),
        ("theory/typed.py", "float", "int", False),
    ],
)
def test_what_matters(tree: Path, name: str, old: str, new: str, matters: bool) -> None:
    before = digest()
    text = (tree / name).read_text()
    (tree / name).write_text(text.replace(old, new))
    assert (digest() != before) is matters


def test_a_moved_file_is_the_same_code(tree: Path) -> None:
    before = digest()
    (tree / "theory" / "laws").mkdir()
    (tree / "theory" / "law.py").rename(tree / "theory" / "laws" / "law.py")
    parts = tree / "numerics" / "parts.py"
    parts.write_text(parts.read_text().replace("theory.law", "theory.laws.law"))
    assert digest() == before


def test_a_damaged_cache_is_written_anew(tree: Path) -> None:
    before = digest()
    kept = tree / "cache" / "code" / "sources.json"
    assert "sim.py" in kept.read_text()
    for text in ("{", '{"format": 1}', "[]"):
        kept.write_text(text)
        assert digest() == before


@pytest.mark.usefixtures("tree")
def test_a_script_counts_with_what_it_imports() -> None:
    source = "from numerics.sim import run\n\ndef mine(x):\n    return run(x)\n"
    assert code.Source.of(source).imports == ("numerics.sim",)
