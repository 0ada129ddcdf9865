"""A file or folder of the user's that hides a package of ours is named in one line."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def python(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    path = os.pathsep.join([str(folder), str(ROOT)])
    return subprocess.run(
        [sys.executable, *arguments], cwd=folder, env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True
    )


@pytest.mark.parametrize("name", ["theory.py", "numerics/__init__.py"])
def test_the_first_import_names_the_file(tmp_path: Path, name: str) -> None:
    file = tmp_path / name
    file.parent.mkdir(exist_ok=True)
    file.write_text("x = 1\n")
    done = python(tmp_path, "-c", "import ringprism")
    assert done.stderr.splitlines()[-1].startswith(f"ImportError: {file.resolve()} hides")
    done = python(tmp_path, "-m", "ringprism", "--version")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert done.stderr.startswith(f"error: {file.resolve()} hides")


def test_a_folder_that_is_no_package_hides_nothing(tmp_path: Path) -> None:
    (tmp_path / "theory").mkdir()
    assert python(tmp_path, "-c", "import ringprism; print(ringprism.__version__)").returncode == 0
