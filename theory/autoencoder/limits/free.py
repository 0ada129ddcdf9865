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
from typing import NoReturn

import numpy as np
import numpy.typing as npt

from theory.autoencoder.limits.exact import exact_coefficients
from theory.autoencoder.limits.free_product import FreeProduct, Letter
from theory.autoencoder.limits.matrix_mean import Estimate, matrix_estimate
from theory.autoencoder.limits.solution import Asymptote, Curves, FloatArray, Formula, Kind, LimitSolution, Loss, Ratios
from theory.autoencoder.limits.spectral_free import DataLetter
from theory.autoencoder.limits.stepping import steps_to
from theory.engine.laurent import Laurent
from theory.errors import BudgetError, InputError, ReachError

BoolArray = npt.NDArray[np.bool_]
LOWEST_DEGREE = 4
DEFAULT_DEGREE = 11
LARGEST_DEGREE = 16
_ACCURACY = 1e-3
_REACH = 0.05
_TOLERANCE = 1e-7
_MOST_STEPS = 1000
_QUICK_STEPS = 200
_QUICK_DEGREE = 8
_AIM = 8e-3
_NEGLIGIBLE = 1e-4
_PROBES = 24
_FINER = 1e-2
_BACK = 3
"""The extrapolation takes the truncations of so many degrees before the last one; the lowest is integrated twice."""
_SECONDS_ALLOWED = 600.0
_MOST_CONTRACTION = 0.85


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
    ratios: Ratios,
    times: FloatArray,
    *,
    target: bool,
    degree: int,
    tolerance: float = _TOLERANCE,
    most_steps: int = _MOST_STEPS,
    data: DataLetter | None = None,
) -> Truncation:
    """Galerkin's approximation of both losses by words of total degree up to ``degree``.

    M is integrated in units of ‖M(0)‖, to the relative ``tolerance``. ``data`` replaces isotropic data.

    >>> flow = truncate(Ratios(1.0, 1.0, 1.0, 1.0, 1.0, 1.0), np.array([0.0, 0.1]), target=False, degree=5)
    >>> flow.population.round(4).tolist()
    [1.0, 0.3867]

    Raises ``InputError`` for a degree below 2, ``BudgetError`` above 16 or where it would take more than ten minutes.
    """
    _check_degree(degree)
    algebra = FreeProduct.of(
        Letter.marchenko_pastur(ratios.weights, 1.0, degree + 1),
        data.letter(degree + 1) if data else Letter.marchenko_pastur(ratios.data, 1.0, degree + 1),
        degree,
    )
    T = (ratios.per_p if data else ratios.per_m) * times  # with S in units of m, or of p
    start = algebra.letter()
    norm = float(np.linalg.norm(start))
    unit = ratios.a_p * norm
    elements = steps_to(
        lambda x: _slope(algebra, x[0], unit=unit, target=target)[None, :],
        start[None, :] / norm,
        T,
        tolerance=tolerance,
        most_steps=most_steps,
    )
    train, population = np.empty((2, T.size))
    with np.errstate(all="ignore"):
        for i, (element,) in enumerate(elements):
            distance = unit * (-element if target else element)
            if target:
                distance[1] += 1
            train[i] = distance @ algebra.times_second(distance, degree) / (2 if data else 2 * ratios.data)
            population[i] = (data.weigh(distance, degree) if data else distance @ distance) / 2
    return Truncation(degree, train, population)


def _check_degree(degree: int) -> None:
    if isinstance(degree, bool) or not isinstance(degree, int) or degree < 2:
        raise InputError("degree", given=degree, expected="a whole number from 2", remedy="use degree=10")
    if degree > 10 * LARGEST_DEGREE:  # an estimate would not fit into a float
        raise InputError("degree", given=degree, expected=f"up to {LARGEST_DEGREE}", remedy="use degree=10")
    if degree > LARGEST_DEGREE or estimated_seconds(degree) > _SECONDS_ALLOWED:
        raise BudgetError(
            f"words of degree {degree}",
            estimate=f"{estimated_bytes(degree) / 2**20:.3g} MB and {estimated_seconds(degree):.2g} s",
            limit=f"degree {LARGEST_DEGREE} and {_SECONDS_ALLOWED:g} s",
            remedy="take a lower degree; the extrapolation in the degree is more accurate than the last few",
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
    quick: bool = False,
    data: DataLetter | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Extrapolated:
    """Both losses from truncations of growing degree, extrapolated as geometric sequences (Aitken).

    Without ``degree`` the sequence ends where both losses are good to 1e−3 at every time, or at degree 11 (8 if
    ``quick``, with few steps); with it, there. The error estimate is the larger of the extrapolated part and the last
    change of the extrapolated value, and what a finer integration changes, which no comparison of degrees shows.
    """
    last = (_QUICK_DEGREE if quick else DEFAULT_DEGREE) if degree is None else degree
    _check_degree(last)
    last = max(last, LOWEST_DEGREE + 3)
    runs: list[Truncation] = []
    most = _QUICK_STEPS if quick else _MOST_STEPS
    for k in range(LOWEST_DEGREE, last + 1):
        runs.append(truncate(ratios, times, target=target, degree=k, most_steps=most, data=data))
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
    fine = truncate(
        ratios, times, target=target, degree=rough.degree, tolerance=_TOLERANCE * _FINER, most_steps=3 * most, data=data
    )
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


def free_pair_curves(
    ratios: Ratios,
    times: FloatArray,
    *,
    target: bool,
    degree: int | None = None,
    accuracy: float = _AIM,
    progress: Callable[[int, int], None] | None = None,
) -> tuple[Extrapolated, str]:
    """Both losses at any ratios and increasing times, each with its error, and how they were found.

    Words of degree up to 8 where their extrapolation has settled; finite matrices where it has not. With ``degree``
    words alone are used, up to that degree.

    Raises ``ReachError`` where either loss is uncertain by more than 5 % of itself and a 10⁻⁴-th of its start.
    """
    if degree is not None:
        found = extrapolate(ratios, times, target=target, degree=degree, progress=progress)
        certain = _certain(found, ratios, target=target)
        if not np.all(certain):
            _refuse(ratios, times, certain, target=target, degree=found.degree)
        return found, f"{_METHOD}, up to {found.degree}"
    found = extrapolate(ratios, times, target=target, quick=True)
    if np.all(_settled(found)):
        return found, f"{_METHOD}, up to {found.degree}"
    matrices = matrix_estimate(ratios, times, target=target, accuracy=accuracy, progress=progress)
    mixed = _mixed(found, matrices)
    certain = _certain(mixed, ratios, target=target)
    if not np.all(certain):
        _refuse(ratios, times, certain, target=target, degree=None)
    return mixed, _MATRIX_METHOD


def _settled(found: Extrapolated) -> BoolArray:
    with np.errstate(invalid="ignore"):
        return np.asarray(
            (found.train_error <= _ACCURACY * np.abs(found.train))
            & (found.population_error <= _ACCURACY * np.abs(found.population))
        )


def _mixed(words: Extrapolated, matrices: Estimate) -> Extrapolated:
    """The words' values at the first times, as long as they have settled and the matrices agree; then the matrices'."""
    with np.errstate(invalid="ignore"):
        good = (
            _settled(words)
            & (np.abs(words.train - matrices.train) <= words.train_error + matrices.train_error)
            & (np.abs(words.population - matrices.population) <= words.population_error + matrices.population_error)
        )
    good = np.logical_and.accumulate(good)
    return Extrapolated(
        words.degree,
        np.where(good, words.train, matrices.train),
        np.where(good, words.population, matrices.population),
        np.where(good, words.train_error, matrices.train_error),
        np.where(good, words.population_error, matrices.population_error),
    )


def _start(ratios: Ratios, *, target: bool) -> tuple[float, float]:
    """Train and population loss at time 0: S has the mean m/p and is free of M(0), so they are equal."""
    value = ratios.a_n * (ratios.a_p + ratios.a_n) / 2 + (0.5 - ratios.a_n if target else 0.0)
    return value, value


def _certain(found: Extrapolated, ratios: Ratios, *, target: bool) -> BoolArray:
    train, population = _start(ratios, target=target)
    with np.errstate(invalid="ignore"):
        return np.asarray(
            (found.train_error <= np.maximum(_REACH * np.abs(found.train), _NEGLIGIBLE * train))
            & (found.population_error <= np.maximum(_REACH * np.abs(found.population), _NEGLIGIBLE * population))
        )


def _refuse(ratios: Ratios, times: FloatArray, certain: BoolArray, *, target: bool, degree: int | None) -> NoReturn:
    """Say how far the same would be good: the latest time asked for, or a time in between."""
    failed = int(np.argmin(certain))
    reached, beyond = (float(times[failed - 1]) if failed else 0.0), float(times[failed])
    probes = np.linspace(reached, beyond, _PROBES + 1)[1:-1] if failed else beyond * np.geomspace(1e-3, 1, _PROBES)[:-1]
    if degree is None:
        found = extrapolate(ratios, probes, target=target, quick=True)
        sure = _settled(found)
    else:
        sure = _certain(extrapolate(ratios, probes, target=target, degree=min(degree, 9)), ratios, target=target)
    good = probes[np.logical_and.accumulate(sure)]
    last = float(f"{good[-1]:.3g}") if good.size else reached
    raise ReachError(
        f"limit {'interior' if target else 'free'}",
        given=beyond,
        reach=f"about t = {last:g}" + (f" with words of degree {degree}" if degree is not None else ""),
        remedy="ask for earlier times" + (", or leave out --degree" if degree is not None else ""),
    )


def algebra_curves(
    ratios: Ratios,
    times: FloatArray,
    *,
    target: bool,
    degree: int | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Curves:
    """``free_pair_curves`` with one error for both losses."""
    found, _ = free_pair_curves(ratios, times, target=target, degree=degree, progress=progress)
    return Curves(found.train, found.population, np.maximum(found.train_error, found.population_error))


def _leading(loss: Loss, order: int, sigma2: int) -> tuple[Laurent, ...]:
    weights = {"p": Fraction(1), "n": Fraction(1), "m": Fraction(1), "sigma2": Fraction(sigma2)}
    return tuple(coefficient.leading(weights) for coefficient in exact_coefficients(loss, order))


_KIND: Kind = "free-product algebra"
_MATRIX_METHOD = "finite matrices with the limit's spectra in flat positions, their misses of freeness regressed out"
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
    lambda ratios, times: algebra_curves(ratios, times, target=True),
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
    lambda ratios, times: algebra_curves(ratios, times, target=False),
    lambda loss, order: _leading(loss, order, 0),
    lambda ratios, times: Asymptote(None, None),  # noqa: ARG005
)
