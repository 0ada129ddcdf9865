"""Imports run downwards only: between the packages, and between the rooms of a package; nothing runs in a circle.

A room is a folder or file directly under a package. Imports inside functions and under ``TYPE_CHECKING`` count.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping
from pathlib import Path

import networkx as nx
import pytest

ROOT = Path(__file__).parent.parent
LAYERS = ("theory", "regimes", "numerics", "ringprism")


def imports_of(source: str, modules: Iterable[str]) -> set[str]:
    """Those of ``modules`` that ``source`` imports, wherever the import stands."""
    known, found = set(modules), set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            targets = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute"
            targets = [f"{node.module}.{alias.name}" for alias in node.names]
        else:
            continue
        for target in targets:
            while target and target not in known:
                target = target.rpartition(".")[0]
            found |= {target} - {""}
    return found


def sources() -> dict[str, str]:
    """The text of every module of the four packages, by its dotted name."""
    found = {}
    for layer in LAYERS:
        for file in sorted((ROOT / layer).rglob("*.py")):
            parts = file.relative_to(ROOT).with_suffix("").parts
            found[".".join(parts[:-1] if file.name == "__init__.py" else parts)] = file.read_text(encoding="utf-8")
    return found


def graph(texts: Mapping[str, str]) -> nx.DiGraph:
    """Who imports whom."""
    pairs = [(name, target) for name, text in texts.items() for target in imports_of(text, texts)]
    return nx.DiGraph((a, b) for a, b in pairs if a != b)


def circles(arrows: nx.DiGraph) -> list[list[str]]:
    """The groups of nodes that reach one another."""
    return [sorted(group) for group in nx.strongly_connected_components(arrows) if len(group) > 1]


def room(name: str) -> str:
    """The folder or file directly under a package that a module stands in."""
    return ".".join(name.split(".")[:2])


def upwards(arrows: nx.DiGraph) -> list[tuple[str, str]]:
    """Imports of a higher package by a lower one."""
    floor = {layer: k for k, layer in enumerate(LAYERS)}
    return [(a, b) for a, b in arrows.edges if floor[a.split(".")[0]] < floor[b.split(".")[0]]]


@pytest.fixture(scope="module")
def arrows() -> nx.DiGraph:
    return graph(sources())


def test_imports_run_downwards(arrows: nx.DiGraph) -> None:
    assert arrows.number_of_edges() > 300
    assert upwards(arrows) == []


def test_no_circle_of_files(arrows: nx.DiGraph) -> None:
    assert circles(arrows) == []


@pytest.mark.parametrize("package", LAYERS)
def test_no_circle_of_rooms(arrows: nx.DiGraph, package: str) -> None:
    rooms = nx.DiGraph((room(a), room(b)) for a, b in arrows.edges if room(a) != room(b) and a.split(".")[0] == package)
    assert circles(rooms) == []


def test_hidden_imports_are_seen() -> None:
    inside = "def f():\n    from numerics.runs.seeds import replica_seed\n"
    typing = "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from theory.b import x\n"
    found = graph({"theory.a": inside, "theory.b": "import theory.a", "numerics.runs.seeds": typing})
    assert upwards(found) == [("theory.a", "numerics.runs.seeds")]
    assert circles(found) == [["numerics.runs.seeds", "theory.a", "theory.b"]]
