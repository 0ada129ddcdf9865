"""The grammar of spectra: what each form gives, and what is refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from theory.errors import InputError
from theory.spectrum import read_spectrum


def test_forms(tmp_path: Path) -> None:
    assert read_spectrum("isotropic", 5).eigenvalues().tolist() == [1.0] * 5
    power = read_spectrum("power:1.5", 50).eigenvalues()
    assert power[1] / power[0] == pytest.approx(2**-1.5)
    assert power.mean() == pytest.approx(1)
    assert read_spectrum("values:3*0.5,1*1.5", 8).eigenvalues().tolist() == [3.0] * 2 + [1.0] * 6
    assert read_spectrum("values:3*1/3,1*2/3").size == 3
    (tmp_path / "a.txt").write_text("2\n1\n\n2\n")
    np.save(tmp_path / "b.npy", np.array([1.0, 3.0]))
    assert sorted(read_spectrum(f"file:{tmp_path / 'a.txt'}", 3).eigenvalues()) == [1.0, 2.0, 2.0]
    assert read_spectrum(f"file:{tmp_path / 'b.npy'}").eigenvalues().tolist() == [1.0, 3.0]
    assert read_spectrum("power:1", 100).binned(8)[0].size == 100


@pytest.mark.parametrize(
    "text",
    [
        *("", "power", "power:x", "power:1e9", "values:1", "values:1*0", "values:2*1,1*2", "values:-1*1"),
        *("values:0*1", "file:/no/such/file", "uniform", "values:1*1/0", "values:nan*1"),
    ],
)
def test_refusals(text: str) -> None:
    with pytest.raises(InputError, match="spectrum"):
        read_spectrum(text, 10)


def test_files_of_another_length_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("1\n2\nword\n")
    with pytest.raises(InputError, match="one eigenvalue a line"):
        read_spectrum(f"file:{path}", 3)
    path.write_text("1\n2\n")
    with pytest.raises(InputError, match="2 eigenvalues"):
        read_spectrum(f"file:{path}", 3)
