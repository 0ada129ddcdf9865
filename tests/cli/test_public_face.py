"""``from ringprism import …`` gives the verbs."""

from __future__ import annotations

import subprocess
import sys
from types import ModuleType

import pytest

import ringprism


def test_every_name_is_there() -> None:
    for name in ringprism.__all__:
        value = getattr(ringprism, name)
        assert callable(value) or isinstance(value, ModuleType)  # a room of its own: rp.sgd
    with pytest.raises(AttributeError, match="nonsense"):
        _ = ringprism.nonsense


def test_importing_it_imports_nothing_heavy() -> None:
    heavy = "{'numpy', 'sympy', 'numba', 'matplotlib', 'scipy'}"
    code = f"import sys, ringprism.cli; print(sorted({heavy} & set(sys.modules)))"
    output = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert output.strip() == "[]"
