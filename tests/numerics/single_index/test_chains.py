"""The reduced chain against the full one by distribution; batches, threads, stores, interruption."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from numerics.runs.machine import Machine
from numerics.runs.seeds import replica_seed
from numerics.single_index import chains, reduced
from numerics.single_index.batches import Plan
from numerics.single_index.chains import Method, Runs, run_chains
from numerics.single_index.setting import Setting
from numerics.single_index.starts import parse_start
from theory.errors import BudgetError, InputError
from theory.single_index.link import Link

CUBIC = Link.parse("x**3 - 3*x")
SETTING = Setting(CUBIC, lam=1.0, eta1=0.45, d=30)
START = parse_start("random")


def ends(runs: Runs) -> np.ndarray:
    return np.array([run.end for run in runs.replicas])


# The steps are large on purpose: the norm of each update then matters, and with it the chi-square.
LAWS = [
    ("x**3 - 3*x", 1.0, 0.45, 0.0, 5, 40, 2e-3, "0.3,0.2"),
    ("x**3 - 3*x", 0.0, 0.3, 0.5, 20, 150, 3e-4, "0.4,0.1"),
    ("x**3 - 3*x", 2.0, 0.8, 0.5, 50, 100, 5e-5, "random"),
    ("tanh(2*x)", 1.0, 1.0, 0.3, 12, 60, 2e-2, "transfer:0.5"),
    ("erf(x) + He(2, x)/4", 1.0, 0.0, 0.0, 200, 200, 2e-3, "0.2,0.6"),
]


@pytest.mark.parametrize(("link", "lam", "eta1", "noise", "d", "steps", "step", "start"), LAWS)
def test_both_methods_have_one_law(
    link: str, lam: float, eta1: float, noise: float, d: int, steps: int, step: float, start: str
) -> None:
    """KS and the first two moments of both overlaps, and of the time at which a target is reached."""
    setting = Setting(Link.parse(link), lam=lam, eta1=eta1, d=d, noise=noise)
    count, plan = 1500, Plan(steps, step, target=0.5)
    full = run_chains(setting, parse_start(start), plan, replicas=count, seed=1, method="full")
    short = run_chains(setting, parse_start(start), plan, replicas=2 * count, seed=2)
    for a, b in zip(ends(full).T, ends(short).T, strict=True):
        assert stats.ks_2samp(a, b).pvalue > 1e-3
        for power in (1, 2):
            difference = np.mean(a**power) - np.mean(b**power)
            error = math.hypot(np.std(a**power) / math.sqrt(count), np.std(b**power) / math.sqrt(2 * count))
            assert error < 0.02
            assert abs(difference) < 4 * error
    times = [[run.hit if run.hit is not None else steps + 1 for run in runs.replicas] for runs in (full, short)]
    assert stats.ks_2samp(*times).pvalue > 1e-3


@pytest.mark.parametrize("freedom", [2, 3, 9, 997])
def test_the_chi_square_is_one(freedom: int) -> None:
    """The rejection by itself, and the bound that settles nearly all proposals without it."""
    shape = freedom / 2 - 1 / 3
    state = np.ascontiguousarray(np.array([replica_seed(3, k).generate_state(4, np.uint64) for k in range(32)]).T)
    rng = np.random.default_rng(freedom)
    drawn = np.array(
        [2 * reduced._gamma(state, k % 32, shape, rng.standard_normal(), rng.random()) for k in range(20_000)]
    )
    assert stats.kstest(drawn, stats.chi2(freedom).cdf).pvalue > 1e-3
    n = np.linspace(-8, 8, 2001)
    q = n / (3 * math.sqrt(shape))
    inside = np.abs(q) < 1
    n, q = n[inside], q[inside]
    exact = n**2 / 2 + shape * (1 - (1 + q) ** 3 + 3 * np.log1p(q))
    bound = -0.75 * shape * q**4 / (1 - np.abs(q))
    assert (bound <= exact + 1e-12).all()
    assert np.all(1 + bound <= np.exp(exact) + 1e-12)


@pytest.mark.parametrize("d", [5, 7, 12])
def test_the_rest_of_a_sample_is_a_chi_square_inside_the_chain(d: int) -> None:
    """From m = 0 a huge step leads to ±(a_0, a_⊥)/√(a_0² + a_⊥² + χ²), whose squared norm is Beta(1, (d−3)/2)."""
    setting = Setting(Link.parse("x"), lam=0.0, eta1=0.5, d=d)
    runs = run_chains(setting, parse_start("0,0"), Plan(1, 1e9), replicas=8000, seed=4)
    squares = (ends(runs) ** 2).sum(axis=1)
    assert stats.kstest(squares, stats.beta(1, (d - 3) / 2).cdf).pvalue > 1e-3


def test_a_replica_does_not_depend_on_its_batch_or_the_threads() -> None:
    plan = Plan(100, 1e-4, every=10)
    many = run_chains(SETTING, START, plan, replicas=40, seed=5, machine=Machine(workers=3))
    few = run_chains(SETTING, START, plan, replicas=3, seed=5)
    for a, b in zip(many.replicas, few.replicas, strict=False):
        assert a.end == b.end
        np.testing.assert_array_equal(a.path, b.path)
    fixed = run_chains(SETTING, parse_start("0.3,0.2"), plan, replicas=40, seed=5)
    assert len({run.end for run in fixed.replicas}) == 40
    full = [
        run_chains(SETTING, START, plan, replicas=4, seed=5, method="full", machine=Machine(workers=w)) for w in (1, 3)
    ]
    np.testing.assert_array_equal(ends(full[0]), ends(full[1]))


def test_the_path_ends_at_the_end_and_chunks_leave_no_trace(monkeypatch: pytest.MonkeyPatch) -> None:
    from numerics.single_index import batches

    plan = Plan(96, 1e-4, every=4, target=0.1)
    for method in ("reduced", "full"):
        whole = run_chains(SETTING, START, plan, replicas=2, seed=6, method=method)  # type: ignore[arg-type]
        monkeypatch.setattr(batches, "_CHUNK_STEPS", 32)
        monkeypatch.setattr(batches, "_CHUNK_COORDINATES", 32 * SETTING.d)
        parts = run_chains(SETTING, START, plan, replicas=2, seed=6, method=method)  # type: ignore[arg-type]
        monkeypatch.undo()
        for a, b in zip(whole.replicas, parts.replicas, strict=True):
            assert a.path.shape == (24, 2)
            np.testing.assert_allclose(a.path[-1], a.end, rtol=1e-12)
            np.testing.assert_allclose(a.path, b.path, rtol=1e-12)
            assert a.hit == b.hit


def test_hits_are_the_first_time_on_the_path() -> None:
    runs = run_chains(SETTING, START, Plan(400, 3e-4, target=0.3, every=1), replicas=64, seed=7)
    seen = 0
    for run in runs.replicas:
        above = np.flatnonzero(np.concatenate([[run.start[0]], run.path[:, 0]]) >= 0.3)
        assert run.hit == (int(above[0]) if above.size else None)
        seen += bool(above.size) and run.hit != 0
    assert 5 < seen < 60


def test_an_even_link_may_find_the_opposite() -> None:
    setting = Setting(Link.parse("He(2, x)"), lam=0.0, eta1=1.0, d=20)
    runs = run_chains(setting, parse_start("-0.6,0"), Plan(20_000, 1e-3, target=0.9, stop=True), replicas=8, seed=0)
    assert all(run.hit for run in runs.replicas)


def test_the_full_chain_stays_on_the_sphere() -> None:
    runs = run_chains(SETTING, START, Plan(5000, 5e-4), replicas=1, seed=8, method="full")
    assert np.hypot(*runs.replicas[0].end) <= 1 + 1e-12


def test_a_store_gives_back_what_was_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plan, path = Plan(50, 1e-4, every=25), tmp_path / "runs.db"
    first = run_chains(SETTING, START, plan, replicas=10, seed=9, machine=Machine(store=path))
    drawn: list[int] = []
    original = chains.reduced_batch
    monkeypatch.setattr(
        chains, "reduced_batch", lambda *args: drawn.extend(seed.spawn_key[0] for seed in args[3]) or original(*args)
    )
    again = run_chains(SETTING, START, plan, replicas=35, seed=9, machine=Machine(store=path))
    assert sorted(drawn) == list(range(10, 35))
    np.testing.assert_array_equal(ends(first), ends(again)[:10])
    np.testing.assert_array_equal(ends(again), ends(run_chains(SETTING, START, plan, replicas=35, seed=9)))
    with pytest.raises(InputError, match="store"):
        run_chains(SETTING, START, Plan(51, 1e-4, every=25), replicas=10, seed=9, machine=Machine(store=path))


def test_an_interruption_keeps_what_has_finished() -> None:
    calls = 0

    def progress(_done: int, _total: int) -> None:
        nonlocal calls
        calls += 1
        if calls == 3:
            raise KeyboardInterrupt

    plan = Plan(20, 1e-5)
    runs = run_chains(SETTING, START, plan, replicas=40, seed=0, method="full", machine=Machine(progress=progress))
    assert runs.interrupted
    assert 0 < len(runs.replicas) < 40
    assert "interrupted" in runs.warnings[0]
    whole = run_chains(SETTING, START, plan, replicas=40, seed=0, method="full")
    np.testing.assert_array_equal(ends(runs), ends(whole)[: len(runs.replicas)])
    calls = 2
    with pytest.raises(KeyboardInterrupt):
        run_chains(SETTING, START, Plan(10**9, 1e-9), replicas=1, seed=0, machine=Machine(progress=progress))


def test_overflow_is_reported_and_bad_plans_are_refused() -> None:
    wild = Setting(Link.parse("exp(x)"), lam=0.0, eta1=1.0, d=5)
    with pytest.raises(InputError, match="step"):
        run_chains(wild, START, Plan(50, 1e308), replicas=2, seed=0)
    with pytest.raises(BudgetError, match="fewer steps"):
        run_chains(SETTING, START, Plan(10**13, 1e-9), replicas=100, seed=0)
    for steps, step in ((0, 1e-3), (10, 0.0), (10, math.nan)):
        with pytest.raises(InputError):
            Plan(steps, step)
    with pytest.raises(InputError, match="dimension d"):
        Setting(CUBIC, lam=1.0, eta1=0.5, d=4)


@pytest.mark.parametrize("method", ["reduced", "full"])
def test_a_vector_that_overflows_has_no_overlap(method: Method) -> None:
    setting = Setting(Link.parse("x**3-3*x"), lam=1.0, eta1=0.45, d=20)
    with pytest.raises(InputError, match="step"):
        run_chains(setting, parse_start("random"), Plan(steps=10, step=1e200), replicas=3, seed=0, method=method)
