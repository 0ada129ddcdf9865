"""The generator against its definition, the numbers against their laws."""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
import pytest
from scipy import stats

from numerics.kernels.normals import BLOCK, LANES, fill_normals, fill_uniforms, fill_words, log_unit, stream
from numerics.runs.seeds import replica_seed

_MASK = 2**64 - 1


def xoshiro(state: list[int]) -> int:
    """One step of xoshiro256++ in plain integers, as published."""

    def rotate(x: int, k: int) -> int:
        return ((x << k) | (x >> (64 - k))) & _MASK

    result = (rotate((state[0] + state[3]) & _MASK, 23) + state[0]) & _MASK
    t = (state[1] << 17) & _MASK
    state[2] ^= state[0]
    state[3] ^= state[1]
    state[1] ^= state[2]
    state[0] ^= state[3]
    state[2] ^= t
    state[3] = rotate(state[3], 45)
    return result


def test_words_are_xoshiros_in_each_lane() -> None:
    state = stream(replica_seed(5, 3))
    plain = [[int(word) for word in column] for column in state.T]
    words = np.empty(5 * LANES, dtype=np.uint64)
    fill_words(state, words)
    expected = [[xoshiro(lane) for lane in plain] for _ in range(5)]
    assert words.reshape(5, LANES).tolist() == expected
    assert state.T.tolist() == plain


def test_the_logarithm_is_exact_to_rounding() -> None:
    @numba.njit(error_model="numpy")  # type: ignore[untyped-decorator]
    def logarithms(words: Any, out: Any) -> None:
        for k in range(words.shape[0]):
            out[k] = log_unit(words[k])

    words = np.empty(2000, dtype=np.uint64)
    fill_words(stream(replica_seed(1, 0)), words)
    words[:3] = 0, _MASK, 1 << 63
    words[3:60] = np.uint64(_MASK) - (np.uint64(1) << np.arange(7, 64, dtype=np.uint64))
    out = np.empty(len(words))
    logarithms(words, out)
    u = 1.0 - (words >> np.uint64(12)).astype(float) * 2.0**-52
    np.testing.assert_allclose(out, np.log(u), rtol=1e-15, atol=1e-16)


def test_normals_are_normal() -> None:
    x = np.empty(2**20)
    fill_normals(stream(replica_seed(2, 0)), x)
    assert stats.kstest(x, "norm").pvalue > 1e-3
    # Moments 1 to 6, against 0 1 0 3 0 15 with the standard errors of a normal sample.
    for power, expected, variance in ((1, 0, 1), (2, 1, 2), (3, 0, 15), (4, 3, 96), (5, 0, 945), (6, 15, 10170)):
        assert abs((x**power).mean() - expected) < 4.5 * np.sqrt(variance / len(x))
    tail = int((np.abs(x) > 3.5).sum())
    assert abs(tail - len(x) * 2 * stats.norm.sf(3.5)) < 4.5 * np.sqrt(len(x) * 2 * stats.norm.sf(3.5))


def test_normals_of_a_block_are_independent() -> None:
    x = np.empty(BLOCK * 8192)
    fill_normals(stream(replica_seed(3, 0)), x)
    blocks = x.reshape(-1, BLOCK)
    # Both normals of a Box–Muller pair lie LANES apart in a block; their squares must not know of each other either.
    for values in (blocks, blocks**2):
        correlation = np.corrcoef(values.T)[np.triu_indices(BLOCK, 1)]
        assert np.abs(correlation).max() < 5.5 / np.sqrt(len(blocks))
    lag = np.mean(blocks[1:] * blocks[:-1])
    assert abs(lag) < 4.5 / np.sqrt(x.size)


def test_pairs_have_uniform_angles_within_each_octant() -> None:
    x = np.empty(BLOCK * 65536)
    fill_normals(stream(replica_seed(9, 0)), x)
    pairs = x.reshape(-1, 2, LANES)
    angle = np.arctan2(pairs[:, 0], pairs[:, 1]).ravel() / (np.pi / 4) + 4
    assert stats.kstest(angle % 1, "uniform").pvalue > 1e-3
    assert stats.chisquare(np.bincount(angle.astype(int) % 8)).pvalue > 1e-3
    assert stats.kstest((pairs**2).sum(axis=1).ravel(), stats.chi2(2).cdf).pvalue > 1e-3


def test_uniforms_are_uniform() -> None:
    u = np.empty(2**18)
    fill_uniforms(stream(replica_seed(4, 0)), u)
    assert u.min() >= 0
    assert u.max() < 1
    assert stats.kstest(u, "uniform").pvalue > 1e-3


@pytest.mark.parametrize("size", [0, 1, BLOCK - 1, BLOCK, BLOCK + 1, 1000])
def test_any_length_is_a_prefix_of_a_longer_one(size: int) -> None:
    whole, part = np.empty(1024), np.empty(size)
    fill_normals(stream(replica_seed(6, 1)), whole)
    fill_normals(stream(replica_seed(6, 1)), part)
    np.testing.assert_array_equal(part, whole[:size])


def test_replicas_have_streams_of_their_own() -> None:
    first, second = np.empty(256), np.empty(256)
    fill_normals(stream(replica_seed(7, 0)), first)
    fill_normals(stream(replica_seed(7, 1)), second)
    assert abs(np.corrcoef(first, second)[0, 1]) < 0.3
    assert not np.isin(first, second).any()
