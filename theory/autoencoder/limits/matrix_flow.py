"""The flow of the finite matrices of ``matrix_model``, a stack of them at a time, in single precision.

U′ = −(η/pm) U(MS + SM − 2S) with M = U*U, by Dormand and Prince's pair of orders 5 and 4.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from theory.autoencoder.limits.marchenko_pastur import MarchenkoPastur
from theory.autoencoder.limits.matrix_model import ComplexArray, Pair, Shape, pair
from theory.autoencoder.limits.solution import FloatArray, Ratios
from theory.autoencoder.limits.stepping import steps_to

TOLERANCE = 1e-4
_MOST_STEPS = 3000
_STILL = 1e-4


@dataclass(frozen=True, eq=False)
class Sample:
    """Both losses of several models of one shape, of shape (models, times); NaN from where the flow stopped."""

    shape: Shape
    pairs: tuple[Pair, ...]
    train: FloatArray
    population: FloatArray


def sample(
    ratios: Ratios, times: FloatArray, shape: Shape, keys: range, *, target: bool, tolerance: float = TOLERANCE
) -> Sample:
    """The losses of the models of these keys at increasing times, integrated together.

    >>> found = sample(Ratios(1.0, 1.0, 1.0, 1.0, 1.0, 1.0), np.array([0.0, 0.2]), Shape.of(1, 1, size=32, least=8),
    ...     range(4), target=False)
    >>> found.population.mean(axis=0).round(2).tolist()
    [1.0, 0.26]
    """
    pairs = tuple(pair(ratios, shape, key) for key in keys)
    U = (math.sqrt(ratios.a_p) * np.array([one.factor for one in pairs])).astype(np.complex64)
    s = np.array([one.spectrum for one in pairs]).astype(np.float32)[:, None, :]
    wide = U.shape[1] * 4 >= U.shape[2] * 3
    pull = np.float32(2.0 if target else 0.0)

    def slope(u: ComplexArray) -> ComplexArray:
        adjoint, us = u.conj().swapaxes(1, 2), u * s
        if wide:
            square = adjoint @ u
            return np.asarray(pull * us - (u @ square) * s - us @ square)
        return np.asarray(pull * us - (u @ adjoint) @ us - (us @ adjoint) @ u)

    def distance(u: ComplexArray) -> tuple[FloatArray, FloatArray]:
        square = u.conj().swapaxes(1, 2) @ u
        if target:
            square = np.eye(u.shape[2], dtype=np.float32) - square
        size = np.square(square.real, dtype=np.float64) + np.square(square.imag, dtype=np.float64)
        return (size * s).sum(axis=(1, 2)), size.sum(axis=(1, 2))

    a_p, law = ratios.a_p, MarchenkoPastur(ratios.weights)
    first = a_p**2 * law.moment(2) / 2 + (0.5 - a_p * law.moment(1) if target else 0.0)
    train, population = np.empty((2, len(keys), times.size))
    before = distance(U)[1]
    whole, kept = (math.fsum(part) for part in (pairs[0].data_spectrum, pairs[0].spectrum))
    still = whole - kept if target else 0.0  # ⟨S⟩ of what has been rotated away
    run = steps_to(slope, U, ratios.per_m * times, tolerance=tolerance, most_steps=_MOST_STEPS, still=_STILL)
    for i, u in enumerate(run):
        on_data, everywhere = distance(u)
        train[:, i] = (on_data + still) / (2 * shape.size * ratios.data)
        population[:, i] = first + (everywhere - before) / (2 * shape.size)
    return Sample(shape, pairs, train, population)
