"""Exit code 1 says that a verdict failed, and nothing else."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Run = Callable[..., tuple[int, str, str]]
SIZES = ("--sizes", "p=6,n=8,m=5,sigma2=1", "--times", "0.4")


def test_an_exception_nobody_foresaw(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: Any) -> None:
        raise KeyError("no such thing")

    monkeypatch.setattr("numerics.gradient_flow.simulate.simulate", broken)
    code, out, err = run("simulate", *SIZES)
    assert (code, out) == (70, "")
    assert err.splitlines()[-1].startswith("error: a fault of ringprism itself (KeyError)")


def test_a_speed_beyond_all_numbers_is_refused(run: Run) -> None:
    sizes = ("--sizes", "p=6,n=80,m=5,sigma2=1e6", "--times", "0.4266", "--replicas", "4")
    code, out, err = run("simulate", *sizes, "--eta", "1e300")
    assert (code, out, err.count("\n")) == (2, "", 1)


def test_sizes_written_with_an_exponent_are_whole_numbers() -> None:
    from theory.autoencoder.sizes import Sizes

    assert Sizes.parse("p=1e3,n=1.5e1,m=20.0,sigma2=1/200") == Sizes.parse("p=1000,n=15,m=20,sigma2=1/200")
    with pytest.raises(ValueError, match="whole number"):
        Sizes.parse("p=1.55e1,n=1,m=1,sigma2=1")


def test_remedies_speak_options(run: Run) -> None:
    code, _, err = run("simulate", *SIZES, "--replicas", "2", "--workers", "2", "--dask", "nowhere")
    remedy = "give one of the two, --workers or --dask"
    assert (code, err) == (2, f"error: workers: got 2, expected workers or a cluster, not both; {remedy}\n")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full")
@pytest.mark.parametrize("arguments", [["limit"], ["classify", "--sizes", "p=3,n=3,m=3,sigma2=1"]])
def test_a_full_stderr_is_no_failed_verdict(arguments: list[str]) -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "ringprism", *arguments], stdout=subprocess.DEVNULL, stderr=full, env=os.environ
        )
    assert done.returncode != 1


@pytest.mark.parametrize(
    ("arguments", "remedy"),
    [
        (("simulate", *SIZES, "--eta", "0"), "use for example --eta 1"),
        (("simulate", *SIZES, "--step", "0.1"), "add --method descent"),
        (("single-index", "train", "--link", "x", "--lambda", "1", "--eta1", "2"), "--eta1 0.45"),
        (
            ("single-index", "complexity", "--link", "x", "--lambda", "1", "--eta1", "1", "--dims", "9,5"),
            "--dims 100,200",
        ),
        (("sgd", "ode", "--task", "committee", "--times", "0,1", "--law", "odd"), "use --law gaussian"),
    ],
)
def test_no_remedy_speaks_python(run: Run, arguments: tuple[str, ...], remedy: str) -> None:
    code, _, err = run(*arguments)
    assert code == 2
    assert remedy in err.rpartition("; ")[2]
