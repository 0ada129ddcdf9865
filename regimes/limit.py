"""The verb ``limit``: the leading-order losses of a face at given sizes and times."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

import numpy as np

from regimes.atlas import ATLAS
from regimes.faces import Face, parse_face
from regimes.limit_warnings import limit_warnings
from theory.autoencoder.covariance import covariance_spectrum, is_isotropic
from theory.autoencoder.limits.correction import ORDER, correction
from theory.autoencoder.limits.free import free_pair_curves
from theory.autoencoder.limits.solution import Curves, FloatArray, Formula, LimitSolution, Ratios
from theory.autoencoder.limits.spectral import spectral_curves, spectral_formula
from theory.autoencoder.sizes import Sizes, check_sizes
from theory.checks import positive
from theory.errors import InputError, ReachError
from theory.latex import display
from theory.spectrum import Spectrum, read_spectrum
from theory.times import time_grid

Progress = Callable[[int, int], None]
ACCURACY = 8e-3
CORRECTED_ACCURACY = 5e-3
"""What the numerics of the free pair aim at, as a part of the loss; a 1/N term needs more digits."""


@dataclass(frozen=True)
class LimitFormula:
    """A face's limit solution as a formula, which no sizes or times are needed for.

    >>> print(LimitFormula.parse("R,N|m").to_latex().splitlines()[1])
    \\hat{L}(t) &= \\frac{1}{2}(1-\\mu)^2 \\\\
    """

    face: Face
    spectral: bool = False

    @classmethod
    def parse(cls, face: str, *, spectrum: str = "isotropic") -> LimitFormula:
        """Of the face with this name or vertex set. Raises ``InputError`` for anything else."""
        return cls(parse_face(face), not is_isotropic(read_spectrum(spectrum)))

    def to_latex(self) -> str:
        """The formula, its definitions, and its behaviour at large times."""
        if self.spectral:
            return _latex(spectral_formula(self.face.vertex_set))
        return _latex(ATLAS[self.face.name].limit.formula)


def _latex(formula: Formula) -> str:
    late, *later = formula.large_time.split(r";\quad ")
    rows = [
        rf"\hat{{L}}(t) &= {formula.train}",
        rf"L(t) &= {formula.population}",
        *(rf"& {line}" for line in formula.where),
        rf"& t \to \infty:\quad {late}",
        *(rf"& {line}" for line in later),
    ]
    return display(rows)


@dataclass(frozen=True)
class LimitCurves:
    """Both losses of a face's limit on a time grid.

    ``train`` and ``population`` are the face's own leading expressions: ½ + … where R is among its vertices; where the
    population loss moves only at order m/p, that order is included. ``error_estimate`` bounds, time by time, the
    numerical error of either loss; it says nothing of how far finite sizes are from the limit. ``spectrum`` names the
    data's covariance.
    """

    face: Face
    sizes: Sizes
    eta: float
    times: tuple[float, ...]
    train: tuple[float, ...]
    population: tuple[float, ...]
    error_estimate: tuple[float, ...]
    method: str
    corrected: bool = False
    train_error: tuple[float, ...] = ()
    population_error: tuple[float, ...] = ()
    warnings: tuple[str, ...] = ()
    spectrum: str = "isotropic"
    covariance: Spectrum | None = field(default=None, repr=False, compare=False)

    @property
    def solution(self) -> LimitSolution:
        """The solution that was evaluated."""
        return ATLAS[self.face.name].limit

    def to_json(self) -> dict[str, object]:
        """The curves, what was asked, and the warnings."""
        return {
            "version": 1,
            "model": "autoencoder",
            "face": self.face.name,
            "sizes": self.sizes.to_json(),
            "eta": self.eta,
            "spectrum": self.spectrum,
            "corrected": self.corrected,
            "times": list(self.times),
            "train": list(self.train),
            "population": list(self.population),
            "losses": {"train": list(self.train), "population": list(self.population)},
            "method": self.method,
            "error_estimate": list(self.error_estimate),
            "errors": {"train": list(self.train_error), "population": list(self.population_error)},
            "warnings": list(self.warnings),
        }

    def to_text(self) -> str:
        """A table, with the face, the sizes and the method above it."""
        spectrum = "" if self.spectrum == "isotropic" else f", spectrum {self.spectrum}"
        lines = [
            f"face    {self.face.name} ({self.face.vertex_set}), {self.sizes}, η={self.eta:g}{spectrum}",
            f"method  {self.method}",
            "",
            f"{'time':>12}  {'train':>14}  {'population':>14}  {'numerical error':>15}",
        ]
        rows = zip(self.times, self.train, self.population, self.error_estimate, strict=True)
        lines += [f"{t:>12.6g}  {a:>14.9g}  {b:>14.9g}  {e:>15.1e}" for t, a, b, e in rows]
        return "\n".join(lines)

    def to_latex(self) -> str:
        """The formula, its definitions, and its behaviour at large times."""
        return LimitFormula(self.face, self.covariance is not None).to_latex()


def limit(
    face: Face | str,
    sizes: Sizes,
    times: Iterable[float],
    *,
    eta: float = 1.0,
    corrected: bool = False,
    degree: int | None = None,
    spectrum: str | Spectrum = "isotropic",
    progress: Progress | None = None,
) -> LimitCurves:
    """The limit solution of a face, read at actual sizes. [P] §4.

    ``face`` is a ``Face``, a regime's name or a vertex set; ``times`` increase from 0 or later; ``eta`` is the learning
    rate. ``corrected`` puts the interior's solution at these sizes in the face's place, since a face's error in its
    ratios does not shrink with N, and adds what finite sizes add to it: the exact series less the interior's, resummed.
    ``degree`` fixes the degree of words on the faces ``free`` and ``interior``, which otherwise grows until the answer
    settles, or gives way to finite matrices; these may take seconds, and report to ``progress(finished, total)``.
    ``spectrum`` gives the data a covariance (``power:0.7``, ``values:2*1,0.5*1``, ``file:PATH``). THEORY H.
    What is doubtful is said in ``warnings`` of the result.

    >>> curves = limit("R,N|m", Sizes.parse("p=100,n=1000,m=10000,sigma2=1/2000"), [0, 25])
    >>> [round(value, 4) for value in curves.train]
    [0.125, 0.0362]

    Raises ``InputError`` for bad input, ``ReachError`` for times beyond a formula's reach, and ``BudgetError`` where
    the numerics would not fit.
    """
    place = face if isinstance(face, Face) else parse_face(face)
    check_sizes(sizes)
    grid = time_grid(times)
    eta = positive("eta", eta, remedy="use eta=1")
    solution = ATLAS[place.name].limit
    at = np.asarray(grid)
    _check_scaled(at, sizes, eta)
    ratios, method = Ratios.of(sizes, eta), solution.method
    known = covariance_spectrum(spectrum, sizes)
    spectral = not is_isotropic(known)
    if spectral and corrected:
        raise InputError(
            "spectrum",
            given=f"{known.text} with corrected",
            expected="a limit without it: what finite sizes add is known for isotropic data",
            remedy="leave one of the two out",
        )
    if degree is not None and not (solution.is_free_pair or (spectral and place.vertex_set in ("R,N,P|m", "N,P|m"))):
        raise InputError(
            "degree", given=degree, expected="none on this face", remedy="only free and interior have words to truncate"
        )
    notes: tuple[str, ...] = ()
    if spectral:
        answer = spectral_curves(place.vertex_set, sizes, known, at, eta=eta, degree=degree, progress=progress)
        train, population, train_error = answer.curves
        population_error, method, notes = train_error, answer.method, answer.warnings
    elif corrected or solution.is_free_pair:
        found, method = free_pair_curves(
            ratios,
            at,
            target=corrected or solution.has_target,
            degree=degree,
            accuracy=CORRECTED_ACCURACY if corrected else ACCURACY,
            progress=progress,
        )
        train, population, train_error, population_error = (
            found.train,
            found.population,
            found.train_error,
            found.population_error,
        )
    else:
        curves = solution.curves(ratios, at)
        train, population, train_error, population_error = (*curves, curves.error)
    if corrected:
        interior = Curves(train, population, np.maximum(train_error, population_error))
        change = correction(sizes, at, interior, eta=eta)
        train, population = train + change.train, population + change.population
        train_error, population_error = train_error + change.train_error, population_error + change.population_error
        method = f"interior by {method}; 1/N terms: median of Padé approximants of the exact series to order {ORDER}"
        if not np.all(change.certain):
            since = at[int(np.argmin(change.certain))]
            notes = (
                f"from t = {since:g} on the series cannot vouch for what finite sizes add: it is left out there, and "
                "its size is in the error estimate",
            )
    error = np.maximum(train_error, population_error)
    said = limit_warnings(place, sizes, at, Curves(train, population, error), corrected=corrected, spectral=spectral)
    return LimitCurves(
        face=place,
        sizes=sizes,
        eta=eta,
        times=grid,
        train=_floats(train),
        population=_floats(population),
        error_estimate=_floats(error),
        method=method,
        corrected=corrected,
        train_error=_floats(train_error),
        population_error=_floats(population_error),
        warnings=(*notes, *said),
        spectrum=known.text,
        covariance=known if spectral else None,
    )


def interior_curves(sizes: Sizes, times: Iterable[float], *, eta: float = 1.0) -> LimitCurves:
    """The interior's solution at these sizes: what every face is measured by, at any ratios. THEORY J.

    ``train_error`` and ``population_error`` bound the numerical error of each loss at each time.

    >>> found = interior_curves(Sizes.parse("p=100,n=100,m=100,sigma2=1/100"), [0.0, 5.0])
    >>> [round(value, 4) for value in found.population]
    [0.5, 0.3026]
    """
    return limit("interior", sizes, times, eta=eta)


def refine(curves: LimitCurves, *, count: int = 201) -> LimitCurves:
    """The same curves on a fine grid from the first to the last of their times, these among them, for drawing.

    Where that would be dear (``free``, ``interior``, and corrected limits) they are given back as they are.

    >>> coarse = limit("R,N|m", Sizes.parse("p=100,n=1000,m=10000,sigma2=1/2000"), [0, 25])
    >>> len(refine(coarse, count=11).times)
    11
    """
    if curves.corrected or curves.solution.is_free_pair or curves.method.startswith("free product"):
        return curves
    grid = np.union1d(curves.times, np.linspace(curves.times[0], curves.times[-1], count))
    try:
        return limit(curves.face, curves.sizes, grid, eta=curves.eta, spectrum=curves.covariance or "isotropic")
    except ReachError:
        return curves


def _check_scaled(times: FloatArray, sizes: Sizes, eta: float) -> None:
    """Refuse times which ηt/p or ηt/m, all that a limit sees of them, cannot hold with all digits, or tell apart."""
    smallest = sys.float_info.min
    for size in (sizes.p, sizes.m):
        rate = eta / size
        with np.errstate(over="ignore", under="ignore"):
            scaled = rate * times
        lost = (times > 0) & ~((rate >= smallest) & (scaled >= smallest) & np.isfinite(scaled))
        if lost.any():
            raise InputError(
                "ηt",
                given=f"{eta:g} · {times[lost][0]:g}",
                expected=f"0, or ηt/p and ηt/m from {smallest:.2g} to {sys.float_info.max:.2g}",
                remedy="use eta=1 and times at which the losses move",
            )
        close = np.flatnonzero(np.diff(scaled) <= 0)
        if close.size:
            raise InputError(
                "times",
                given=times[close[0] : close[0] + 2].tolist(),
                expected="times further apart than rounding errors",
                remedy="drop one of the two",
            )


def _floats(values: FloatArray) -> tuple[float, ...]:
    return tuple(float(value) for value in values)
