"""Data with a spectrum: the flow, its losses, and the limits beside them. THEORY H."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from numerics.gradient_flow.draw import draw
from numerics.gradient_flow.integrate import gradient_flow
from numerics.gradient_flow.reduce import full
from numerics.gradient_flow.simulate import simulate
from numerics.runs.machine import Machine
from regimes.limit import limit
from theory.autoencoder.sizes import Sizes
from theory.errors import InputError
from theory.spectrum import read_spectrum


@pytest.mark.parametrize("text", ["p=6,n=3,m=4,sigma2=1/6", "p=6,n=9,m=12,sigma2=1/9"])
def test_the_losses_are_those_of_the_flow_as_it_is_written(text: str) -> None:
    sizes = Sizes.parse(text)
    drawn = draw(sizes, np.random.default_rng(5), spectrum=read_spectrum("values:2*1,0.5*1", 6))
    C, X, p, m = np.diag(drawn.covariance), drawn.data, sizes.p, sizes.m
    S = X @ X.T

    def velocity(_: float, flat: np.ndarray) -> np.ndarray:
        U = flat.reshape(-1, p)
        R = U.T @ U - np.eye(p)
        return (-(U @ (R @ S + S @ R)) / (p * m)).ravel()

    times = [0.0, 4.0, 15.0]
    run = solve_ivp(velocity, (0, 15), drawn.weights.ravel(), t_eval=times, rtol=1e-9, atol=1e-12)
    found = gradient_flow(full(drawn), times, eta=1.0, tolerance=1e-6)
    for k, flat in enumerate(run.y.T):
        U = flat.reshape(-1, p)
        R = np.eye(p) - U.T @ U
        assert found[0, k] == pytest.approx(np.trace(R @ S @ R) / (2 * p * m), rel=1e-5)
        assert found[1, k] == pytest.approx(np.trace(R @ R @ C) / (2 * p), rel=1e-5)


def test_the_data_have_the_covariance_however_many_they_are() -> None:
    spectrum = read_spectrum("values:4*1,0.25*3", 8)
    for m in (5, 20):
        sizes, total = Sizes.parse(f"p=8,n=2,m={m},sigma2=1/8"), np.zeros((8, 8))
        for seed in range(400):
            data = draw(sizes, np.random.default_rng(seed), spectrum=spectrum).data
            total += data @ data.T / (400 * m)
        C = np.diag(spectrum.eigenvalues())
        scale = np.sqrt(np.outer(np.diag(C), np.diag(C)))
        assert np.max(np.abs(total - C) / scale) < 5 * np.sqrt(2 / (400 * m))


@pytest.mark.parametrize(
    ("face", "text", "spec", "times"),
    [
        # n = 2000p: what finite n adds is below 1/2000; finite m adds about 1/m of what is left by then
        ("mean-field", "p=60,n=120000,m=90,sigma2=1/240000", "power:0.7", [10, 40]),
        ("mean-field", "p=120,n=240000,m=60,sigma2=1/480000", "values:3*1,0.5*2,0*1", [20, 80]),
    ],
)
def test_the_wide_limits_are_what_is_simulated(face: str, text: str, spec: str, times: list[float]) -> None:
    sizes = Sizes.parse(text)
    found = simulate(sizes, times, replicas=10, seed=2, spectrum=spec)
    known = limit(face, sizes, times, spectrum=spec)
    for name in ("train", "population"):
        measured = getattr(found, name)
        assert np.all(measured.stderr <= 0.02 / 8)
        assert np.all(np.abs(measured.mean - getattr(known, name)) <= 4 * measured.stderr + 5e-3 / 8), (name, measured)


@pytest.mark.parametrize(
    ("face", "text", "times"),
    [
        ("narrow-latent", "p=240,n=4,m=360,sigma2=1/480", [0.0, 60.0, 120.0]),
        # the population loss knows Tr C²/Tr C = 1.32; what finite p adds is m/p of the change, squared for the train
        ("R,N|p", "p=300,n=600000,m=3,sigma2=1/1200000", [0.0, 0.6, 1.5]),
    ],
)
def test_the_changes_of_the_limits_are_what_is_simulated(face: str, text: str, times: list[float]) -> None:
    sizes, spec = Sizes.parse(text), "values:1.8*1,0.6*2"
    found = simulate(sizes, times, replicas=10, seed=4, spectrum=spec)
    known = limit(face, sizes, times, spectrum=spec)
    for name in ("train", "population"):
        seen = getattr(found, f"{name}_change")
        change = np.asarray(getattr(known, name)) - getattr(known, name)[0]
        assert np.all(seen.stderr <= 0.03 * abs(change[-1]))
        assert np.all(np.abs(seen.mean - change) <= 4 * seen.stderr + 0.03 * abs(change[-1])), (name, seen)


def test_a_spectrum_is_repeated_and_stored(tmp_path: Path) -> None:
    sizes, machine = Sizes.parse("p=4,n=2,m=3,sigma2=1/4"), Machine(store=tmp_path / "store.db")
    file = tmp_path / "values.txt"
    file.write_text("2\n1\n0.5\n0.5\n", encoding="utf-8")
    specs = ["isotropic", "values:2*1,0.5*3", "power:0.5", f"file:{file}"]
    runs = [
        simulate(sizes, [0, 1], replicas=2, seed=0, spectrum=spec, machine=machine, name=spec[:6]) for spec in specs
    ]
    assert [run.to_json()["spectrum"] for run in runs] == specs
    assert [run.reused for run in runs] == [0, 0, 0, 0]
    assert len({run.train.mean[1] for run in runs}) == 4
    again = [
        simulate(sizes, [0, 1], replicas=2, seed=0, spectrum=spec, machine=machine, name=spec[:6]) for spec in specs
    ]
    assert [run.reused for run in again] == [2, 2, 2, 2]
    file.write_text("2\n1\n0.7\n0.3\n", encoding="utf-8")
    with pytest.raises(InputError, match="spectrum="):
        simulate(sizes, [0, 1], replicas=2, seed=0, spectrum=specs[-1], machine=machine, name="file:/")
    ones = simulate(sizes, [0, 1], replicas=2, seed=0, spectrum="values:1*1")
    np.testing.assert_array_equal(ones.train.mean, runs[0].train.mean)
    with pytest.raises(InputError, match="multiple of 3"):
        simulate(sizes, [0, 1], replicas=2, seed=0, spectrum="values:2*1,0.5*2")
