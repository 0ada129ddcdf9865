"""Which limit for actual sizes? Faces ranked by how far each is from the interior at these ratios. [P] §4."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import prod

from regimes.atlas import ATLAS
from regimes.distance import at, distance
from regimes.faces import FACES, Face
from regimes.limit import LimitCurves, limit
from regimes.prism import VERTICES
from theory.autoencoder.series import LossName
from theory.autoencoder.sizes import Sizes, check_sizes
from theory.checks import positive
from theory.errors import ReachError
from theory.latex import decimal, table, typed

Progress = Callable[[int, int], None]

EARLY = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)
"""The early change is compared at these parts of the time 1/(sum of the rates)."""

LATE = (2.0, 4.0, 8.0)
"""… and the whole training at these multiples of it as well, as far as the interior's solution reaches."""

TOLERANCE = 0.05
SMALL_SIZE = 10
_LOSSES: tuple[LossName, ...] = ("train", "population")


@dataclass(frozen=True)
class RankedFace:
    """A face, and how far its limit is from the interior at the user's ratios, the worse of the two losses.

    ``distance_early`` is the largest miss of the change of a loss at ηt ≤ 1/(sum of the rates), as a part of the
    largest change; ``distance`` the same over the whole training. Infinite where the face's formula has no answer.
    ``within`` says whether the early distance is at most the tolerance.
    """

    face: Face
    distance_early: float
    distance: float
    within: bool


@dataclass(frozen=True)
class Ranking:
    """All 21 faces for one vector of sizes: those within the tolerance first, the smallest of them at the top.

    ``rates`` are the six rates at these sizes, ``start`` the exact means of train and population loss at t = 0,
    ``end`` the last time that was compared (at η = 1), ``error`` the reference's own error as a part of the change.
    """

    sizes: Sizes
    tolerance: float
    faces: tuple[RankedFace, ...]
    rates: Mapping[str, float]
    start: tuple[float, float]
    end: float
    error: float
    warnings: tuple[str, ...]

    @property
    def best(self) -> Face:
        """The face ranked first: the smallest within the tolerance, the interior where no other is."""
        return self.faces[0].face

    @property
    def rate(self) -> float:
        """The largest rate; the losses move on the time scale ηt ~ 1/rate."""
        return max(self.rates.values())

    @property
    def train_scale(self) -> float:
        """σ²n · max(1, σ²n, σ²p), the scale of what moves of the train loss (``regimes.classify``)."""
        wide, narrow = float(self.sizes.sigma2 * self.sizes.n), float(self.sizes.sigma2 * self.sizes.p)
        return wide * max(1.0, wide, narrow)

    @property
    def population_scale(self) -> float:
        """The same for the population loss: smaller by m / max(m, p)."""
        return self.train_scale * self.sizes.m / max(self.sizes.m, self.sizes.p)

    def to_json(self) -> dict[str, object]:
        """The best face as ``classify`` prints it, with scales as numbers in place of exponents, and the ranking."""
        return {
            "face": self.best.name,
            "vertices": list(self.best.vertices),
            "dimension": self.best.dimension,
            "rate_exponent": None,
            "train_scale": self.train_scale,
            "population_scale": self.population_scale,
            "solution": ATLAS[self.best.name].solution,
            "warnings": list(self.warnings),
            "sizes": self.sizes.to_json(),
            "rate": self.rate,
            "start": {"train": self.start[0], "population": self.start[1]},
            "tolerance": self.tolerance,
            "end": self.end,
            "reference_error": self.error,
            "ranking": [
                {
                    "face": r.face.name,
                    "distance_early": _finite(r.distance_early),
                    "distance": _finite(r.distance),
                    "within": r.within,
                }
                for r in self.faces
            ],
        }

    def to_text(self) -> str:
        """The six rates and the ranking."""
        lines = [
            f"sizes       {self.sizes}",
            f"face        {self.best.name}: vertices {' '.join(self.best.vertices)} (dimension {self.best.dimension})",
            f"rate        η·{self.rate:.3g}: the losses move while ηt ~ {1 / self.rate:.3g}",
            f"train       L̂(0) = {self.start[0]:.6g} (exact mean), L̂(t) − L̂(0) ~ {self.train_scale:.2g}",
            f"population  L(0) = {self.start[1]:.6g} (exact mean), L(t) − L(0) ~ {self.population_scale:.2g}",
            f"solution    {ATLAS[self.best.name].solution}",
            "",
            "term  rate   value      share of the largest",
        ]
        for vertex in VERTICES:
            rate = self.rates[vertex.name]
            lines.append(f"{vertex.name:<5} {vertex.formula:<6} {rate:<10.3g} {rate / self.rate:.2g}")
        lines += ["", f"face           off early  off to t = {self.end:.3g}  (parts of the change of the losses)"]
        for ranked in self.faces:
            early, late = _percent(ranked.distance_early), _percent(ranked.distance)
            lines.append(f"{ranked.face.name:<14} {early:<10} {late:<10}{'  within' * ranked.within}".rstrip())
        lines.append(
            f"within: at most {_percent(self.tolerance)} off the interior at these ratios while ηt ≤ 1/(sum of the"
            " rates); the first is the smallest of these"
        )
        return "\n".join(lines)

    def to_latex(self) -> str:
        """The ranking as a table."""
        return table(
            "lll", [(typed(r.face.name), decimal(r.distance_early, 2), decimal(r.distance, 2)) for r in self.faces]
        )


def rank_faces(
    sizes: Sizes, *, tolerance: float = TOLERANCE, whole: bool = True, progress: Progress | None = None
) -> Ranking:
    """Rank the faces for actual sizes by how far each is from the interior at these ratios. [P] §4.

    The interior's limit is the reference: a face's limit is its value where the face's ratios have gone to 0 or ∞, and
    at given ratios the face is off by an amount that no simulation is needed for. Changes since t = 0 are compared, the
    worse of train and population loss counts. The face named is the smallest within ``tolerance`` over the early
    change. ``whole=False`` leaves out the whole training, which takes most of the time: ``distance`` is then NaN.

    >>> rank_faces(Sizes.parse("p=100,n=100,m=100000,sigma2=1/100")).best.name
    'large-data'

    Raises ``InputError`` for anything but ``Sizes``, or a tolerance that is not positive.
    """
    check_sizes(sizes)
    tolerance = positive("tolerance", tolerance, remedy="use for example tolerance=0.05")
    point = tuple(Fraction(x) for x in (sizes.p, sizes.n, sizes.m, sizes.sigma2))
    rates = {v.name: float(_monomial(point, v.vector)) for v in VERTICES}
    unit = 1 / sum(rates.values())
    reference = _reference(sizes, unit, LATE if whole else ())
    early = at(reference, range(len(EARLY)))
    found = []
    for count, face in enumerate(FACES, 1):
        near = _off(face, early)
        found.append(RankedFace(face, near, _off(face, reference) if whole else math.nan, near <= tolerance))
        if progress:
            progress(count, len(FACES))
    ranked = sorted(
        found,
        key=lambda r: (not r.within, len(r.face.vertices) if r.within else 0, r.distance_early, len(r.face.vertices)),
    )
    wide, narrow = float(sizes.sigma2 * sizes.n), float(sizes.sigma2 * (sizes.p + sizes.n + 1))
    start = 0.5 + wide * (narrow / 2 - 1)
    return Ranking(
        sizes,
        tolerance,
        tuple(ranked),
        rates,
        (start, start),
        reference.times[-1],
        _relative_error(reference),
        tuple(_warnings(sizes)),
    )


def _reference(sizes: Sizes, unit: float, late: Sequence[float]) -> LimitCurves:
    """The interior over the early change and ``late``, or as much of that as its solution reaches."""
    try:
        return limit("interior", sizes, [unit * t for t in (*EARLY, *late)])
    except ReachError:
        if not late:
            raise
    return _reference(sizes, unit, late[:-1])


def _off(face: Face, reference: LimitCurves) -> float:
    """How far the face is from the reference at its times; infinite where it gives no answer."""
    if face.name == reference.face.name:
        return 0.0
    try:
        curves = limit(face, reference.sizes, reference.times, eta=reference.eta)
    except ReachError:
        return math.inf
    return max(distance(curves, reference, loss).miss for loss in _LOSSES)


def _relative_error(reference: LimitCurves) -> float:
    """The reference's error, as a part of the largest change; the worse of the two losses."""
    pairs = ((reference.train, reference.train_error), (reference.population, reference.population_error))
    return max(max(errors) / max(abs(x - values[0]) for x in values) for values, errors in pairs)


def _monomial(point: tuple[Fraction, ...], exponents: tuple[int, ...]) -> Fraction:
    return prod((x**e for x, e in zip(point, exponents, strict=True)), start=Fraction(1))


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _percent(share: float) -> str:
    if not math.isfinite(share):
        return "—"
    return f"{100 * share:.0f} %" if share >= 0.01 else f"{100 * share:.2g} %"


def _warnings(sizes: Sizes) -> list[str]:
    return [
        f"{name} = {value} is small: limits want p, n, m → ∞, so corrections of relative order 1/{value} stay"
        for name, value in (("p", sizes.p), ("n", sizes.n), ("m", sizes.m))
        if value < SMALL_SIZE
    ]
