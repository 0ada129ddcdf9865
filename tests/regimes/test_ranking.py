"""The ranking at actual sizes: its distances by another route, and its agreement with exponents deep in every cone."""

from __future__ import annotations

import json
from fractions import Fraction
from math import factorial

import pytest

from numerics.gradient_flow.ranking_trial import Trial, run_trial, sizes_inside
from regimes.faces import FACES, Face, parse_face
from regimes.ranking import CLOSE, HORIZON, ORDER, rank_faces
from regimes.scaling import representative
from theory.autoencoder.series import loss_series
from theory.autoencoder.sizes import Sizes

SOME = Sizes.parse("p=60,n=90,m=40,sigma2=1/50")


@pytest.mark.parametrize("face", FACES, ids=lambda face: face.name)
def test_deep_in_a_cone_the_face_of_the_exponents_is_ranked_first(face: Face) -> None:
    """Losing terms 1000 times smaller, sizes of hundreds and more: what N → ∞ says must be what sizes say."""
    ranking = rank_faces(sizes_inside(face, depth=1000, smallest=400))
    assert ranking.best == face
    assert ranking.faces[0].distance < 0.05


@pytest.mark.parametrize("name", ["interior", "mean-field", "R,N|p", "P|m"])
def test_distances_by_polynomial_algebra(name: str) -> None:
    """The leading parts by ``Laurent.leading`` and floats, in place of term tables and fractions."""
    face = parse_face(name)
    weights = representative(face).weights
    point = {"p": float(SOME.p), "n": float(SOME.n), "m": float(SOME.m), "sigma2": float(SOME.sigma2)}
    p, n, m, s2 = point.values()
    horizon = float(HORIZON) / (1 / p + 1 / m + s2 * n / p + s2 * n / m + s2 + s2 * p / m)
    worst = 0.0
    for loss in ("train", "population"):
        series = loss_series(loss, order=ORDER)  # type: ignore[arg-type]
        missed = change = 0.0
        for s in range(1, ORDER + 1):
            exact = series.coefficients[s].evaluate(point)
            unit = (horizon / (p * m)) ** s / factorial(s)
            missed += abs(float(exact - series.coefficients[s].leading(weights).evaluate(point))) * unit
            change += abs(float(exact)) * unit
        worst = max(worst, missed / change)
    (ranked,) = (ranked for ranked in rank_faces(SOME).faces if ranked.face == face)
    assert ranked.distance == pytest.approx(worst, rel=1e-9)


def test_ties_come_first_and_the_simplest_of_them_before_the_others() -> None:
    faces = rank_faces(Sizes.parse("p=200,n=200,m=100000,sigma2=1/200")).faces
    tied = [ranked for ranked in faces if ranked.tied]
    assert [ranked.tied for ranked in faces] == sorted((ranked.tied for ranked in faces), reverse=True)
    assert [ranked.face.name for ranked in tied] == ["large-data", "interior"]
    rest = [ranked.distance for ranked in faces if not ranked.tied]
    assert rest == sorted(rest)
    assert all((ranked.distance <= CLOSE) == ranked.tied for ranked in faces)


def test_where_no_face_is_close_the_closest_stands_alone() -> None:
    first, *others = rank_faces(Sizes.parse("p=6,n=6,m=6,sigma2=1/6")).faces
    assert first.distance > CLOSE
    assert first.tied
    assert not any(ranked.tied for ranked in others)
    assert first.distance <= min(ranked.distance for ranked in others)


def test_start_is_the_exact_mean() -> None:
    sizes = Sizes(2, 1, 1, Fraction(1, 2))
    train, population = rank_faces(sizes).start
    # E‖I − uuᵀ‖²/4 with u two normals of variance ½: 2 − 2 E|u|² + E|u|⁴ = 2 − 2 + 2
    assert population == pytest.approx(0.5)
    assert train == pytest.approx(0.5)


def test_small_sizes_and_poor_fits_are_warned_of() -> None:
    warnings = rank_faces(Sizes.parse("p=4,n=4,m=4,sigma2=1/4")).warnings
    assert sum("is small" in warning for warning in warnings) == 3
    assert any("no limit describes these sizes" in warning for warning in warnings)
    assert rank_faces(Sizes.parse("p=300,n=300,m=300,sigma2=1/300")).warnings == ()


def test_json_holds_the_ranking() -> None:
    data = json.loads(json.dumps(rank_faces(SOME).to_json(), allow_nan=False))
    assert list(data)[:8] == [
        "face", "vertices", "dimension", "rate_exponent", "train_scale", "population_scale", "solution", "warnings",
    ]  # fmt: skip
    assert {entry["face"] for entry in data["ranking"]} == {face.name for face in FACES}


@pytest.fixture(scope="module")
def trial() -> Trial:
    face = parse_face("large-data")
    return run_trial(face, sizes_inside(face, depth=12, smallest=30), replicas=24, seed=3)


def test_one_trial_of_the_claim(trial: Trial) -> None:
    assert trial.holds
    assert trial.noise["large-data"] < 0.05
    assert trial.correlation > 0.7
    assert trial.misses["small-data"] > 10 * trial.misses["interior"]


def test_a_trial_can_fail(trial: Trial) -> None:
    """With the misses of two faces exchanged the first-ranked face no longer fits."""
    best = trial.ranking.best.name
    exchanged = trial.misses | {best: trial.misses["R|p"], "R|p": trial.misses[best]}
    assert not Trial(trial.ranking, trial.inside, exchanged, trial.noise).holds
