"""Requests that would hang, or answer with numbers that mean nothing, are refused at once."""

from __future__ import annotations

from collections.abc import Callable

import pytest

Run = Callable[..., tuple[int, str, str]]


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("sgd universality --task committee --times 0 --dims 20,40 --laws gaussian --replicas 2", "a time after 0"),
        ("sgd universality --task committee --times 0,1 --dims 0,20 --laws gaussian --replicas 2", "from 1"),
        ("sgd simulate --task committee --delta 200 --times 0,0.5,1 --d 50 --replicas 2", "δ/d = 4 apart"),
        ("sgd simulate --task single-index --link x --delta 1 --d 10 --times 0,0.04 --replicas 2", "δ/d = 0.1 apart"),
        ("sgd ode --task single-index --link exp(x**2) --delta 1 --times 0,1", "Gaussian expectations"),
        ("sgd ode --task committee --delta 1e300 --times 0,1", "from 0 to 1e+06"),
        ("sgd ode --task committee --ridge 1e300 --times 0,1", "from 0 to 1e+06"),
        ("limit --face free --sizes p=3,n=4,m=5,sigma2=1/4 --times 0,1 --degree 1000000", "degree: got 1000000"),
        ("limit --face large-data --sizes p=3,n=4,m=5,sigma2=1e999 --times 0,1", "sigma2: got '1e999'"),
        ("limit --face large-data --sizes p=3,n=4,m=5,sigma2=1e-400 --times 0,1", "sigma2: got '1e-400'"),
        ("classify --sizes p=3,n=4,m=5,sigma2=1e99999999", "sigma2: got '1e99999999'"),
        ("classify --sizes p=٣,n=4,m=5,sigma2=1", "size p: got '٣'"),
        ("limit --face large-data --sizes p=3,n=4,m=5,sigma2=1 --times 0,١", "times: got '0,١'"),
        ("limit --face large-data --sizes p=3,n=4,m=5,sigma2=1 --times 0,1e999", "times: got inf"),
        ("limit --face large-data --sizes p=3,n=4,m=5,sigma2=1 --times 0,1 --eta 1e-320", "eta: got 1e-320"),
        (
            "limit --face large-data --sizes p=3,n=4,m=5,sigma2=1 --times 0,1e-200 --eta 1e-200",
            "ηt: got '1e-200 · 1e-200'",
        ),
        ("limit --face nowhere --sizes p=3,n=4,m=5,sigma2=1 --times 0,1", "face: got 'nowhere'"),
        ("derive --loss train --order " + "9" * 99, "would need years"),
        ("derive --loss train --order 1 --workers 100000", "workers: got 100000"),
        (f"classify --p {'9' * 5000} --n 1 --m 1 --sigma2 -1", "exponent of p: got '999"),
        ("single-index loss --link x**3-3*x --noise nan", "noise: got"),
        ("single-index loss --link x**3-3*x --noise -1", "noise: got"),
        ("single-index flow --link 1e100*x --lambda 1 --eta1 0.45 --start 0.1,0.5 --times 0,0.1", "link: got"),
        (
            "single-index complexity --link x**3-3*x --lambda 1 --eta1 0.45 --replicas 2 --start random --dims 20,40 "
            "--target 0.5 --steps 0,0",
            "step",
        ),
        (
            "single-index complexity --link x**3-3*x --lambda 0 --eta1 1 --start transfer:0.25 --dims 100,200 "
            "--target 0.1 --replicas 4",
            "target: got 0.1",
        ),
    ],
)
def test_refused(run: Run, command: str, said: str) -> None:
    code, out, err = run(*command.split())
    assert (code, out) == (2, "")
    assert err.startswith("error: ")
    assert err.count("\n") == 1
    assert said in err
