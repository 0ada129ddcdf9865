"""Bad input ends in one line on stderr and exit code 2; JSON has stdout to itself."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable

import pytest

Run = Callable[..., tuple[int, str, str]]


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["claims", "AE-9999"], "AE-9999"),
        (["claims", "--quick", "--full"], "--quick --full"),
        (["claims", "--format", "latex", "--list"], "latex"),
        (["claims", "--format", "yaml"], "yaml"),
        (["claims", "--workers", "0"], "0"),
        (["claims", "--seed", "-1", "--list"], "-1"),
        (["nonsense"], "nonsense"),
    ],
)
def test_bad_input(run: Run, arguments: list[str], named: str) -> None:
    code, out, err = run(*arguments)
    assert code == 2
    assert out == ""
    assert err.startswith("error: ")
    assert err.count("\n") == 1
    assert named in err


SIMULATE = ("simulate", "--sizes", "p=4,n=5,m=6,sigma2=1/4", "--times", "1")


@pytest.mark.parametrize(
    ("arguments", "start", "end"),
    [
        ((*SIMULATE, "--replicas", "1e3"), "--replicas: got '1e3', expected a valid integer", "simulate --help"),
        ((*SIMULATE, "--replicas=x"), "--replicas: got 'x', expected a valid integer", "simulate --help"),
        ((*SIMULATE, "--replicas", "0"), "--replicas: got '0', expected a ", "simulate --help"),
        ((*SIMULATE, "--eta", "a"), "--eta: got 'a', expected a valid ", "simulate --help"),
        (("derive", "--format", "x"), "--format: got 'x', expected one of 'text', ", "derive --help"),
        (("simulate",), "Missing option '--sizes'; ", "simulate --help"),
        (("single-index", "train", "--nope"), "No such option: --nope", "single-index train --help"),
    ],
)
def test_what_the_command_line_library_refuses_is_quoted(run: Run, arguments: list[str], start: str, end: str) -> None:
    code, out, err = run(*arguments)
    assert (code, out) == (2, "")
    assert err.startswith(f"error: {start}")
    assert err.endswith(f"; see ringprism {end}\n")


def test_a_closed_output_is_told() -> None:
    done = subprocess.run(f"{sys.executable} -m ringprism --version >&-", shell=True, capture_output=True, text=True)
    assert done.returncode == 2
    assert done.stderr.startswith("error: output: ")


def test_an_interrupt_while_loading_has_its_exit_code() -> None:
    loading = "class Stop:\n def find_spec(self, name, *_):\n  if name == 'ringprism.cli': raise KeyboardInterrupt\n"
    script = f"import sys\n{loading}sys.meta_path.insert(0, Stop())\nfrom ringprism.__main__ import main\nmain()"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (130, "error: interrupted\n")


def test_a_group_alone_shows_its_help(run: Run) -> None:
    for group in ("sgd", "single-index", "store"):
        code, out, err = run(group)
        assert (code, err) == (0, "")
        assert out.startswith("Usage:")


@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
def test_a_terminal_without_unicode_gets_an_answer(encoding: str) -> None:
    for arguments in (["classify", "--p", "1", "--n", "1", "--m", "1", "--sigma2", "-1"], ["--help"], ["nonsense"]):
        environment = {**os.environ, "PYTHONIOENCODING": encoding}
        done = subprocess.run([sys.executable, "-m", "ringprism", *arguments], env=environment, capture_output=True)
        assert done.returncode in (0, 2)
        assert b"Traceback" not in done.stderr


def test_json_is_ascii(run: Run) -> None:
    sizes = ["--sizes", "p=2,n=20,m=2,sigma2=1", "--times", "0"]
    _, out, _ = run("limit", "--face", "mean-field", *sizes, "--format", "json")
    assert out.isascii()


def test_a_full_disk_and_a_closed_pipe_end_quietly() -> None:
    command = f"{sys.executable} -m ringprism claims --list"
    full = subprocess.run(f"{command} > /dev/full", shell=True, capture_output=True, text=True)
    assert full.returncode == 2
    assert full.stderr.startswith("error: output: ")
    assert full.stderr.count("\n") == 1
    closed = subprocess.run(["bash", "-c", f"set -o pipefail; {command} | true"], capture_output=True, text=True)
    assert closed.returncode in (0, 141)
    assert closed.stderr == ""


@pytest.mark.parametrize("address", ["badaddr", ""])
def test_an_address_that_is_none_is_refused_at_once(run: Run, address: str) -> None:
    sizes = ["--sizes", "p=4,n=5,m=6,sigma2=1/4", "--times", "0,1", "--replicas", "2"]
    code, out, err = run("simulate", *sizes, "--dask", address)
    assert (code, out) == (2, "")
    assert err.startswith("error: dask: got ")
    assert err.count("\n") == 1
