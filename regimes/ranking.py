"""Which limit for actual sizes? Faces ranked by how far the exact early coefficients are from each face's. [P] §4."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from math import factorial, prod

from regimes.atlas import ATLAS
from regimes.faces import FACES, Face
from regimes.prism import VERTICES
from regimes.scaling import representative
from theory.autoencoder.series import LossName, loss_series
from theory.autoencoder.sizes import Sizes, check_sizes
from theory.engine.laurent import Exponents, Laurent

ORDER = 4
"""Derivatives compared: the first four."""

HORIZON = Fraction(1, 10)
"""Up to about this share of the time 1/Σ rates the Taylor series of every regime converges."""


CLOSE = 0.05
"""Faces that miss at most this share of the early change tie; where none does, the closest one stands alone."""

SMALL_SIZE = 10
FAR = 0.2
WRONG = 0.1
"""A face that misses more than this share, and more than twice what the best one misses, is the wrong one."""
_LOSSES: tuple[LossName, ...] = ("train", "population")


@dataclass(frozen=True)
class RankedFace:
    """A face, and how far its limit is: the share of the losses' early change that it misses, the worse of the two."""

    face: Face
    distance: float
    tied: bool


@dataclass(frozen=True)
class Ranking:
    """All 21 faces for one vector of sizes, best first.

    Faces that tie come first, those with fewest vertices before the others (the simplest limit that is close enough),
    then the rest by distance. ``rates`` are the six rates at these sizes, ``start`` the exact means of
    train and population loss at t = 0, which no limit is needed for.
    """

    sizes: Sizes
    faces: tuple[RankedFace, ...]
    rates: Mapping[str, float]
    start: tuple[float, float]
    warnings: tuple[str, ...]

    @property
    def best(self) -> Face:
        """The face ranked first."""
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
            "ranking": [{"face": r.face.name, "distance": r.distance, "tied": r.tied} for r in self.faces],
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
        lines += ["", "face           misses of the early change, as a share"]
        for ranked in self.faces:
            lines.append(f"{ranked.face.name:<14} {ranked.distance:<8.2g}{'  ties' * ranked.tied}".rstrip())
        if self.faces[1].tied:
            lines.append(f"ties: misses at most {_percent(CLOSE)}, close enough; the first is the simplest of these")
        return "\n".join(lines)

    def wrong(self, face: Face) -> tuple[str, ...]:
        """A warning where ``face`` describes these sizes clearly worse than the best face; else nothing.

        >>> from regimes.faces import parse_face
        >>> sizes = Sizes.parse("p=80,n=8000,m=120,sigma2=1/40000")
        >>> rank_faces(sizes).wrong(parse_face("large-data"))[0].partition(",")[0]
        'at these sizes large-data misses 43 % of the early change'
        """
        missed = {ranked.face: ranked.distance for ranked in self.faces}
        if missed[face] <= max(WRONG, 2 * missed[self.best]):
            return ()
        return (
            f"at these sizes {face.name} misses {_percent(missed[face])} of the early change, {self.best.name} "
            f"{_percent(missed[self.best])} (see classify --sizes)",
        )

    def to_latex(self) -> str:
        """The ranking as a table."""
        rows = "\n".join(rf"\text{{{r.face.name}}} & {r.distance:.2g} \\" for r in self.faces)
        return r"\begin{array}{ll}" + f"\n{rows}\n" + r"\end{array}"


def rank_faces(sizes: Sizes) -> Ranking:
    """Rank the faces for actual sizes.

    With θ = 1/(10 Σ rates) the distance of a face is Σ_s |c_s − c_s^face| θ^s over Σ_s |c_s| θ^s, s = 1 … 4, for the
    exact Taylor coefficients c_s of each loss and the face's leading part of them: the share of the early change
    L(t) − L(0) that the face's limit misses, with no credit for errors that happen to cancel. The worse of train and
    population loss counts. The start L(0) is not compared: it is known exactly, and where the loss moves little
    (``R,N|p``, say) its corrections would hide the rest.

    >>> rank_faces(Sizes.parse("p=100,n=100,m=100000,sigma2=1/100")).best.name
    'large-data'

    Raises ``InputError`` for anything but ``Sizes``.
    """
    check_sizes(sizes)
    point = tuple(Fraction(x) for x in (sizes.p, sizes.n, sizes.m, sizes.sigma2))
    rates = {v.name: _monomial(point, v.vector) for v in VERTICES}
    step = HORIZON / sum(rates.values()) / (sizes.p * sizes.m)
    distances = dict.fromkeys(FACES, 0.0)
    starts: list[float] = []
    for loss in _LOSSES:
        values = [
            {e: c * _monomial(point, e) * step**s / factorial(s) for e, c in y.terms.items()}
            for s, y in enumerate(_coefficients(loss))
        ]
        exact = [sum(terms.values(), Fraction(0)) for terms in values]
        starts.append(float(exact[0] + Fraction(1, 2)))
        change = sum(map(abs, exact[1:]))
        for face in FACES:
            kept = leading_exponents(face, loss)
            leading = [sum((terms[e] for e in part), Fraction(0)) for terms, part in zip(values, kept, strict=True)]
            missed = sum(abs(a - b) for a, b in zip(exact[1:], leading[1:], strict=True))
            distances[face] = max(distances[face], float(missed / change))
    bound = max(CLOSE, min(distances.values()))
    ranked = sorted(
        (RankedFace(face, distance, distance <= bound) for face, distance in distances.items()),
        key=lambda r: (not r.tied, len(r.face.vertices) if r.tied else 0, r.distance),
    )
    return Ranking(
        sizes,
        tuple(ranked),
        {name: float(rate) for name, rate in rates.items()},
        (starts[0], starts[1]),
        tuple(_warnings(sizes, ranked[0])),
    )


@cache
def leading_exponents(face: Face, loss: LossName) -> tuple[frozenset[Exponents], ...]:
    """Exponents of the face's part of Y_0 … Y_4 (or Ŷ): the terms that lead for the scalings in its cone."""
    weights = representative(face).exponents
    parts = []
    for coefficient in _coefficients(loss):
        degrees = {e: sum(int(w) * k for w, k in zip(weights, e, strict=True)) for e in coefficient.terms}
        top = max(degrees.values())
        parts.append(frozenset(e for e, degree in degrees.items() if degree == top))
    return tuple(parts)


@cache
def _coefficients(loss: LossName) -> tuple[Laurent, ...]:
    return loss_series(loss, order=ORDER).coefficients


def _monomial(point: tuple[Fraction, ...], exponents: tuple[int, ...]) -> Fraction:
    return prod((x**e for x, e in zip(point, exponents, strict=True)), start=Fraction(1))


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %" if share >= 0.01 else f"{100 * share:.2g} %"


def _warnings(sizes: Sizes, best: RankedFace) -> list[str]:
    warnings = [
        f"{name} = {value} is small: limits want p, n, m → ∞, so corrections of relative order 1/{value} stay"
        for name, value in (("p", sizes.p), ("n", sizes.n), ("m", sizes.m))
        if value < SMALL_SIZE
    ]
    if best.distance > FAR:
        warnings.append(
            f"even the best face misses {best.distance:.0%} of the losses' early change: no limit describes these sizes"
        )
    return warnings
