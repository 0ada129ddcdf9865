"""Starts: their laws, their signs, and how they are written."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from numerics.runs.seeds import replica_seed
from numerics.single_index.setting import Setting
from numerics.single_index.starts import PcaStart, RandomStart, Sign, TransferStart, embed, parse_start
from theory.errors import InputError
from theory.single_index.link import Link

CUBIC = Link.parse("x**3 - 3*x")
SETTING = Setting(CUBIC, lam=1.0, eta1=0.45, d=20)


def draws(text: str, setting: Setting, count: int, sign: str = "oracle") -> np.ndarray:
    start = parse_start(text, sign=sign)
    return np.array([start.draw(setting, replica_seed(0, k)) for k in range(count)])


def test_a_random_start_is_uniform_on_the_sphere() -> None:
    drawn = draws("random", SETTING, 3000)
    square = stats.beta(0.5, (SETTING.d - 1) / 2)
    for column in drawn.T:
        assert stats.kstest(column**2, square.cdf).pvalue > 1e-3
        assert abs(np.mean(column > 0) - 0.5) < 4 * 0.5 / math.sqrt(3000)
    assert stats.kstest((drawn**2).sum(axis=1), stats.beta(1, (SETTING.d - 2) / 2).cdf).pvalue > 1e-3


def test_a_transferred_start_has_the_overlap_and_a_uniform_rest() -> None:
    drawn = draws("transfer:0.25:0.8", SETTING, 2000)
    m1 = 0.8 * 20**-0.25
    np.testing.assert_allclose(drawn[:, 0], m1)
    rest = drawn[:, 1] ** 2 / (1 - m1**2)
    assert stats.kstest(rest, stats.beta(0.5, (SETTING.d - 2) / 2).cdf).pvalue > 1e-3


def test_a_component_drawn_from_its_law_is_one_computed_from_data() -> None:
    computed, drawn = draws("pca:60", SETTING, 400), draws("pca-law:60", SETTING, 2000)
    for k in range(2):
        assert stats.ks_2samp(computed[:, k], drawn[:, k]).pvalue > 1e-3


def test_the_oracle_points_to_the_target_and_the_coin_does_not() -> None:
    assert (draws("pca-law:60", SETTING, 500)[:, 0] >= 0).all()
    share = np.mean(draws("pca-law:60", SETTING, 500, "random")[:, 0] >= 0)
    assert abs(share - 0.5) < 4 * 0.5 / math.sqrt(500)


def test_labels_choose_the_better_sign_the_surer_the_more_there_are() -> None:
    big = Setting(CUBIC, lam=1.0, eta1=0.8, d=1000, noise=1.0)
    shares = [np.mean(draws("pca-limit:4d", big, 300, f"labels:{k}")[:, 0] > 0) for k in (5, 400)]
    assert 0.55 < shares[0] < 0.9
    assert shares[1] > 0.97


def test_labels_cannot_tell_with_an_even_link() -> None:
    even = Setting(Link.parse("He(4, x)"), lam=1.0, eta1=0.8, d=1000)
    assert Sign("labels", 50).choose(even, (0.5, 0.1), replica_seed(0, 0)) == (0.5, 0.1)


def test_the_embedded_vector_has_the_overlaps() -> None:
    weights, target, other = embed(SETTING, (0.3, -0.5), replica_seed(0, 1))
    np.testing.assert_allclose(
        [weights @ target, weights @ other, weights @ weights, target @ other], [0.3, -0.5, 1, 0], atol=1e-12
    )


def test_typical_overlaps_and_decay() -> None:
    assert RandomStart().typical(SETTING) == (1 / math.sqrt(20), 0.0)
    assert TransferStart(0.25).typical(SETTING)[0] == pytest.approx(20**-0.25)
    above, below = PcaStart(4.0, per_dimension=True), PcaStart(1.0, per_dimension=True)
    assert np.hypot(*above.typical(SETTING)) == pytest.approx(math.sqrt(0.6))
    assert below.typical(SETTING) == RandomStart().typical(SETTING)


@pytest.mark.parametrize(
    "text", ["", "pca", "pca:0", "pca:2.5", "pca:-3", "pca:1e99", "transfer:-1", "transfer:x", "1,2,3", "nan,0", "rand"]
)
def test_bad_starts_are_refused(text: str) -> None:
    with pytest.raises(InputError, match="start"):
        parse_start(text)


def test_vectors_longer_than_one_and_bad_signs_are_refused() -> None:
    with pytest.raises(InputError, match="m1² \\+ m2²"):
        parse_start("0.9,0.9")
    with pytest.raises(InputError, match="pca-sign"):
        parse_start("pca:10", sign="labels:0")
    with pytest.raises(InputError, match="overlap up to 1"):
        parse_start("transfer:0.1:9").draw(SETTING, replica_seed(0, 0))
