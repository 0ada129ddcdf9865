"""The three flows of one eigenvalue of M under fixed data: with both R and N (or P), without R, and R alone. [P] §4."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from theory.autoencoder.limits.solution import LARGEST_EXPONENT, FloatArray


def logistic(start: float | FloatArray, y: FloatArray) -> FloatArray:
    """μ at y = rt for μ′ = −r(μ² − μ), without overflow at large y.

    >>> float(logistic(0.5, np.array(1e6)))
    1.0
    """
    return np.asarray(start / (np.exp(-y) + start * -np.expm1(-y)), dtype=float)


def rational(start: float | FloatArray, y: FloatArray) -> FloatArray:
    """μ at y = rt for μ′ = −rμ²."""
    return np.asarray(start / (1 + start * y), dtype=float)


def _logistic_loss(start: float, y: FloatArray) -> FloatArray:
    held = np.minimum(y, LARGEST_EXPONENT)
    decay = np.exp(-np.where(start == 0, held, y))  # at an eigenvalue 0 nothing moves, and 0/0 must not arise
    return np.asarray(((1 - start) * decay / (decay + start * -np.expm1(-y))) ** 2 / 2, dtype=float)


def _rational_loss(start: float, y: FloatArray) -> FloatArray:
    return rational(start, y) ** 2 / 2


def _exponential_loss(start: float, y: FloatArray) -> FloatArray:
    return np.asarray(-start * np.exp(y), dtype=float)


@dataclass(frozen=True)
class ScalarFlow:
    """A flow μ′ = r·Σ_k generator[k] μ^k, and the loss Σ_k initial[k] μ^k that is carried along.

    ``loss(a, y)`` is the loss at y = rt from μ(0) = a, the ½ of a squared distance to 1 included; for R alone the
    loss is −μ and its ½ is ``offset``. ``grows`` says that the loss leaves float64 at large y.
    """

    triangle: str
    generator: tuple[int, ...]
    initial: tuple[Fraction, ...]
    loss: Callable[[float, FloatArray], FloatArray]
    offset: float
    grows: bool

    def taylor(self, order: int) -> tuple[tuple[Fraction, ...], ...]:
        """Polynomials Q_s(a) with d^s loss/d(−y)^s = Q_s at y = 0 (constant ½ left out), s = 0 … order.

        >>> LOGISTIC.taylor(1)
        ((Fraction(0, 1), Fraction(-1, 1), Fraction(1, 2)), (Fraction(0, 1), Fraction(1, 1), ...
        """
        polynomials = [self.initial]
        for _ in range(order):
            slope = [k * c for k, c in enumerate(polynomials[-1])][1:]
            polynomials.append(_product(slope, [-Fraction(c) for c in self.generator]))
        return tuple(polynomials)


def _product(a: Sequence[Fraction], b: Sequence[Fraction]) -> tuple[Fraction, ...]:
    out = [Fraction(0)] * (len(a) + len(b) - 1)
    for i, x in enumerate(a):
        for j, y in enumerate(b):
            out[i + j] += x * y
    return tuple(out)


_HALF = Fraction(1, 2)
_NONE = Fraction(0)
LOGISTIC = ScalarFlow("R,N", (0, 1, -1), (_NONE, Fraction(-1), _HALF), _logistic_loss, 0.0, grows=False)
RATIONAL = ScalarFlow("N", (0, 0, -1), (_NONE, _NONE, _HALF), _rational_loss, 0.0, grows=False)
EXPONENTIAL = ScalarFlow("R", (0, 1), (_NONE, Fraction(-1)), _exponential_loss, 0.5, grows=True)
