"""Are the misses that the ranking states the real ones? One trial a vector of sizes, by simulation."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from numerics.gradient_flow.simulate import simulate
from numerics.judge import STANDARD_ERRORS
from numerics.runs.machine import HERE, Machine
from regimes.faces import FACES, Face
from regimes.limit import limit
from regimes.ranking import EARLY, Ranking, rank_faces
from theory.autoencoder.series import LossName
from theory.autoencoder.sizes import Sizes
from theory.errors import ReachError

SECOND_ORDER = 0.5
"""After the extrapolation in 1/N there is left at most this part of what it moved, and ``FLOOR`` of the change."""

FLOOR = 0.003
_LOSSES: tuple[LossName, ...] = ("train", "population")


@dataclass(frozen=True)
class Miss:
    """The largest miss of a face's curve against simulated changes, with its standard error and what 1/N may add."""

    value: float
    stderr: float
    allowance: float

    @property
    def slack(self) -> float:
        """By how much it may differ from the stated one."""
        return self.allowance + STANDARD_ERRORS * self.stderr


@dataclass(frozen=True)
class Trial:
    """One vector of sizes: the ranking, and every face's miss of the simulated early change, extrapolated to 1/N = 0.

    A face's miss is the largest difference of the change along its curve from the measured one, as a part of the
    largest measured change; the worse of train and population loss. Faces whose formula has no answer are left out.
    """

    ranking: Ranking
    misses: dict[str, Miss]

    def agrees(self, face: str) -> bool:
        """Whether the stated miss of a face is the measured one within the slack."""
        stated = {ranked.face.name: ranked.distance_early for ranked in self.ranking.faces}
        miss = self.misses[face]
        return abs(miss.value - stated[face]) <= miss.slack + self.ranking.error * (1 + stated[face])

    @property
    def named_is_close(self) -> bool:
        """Whether the face named misses no more than the tolerance, within the slack."""
        miss = self.misses[self.ranking.best.name]
        return miss.value <= self.ranking.tolerance + miss.slack


def random_sizes(generator: np.random.Generator, *, smallest: int, spread: float = 30.0) -> Sizes:
    """Even sizes whose ratios n/p and m/p, and whose σ²p, are log-uniform from 1/spread to spread.

    >>> sizes = random_sizes(np.random.default_rng(0), smallest=20)
    >>> min(sizes.p, sizes.n, sizes.m), sizes.p % 2
    (20, 0)
    """
    width, data, narrow = np.exp(generator.uniform(-1, 1, 3) * np.log(spread))
    unit = smallest / min(1.0, width, data)
    p, n, m = (2 * round(unit * share / 2) for share in (1.0, width, data))
    return Sizes(p, n, m, Fraction(narrow).limit_denominator(10**9) / p)


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
    return Sizes(p, n, m, Fraction(narrow).limit_denominator(10**9) / p)


def trials(
    count: int, *, smallest: int, replicas: int, seed: int, machine: Machine = HERE, name: str = "ranking"
) -> Iterator[Trial]:
    """A trial at each of ``count`` random size vectors."""
    generator = np.random.default_rng(np.random.SeedSequence(seed))
    for number in range(count):
        sizes = random_sizes(generator, smallest=smallest)
        yield run_trial(sizes, replicas=replicas, seed=seed + number, machine=machine, name=f"{name} {number}")


def run_trial(sizes: Sizes, *, replicas: int, seed: int, machine: Machine = HERE, name: str = "ranking") -> Trial:
    """Rank, simulate at these sizes and at half of them, extrapolate, and compare all limits with the result."""
    ranking = rank_faces(sizes, whole=False)
    unit = 1 / sum(ranking.rates.values())
    times = [unit * t for t in EARLY]
    half = replace(sizes, p=sizes.p // 2, n=sizes.n // 2, m=sizes.m // 2, sigma2=2 * sizes.sigma2)
    large = simulate(sizes, times, replicas=replicas, seed=seed, machine=machine, name=name)
    small = simulate(
        half, [t / 2 for t in times], replicas=2 * replicas, seed=seed, machine=machine, name=f"{name} half"
    )
    misses = {}
    for face in FACES:
        try:
            curves = limit(face, sizes, times)
        except ReachError:
            continue
        worst = Miss(0.0, 0.0, 0.0)
        for loss in _LOSSES:
            here, there = (getattr(run, f"{loss}_change") for run in (large, small))
            change = 2 * here.mean - there.mean
            moved = np.abs(here.mean - there.mean)
            curve = np.array(getattr(curves, loss))
            scale = float(np.abs(change).max())
            difference = np.abs(curve - curve[0] - change) / scale
            at = int(difference.argmax())
            relative = (1 + difference[at]) / scale  # the error of the scale counts in proportion to the miss
            found = Miss(
                float(difference[at]),
                float(relative * np.hypot(2 * here.stderr, there.stderr).max()),
                float(relative * SECOND_ORDER * moved.max() + FLOOR * (1 + difference[at])),
            )
            worst = max(worst, found, key=lambda miss: miss.value)
        misses[face.name] = worst
    return Trial(ranking, misses)
