"""Finite matrices in the place of a free pair."""

from __future__ import annotations

import numpy as np
import pytest

from theory.autoencoder.limits import free
from theory.autoencoder.limits.free import FREE, INTERIOR, Extrapolated, extrapolate, free_pair_curves
from theory.autoencoder.limits.large_data import LARGE_DATA
from theory.autoencoder.limits.marchenko_pastur import MarchenkoPastur
from theory.autoencoder.limits.matrix_mean import matrix_estimate
from theory.autoencoder.limits.matrix_model import Shape, equal_mass_nodes, pair
from theory.autoencoder.limits.narrow_latent import NARROW_LATENT
from theory.autoencoder.limits.small_data import SMALL_DATA
from theory.autoencoder.limits.solution import Ratios
from theory.errors import ReachError


def ratios(weights: float, data: float, a_p: float = 1.0) -> Ratios:
    return Ratios(a_p * weights, a_p, weights, data, 1.0, 1 / data)


@pytest.mark.parametrize("ratio", [0.05, 0.5, 1.0, 3.0, 80.0])
def test_nodes_of_equal_mass_have_the_moments_of_the_law(ratio: float) -> None:
    nodes = equal_mass_nodes(ratio, 400)
    law, mass = MarchenkoPastur(ratio), min(1.0, ratio)
    assert mass * nodes.mean() == pytest.approx(law.moment(1), rel=1e-6)
    assert mass * (nodes**2).mean() == pytest.approx(law.moment(2), rel=1e-4)
    assert mass * (nodes**3).mean() == pytest.approx(law.moment(3), rel=1e-3)


@pytest.mark.parametrize(("weights", "data"), [(0.6, 1.5), (1.0, 0.02), (0.02, 1.0), (0.03, 0.03)])
def test_what_is_kept_of_a_pair_has_the_words_of_the_whole(weights: float, data: float) -> None:
    """Tr S, Tr MS and Tr M²S: flat positions make the latter two products of moments."""
    shape = Shape.of(weights, data, size=32, least=8)
    one = pair(ratios(weights, data), shape, 3)
    m = one.factor.conj().T @ one.factor
    mean_s = one.data_spectrum.sum() / shape.size
    for power in (1, 2):
        word = np.real(np.diag(np.linalg.matrix_power(m, power)) @ one.spectrum) / shape.size
        assert word == pytest.approx((one.weights_spectrum**power).sum() / shape.size * mean_s, rel=1e-9)
    assert mean_s == pytest.approx(data, rel=1e-9)


@pytest.mark.parametrize("target", [False, True], ids=["free", "interior"])
def test_matrices_agree_with_settled_words(target: bool) -> None:
    times = np.array([0.05, 0.3])
    for weights, data in ((1.0, 1.0), (0.5, 2.0)):
        words = extrapolate(ratios(weights, data), times, target=target, degree=8)
        found = matrix_estimate(ratios(weights, data), times, target=target, accuracy=1e-2)
        for loss in ("train", "population"):
            value, error = getattr(found, loss), getattr(found, f"{loss}_error")
            assert np.all(np.abs(value - getattr(words, loss)) <= error + getattr(words, f"{loss}_error"))
            assert np.all(error <= 0.02 * value)


@pytest.mark.parametrize(
    ("solution", "weights", "data"), [(LARGE_DATA, 0.6, 400.0), (NARROW_LATENT, 0.01, 1.0), (SMALL_DATA, 1.0, 0.01)]
)
def test_extreme_ratios_are_the_solved_faces(solution: object, weights: float, data: float) -> None:
    """Each face's own ratio is at most 1/100: the change of the train loss agrees to three times that."""
    at = ratios(weights, data, 0.5)
    times = np.array([0.0, 0.4]) * min(1.0, data)
    found = matrix_estimate(at, times, target=True, accuracy=1e-2)
    known = solution.curves(at, times)  # type: ignore[attr-defined]
    mine, theirs = np.diff(found.train)[0], np.diff(known.train)[0]
    assert mine == pytest.approx(theirs, rel=0.04)


def test_a_loss_uncertain_by_more_than_five_per_cent_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    times = np.array([0.1, 0.2])
    for part, refused in ((0.049, False), (0.051, True)):

        def made(_: Ratios, at: np.ndarray, *, part: float = part, **__: object) -> Extrapolated:
            losses = np.full(at.shape, 0.4)
            return Extrapolated(7, losses, losses, part * losses, 1e-9 * losses)

        monkeypatch.setattr(free, "extrapolate", made)
        if refused:
            with pytest.raises(ReachError, match="good up to about t = 0 with"):
                free_pair_curves(ratios(1.0, 1.0), times, target=True, degree=7)
        else:
            assert free_pair_curves(ratios(1.0, 1.0), times, target=True, degree=7)[0].degree == 7


@pytest.mark.parametrize("solution", [FREE, INTERIOR], ids=["free", "interior"])
def test_a_late_time_alone_answers_as_with_an_early_one(solution: object) -> None:
    alone = solution.curves(ratios(1.0, 1.0), np.array([0.3]))  # type: ignore[attr-defined]
    both = solution.curves(ratios(1.0, 1.0), np.array([0.0, 0.3]))  # type: ignore[attr-defined]
    for one, two in zip(alone[:2], both[:2], strict=True):
        assert abs(one[0] - two[1]) <= alone.error[0] + both.error[1]
