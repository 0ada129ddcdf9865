"""Imports run downwards only: ringprism → numerics → regimes → theory."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
LAYERS = ("theory", "regimes", "numerics", "ringprism")


def upward_imports(source: str, layer: str) -> list[str]:
    """Modules of higher layers (for ``ringprism``: none) that ``source`` imports."""
    above = LAYERS[LAYERS.index(layer) + 1 :]
    found = []
    for node in ast.walk(ast.parse(source)):
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute"
            names = [node.module or ""]
        found += [name for name in names if name.split(".")[0] in above]
    return found


@pytest.mark.parametrize("layer", LAYERS)
def test_imports_run_downwards(layer: str) -> None:
    files = sorted((ROOT / layer).rglob("*.py"))
    assert files
    for file in files:
        assert not upward_imports(file.read_text(), layer), file


def test_an_upward_import_is_seen() -> None:
    assert upward_imports("def f():\n    from numerics.seeds import replica_seed\n", "theory") == ["numerics.seeds"]
