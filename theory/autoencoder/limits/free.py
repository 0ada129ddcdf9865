"""The free regime {N,P}×{m,p} and the interior {R,N,P}×{m,p}, for which no formula is known: a free-product algebra.

M(0) and S are free, so M(t) is an element of the algebra they generate, [P] §4. It is followed there by Galerkin's
method: M is kept as its orthogonal projection on the words of total degree up to K, and

    dM/dt = −(η/pm) (SM² + M²S + 2MSM − 2SM − 2MS)          (no −2 terms without the target)

is projected on them. L = ½‖1 − M‖² and L̂ = ½⟨(1 − M)S(1 − M)⟩/m, ‖·‖ and ⟨·⟩ for the trace. Both converge geometrically
in K at fixed time, the slower the later, so K grows until the extrapolated values settle.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from theory.autoencoder.limits.exact import exact_coefficients
from theory.autoencoder.limits.free_product import FreeProduct, Letter
from theory.autoencoder.limits.integration import integrate_as_far
from theory.autoencoder.limits.marchenko_pastur import MarchenkoPastur
from theory.autoencoder.limits.solution import Asymptote, Curves, FloatArray, Formula, Kind, LimitSolution, Loss, Ratios
from theory.engine.laurent import Laurent
from theory.errors import BudgetError, InputError, ReachError

LOWEST_DEGREE = 4
DEFAULT_DEGREE = 11
LARGEST_DEGREE = 16
_ACCURACY = 1e-3
_REACH = 0.05
_TOLERANCE = 1e-7
_FINER = 1e-2
_BACK = 3
"""The extrapolation takes the truncations of so many degrees before the last one; the lowest is integrated twice."""
_SECONDS_ALLOWED = 600.0
_MOST_CONTRACTION = 0.85
_MOST_RELAXATIONS = 300.0
"""The latest time in units of the fastest initial rate; at p = n = m, σ²p = 1 it is ηt = 19p, far beyond the reach."""


@dataclass(frozen=True)
class Truncation:
    """Both losses with words of total degree up to ``degree``; no extrapolation.

    NaN from where the truncated flow, which does not keep M positive, ran away.
    """

    degree: int
    train: FloatArray
    population: FloatArray


def estimated_seconds(degree: int) -> float:
    """About how long one truncation takes to integrate to ηt ~ p, from its operation count and a usual core."""
    return float(1.5e-6 * degree * 2.0 ** (1.5 * degree))


def estimated_bytes(degree: int) -> int:
    """Memory of one truncation: some thirty vectors of words."""
    return 30 * 8 * (4 << degree)


def truncate(
    ratios: Ratios, times: FloatArray, *, target: bool, degree: int, tolerance: float = _TOLERANCE
) -> Truncation:
    """Galerkin's approximation of both losses by words of total degree up to ``degree``.

    M is integrated in units of ‖M(0)‖, to the relative ``tolerance``.

    >>> flow = truncate(Ratios(1.0, 1.0, 1.0, 1.0, 1.0, 1.0), np.array([0.0, 0.1]), target=False, degree=5)
    >>> flow.population.round(4).tolist()
    [1.0, 0.3867]

    Raises ``InputError`` for a degree below 2, ``BudgetError`` above 16 or where it would take more than ten minutes.
    """
    _check_degree(degree)
    _check_times(ratios, times, target=target)
    algebra = FreeProduct.of(
        Letter.marchenko_pastur(ratios.weights, 1.0, degree + 1),
        Letter.marchenko_pastur(ratios.data, 1.0, degree + 1),
        degree,
    )
    T = ratios.per_m * times  # with S in units of p
    start = algebra.letter()
    norm = float(np.linalg.norm(start))
    unit = ratios.a_p * norm
    elements = integrate_as_far(
        lambda x: _slope(algebra, x, unit=unit, target=target),
        start / norm,
        T,
        method="RK45",
        rtol=tolerance,
        atol=tolerance * 1e-2,
    )
    train, population = np.empty((2, T.size))
    with np.errstate(all="ignore"):
        for i, element in enumerate(elements.T):
            distance = unit * (-element if target else element)
            if target:
                distance[1] += 1
            train[i] = distance @ algebra.times_second(distance, degree) / (2 * ratios.data)
            population[i] = distance @ distance / 2
    return Truncation(degree, train, population)


def _check_degree(degree: int) -> None:
    if isinstance(degree, bool) or not isinstance(degree, int) or degree < 2:
        raise InputError("degree", given=degree, expected="a whole number from 2", remedy="use --degree 10")
    if degree > 10 * LARGEST_DEGREE:  # an estimate would not fit into a float
        raise InputError("degree", given=degree, expected=f"up to {LARGEST_DEGREE}", remedy="use --degree 10")
    if degree > LARGEST_DEGREE or estimated_seconds(degree) > _SECONDS_ALLOWED:
        raise BudgetError(
            f"words of degree {degree}",
            estimate=f"{estimated_bytes(degree) / 2**20:.3g} MB and {estimated_seconds(degree):.2g} s",
            limit=f"degree {LARGEST_DEGREE} and {_SECONDS_ALLOWED:g} s",
            remedy="take a lower degree; the extrapolation in the degree is more accurate than the last few",
        )


def _check_times(ratios: Ratios, times: FloatArray, *, target: bool) -> None:
    """Refuse times at which no degree that fits could settle, before integrating up to them."""
    fastest = MarchenkoPastur(ratios.data).upper_edge * ratios.per_m
    drive = ratios.a_p * MarchenkoPastur(ratios.weights).upper_edge
    latest = _MOST_RELAXATIONS / (fastest * (max(1.0, drive) if target else drive))
    if times[-1] > latest:
        raise ReachError(
            f"limit {'interior' if target else 'free'}",
            given=float(times[-1]),
            reach=f"at most t = {latest:.3g} with words of any degree that fits",
            remedy="ask for earlier times",
        )


def _slope(algebra: FreeProduct, x: FloatArray, *, unit: float, target: bool) -> FloatArray:
    """Of M in units of ``unit``."""
    degree = algebra.degree
    square = algebra.product(x, x, degree + 1)
    once = algebra.times_second(x, degree + 1)
    half = unit * (algebra.times_second(square, degree) + algebra.product(x, once, degree))
    if target:
        half -= 2 * once[: x.size]
    return -(half + algebra.adjoint(half))


@dataclass(frozen=True)
class Extrapolated:
    """Both losses extrapolated in the degree, with an error estimate for each; ``degree`` is the last one used."""

    degree: int
    train: FloatArray
    population: FloatArray
    train_error: FloatArray
    population_error: FloatArray


def extrapolate(
    ratios: Ratios,
    times: FloatArray,
    *,
    target: bool,
    degree: int | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Extrapolated:
    """Both losses from truncations of growing degree, extrapolated as geometric sequences (Aitken).

    Without ``degree`` the sequence ends where both losses are good to 1e−3 at every time, or at degree 11; with it,
    there. The error estimate is the larger of the extrapolated part and the last change of the extrapolated value, and
    what a finer integration changes, which no comparison of degrees shows.
    """
    last = DEFAULT_DEGREE if degree is None else degree
    _check_degree(last)
    last = max(last, LOWEST_DEGREE + 3)
    runs: list[Truncation] = []
    for k in range(LOWEST_DEGREE, last + 1):
        runs.append(truncate(ratios, times, target=target, degree=k))
        if progress is not None:
            progress(len(runs), last - LOWEST_DEGREE + 1)
        if len(runs) < 4:
            continue
        train, train_error = _aitken([run.train for run in runs])
        population, population_error = _aitken([run.population for run in runs])
        settled = np.all(train_error <= _ACCURACY * np.abs(train)) and np.all(
            population_error <= _ACCURACY * np.abs(population)
        )  # NaN compares false
        if degree is None and settled:
            break
    rough = runs[-1 - _BACK]
    fine = truncate(ratios, times, target=target, degree=rough.degree, tolerance=_TOLERANCE * _FINER)
    return Extrapolated(
        runs[-1].degree,
        train,
        population,
        train_error + 2 * np.abs(fine.train - rough.train),
        population_error + 2 * np.abs(fine.population - rough.population),
    )


def _aitken(sequence: list[FloatArray]) -> tuple[FloatArray, FloatArray]:
    def at(end: int) -> FloatArray:
        last, before = sequence[end] - sequence[end - 1], sequence[end - 1] - sequence[end - 2]
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = np.where(before != 0, last / before, 0.0)
        ratio = np.clip(ratio, 0.0, _MOST_CONTRACTION)
        return np.asarray(sequence[end] + last * ratio / (1 - ratio))

    end = len(sequence) - 1
    best, earlier = at(end), at(end - 1)
    error = np.maximum(np.abs(best - sequence[end]), np.abs(best - earlier)) + 10 * _TOLERANCE * np.abs(best)
    return best, error


def algebra_curves(
    ratios: Ratios,
    times: FloatArray,
    *,
    target: bool,
    degree: int | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> tuple[Curves, int]:
    """The extrapolated losses and the degree they took.

    Raises ``ReachError`` where either loss is uncertain by more than 5 % at the last times.
    """
    found = extrapolate(ratios, times, target=target, degree=degree, progress=progress)
    error = np.maximum(found.train_error, found.population_error)
    certain = (
        np.isfinite(error)
        & (found.train_error <= _REACH * np.abs(found.train))
        & (found.population_error <= _REACH * np.abs(found.population))
    )
    if not np.all(certain):
        good = times[: int(np.argmin(certain))]
        raise ReachError(
            f"limit {'interior' if target else 'free'}",
            given=float(times[-1]),
            reach=f"t = {float(good[-1]) if good.size else 0.0:g} among these, with words of degree {found.degree}",
            remedy="ask for earlier times, or for a higher degree with --degree",
        )
    return Curves(found.train, found.population, error), found.degree


def _leading(loss: Loss, order: int, sigma2: int) -> tuple[Laurent, ...]:
    weights = {"p": Fraction(1), "n": Fraction(1), "m": Fraction(1), "sigma2": Fraction(sigma2)}
    return tuple(coefficient.leading(weights) for coefficient in exact_coefficients(loss, order))


_KIND: Kind = "free-product algebra"
_METHOD = "Galerkin in the free-product algebra of M(0) and S, extrapolated in the degree of the words"
_FREE_WHERE = (
    r"M(0) \sim \sigma^2 p\cdot \mathrm{MP}(n/p),\quad S \sim p\cdot\mathrm{MP}(m/p),\quad \text{free}",
    r"\langle\cdot\rangle = \lim \frac{1}{p}\mathrm{Tr}",
)

INTERIOR = LimitSolution(
    "R,N,P|m,p",
    _KIND,
    _METHOD,
    Formula(
        train=r"\frac{1}{2m}\langle (1-M)S(1-M)\rangle",
        population=r"\frac{1}{2}\langle (1-M)^2\rangle",
        where=(r"M' = -\frac{\eta}{pm}\left(SM^2 + M^2S + 2MSM - 2SM - 2MS\right)", *_FREE_WHERE),
        large_time=r"\text{no formula known}",
    ),
    lambda ratios, times: algebra_curves(ratios, times, target=True)[0],
    lambda loss, order: _leading(loss, order, -1),
    lambda ratios, times: Asymptote(None, None),  # noqa: ARG005
)
FREE = LimitSolution(
    "N,P|m,p",
    _KIND,
    _METHOD,
    Formula(
        train=r"\frac{1}{2m}\langle MSM\rangle",
        population=r"\frac{1}{2}\langle M^2\rangle",
        where=(r"M' = -\frac{\eta}{pm}\left(SM^2 + M^2S + 2MSM\right)", *_FREE_WHERE),
        large_time=r"\text{no formula known}",
    ),
    lambda ratios, times: algebra_curves(ratios, times, target=False)[0],
    lambda loss, order: _leading(loss, order, 0),
    lambda ratios, times: Asymptote(None, None),  # noqa: ARG005
)
