"""Simulating declared models: gradients by differences, derivatives against the exact series, the special path."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from numerics.gradient_flow import model_simulate, simulate
from numerics.gradient_flow.any_model import same_flow
from numerics.gradient_flow.any_model import simulate as simulate_any
from numerics.gradient_flow.compiled import compile_model
from numerics.gradient_flow.model_flow import ModelFlow, draw_tensors
from numerics.gradient_flow.model_simulate import ModelSimulation, simulate_model
from numerics.runs.seeds import replica_seed
from theory.errors import BudgetError, InputError
from theory.models.model import Model
from theory.models.series import model_series
from theory.models.values import read_values

KINDS = Model.declare(
    "all kinds",
    sizes=["p", "n", "m"],
    parameters=["decay"],
    tensors={
        "S": {"indices": ["p", "p"], "kind": "symmetric", "trained": True, "variance": "sigma2/p"},
        "H": {"indices": ["p", "p"], "kind": "hermitian", "trained": True, "variance": "1/2", "rate": "1/p"},
        "Z": {"indices": ["n", "p"], "kind": "complex", "trained": True, "rate": "2 decay"},
        "T": {"indices": ["n", "p", "p"], "trained": True, "variance": 0.25},
        "a": {"indices": ["n"], "trained": True},
        "X": {"indices": ["p", "m"], "covariance": "C"},
        "x": {"indices": ["p"], "average": True},
    },
    losses={
        "train": "norm2(Z H - Z) / p + norm2(T[h,i,j] X[j,k] - a[h] S[i,j] X[j,k]) / m + norm2(H - S)"
        " + decay tr(S)^2 + norm2(sum[h](a[h] T[h,i,i]) - 1) + (a[h] T[h,i,j] x[i] x[j])^2 + norm2(S) norm2(a)",
        "watched": "tr(Z S Z') + sum[h](a[h])",
    },
)
SIZES = "p=3,n=2,m=4,sigma2=1/2,decay=0.3"


def test_gradients_by_differences() -> None:
    """A move δ along the metric changes the loss by ⟨G, δ⟩; the velocity is −η · rate · G, within the tensor's kind."""
    compiled = compile_model(KINDS, read_values(KINDS, SIZES))
    arrays = draw_tensors(compiled, np.random.default_rng(3))
    flow = ModelFlow(compiled, arrays, eta=0.5)
    velocity = flow.unpack(flow.velocity(flow.start))
    generator = np.random.default_rng(4)
    for tensor in compiled.trained:
        move = generator.standard_normal(compiled.shapes[tensor.name])
        if tensor.kind in ("complex", "hermitian"):
            move = move + 1j * generator.standard_normal(move.shape)
        if tensor.kind in ("symmetric", "hermitian"):
            move = move + move.conj().T
        step = 1e-5
        ends = [
            flow.losses(flow.pack(arrays | {tensor.name: arrays[tensor.name] + sign * step * move}))[0]
            for sign in (1, -1)
        ]
        slope = (ends[0] - ends[1]) / (2 * step)
        gradient = -velocity[tensor.name] / (0.5 * compiled.rates[tensor.name])
        assert slope == pytest.approx(float(np.real(np.vdot(gradient, move))), rel=1e-6)
        if tensor.kind in ("symmetric", "hermitian"):
            assert np.allclose(gradient, gradient.conj().T)
    assert [compiled.rates[name] for name in "SHZTa"] == pytest.approx([1, 1 / 3, 0.6, 1, 1])


SERIES = [
    ("untied", "p=3,n=2,m=2,sigma2_u=1/4,sigma2_v=1/2"),
    ("weight-decay", "p=3,n=3,m=6,sigma2=1/4,decay=1/4"),
    ("regression", "p=2,n=3,q=2,m=3,sigma2_u=1/3,sigma2_v=1/3,tau2=1"),
    ("wide-mup", "p=2,n=3,q=2,m=3"),
    ("cp:3", "p=2,H=2,sigma2=1/4"),
    ("phase-retrieval", "p=6,m=40,sigma2=1/9,tau2=1/4"),
]


@pytest.mark.parametrize(("name", "sizes"), SERIES)
def test_the_first_derivative_is_that_of_the_exact_series(name: str, sizes: str) -> None:
    """d/dt of every loss at time zero over many draws, within 4 standard errors of −η times the exact coefficient."""
    model = Model.named(name)
    values = read_values(model, sizes)
    compiled = compile_model(model, values)
    generator = np.random.default_rng(11)
    step, rows = 1e-6, []
    for _ in range(1500):
        flow = ModelFlow(compiled, draw_tensors(compiled, generator), eta=1.0)
        move = step * flow.velocity(flow.start)
        before, after = flow.losses(flow.start - move), flow.losses(flow.start + move)
        rows.append((np.array(after) - before) / (2 * step))
    sample = np.array(rows)
    mean, error = sample.mean(axis=0), sample.std(axis=0, ddof=1) / len(sample) ** 0.5
    for k, loss in enumerate(model.loss_names):
        exact = -float(model_series(model, loss, order=1).coefficients[1].evaluate(values))
        assert error[k] <= 0.15 * abs(exact)
        assert abs(mean[k] - exact) <= 4 * error[k], (loss, mean[k], exact, error[k])


@pytest.mark.parametrize("square", [True, False])
def test_the_autoencoder_as_declared_is_the_special_path(square: bool) -> None:
    """The same draws (neither route compresses them here), the same losses to the solvers' errors."""
    p, n, m = (12, 12, 12) if square else (20, 14, 16)
    times = [0.0, 2.0, 8.0, 30.0]
    common = {"times": times, "eta": 1.0, "tolerance": 1e-6}
    values = {"p": str(p), "n": str(n), "m": str(m), "sigma2": "1/10"}
    for k in range(3):
        seed = replica_seed(5, k)
        generic = model_simulate.replica(
            common | {"model": Model.named("autoencoder").to_toml(), "values": values}, seed
        )
        special = simulate.replica(common | {"p": p, "n": n, "m": m, "sigma2": "1/10"}, replica_seed(5, k))
        for loss in ("train", "population"):
            assert generic[loss] == pytest.approx(special[loss], rel=2e-5)


def test_the_declaration_decides_which_path_is_taken() -> None:
    sizes = "p=8,n=4,m=6,sigma2=1/8"
    special = simulate_any(sizes, [0, 1], replicas=2, seed=0)
    text = (
        Model.named("autoencoder")
        .to_toml()
        .replace('"autoencoder"', '"mine"')
        .replace("norm2(1 - U' U)", "norm2(U' U - 1)")
    )
    mine = Model.parse(text)
    assert mine != Model.named("autoencoder")
    assert same_flow(mine, Model.named("autoencoder"))
    assert simulate_any(sizes, [0, 1], replicas=2, seed=0, model=mine).to_json() == special.to_json()
    assert isinstance(simulate_any("p=4,H=2,sigma2=1/4", [0, 1], replicas=2, seed=0, model="cp:2"), ModelSimulation)


def test_descent_is_the_flow_for_small_steps_and_diverges_for_large_ones() -> None:
    model, sizes = Model.named("regression"), "p=4,n=3,q=2,m=6,sigma2_u=1/4,sigma2_v=1/4,tau2=1"
    flow = simulate_model(model, sizes, [0, 2], replicas=3, seed=1, tolerance=1e-8)
    gaps = []
    for step in (0.02, 0.01):
        small = simulate_model(model, sizes, [0, 2], replicas=3, seed=1, method="descent", step=step)
        gaps.append(abs(small.losses["train"].mean[1] - flow.losses["train"].mean[1]))
    assert gaps[1] == pytest.approx(gaps[0] / 2, rel=0.1)
    with pytest.raises(InputError, match="diverged"):
        simulate_model(model, sizes, [0, 400], replicas=2, seed=1, method="descent", step=4.0)


def test_a_solvable_flow() -> None:
    """One number w with loss w²/2 and rate 3: w(t)² = w(0)² e^(−6ηt), for every replica."""
    model = Model.declare(
        "decay",
        sizes=["p"],
        tensors={"w": {"indices": ["p"], "variance": "v", "trained": True, "rate": 3}},
        losses={"train": "norm2(w) / 2"},
    )
    found = simulate_model(
        model, {"p": 5, "v": Fraction(1, 2)}, [0, 0.5, 2], replicas=4, seed=0, eta=0.5, tolerance=1e-9
    )
    mean = found.losses["train"].mean
    assert mean / mean[0] == pytest.approx(np.exp(-3 * np.array([0, 0.5, 2])), rel=1e-7)


def test_refusals() -> None:
    model = Model.named("untied")
    good = "p=8,n=4,m=6,sigma2_u=1/8,sigma2_v=1/8"
    for sizes, words in [
        ("p=8,n=4,m=6,sigma2_u=1/8", "also sigma2_v"),
        (good + ",k=3", "k"),
        (good.replace("p=8", "p=8.5"), "whole number"),
        (good.replace("sigma2_u=1/8", "sigma2_u=-1"), "positive"),
        (good + ",p=8", "each once"),
        (7, "a text or a mapping"),
    ]:
        with pytest.raises(InputError, match=words):
            simulate_model(model, sizes, [0, 1], replicas=2, seed=0)
    with pytest.raises(BudgetError, match="GB"):
        simulate_model(model, good.replace("m=6", "m=1000000000"), [0, 1], replicas=2, seed=0)
    growing = Model.declare(
        "growing",
        sizes=["p"],
        tensors={"w": {"indices": ["p"], "trained": True}},
        losses={"train": "-(w[i] w[i])^2"},
    )
    with pytest.raises(InputError, match=r"all failed|solver stopped|bounds"):
        simulate_model(growing, {"p": 3}, [0, 100], replicas=2, seed=0)


def test_kinds_and_covariances_are_the_engine_s() -> None:
    """Drawn and moved here, paired and merged there: means and first derivatives of every loss agree."""
    model = Model.declare(
        "kinds",
        sizes=["p", "n"],
        parameters=["decay"],
        tensors={
            "S": {"indices": ["p", "p"], "kind": "symmetric", "trained": True, "variance": "sigma2/p"},
            "H": {"indices": ["p", "p"], "kind": "hermitian", "trained": True, "variance": "1/2", "rate": "1/p"},
            "Z": {"indices": ["n", "p"], "kind": "complex", "trained": True, "variance": 0.25, "rate": "2 decay"},
            "X": {"indices": ["p", "n"], "covariance": "C"},
        },
        losses={
            "train": "norm2(Z H - Z) / p + norm2(H - S) + decay tr(S)^2 + norm2(S X) / n",
            "watched": "tr(Z' Z) tr(S)^2",
        },
    )
    values = read_values(model, "p=2,n=2,sigma2=1/2,decay=0.3")
    compiled = compile_model(model, values)
    generator, rows = np.random.default_rng(0), []
    for _ in range(1500):
        flow = ModelFlow(compiled, draw_tensors(compiled, generator), eta=1.0)
        move = 1e-6 * flow.velocity(flow.start)
        before, after = flow.losses(flow.start - move), flow.losses(flow.start + move)
        rows.append([*flow.losses(flow.start), *((np.array(after) - before) / 2e-6)])
    sample = np.array(rows)
    mean, error = sample.mean(axis=0), sample.std(axis=0, ddof=1) / len(sample) ** 0.5
    for k, loss in enumerate(model.loss_names):
        for s, column in ((0, k), (1, k + 2)):
            coefficient = model_series(model, loss, order=1).coefficients[s]
            point = {**dict.fromkeys(coefficient.variables, 1), **values}  # C is the identity: its moments are 1
            exact = (-1) ** s * float(coefficient.evaluate(point))
            assert error[column] <= 0.06 * abs(exact)
            assert abs(mean[column] - exact) <= 4 * error[column]


def test_a_spectrum_enters_by_its_moments() -> None:
    """E L(0) and E dL/dt of the exact series, with c_k = Tr C^k/p the moments of the spectrum that was drawn."""
    model = Model.named("autoencoder-covariance")
    values = read_values(model, "p=8,n=3,m=24,sigma2=1/24")
    compiled = compile_model(model, values)
    generator, rows = np.random.default_rng(1), []
    for _ in range(1500):
        flow = ModelFlow(compiled, draw_tensors(compiled, generator, "values:2*1,0.5*3"), eta=1.0)
        move = 1e-6 * flow.velocity(flow.start)
        before, after = flow.losses(flow.start - move), flow.losses(flow.start + move)
        rows.append([*flow.losses(flow.start), *((np.array(after) - before) / 2e-6)])
    sample = np.array(rows)
    mean, error = sample.mean(axis=0), sample.std(axis=0, ddof=1) / len(sample) ** 0.5
    moments = {f"c_{k}": Fraction(2**k) / 4 + Fraction(3, 4) / 2**k for k in range(1, 9)}
    for k, loss in enumerate(model.loss_names):
        for s, column in ((0, k), (1, k + 2)):
            coefficient = model_series(model, loss, order=1).coefficients[s]
            exact = (-1) ** s * float(coefficient.evaluate(moments | values))
            assert error[column] <= 0.06 * abs(exact)
            assert abs(mean[column] - exact) <= 4 * error[column]
    found = simulate_any("p=4,n=3,m=6,sigma2=1/6", [0, 1], replicas=2, seed=0, spectrum="values:2*1,0.5*3").to_json()
    assert (found["spectrum"], found["train"]) == ("values:2*1,0.5*3", found["losses"]["train"])
    with pytest.raises(InputError, match="fixed matrix or a covariance"):
        simulate_any("p=4,H=3,sigma2=1", [0, 1], replicas=2, seed=0, model="cp:2", spectrum="power:1")
