"""The simulation verb: what it fixes, what it promises, what it refuses."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from numerics.runs.machine import Machine
from numerics.runs.store import Store
from numerics.sgd.simulate import simulate_sgd
from numerics.sgd.vectors import vectors
from theory.errors import BudgetError, InputError
from theory.sgd.laws import law, own_law
from theory.sgd.state import start_state
from theory.sgd.tasks import committee, logistic, single_index, xor


@pytest.mark.parametrize("method", ["full", "reduced"])
def test_workers_and_other_replicas_change_nothing(method: Any) -> None:
    def run(**options: Any) -> np.ndarray:
        return simulate_sgd(xor(), [0.5, 1], d=80, method=method, **options).values

    alone = run(replicas=5, seed=4)
    np.testing.assert_array_equal(run(replicas=5, seed=4, machine=Machine(workers=3)), alone)
    np.testing.assert_array_equal(run(replicas=2, seed=4), alone[:2])
    assert not np.isin(run(replicas=5, seed=5)[:, 1], alone[:, 1]).any()
    assert len(np.unique(alone[:, 1, 0])) == 5


@pytest.mark.parametrize("spread", ["random", "flat"])
@pytest.mark.parametrize("d", [7, 64, 101])
def test_the_start_is_met_exactly(spread: Any, d: int) -> None:
    task = committee(students=2, teachers=2)
    values = {"p_1_1": 0.3, "s_1_1": 0.4, "p_2_2": -0.2, "Q_1_2": 0.1}
    start = start_state(task, values)
    W, V = vectors(task, start, d, spread=spread, generator=np.random.default_rng(0))
    np.testing.assert_allclose(W @ V.T, start.M, atol=1e-12)
    np.testing.assert_allclose(W @ W.T, start.Q, atol=1e-12)
    np.testing.assert_allclose(V @ V.T, np.eye(2), atol=1e-12)
    np.testing.assert_allclose(W[:, :2], start.p, atol=1e-12)
    np.testing.assert_allclose(V[:, :2], start.s, atol=1e-12)


@pytest.mark.parametrize("d", [50, 51, 400])
def test_flat_truths_have_entries_of_one_size(d: int) -> None:
    task = single_index()
    _, V = vectors(task, start_state(task), d, spread="flat", generator=np.random.default_rng(0))
    np.testing.assert_allclose(V, d**-0.5)


def test_a_truth_on_a_coordinate_may_take_all_of_it() -> None:
    task = single_index()
    start = start_state(task, {"M_1_1": 0.0, "s_1_1": 1.0})
    W, V = vectors(task, start, 30, spread="random", generator=np.random.default_rng(0))
    np.testing.assert_allclose(V[0], np.eye(30)[0], atol=1e-12)
    np.testing.assert_allclose(W @ V.T, 0.0, atol=1e-12)


def test_times_are_met_to_the_nearest_step() -> None:
    run = simulate_sgd(committee(step=0.3), [0, 1, 2], d=100, replicas=1, seed=0)
    assert run.steps == (0, 333, 667)
    np.testing.assert_allclose(run.realised_times, [0, 0.999, 2.001])
    assert run.to_json()["stderr"]["M_1_1"] == [None] * 3  # type: ignore[index]


def test_progress_counts_every_recorded_time() -> None:
    seen: list[tuple[int, int]] = []
    simulate_sgd(
        logistic(),
        [0, 1, 2],
        d=50,
        replicas=4,
        seed=0,
        machine=Machine(workers=2, progress=lambda *count: seen.append(count)),
    )
    assert seen == sorted(set(seen))
    assert seen[-1] == (12, 12)
    seen.clear()
    simulate_sgd(logistic(), [0, 1, 2], d=50, replicas=4, seed=0, machine=Machine(progress=lambda *x: seen.append(x)))
    assert seen == [(k, 12) for k in range(1, 13)]


def test_a_store_is_taken_up_again(tmp_path: Path) -> None:
    path, whole = tmp_path / "run.db", simulate_sgd(committee(), [0, 1], d=50, replicas=8, seed=1)

    def break_off(done: int, _: int) -> None:
        if done >= 9:
            raise KeyboardInterrupt

    part = simulate_sgd(committee(), [0, 1], d=50, replicas=8, seed=1, machine=Machine(progress=break_off))
    assert part.interrupted
    assert any("interrupted with 4 of 8 replicas" in warning for warning in part.warnings)
    np.testing.assert_array_equal(part.values, whole.values[:4])
    with pytest.raises(KeyboardInterrupt):
        simulate_sgd(committee(), [0, 1], d=50, replicas=8, seed=1, machine=Machine(store=path, progress=break_off))
    with Store.open(path, mode="read") as store:
        assert 3 <= store.verify() <= 4
    seen: list[tuple[int, int]] = []
    resumed = simulate_sgd(
        committee(),
        [0, 1],
        d=50,
        replicas=8,
        seed=1,
        machine=Machine(store=path, workers=2, progress=lambda *count: seen.append(count)),
    )
    np.testing.assert_array_equal(resumed.values, whole.values)
    assert seen[0][0] >= 6
    assert seen[-1] == (16, 16)
    with pytest.raises(InputError, match=r"delta.*0\.25"):
        simulate_sgd(committee(step=0.25), [0, 1], d=50, replicas=8, seed=1, machine=Machine(store=path))


def test_a_stored_replica_that_diverged_is_the_same_one(tmp_path: Path) -> None:
    arguments: dict[str, Any] = {"d": 50, "replicas": 12, "seed": 0}
    task = single_index(step=0.07)
    plain = simulate_sgd(task, [0, 1, 5, 20], **arguments)
    assert 0 < plain.diverged < 12
    for _ in range(2):
        stored = simulate_sgd(task, [0, 1, 5, 20], **arguments, machine=Machine(store=tmp_path / "run.db"))
        np.testing.assert_array_equal(stored.values, plain.values)


def test_an_own_sampler_is_used_a_chunk_at_a_time() -> None:
    shapes = []

    def sampler(generator: Any, shape: tuple[int, ...]) -> np.ndarray:
        shapes.append(shape)
        return np.asarray(generator.choice([-1.0, 1.0], size=shape))

    signs = own_law("signs", mean=0, variance=1, kappa3=0, kappa4=-2, sampler=sampler)
    own = simulate_sgd(logistic(), [4], d=300, replicas=40, seed=0, laws=signs)
    known = simulate_sgd(logistic(), [4], d=300, replicas=40, seed=1, laws=law("rademacher"))
    assert max(np.prod(shape) for shape in shapes) <= 2**20
    difference = own.mean - known.mean
    assert (np.abs(difference) < 4.5 * np.hypot(own.stderr, known.stderr)).all()


def test_components_may_have_laws_of_their_own() -> None:
    """The cloud of law (0, ±√3) and the Gaussian one: at an aligned start each enters with its weight."""
    from theory.sgd.ode import effective_ode

    task = logistic(step=1.0)
    start = start_state(task, {"Q_1_1": 4.0, "p_1_1": 2.0})
    mixed = (law("two-point:0.1"), law("gaussian"))
    run = simulate_sgd(task, [2], d=1000, replicas=24, seed=0, laws=mixed, start=start)
    own, swapped = (effective_ode(task, [2], start=start, laws=laws).values[0] for laws in (mixed, mixed[::-1]))
    allowed = 4.5 * run.stderr[0] + 4 / 1000
    assert (np.abs(run.mean[0] - own) < allowed).all()
    assert (np.abs(run.mean[0] - swapped) > allowed).any()


def test_divergence_of_some_replicas_is_null_and_a_warning() -> None:
    run = simulate_sgd(single_index(step=0.07), [0, 1, 20], d=50, replicas=12, seed=0)
    assert 0 < run.diverged < 12
    assert "beyond stability" in run.warnings[0]
    assert run.to_json()["statistics"]["Q_1_1"][2] is None  # type: ignore[index]


@pytest.mark.parametrize(("link", "step"), [("x**3 - 3*x", 0.02), ("x**2 - 1", 0.1), ("x**3", 5.0)])
def test_where_every_replica_diverges_a_stable_step_is_named(link: str, step: float) -> None:
    """The step named is followed, and the same run then ends."""
    options: dict[str, Any] = {"d": 200, "replicas": 4, "seed": 0}
    with pytest.raises(InputError, match="all 4 replicas diverged") as refusal:
        simulate_sgd(single_index(link=link, step=step), [0, 2], **options)
    named = float(str(refusal.value).rpartition("step=")[2])
    assert simulate_sgd(single_index(link=link, step=named), [0, 2], **options).diverged == 0


@pytest.mark.parametrize("link", ["x**2 - 1", "x**3 - 3*x", "x**3", "exp(x/2)", "sin(3*x)"])
@pytest.mark.parametrize("d", [100, 400])
def test_the_default_step_is_stable(link: str, d: int) -> None:
    assert simulate_sgd(single_index(link=link), [0, 1], d=d, replicas=4, seed=3).diverged == 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"d": 3}, "room|directions|direction"),
        ({"d": 0}, "d: got 0"),
        ({"replicas": 0}, "replicas: got 0"),
        ({"method": "reduced", "laws": law("uniform")}, "Gaussian inputs"),
        ({"method": "quick"}, "auto or full or reduced"),
        ({"spread": "wide"}, "random or flat"),
        ({"laws": law("moments:mean=0,variance=1,kappa3=0,kappa4=0")}, "can be drawn"),
        ({"times": [1, 0]}, "strictly increasing"),
        ({"times": [-1]}, "from 0"),
        ({"task": committee(step=0.0)}, "positive step"),
    ],
)
def test_refusals_say_what_to_do(options: dict[str, Any], message: str) -> None:
    given: dict[str, Any] = {"task": committee(), "times": [1], "d": 100, "replicas": 1, "seed": 0} | options
    with pytest.raises(InputError, match=message):
        simulate_sgd(given.pop("task"), given.pop("times"), **given)


def test_a_run_of_weeks_is_refused_with_its_estimate() -> None:
    with pytest.raises(BudgetError, match="hours"):
        simulate_sgd(committee(), [1000], d=10**6, replicas=100, seed=0, laws=law("uniform"))
    with pytest.raises(BudgetError, match="GB"):
        simulate_sgd(committee(), [1e-6], d=10**8, replicas=1, seed=0, laws=law("uniform"))


def test_a_bad_sampler_is_named() -> None:
    bad = own_law("bad", mean=0, variance=1, kappa3=0, kappa4=0, sampler=lambda _, shape: np.full(shape, np.nan))
    with pytest.raises(InputError, match="law bad: sampler"):
        simulate_sgd(logistic(), [1], d=50, replicas=1, seed=0, laws=bad)


def test_one_step_moves_the_mean_as_the_drift_says() -> None:
    """After one step E[statistic] − start = (δ/d)·drift, exactly, once δ is taken with ‖a‖² = d: at d itself."""
    from theory.sgd.drift import Drift

    d, replicas = 40, 6000
    task = replace(logistic(), ridge=0.0)
    start = start_state(task)
    run = simulate_sgd(task, [task.step / d], d=d, replicas=replicas, seed=0, machine=Machine(workers=2))
    drift = Drift.of(task, level=4)(start)
    moved = (run.mean[0] - start.flat()) * d / task.step
    stderr = run.stderr[0] * d / task.step
    assert abs(moved[0] - drift.M[0, 0]) < 4.5 * stderr[0]
    # E[c²‖a‖²]/d is E[c²] but for terms of relative order 1/d, here less than a tenth.
    assert abs(moved[1] - drift.Q[0, 0]) < 4.5 * stderr[1] + 0.1 * task.step
