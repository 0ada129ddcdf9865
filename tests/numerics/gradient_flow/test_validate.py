"""The verdict: it holds for the solved regimes, fails for wrong curves, and is blind where the rule could not fail."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from numerics.figures.style import save
from numerics.figures.validation import draw_simulation, draw_validation
from numerics.gradient_flow.validate import LOSSES, Validation, initial_scale, neglected_terms, validate
from regimes.faces import FACES, parse_face
from theory.autoencoder.sizes import Sizes
from theory.errors import InputError

SOLVED = {
    "large-data": ("p=120,n=120,m=120000,sigma2=1/120", [6.0, 12.0, 40.0]),
    "mean-field": ("p=120,n=24000,m=120,sigma2=1/48000", [6.0, 24.0, 96.0]),
    "narrow-latent": ("p=200,n=4,m=200,sigma2=1/400", [20.0, 40.0, 80.0]),
    "small-data": ("p=200,n=200,m=4,sigma2=1/400", [0.5, 1.0, 3.0]),
}


@pytest.fixture(scope="module")
def found() -> dict[str, Validation]:
    return {
        face: validate(face, Sizes.parse(sizes), times, replicas=20, seed=1) for face, (sizes, times) in SOLVED.items()
    }


@pytest.mark.parametrize("face", SOLVED)
def test_solved_regimes_hold(found: dict[str, Validation], face: str) -> None:
    validation = found[face]
    assert validation.verdict == "holds", validation.to_text()
    assert validation.simulation.times[0] == 0.0
    assert validation.neglected < 0.1


@pytest.mark.parametrize("face", SOLVED)
def test_the_statement_is_sharp(found: dict[str, Validation], face: str) -> None:
    """Standard errors are below the allowance's scale, and the allowance below the change itself."""
    validation = found[face]
    for loss in LOSSES:
        changes = validation.quantities[loss][1:]
        assert max(quantity.stderr for quantity in changes) < 0.1 * max(abs(quantity.predicted) for quantity in changes)
        assert max(quantity.allowance for quantity in changes) < 0.5 * max(
            abs(quantity.predicted) for quantity in changes
        )


def test_curves_at_half_speed_fail(found: dict[str, Validation]) -> None:
    for validation in found.values():
        for loss in LOSSES:
            swapped = tuple(
                replace(quantity, predicted=quantity.rival, rival=quantity.predicted)
                for quantity in validation.quantities[loss]
            )
            wrong = replace(validation, quantities={**validation.quantities, loss: swapped})
            assert wrong.verdict == "fails"
            assert "FAILS" in wrong.to_text()


def test_the_wrong_regime_does_not_hold() -> None:
    sizes, times = SOLVED["large-data"]
    wrong = validate("R|m", Sizes.parse(sizes), times, replicas=8, seed=1)
    assert wrong.neglected > 1
    assert wrong.verdict != "holds"


def test_sizes_choose_the_face() -> None:
    sizes, times = SOLVED["large-data"]
    assert validate(None, Sizes.parse(sizes), times, replicas=2, seed=1).face == parse_face("large-data")


def test_neglected_terms_vanish_as_the_sizes_grow() -> None:
    """Along its own scaling every basic regime's neglected terms fall; along another's they do not."""
    small = Sizes.parse("p=100,n=100,m=10000,sigma2=1/100")
    large = Sizes.parse("p=10000,n=10000,m=100000000,sigma2=1/10000")
    assert neglected_terms(parse_face("large-data"), large) < neglected_terms(parse_face("large-data"), small) / 50
    assert neglected_terms(parse_face("small-data"), large) > 1
    assert neglected_terms(parse_face("interior"), small) == pytest.approx(1 / 100 + 1 / 100 + 1 / 10000)
    assert all(neglected_terms(face, small) > 0 for face in FACES)


def test_scale_of_a_loss() -> None:
    sizes = Sizes.parse("p=10,n=20,m=10,sigma2=1/10")  # σ²n = 2, σ²p = 1
    assert initial_scale(parse_face("R|m"), sizes) == 2.0
    assert initial_scale(parse_face("N,P|m"), sizes) == pytest.approx(np.hypot(2.0, 1.0))


def test_json_text_and_figures(found: dict[str, Validation], tmp_path: Path) -> None:
    validation = found["small-data"]
    described = json.loads(json.dumps(validation.to_json(), allow_nan=False))
    assert described["verdict"] == "holds"
    assert [point["verdict"] for point in described["points"]["train"]].count("fails") == 0
    assert "verdict: train holds, population holds" in validation.to_text()
    for suffix in ("png", "svg"):
        assert save(draw_validation(validation), tmp_path / f"verdict.{suffix}").stat().st_size > 5000
    save(draw_simulation(validation.simulation), tmp_path / "losses.svg")


def test_one_replica_or_one_time_cannot_be_judged() -> None:
    sizes = Sizes.parse("p=10,n=10,m=10,sigma2=1/10")
    with pytest.raises(InputError, match="at least 2"):
        validate("large-data", sizes, [0, 1], replicas=1, seed=0)
    with pytest.raises(InputError, match="a time after 0"):
        validate("large-data", sizes, [0], replicas=2, seed=0)


def test_the_text_says_what_the_words_mean(found: dict[str, Validation]) -> None:
    text = found["small-data"].to_text()
    assert "E L(0) exact; β the regression coefficient" in text
    assert "the sum of what the limit neglects" in text
    assert "scale:     " in text
    assert "m/p of it for the change of the population loss" in text
    assert "m/p of it" not in found["large-data"].to_text()
    assert "blind:" not in text


def test_a_blind_verdict_says_what_helps() -> None:
    small = Sizes.parse("p=20,n=20,m=100,sigma2=1/20")
    covered = validate("large-data", small, [8, 32], replicas=16, seed=0)
    assert covered.verdict == "blind"
    assert "The allowance alone covers it: take larger sizes" in covered.to_text()
    for loss in LOSSES:  # what limits the statement is the allowance, no longer the noise of the start
        assert (
            max(quantity.stderr for quantity in covered.quantities[loss][1:])
            < 0.05 * covered.quantities[loss][1].allowance
        )
    sizes, _ = SOLVED["mean-field"]
    noisy = validate("mean-field", Sizes.parse(sizes), [0.5], replicas=2, seed=1)
    assert "agrees, as the rival would" in noisy.to_text()


def test_sizes_off_the_face_do_not_agree() -> None:
    sizes, times = SOLVED["large-data"]
    wrong = validate("R|m", Sizes.parse(sizes), times, replicas=8, seed=1)
    assert not wrong.on_face
    assert "agrees" not in wrong.to_text()
    assert "These sizes are not on this face" in wrong.to_text()
    assert json.loads(json.dumps(wrong.to_json()))["on_face"] is False


def test_table_and_figure_show_the_same_numbers(found: dict[str, Validation]) -> None:
    validation = found["large-data"]
    axes = draw_validation(validation).axes[0]
    (bars,) = axes.containers
    points = bars.lines[0].get_ydata()
    assert points.tolist() == [quantity.measured for quantity in validation.quantities["train"][1:]]
    assert [text.get_text() for text in axes.get_legend().get_texts()][-1] == "20 replicas, ±2 s.e."
    assert axes.lines[0].get_ydata()[0] == 0.0
