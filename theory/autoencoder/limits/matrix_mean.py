"""The losses of a free pair M(0), S from finite matrices: what their positions miss of freeness is regressed out.

A model's losses differ from the limit because its words ⟨f(M)g(S)f′(M)g′(S)⟩ are not those of a free pair. Such a
word is known for each model, and so is its free value from the two spectra alone:

    ⟨ff′⟩⟨g⟩⟨g′⟩ + ⟨f⟩⟨f′⟩⟨gg′⟩ − ⟨f⟩⟨f′⟩⟨g⟩⟨g′⟩.

A linear regression of the losses on the misses gives them where the misses are 0: it takes away most of the scatter,
and with it the flat positions' bias of order 1/N.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import stdtrit

from theory.autoencoder.limits.matrix_flow import TOLERANCE, Sample, sample
from theory.autoencoder.limits.matrix_model import Pair, Shape
from theory.autoencoder.limits.solution import FloatArray, Ratios

_BENDS = (0.3,)
_CONFIDENCE = 0.995
_FLOORS = (1e-3, 1e-3, 1e-2, 1e-2)
"""At each level the part of the start below which a loss need not be known to the accuracy aimed at."""
_GOOD_ENOUGH = 3.0
"""The last level is dear: it is entered only where the errors are so many times what was aimed at."""
_LEVELS: tuple[tuple[tuple[int, int, int, int], ...], ...] = (
    ((24, 8, 4, 6), (48, 12, 5, 4)),
    ((24, 8, 4, 32), (48, 16, 6, 16)),
    ((32, 10, 5, 64), (64, 20, 7, 32)),
    ((48, 16, 7, 96), (96, 32, 9, 24)),
)
"""Size, least rank, blocks, and number of models, of the small and of the large models of each attempt."""


@dataclass(frozen=True)
class Estimate:
    """Both losses at each time, and what their errors are not expected to exceed."""

    train: FloatArray
    population: FloatArray
    train_error: FloatArray
    population_error: FloatArray


def matrix_estimate(
    ratios: Ratios,
    times: FloatArray,
    *,
    target: bool,
    accuracy: float,
    progress: Callable[[int, int], None] | None = None,
) -> Estimate:
    """Both losses from finite matrices, of growing size until the errors are below ``accuracy`` or the last is reached.

    Errors are parts of the loss, or of a thousandth of its start where it has fallen below that (a hundredth for the
    dearer sizes).
    """
    best: Estimate | None = None
    start = ratios.a_n * (ratios.a_p + ratios.a_n) / 2 + (0.5 - ratios.a_n if target else 0.0)
    for level, shapes in enumerate(_LEVELS):
        small, large = (
            sample(
                ratios,
                times,
                Shape.of(ratios.weights, ratios.data, size=size, least=least, blocks=blocks),
                range(count),
                target=target,
            )
            for size, least, blocks, count in shapes
        )
        found = _combined(small, large, regress=level > 0)
        best = found if best is None else _better(best, found)
        if progress is not None:
            progress(level + 1, len(_LEVELS))
        if _within(best, accuracy if level < len(_LEVELS) - 2 else _GOOD_ENOUGH * accuracy, _FLOORS[level] * start):
            break
    assert best is not None, "there is one level at least"
    train, population = _integration_error(ratios, times, target=target)
    return Estimate(best.train, best.population, best.train_error + train, best.population_error + population)


def _integration_error(ratios: Ratios, times: FloatArray, *, target: bool) -> tuple[FloatArray, FloatArray]:
    """What steps ten times as exact change, doubled, for two small models: no comparison of models shows it."""
    size, least, blocks, _ = _LEVELS[0][0]
    shape = Shape.of(ratios.weights, ratios.data, size=size, least=least, blocks=blocks)
    rough, fine = (
        sample(ratios, times, shape, range(2), target=target, tolerance=tolerance)
        for tolerance in (TOLERANCE, TOLERANCE / 10)
    )
    return (
        2 * np.max(np.abs(rough.train - fine.train), axis=0),
        2 * np.max(np.abs(rough.population - fine.population), axis=0),
    )


def _within(found: Estimate, accuracy: float, floor: float) -> bool:
    return all(
        bool(np.all(error <= accuracy * np.maximum(np.abs(value), floor)))
        for value, error in ((found.train, found.train_error), (found.population, found.population_error))
    )


def _better(one: Estimate, other: Estimate) -> Estimate:
    """Time by time the one with the smaller error."""

    def pick(a: FloatArray, e: FloatArray, b: FloatArray, f: FloatArray) -> tuple[FloatArray, FloatArray]:
        first = ~(f < e)
        return np.where(first, a, b), np.where(first, e, f)

    train, train_error = pick(one.train, one.train_error, other.train, other.train_error)
    population, population_error = pick(one.population, one.population_error, other.population, other.population_error)
    return Estimate(train, population, train_error, population_error)


def _combined(small: Sample, large: Sample, *, regress: bool) -> Estimate:
    parts = (small, large)
    if regress:
        misses = np.concatenate([[_misses(one, part.shape.size) for one in part.pairs] for part in parts])
    else:
        misses = np.zeros((sum(len(part.pairs) for part in parts), 0))
    is_small = np.repeat([1.0, 0.0], [len(small.pairs), len(large.pairs)])
    train, train_error = _intercept(np.concatenate([small.train, large.train]), misses, is_small)
    population, population_error = _intercept(np.concatenate([small.population, large.population]), misses, is_small)
    return Estimate(train, population, train_error, population_error)


def _intercept(values: FloatArray, misses: FloatArray, is_small: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The large models' loss where the misses are 0, and its error: the scatter, and what it changed from the small."""
    unit = np.std(misses, axis=0)
    columns = np.concatenate([np.ones((len(values), 1)), is_small[:, None], (misses / unit)[:, unit > 0]], axis=1)
    weights = np.where(is_small > 0, 0.5, 1.0)[:, None]  # the small models scatter about twice as much
    inverse = np.linalg.pinv(columns * weights)
    found = inverse @ (values * weights)
    freedom = max(1, len(values) - columns.shape[1])
    variance = np.sum(((values - columns @ found) * weights) ** 2, axis=0) / freedom
    quantile = float(stdtrit(freedom, _CONFIDENCE))
    scatter = quantile * np.sqrt(variance * float(np.sum(inverse[0] ** 2)))
    return found[0], scatter + np.abs(found[1]) / 2 + 1e-6 * np.max(np.abs(values))


def _misses(one: Pair, size: int) -> FloatArray:
    """What each word of two functions of M(0) and two of S misses of its free value."""
    values, vectors = np.linalg.eigh(one.factor @ one.factor.conj().T)
    rotated = (vectors / np.sqrt(np.maximum(values, np.finfo(float).tiny))).conj().T @ one.factor
    unit_m, unit_s = one.weights_spectrum.sum() / size, one.data_spectrum.sum() / size
    of_m, known_m = _functions(values / unit_m), _functions(one.weights_spectrum / unit_m)
    of_s, known_s = _functions(one.spectrum / unit_s), _functions(one.data_spectrum / unit_s)
    blocks = [(rotated * g) @ rotated.conj().T for g in of_s]

    def mean(*factors: FloatArray) -> float:
        return float(np.prod(factors, axis=0).sum()) / size

    found = []
    for (i, j), (k, l) in itertools.product(itertools.combinations_with_replacement(range(len(of_m)), 2), repeat=2):
        word = float(np.real(of_m[i] @ (blocks[k] * blocks[l].T) @ of_m[j])) / size
        f, h, g, e = known_m[i], known_m[j], known_s[k], known_s[l]
        two, other = mean(f) * mean(h), mean(g) * mean(e)
        found.append(word - (mean(f, h) * other + two * mean(g, e) - two * other))
    return np.array(found)


def _functions(x: FloatArray) -> list[FloatArray]:
    """Bounded ones besides x itself: at late times a loss lives on small eigenvalues."""
    return [x, *(x / (x + bend) for bend in _BENDS)]
