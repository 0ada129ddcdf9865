"""Is the face ranked first for actual sizes the one whose limit fits simulated curves best? One trial a size vector."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import cast

import numpy as np

from numerics.gradient_flow.simulate import Simulation, simulate
from numerics.judge import STANDARD_ERRORS
from numerics.runs.machine import HERE, Machine
from regimes.faces import FACES, Face
from regimes.limit import limit
from regimes.ranking import Ranking, rank_faces
from theory.autoencoder.series import LossName
from theory.autoencoder.sizes import Sizes
from theory.errors import ReachError

SPAN = 0.25
"""The curves are compared up to this share of the time 1/Σ rates, two and a half times the ranking's horizon."""

POINTS = 5
TIE = 2.0
"""A face fits as well as any where it misses at most so many times what the best face misses."""

CLOSE = 0.05
"""… or at most this share of the change."""

MOST_NOISE = 0.1
"""A miss known less precisely than this share of the change decides nothing, and counts as not holding."""

_LOSSES: tuple[LossName, ...] = ("train", "population")


@dataclass(frozen=True)
class Trial:
    """One size vector: the ranking, and how far every face's limit is from the simulated curves.

    A face's miss is the largest difference of the change L(t) − L(0) along its curve from the measured one, as a share
    of the largest measured change; the worse of train and population loss. ``noise`` is the standard error of that
    share. A face whose limit does not reach the times has an infinite miss.
    """

    ranking: Ranking
    inside: Face
    misses: dict[str, float]
    noise: dict[str, float]

    @property
    def bound(self) -> float:
        """Up to which miss a face fits as well as any."""
        return max(CLOSE, TIE * min(self.misses.values()))

    @property
    def holds(self) -> bool:
        """Whether the face ranked first fits best, or ties with the one that does within the measurement's error."""
        return self._fits(self.ranking.best)

    @property
    def designed_holds(self) -> bool:
        """The same of the face in whose cone the sizes were placed: what exponents read off the sizes would say."""
        return self._fits(self.inside)

    def _fits(self, face: Face) -> bool:
        miss, noise = self.misses[face.name], self.noise[face.name]
        return noise <= MOST_NOISE and miss <= self.bound + STANDARD_ERRORS * noise

    @property
    def measured(self) -> Face:
        """The simplest of the faces that fit best within the tie."""
        tied = [face for face in FACES if self.misses[face.name] <= self.bound]
        return min(tied, key=lambda face: (len(face.vertices), self.misses[face.name]))

    @property
    def correlation(self) -> float:
        """Spearman's rank correlation of the ranking's distances with the measured misses, over the faces."""
        from scipy.stats import spearmanr

        names = [ranked.face.name for ranked in self.ranking.faces if np.isfinite(self.misses[ranked.face.name])]
        distances = {ranked.face.name: ranked.distance for ranked in self.ranking.faces}
        result = spearmanr([distances[name] for name in names], [self.misses[name] for name in names])
        return float(result.statistic)


def sizes_inside(face: Face, *, depth: float, smallest: int) -> Sizes:
    """Sizes in the cone of a face, where losing terms are ``depth`` times smaller and ``smallest`` is the least size.

    >>> from regimes.faces import parse_face
    >>> print(sizes_inside(parse_face("large-data"), depth=10, smallest=20))
    p=50, n=20, m=500, σ²=3/100
    """
    wide = 0.6 if "N" in face.triangle else 1 / depth  # σ²n
    narrow = 1.5 if "P" in face.triangle else 1 / depth  # σ²p
    if "R" not in face.triangle:
        wide, narrow = depth * ("N" in face.triangle) or 1.0, 1.4 * depth * ("P" in face.triangle) or 1.0
    data = {2: 1.2, 1: depth if "m" in face.segment else 1 / depth}[len(face.segment)]
    unit = smallest / min(1.0, wide / narrow, data)
    p, n, m = (round(unit * share) for share in (1.0, wide / narrow, data))
    return Sizes(p, n, m, Fraction(narrow).limit_denominator(1000) / p)


def grid(*, depths: Sequence[float], smallest: int) -> Iterator[tuple[Face, Sizes]]:
    """Sizes inside every face at every depth: 21 for each."""
    for depth in depths:
        for face in FACES:
            yield face, sizes_inside(face, depth=depth, smallest=smallest)


def run_trial(
    inside: Face,
    sizes: Sizes,
    *,
    replicas: int,
    seed: int,
    machine: Machine = HERE,
    name: str = "ranking",
) -> Trial:
    """Rank, simulate, and compare all 21 limits with the simulation."""
    ranking = rank_faces(sizes)
    end = SPAN / sum(ranking.rates.values())
    times = [end * k / POINTS for k in range(POINTS + 1)]
    measured = simulate(sizes, times, replicas=replicas, seed=seed, machine=machine.silent(), name=name)
    misses, noise = {}, {}
    for face in FACES:
        misses[face.name], noise[face.name] = _miss(face, sizes, times, measured)
    return Trial(ranking, inside, misses, noise)


def _miss(face: Face, sizes: Sizes, times: Sequence[float], measured: Simulation) -> tuple[float, float]:
    try:
        curves = limit(face, sizes, times)
    except ReachError:
        return np.inf, 0.0
    worst = (0.0, 0.0)
    for loss in _LOSSES:
        change = getattr(measured, f"{loss}_change")
        curve = np.array(cast(Sequence[float], getattr(curves, loss)))
        unit = np.abs(change.mean).max()
        difference = np.abs(curve - curve[0] - change.mean) / unit
        at = int(difference.argmax())
        worst = max(worst, (float(difference[at]), float(change.stderr.max() / unit)))
    return worst
