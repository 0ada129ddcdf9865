"""The verdict on universality: the power of d at small d, its fit, its schema, its refusals."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from numerics.figures.sgd import simulation_figure, universality_figure
from numerics.figures.sgd_ode import draw_ode
from numerics.figures.style import save
from numerics.runs.machine import Machine
from numerics.sgd.law_error import LawError, power_of_d, student_errors
from numerics.sgd.simulate import simulate_sgd
from numerics.sgd.universality import Universality, universality
from theory.errors import InputError, ReachError
from theory.sgd.laws import law
from theory.sgd.ode import effective_ode
from theory.sgd.state import State, start_state
from theory.sgd.task import Task
from theory.sgd.tasks import committee, logistic, single_index

_DIMS = (50, 150, 450)


def test_the_distance_falls_like_the_root_for_every_law() -> None:
    laws = [law(name) for name in ("gaussian", "rademacher", "exponential")]
    verdict = universality(
        committee(), [0, 1, 2, 3], laws=laws, dims=_DIMS, replicas=40, seed=1, machine=Machine(workers=2)
    )
    for error in verdict.laws:
        assert error.slope_stderr < 0.06
        assert abs(error.slope + 0.5) < 0.05 + 4 * error.slope_stderr
        assert error.approach == "converges"
    assert "one ODE for all these laws" in verdict.to_text()
    payload = verdict.to_json()
    assert payload.pop("warnings") == list(verdict.warnings)
    assert set(payload) == {"gaussian", "rademacher", "exponential"}
    first: Any = payload["gaussian"]
    assert set(first) == {"sup_error", "stderr", "slope", "slope_stderr", "dims", "verdict"}
    assert (first["dims"], first["verdict"]) == (list(_DIMS), "converges")


def test_an_aligned_start_is_seen_and_its_own_ode_followed() -> None:
    task = single_index(link="tanh", step=0.5)
    start = start_state(task, {"M_1_1": 0.0, "Q_1_1": 1.0, "p_1_1": 1.0})
    options: dict[str, Any] = {"laws": [law("two-point:0.1")], "dims": _DIMS, "replicas": 40, "seed": 1, "start": start}
    away, own = (universality(task, [0, 1, 2], reference=which, **options) for which in ("universal", "own"))
    assert (away.laws[0].approach, away.verdict) == ("stays away", "not universal")
    assert "not universal: two-point:0.1" in away.to_text()
    assert own.laws[0].approach == "converges"


@pytest.mark.parametrize("seed", range(3))
def test_noise_never_makes_a_verdict(seed: int) -> None:
    """Two near dimensions and three replicas say nothing on the power of d, so nothing on universality."""
    task = committee()
    start = start_state(task, {"p_1_1": 0.6, "s_1_1": 1.0, "M_1_1": 0.6})
    laws = [law(name) for name in ("gaussian", "rademacher", "exponential")]
    verdict = universality(task, [0, 1, 2], laws=laws, dims=[100, 150], replicas=3, seed=seed, start=start)
    assert verdict.verdict == "undecided"
    assert "undecided: more dims or replicas" in verdict.to_text()


@pytest.mark.parametrize(
    ("slope", "stderr", "approach"),
    [
        (-0.5, 0.01, "converges"),
        (-0.42, 0.05, "converges"),
        (-0.25, 0.01, "stays away"),
        (0.0, 0.05, "stays away"),
        (0.3, 0.05, "stays away"),
        (-0.25, 0.1, "undecided"),
        (-0.5, 0.15, "undecided"),
        (-0.9, 0.02, "undecided"),
    ],
)
def test_the_rule_has_a_rival(slope: float, stderr: float, approach: str) -> None:
    assert LawError("uniform", (0.2, 0.1), (0.01, 0.01), slope, stderr).approach == approach


def _perfect(task: Task) -> State:
    """Every student on a teacher of its own."""
    names = {f"{kind}_{i}_{i}": 1.0 for kind in "MQ" for i in range(1, len(task.z) + 1)}
    zeros = {f"M_{i}_{a}": 0.0 for i in range(1, len(task.z) + 1) for a in range(1, len(task.u) + 1) if i != a}
    return start_state(task, names | zeros)


@pytest.mark.parametrize("task", [committee(), single_index(link="erf(x)")], ids=["committee", "single-index"])
def test_rounding_noise_is_no_distance(task: Task, tmp_path: Path) -> None:
    """At perfect recovery every law has the ODE to the last digit: no power of d, and JSON without NaN."""
    laws = [law(name) for name in ("gaussian", "rademacher", "exponential")]
    verdict = universality(task, [0, 1], laws=laws, dims=[50, 200], replicas=8, seed=0, start=_perfect(task))
    assert {error.approach for error in verdict.laws} == {"undecided"}
    assert max(max(error.sup_error) for error in verdict.laws) < 1e-12
    assert verdict.to_text().splitlines()[-1].startswith("undecided: distances are within the ODE's own error")
    assert "NaN" not in json.dumps(verdict.to_json(), allow_nan=False)
    assert "none: within the ODE's error" in verdict.to_text()
    save(universality_figure(verdict), tmp_path / "zero.png")
    assert (tmp_path / "zero.png").stat().st_size > 1000


def test_a_small_step_is_measured_as_well_as_a_large_one() -> None:
    """Distances of 1e-11, a thousand roundings: times closer to each other than 1e-9 are still told apart."""
    task = committee(students=1, teachers=1, step=1e-9)
    laws = [law("gaussian"), law("rademacher")]
    verdict = universality(task, [0, 1e-10, 1e-9], laws=laws, dims=[100, 400, 1600], replicas=32, seed=0)
    assert max(max(error.sup_error) for error in verdict.laws) < 1e-10
    assert [error.approach for error in verdict.laws] == ["converges", "converges"]


def test_the_error_of_the_ode_counts() -> None:
    """Distances of 0.01 from a curve that is itself 0.006 off say nothing; from one 1e-4 off they do."""
    distances = [np.full(16, 0.01) + 1e-4 * np.arange(16), np.full(16, 0.0098) + 1e-4 * np.arange(16)]
    approaches = [LawError.of("uniform", (100, 1600), distances, [off, off]).approach for off in (1e-4, 0.006, 0.02)]
    assert approaches == ["stays away", "undecided", "undecided"]


@pytest.mark.parametrize("dims", [(100, 400), (100, 400, 1600), (50, 100, 200, 400, 800)])
@pytest.mark.parametrize("replicas", [2, 4, 8])
def test_few_replicas_seldom_refuse_the_truth(dims: tuple[int, ...], replicas: int) -> None:
    """Distances that fall like d^{−1/2}: refused no more often than by four normal standard errors."""
    generator, refused, trials = np.random.default_rng(replicas), 0, 4000
    for _ in range(trials):
        draws = [np.abs(generator.standard_normal((replicas, 3))).max(axis=1) / np.sqrt(d) for d in dims]
        refused += LawError.of("uniform", dims, draws, [0.0] * len(dims)).approach == "stays away"
    assert refused <= 1


def test_student_errors_become_four() -> None:
    dims, errors, bars = (100, 400), (0.2, 0.1), (0.02, 0.01)
    found = [student_errors(dims, errors, bars, freedom=n) for n in (1, 2, 3, 7, 31, 10**6)]
    assert found == sorted(found, reverse=True)
    assert found[-1] == pytest.approx(4, abs=1e-4)
    # Two equal bars of one degree of freedom each are two degrees: P(|t| > x) = 1 − x/√(2 + x²).
    tail = 1 - found[0] / np.sqrt(2 + found[0] ** 2)
    assert tail == pytest.approx(6.334e-5, rel=1e-3)


@pytest.mark.parametrize(
    ("errors", "bars"),
    [((0.0, 0.0), (0.0, 0.0)), ((0.2, 0.0), (0.01, 0.0)), ((np.nan, np.nan), (np.nan, np.nan))],
)
def test_without_a_power_nothing_is_decided(errors: tuple[float, ...], bars: tuple[float, ...]) -> None:
    assert LawError("uniform", errors, bars, *power_of_d((100, 400), errors, bars)).approach == "undecided"


def test_bars_of_zero_are_sharp() -> None:
    assert power_of_d((100, 400, 1600), (0.2, 0.1, 0.05), (0.0, 0.0, 0.0))[0] == pytest.approx(-0.5)


def test_one_law_that_stays_away_decides() -> None:
    kinds = {"converges": -0.5, "stays away": 0.0, "undecided": -0.9}

    def verdict(*names: str) -> Universality:
        errors = tuple(LawError(name, (0.2, 0.1), (0.01, 0.01), kinds[name], 0.02) for name in names)
        return Universality("committee", "universal", (100, 400), 3, errors, ())

    assert verdict("converges").verdict == "universal"
    assert verdict("converges", "undecided").verdict == "undecided"
    assert verdict("converges", "undecided", "stays away").verdict == "not universal"


def test_the_power_is_fitted_with_its_error() -> None:
    generator = np.random.default_rng(0)
    dims, bars = (100, 400, 1600), (0.01, 0.004, 0.003)
    truth = np.array(dims) ** -0.5
    fits = np.array([power_of_d(dims, (truth + generator.normal(size=3) * bars).tolist(), bars) for _ in range(2000)])
    assert abs(fits[:, 0].mean() + 0.5) < 4.5 * fits[:, 0].std() / np.sqrt(2000) + 0.005
    assert abs(fits[:, 0].std() / fits[:, 1].mean() - 1) < 0.1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"dims": [100]}, "two dimensions"),
        ({"dims": [200, 100]}, "increasing"),
        ({"laws": [law("uniform"), law("uniform")]}, "each once"),
        ({"laws": []}, "one law or more"),
        ({"replicas": 1}, "at least 2"),
        ({"reference": "mine"}, "universal or own"),
    ],
)
def test_refusals(options: dict[str, Any], message: str) -> None:
    given: dict[str, Any] = {"laws": [law("uniform")], "dims": [50, 100], "replicas": 2, "seed": 0} | options
    with pytest.raises(InputError, match=message):
        universality(committee(), [1], **given)


def test_a_diverging_run_is_refused_not_averaged() -> None:
    """The ODE exists for every law, but at d = 20 one rare large coordinate throws a quartic loss out."""
    with pytest.raises(InputError, match=r"all 3 replicas diverged by t = 1 \(two-point:0\.001 inputs, d = 20\)"):
        universality(single_index(step=0.05), [1], laws=[law("two-point:0.001")], dims=[20, 40], replicas=3, seed=0)
    with pytest.raises(ReachError, match="gaussian inputs at d = 50"):
        universality(single_index(step=0.07), [20], laws=[law("gaussian")], dims=[50, 60], replicas=12, seed=0)


def test_figures_hold_what_moves() -> None:
    run = simulate_sgd(committee(), [0, 1], d=50, replicas=2, seed=0)
    assert [axes.get_title() for axes in simulation_figure([run]).axes] == [
        "overlaps with truths",
        "overlaps of parameters",
    ]
    assert "d = 50" in simulation_figure([run]).get_suptitle()
    verdict = universality(committee(), [1], laws=[law("uniform")], dims=[20, 40], replicas=2, seed=0)
    assert len(universality_figure(verdict).axes) == 1


def test_the_ode_is_drawn_smoothly_and_bars_are_two_standard_errors() -> None:
    task = logistic()
    coarse, fine = effective_ode(task, [0, 2, 4]), effective_ode(task, np.linspace(0, 4, 50))
    line, marks = draw_ode(coarse, fine).axes[0].lines
    assert (len(np.asarray(line.get_xdata())), len(np.asarray(marks.get_xdata()))) == (50, 3)
    run = simulate_sgd(task, [0, 2, 4], d=60, replicas=4, seed=0)
    axes = simulation_figure([run], [fine]).axes[0]
    (bars,) = axes.containers
    segments = bars[2][0].get_segments()
    assert np.ptp(segments[1][:, 1]) == pytest.approx(4 * run.stderr[1, 0])
    assert len(np.asarray(axes.lines[0].get_xdata())) == 50
