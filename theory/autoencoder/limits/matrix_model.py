"""Finite matrices in the place of the free pair M(0), S: any ratios, any times, errors that fall with the size.

The Galerkin scheme of ``free_product`` converges quickly at early times only. Here M(0) and S are matrices of a size N
whose eigenvalues are the equal-mass nodes of their Marchenko–Pastur laws, so each has its law up to O(1/N²), and whose
eigenvectors are related by a **flat** unitary V, |V_ij|² = 1/N: the discrete Fourier transform, both spectra placed on
it in scrambled order. Flatness makes ⟨f(M)g(S)⟩ = ⟨f⟩⟨g⟩ exact; complex entries leave no bias of order 1/N (Haar
unitaries have Weingarten corrections in 1/N²); longer words miss freeness by O(1/N), with a sign that depends on the
order. The mean over several orders is taken, their scatter is the error. Orders come from a fixed mixing function: the
result is a function of the ratios and times alone.

The flow is that of a factor, M = U*U, U′ = −(η/pm) U(MS + SM − 2S): M stays positive, and its rank stays what it is.
Where m ≪ p the space is cut down to the Krylov space of M(0) over the range of S, in blocks (the many-vector form of
``small_data``): M changes nowhere else.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from theory.autoencoder.limits.marchenko_pastur import MarchenkoPastur
from theory.autoencoder.limits.solution import FloatArray, Ratios

ComplexArray = npt.NDArray[np.complexfloating]
IntArray = npt.NDArray[np.int64]
_GRID = 4001
_ANGLES = 16
_RANK = 1e-9


@dataclass(frozen=True)
class Shape:
    """How many rows the model has: ``size`` for the space, ``weights`` and ``data`` for the ranks of M(0) and S."""

    size: int
    weights: int
    data: int
    blocks: int | None
    """So many blocks of the Krylov space are kept; ``None``: the whole space."""
    nodes: int | None
    """S has so many different eigenvalues, a Gauss rule; ``None``: each its own."""

    @classmethod
    def of(cls, weights: float, data: float, *, size: int, least: int, blocks: int = 8, nodes: int = 12) -> Shape:
        """About ``size``, but no rank below ``least``; of the sizes up to a quarter more the one that rounds least.

        >>> Shape.of(0.5, 2.0, size=48, least=12)
        Shape(size=48, weights=24, data=48, blocks=None, nodes=None)
        """
        parts = [min(1.0, weights), min(1.0, data)]
        first = max(size, math.ceil(least / min(parts)))

        def miss(p: int) -> float:
            return sum(abs(round(part * p) / (part * p) - 1) for part in parts)

        p = min(range(first, first + first // 4 + 1), key=lambda p: (round(miss(p), 4), p))
        n, m = (round(part * p) for part in parts)
        narrow, few = p >= (nodes + 2) * n, p >= (blocks + 1) * m
        return cls(p, n, m, blocks if few and not (narrow and n < m) else None, nodes if narrow and n < m else None)


@lru_cache(maxsize=64)
def _cumulated(ratio: float) -> tuple[FloatArray, FloatArray]:
    """Mass and first moment of the continuous part of MP below a fine grid of angles."""
    law = MarchenkoPastur(ratio)
    width = 4 * math.sqrt(ratio)
    nodes, weights = np.polynomial.legendre.leggauss(_ANGLES)
    ends = np.linspace(0.0, math.pi, _GRID)
    half = (ends[1] - ends[0]) / 2
    angle = (ends[:-1] + half)[:, None] + half * nodes
    x = law.lower_edge + width * np.sin(angle / 2) ** 2
    mass = half * weights * 2 * ratio * np.sin(angle) ** 2 / (math.pi * x)
    return tuple(np.concatenate([[0.0], np.cumsum(part.sum(axis=1))]) for part in (mass, mass * x))  # type: ignore[return-value]


def equal_mass_nodes(ratio: float, count: int) -> FloatArray:
    """The means of MP(``ratio``) over ``count`` intervals of equal mass, of its continuous part; increasing.

    >>> equal_mass_nodes(2.0, 2).round(4).tolist()
    [0.8411, 3.1589]
    """
    mass, moment = _cumulated(ratio)
    at = np.interp(np.linspace(0.0, mass[-1], count + 1), mass, moment)
    found: FloatArray = np.diff(at) * count / mass[-1]
    return found


def _spectrum(ratio: float, rank: int, size: int, *, nodes: int | None = None) -> FloatArray:
    """``rank`` eigenvalues of a matrix of ``size``; the first two moments of the law, atom included, are exact."""
    found = equal_mass_nodes(ratio, rank) if nodes is None else _gauss_clusters(ratio, rank, nodes)
    law = MarchenkoPastur(ratio)
    spread = law.moment(2) / law.moment(1) ** 2
    power, log = 1.0, np.log(found)
    for _ in range(4 if rank > 1 else 0):  # of found^power the second moment in units of the first
        powered = found**power
        first, second = powered.sum() / size, (powered**2).sum() / size
        slope = 2 * ((powered**2 * log).sum() / second - (powered * log).sum() / first) / size
        power -= (1 - spread * first**2 / second) / slope
    powered = found**power
    return np.asarray(powered * (ratio * size / powered.sum()))


def _gauss_clusters(ratio: float, rank: int, nodes: int) -> FloatArray:
    """The Gauss rule of the law without its atom, each node as often as its weight says, once at least."""
    diagonal, off = MarchenkoPastur(max(ratio, 1 / ratio)).jacobi(nodes)  # the law without its atom is of such a kind
    x, vectors = np.linalg.eigh(np.diag(diagonal) + np.diag(off, 1) + np.diag(off, -1))
    weight = vectors[0] ** 2
    if ratio < 1:  # MP(r) = (1 − r)δ + r · (law of r times MP(1/r))
        x = ratio * x
    ends = np.round(np.cumsum(weight) * rank).astype(int)
    counts = np.diff(ends, prepend=0)
    kept = counts > 0
    return np.repeat(x[kept], counts[kept])


def scrambled(count: int, key: int) -> IntArray:
    """A fixed permutation of 0 … count−1 for each key, as if drawn (the SplitMix64 mixing function sorts it).

    >>> sorted(scrambled(5, 1).tolist())
    [0, 1, 2, 3, 4]
    """
    with np.errstate(over="ignore"):
        z = (np.arange(1, count + 1, dtype=np.uint64) + np.uint64(key * 0x10001)) * np.uint64(0x9E3779B97F4A7C15)
        for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
            z = (z ^ (z >> np.uint64(shift))) * np.uint64(factor)
    return np.argsort(z ^ (z >> np.uint64(31)))


@dataclass(frozen=True, eq=False)
class Pair:
    """One model: the factor U of M(0) in units of σ²p, and the eigenvalues of S in units of p, S diagonal.

    Only what moves is kept; ``weights_spectrum`` and ``data_spectrum`` are the eigenvalues other than 0 of the whole.
    """

    factor: ComplexArray
    spectrum: FloatArray
    weights_spectrum: FloatArray
    data_spectrum: FloatArray


def pair(ratios: Ratios, shape: Shape, key: int) -> Pair:
    """M(0) and S in the positions of one order, cut down to the space in which M moves.

    >>> one = pair(Ratios(1.0, 1.0, 1.0, 1.0, 1.0, 1.0), Shape.of(1.0, 1.0, size=16, least=8), 0)
    >>> weight = np.abs(one.factor) ** 2
    >>> round(float(weight.sum() / 16), 6), round(float((weight @ one.spectrum).sum() / 16), 6)
    (1.0, 1.0)
    """
    size = shape.size
    of_weights = _spectrum(ratios.weights, shape.weights, size)
    of_data = _spectrum(ratios.data, shape.data, size, nodes=shape.nodes)
    roots = np.sqrt(of_weights)[:, None]
    rows, columns = scrambled(size, 2 * key)[: shape.weights], scrambled(size, 2 * key + 1)
    if shape.blocks is not None:
        factor, spectrum = _krylov(roots, of_data, rows, columns[: shape.data], shape)
    else:
        spectrum = np.zeros(size)
        spectrum[columns[: shape.data]] = of_data
        phase = np.outer(rows, np.arange(size)) % size
        factor = roots * np.exp(2j * math.pi / size * phase) / math.sqrt(size)
        if shape.nodes is not None:
            factor, spectrum = _clustered(factor, spectrum)
    return Pair(factor, spectrum, of_weights, of_data)


def _clustered(factor: ComplexArray, spectrum: FloatArray) -> tuple[ComplexArray, FloatArray]:
    """Columns of one eigenvalue of S rotated among themselves, so that no more of them than rows are left."""
    parts: list[ComplexArray] = []
    values: list[FloatArray] = []
    for value in np.unique(spectrum):
        part = factor[:, spectrum == value]
        if part.shape[1] > part.shape[0]:
            _, triangle = np.linalg.qr(part.conj().T)
            part = triangle.conj().T
        parts.append(part)
        values.append(np.full(part.shape[1], value))
    return np.concatenate(parts, axis=1), np.concatenate(values)


def _krylov(
    roots: FloatArray, of_data: FloatArray, rows: IntArray, columns: IntArray, shape: Shape
) -> tuple[ComplexArray, FloatArray]:
    """The factor between orthonormal bases of the Krylov space of M(0) over the range of S and of its image."""

    def act(x: ComplexArray) -> ComplexArray:
        return np.asarray(roots * np.fft.ifft(x, axis=0, norm="ortho")[rows])

    def back(y: ComplexArray) -> ComplexArray:
        spread = np.zeros((shape.size, y.shape[1]), dtype=complex)
        spread[rows] = roots * y
        return np.asarray(np.fft.fft(spread, axis=0, norm="ortho"))

    assert shape.blocks is not None, "a Krylov space is cut after a number of blocks"
    start = np.zeros((shape.size, shape.data), dtype=complex)
    start[columns, np.arange(shape.data)] = 1
    right, left = [start], [_orthonormal(act(start), [])]
    while len(right) < shape.blocks:
        following = _orthonormal(back(left[-1]), right)
        if not following.shape[1]:
            break
        right.append(following)
        if len(right) == shape.blocks and shape.weights < shape.size:
            break  # M(0) has a kernel: so has what is kept of it
        rest = _orthonormal(act(following), left)
        if not rest.shape[1]:
            break
        left.append(rest)
    basis = np.concatenate(right, axis=1)
    spectrum = np.zeros(basis.shape[1])
    spectrum[: shape.data] = of_data
    return np.concatenate(left, axis=1).conj().T @ act(basis), spectrum


def _orthonormal(x: ComplexArray, before: list[ComplexArray]) -> ComplexArray:
    """An orthonormal basis of what x adds to the space of ``before``."""
    size = np.linalg.norm(x)
    for _ in range(2):
        for block in before:
            x = x - block @ (block.conj().T @ x)
    u, singular, _ = np.linalg.svd(x, full_matrices=False)
    return np.asarray(u[:, singular > _RANK * size])
