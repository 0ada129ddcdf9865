"""Explicit losses of the CP regimes that have them, as functions of time. [D] §7–9; here derived and checked by series.

Each is the face's own leading expression, for p or H → ∞; time is t, learning rate η.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import prod

import numpy as np
import numpy.typing as npt

from theory.errors import InputError

Array = npt.NDArray[np.float64]
Loss = Callable[[Array], Array]

_NODES = 60


@dataclass(frozen=True)
class CPSizes:
    """p dimensions, H terms, entries of variance sigma2 at the start, learning rate eta.

    >>> CPSizes(p=10, H=2, sigma2=0.1).square_norm
    1.0
    """

    p: float
    H: float
    sigma2: float
    eta: float = 1.0

    @property
    def square_norm(self) -> float:
        """σ²p, the squared norm of a factor at the start."""
        return self.sigma2 * self.p


def cp_limit(order: int, sizes: CPSizes, *, symmetric: bool, face: str) -> Loss | None:
    """The leading loss on a face (its rates, letters of ``RNP``) as a function of time; ``None`` where none is known.

    >>> loss = cp_limit(3, CPSizes(p=5, H=400, sigma2=0.04), symmetric=False, face="N")
    >>> [round(float(x), 4) for x in loss(np.array([0.0, 0.5]))]
    [4.1, 0.6011]

    Raises ``InputError`` for a face that is not one of the triangle's.
    """
    if face not in ("RNP", "NP", "RN", "RP", "R", "N", "P"):
        raise InputError("face", given=face, expected="rates of R, N, P in this order", remedy='use for example "RN"')
    if symmetric and order == 2:
        return _matrix(sizes, face)
    if face == "P":
        return free_single(order, sizes, symmetric=symmetric)
    if face == "N" and not symmetric:
        return ntk(order, sizes)
    if face == "N" and order % 2 == 0:
        return free_mean(order, sizes)
    if face == "N" and order == 3:
        return ntk_symmetric(sizes)
    return None


def ntk(order: int, sizes: CPSizes) -> Loss:
    """Asymmetric, H → ∞: the kernel stays νHσ^{2ν−2} · 1, and the loss decays exponentially.

    L = (½p + ½Hp^νσ^{2ν}) exp(−2νHσ^{2ν−2}ηt): the kernel is Σ_a Σ_h Π_{b≠a} u^b u^bᵀ, each of its ν parts of mean
    Hσ^{2ν−2}.
    """
    rate = 2 * order * sizes.H * sizes.sigma2 ** (order - 1) * sizes.eta
    start = sizes.p / 2 + sizes.H * sizes.square_norm**order / 2
    return lambda t: start * np.exp(-rate * t)


def ntk_symmetric(sizes: CPSizes) -> Loss:
    """Symmetric, ν = 3, H → ∞ at any p: the kernel's mean has two eigenvalues on symmetric tensors.

    3H(p+8)σ⁴ on v ⊗ δ, symmetrised (the trace part), and 18Hσ⁴ on those without trace. The trace part of the target has
    the share 3/(p+2), that of a term u ⊗ u ⊗ u too.
    """
    p, base = sizes.p, 2 * sizes.H * sizes.sigma2**2 * sizes.eta
    terms = sizes.H * sizes.sigma2**3 * p * (p + 4)
    start = (p + terms * (p + 2)) / 2
    trace = 3 / (p + 2) * start

    def loss(t: Array) -> Array:
        return np.asarray(trace * np.exp(-3 * (p + 8) * base * t) + (start - trace) * np.exp(-18 * base * t))

    return loss


def free_single(order: int, sizes: CPSizes, *, symmetric: bool) -> Loss:
    """The target and the other terms dropped: each term shrinks alone, q = |u|² from σ²p by q′ = −2κη q^ν.

    κ is ν for a symmetric term and 1 for an asymmetric one, whose factors all have the norm q. L = ½Hq^ν.
    """
    kappa = order if symmetric else 1
    rate = 2 * kappa * (order - 1) * sizes.square_norm ** (order - 1) * sizes.eta
    start = sizes.H * sizes.square_norm**order / 2
    return lambda t: start * (1 + rate * t) ** (-order / (order - 1))


def free_mean(order: int, sizes: CPSizes) -> Loss:
    """Symmetric, even order, H → ∞, the target dropped: the mean of the terms shrinks, on which each of them moves.

    With q = |u|², E u^{⊗ν} = (q/p)^{ν/2} × the sum of the (ν−1)!! pairings, so q′ = −2ν(ν−1)!! η H p^{−ν/2} q^ν, and
    L = ½(ν−1)!! H² p^{−ν/2} q^ν.
    """
    pairings = prod(range(1, order, 2))
    scale = pairings * sizes.H * sizes.p ** (-order / 2)
    rate = 2 * order * (order - 1) * scale * sizes.square_norm ** (order - 1) * sizes.eta
    start = scale * sizes.H * sizes.square_norm**order / 2
    return lambda t: start * (1 + rate * t) ** (-order / (order - 1))


def _matrix(sizes: CPSizes, face: str) -> Loss:
    """Symmetric, order 2: each eigenvalue μ of UᵀU follows μ′ = 4η(μ − μ²), or −4ημ² without the target."""
    target = "R" in face
    if face in ("R", "RP", "P"):  # eigenvalues σ²p, H of them; the others stay 0
        starts, weights, others = np.array([sizes.square_norm]), np.array([sizes.H]), sizes.p
    elif face in ("RN", "N"):
        starts, weights, others = np.array([sizes.sigma2 * sizes.H]), np.array([sizes.p]), 0.0
    else:
        starts, weights, others = marchenko_pastur(sizes)

    def loss(t: Array) -> Array:
        time = 4 * sizes.eta * np.asarray(t, dtype=float)[..., None]
        if face == "R":
            return np.asarray(sizes.p / 2 - (weights * starts * np.exp(time)).sum(axis=-1))
        if target:
            grown = np.exp(time)
            values = starts * grown / (1 + starts * (grown - 1))
            if face == "RP":  # H ≪ p: the p − H zero eigenvalues count as p
                return np.asarray(sizes.p / 2 + (weights * (values**2 / 2 - values)).sum(axis=-1))
            return np.asarray((weights * (1 - values) ** 2 / 2).sum(axis=-1) + others / 2)
        return np.asarray((weights * (starts / (1 + starts * time)) ** 2 / 2).sum(axis=-1))

    return loss


def marchenko_pastur(sizes: CPSizes) -> tuple[Array, Array, float]:
    """Nodes and weights (summing to min(p, H)) of the law of UᵀU's non-zero eigenvalues, and how many are 0.

    Gauss quadrature from the Jacobi matrix of the law of (1/p)GᵀG, G H×p: diagonal r, r+1, …, off it √r, r = H/p.

    >>> nodes, weights, zeros = marchenko_pastur(CPSizes(p=4.0, H=2.0, sigma2=0.5))
    >>> round(float(weights @ nodes), 10), round(float(weights.sum()), 6), zeros
    (4.0, 2.0, 2.0)
    """
    large, small = max(sizes.p, sizes.H), min(sizes.p, sizes.H)
    ratio = large / small  # of the smaller Gram matrix, which has no atom at 0
    diagonal = np.full(_NODES, ratio + 1)
    diagonal[0] = ratio
    jacobi = np.diag(diagonal) + np.sqrt(ratio) * (np.eye(_NODES, k=1) + np.eye(_NODES, k=-1))
    nodes, vectors = np.linalg.eigh(jacobi)
    return nodes * small * sizes.sigma2, small * vectors[0] ** 2, sizes.p - small
