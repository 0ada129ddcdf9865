"""Easy, hard, or trapped? What a link, a spike and a random start come to, as theory has it. [O] Thm 1.3, [S] §3."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from theory.single_index.aligned import aligned_zeros, planar_end
from theory.single_index.basin import warm_start_succeeds
from theory.single_index.exponent import coefficient, signal_exponent, vanishes
from theory.single_index.fate import End, judge_end
from theory.single_index.fixed_points import fixed_points
from theory.single_index.flow import destinations
from theory.single_index.kernel import LongSeries
from theory.single_index.loss import PopulationLoss
from theory.single_index.regions import wedge_traps
from theory.single_index.taylor import variance_slope
from theory.single_index.trap import trap

Answer = Literal["easy", "hard", "trapped"]
_ANGLES = 24
_RADII = (0.1, 0.03, 0.01, 1e-3, 1e-5)
_WARM = 0.8
_ROUGH = 0.07
_PASSING = ("saddle", "unstable", "unsettled")
"""No start but those of a line ends there: one that seems to was too slow to be followed."""
_EVIDENCE = 0.5
_DIFFER = 0.1


@dataclass(frozen=True)
class AtRadius:
    """What becomes of starts with overlaps (m_1, m_2) at a distance ``radius`` = d^−½ from 0, in every direction.

    ``share`` of those that could be followed ends at the target; ``followed`` is their part of all.
    """

    radius: float
    share: float
    followed: float
    ends: tuple[End, ...]

    @property
    def d(self) -> float:
        """The dimension at which random starts lie there."""
        return self.radius**-2

    def to_json(self) -> dict[str, float]:
        """Flat record."""
        return {"radius": self.radius, "d": self.d, "share": self.share, "followed": self.followed}


@dataclass(frozen=True)
class Verdict:
    """How a random start fares, in the limit of large d.

    ``easy``: N ~ d samples, up to logarithms; ``hard``: N ~ d^``exponent``, from 2 on; ``trapped``: no power of d
    (``exponent`` is None). ``share``: the part of the random starts that the population flow itself takes to v_0 (or
    −v_0, for an even link), None where the flow near zero overlap is too slow to be followed; ``radii``: the same from
    several distances to zero overlap, each of them that of a dimension d; ``warm``: whether a start at overlap 0.8 with
    the spike gets there, None without a spike.
    """

    answer: Answer
    exponent: int | None
    reason: str
    share: float | None
    warm: bool | None
    radii: tuple[AtRadius, ...] = ()
    warnings: tuple[str, ...] = ()

    def to_json(self) -> dict[str, object]:
        """The part of a record that holds the verdict."""
        return {
            "verdict": self.answer,
            "verdict_reason": self.reason,
            "samples_exponent": self.exponent,
            "share_of_random_starts": self.share,
            "shares_at": [one.to_json() for one in self.radii],
            "warm_start_succeeds": self.warm,
        }

    def to_text(self) -> str:
        """One line."""
        return f"{self.answer}: {self.reason}"


def verdict(loss: PopulationLoss) -> Verdict:
    """Judge a random start, of overlap ~ d^−½ and either sign, by the exponent and by where the flow takes it.

    Zero overlap is left at once for exponent k ≤ 2, and where the spike's variance term is unstable (``spike_slope``
    below 0): N ~ d. Otherwise N ~ d^{k−1}. k is the first order at which prediction and label both have a part. Both
    hold only for starts that the flow takes to the target, which is followed from 24 directions at several distances:
    the smallest of them stands for the limit, and the answer says from which d on it holds.

    >>> from theory.single_index.link import Link
    >>> cubic = Link.parse("x**3-3*x")
    >>> [verdict(PopulationLoss(cubic, lam=1.0, eta1=eta1)).answer for eta1 in (0.45, 1.0)]
    ['hard', 'trapped']
    """
    loss = replace(loss, quick=True)
    signal = signal_exponent(loss.link, variance=loss.B)
    k = signal.exponent
    unstable = k > 2 and loss.lam > 0 and spike_slope(loss) < 0
    radii = _at_radii(loss)
    known = [one for one in radii if one.followed >= _EVIDENCE]
    nearest = known[-1] if known else None
    share = nearest.share if nearest else None
    warm = warm_start_succeeds(loss, _WARM)[0] if loss.lam > 0 and loss.eta1 > 0 else None
    warnings = [*signal.warnings]
    if nearest is None:
        warnings.append("the flow near zero overlap is too slow to be followed: where random starts end is not known")
    imprisoned = loss.eta1 == 1 and loss.lam > 0 and trap(loss.link, lam=loss.lam).trapped
    changes = _changes(known)
    if imprisoned or share == 0:
        reason = f"{_prison(loss, nearest)}{changes}{_warm_words(warm)}"
        return Verdict("trapped", None, reason, 0.0, warm, radii, tuple(warnings))
    exponent = 1 if k <= 2 or unstable else k - 1
    cause = f"information exponent {k}"
    if unstable:
        term = "V′(1)" if vanishes(loss.link, 2) else "V′(1) − F_0(B)F_2(1)"
        cause += f", but {term} < 0 drives starts out along the spike"
    parts = [f"{cause}: a random start needs N ~ d{f'^{exponent}' if exponent > 1 else ''} samples, up to logs"]
    if loss.lam > 0 and loss.eta1 < 1 and k > 2 and not unstable:
        parts.append("zero overlap is half-stable, left only along X·v = 0" if k % 2 else "left only along X·v = 0")
    if nearest is not None and nearest.share < 1:
        parts.append(_others(loss, nearest))
    answer: Answer = "easy" if exponent == 1 else "hard"
    reason = "; ".join(parts) + changes + _warm_words(warm)
    return Verdict(answer, exponent, reason, share, warm, radii, tuple(warnings))


def spike_slope(loss: PopulationLoss) -> float:
    """V′(1) − F_0(B)F_2(1), times λs̄² the part of Φ of second order in X·v: its sign says whether the spike repels.

    >>> from theory.single_index.link import Link
    >>> [spike_slope(PopulationLoss(Link.parse(text), lam=1.0, eta1=0.5)) > 0 for text in ("cos(x)", "x**2-8")]
    [True, True]
    """
    slope = float(variance_slope(loss.link))
    return slope - coefficient(loss.link, 0, variance=loss.B).value * coefficient(loss.link, 2).value


def _at_radii(loss: PopulationLoss) -> tuple[AtRadius, ...]:
    """The fate of starts at several distances from zero overlap, the largest first."""
    slow = isinstance(loss.kernel, LongSeries)
    radii, count = (_RADII[::2], _ANGLES // 2) if slow else (_RADII, _ANGLES)
    angles = 2 * np.pi * (np.arange(count) + 0.5) / count
    r, angle = np.meshgrid(np.array(radii), angles, indexing="ij")
    m1, m2 = r * np.cos(angle), r * np.sin(angle)
    points = fixed_points(loss)
    if loss.planar:
        zeros = aligned_zeros(loss)
        places = [planar_end(loss, float(m), zeros) for m in m1.ravel()]
        ends = [None if x is None else judge_end(loss, points, x, 0.0) for x in places]
    else:
        x, y, _ = destinations(loss, m1, m2)
        judged = [judge_end(loss, points, float(a), float(b)) for a, b in zip(x.ravel(), y.ravel(), strict=True)]
        ends = [None if end.kind in _PASSING else end for end in judged]
    found = []
    for i, radius in enumerate(radii):
        here = [end for end in ends[i * count : (i + 1) * count] if end is not None]
        share = sum(end.solves for end in here) / len(here) if here else 0.0
        found.append(AtRadius(radius, share, len(here) / count, tuple(here)))
    return tuple(found)


def _changes(known: list[AtRadius]) -> str:
    """Where the share at a finite d differs from that in the limit, and from which d on it does not."""
    if not known:
        return ""
    limit = known[-1].share
    other = [one for one in known if abs(one.share - limit) > _DIFFER]
    if not other:
        return ""
    last = other[-1]
    place = f"from |m| = {last.radius:g} (d ≈ {last.d:.2g})"
    return f"; this is the limit: {place} the flow takes {last.share:.0%} of the starts to the target: give --d"


def _prison(loss: PopulationLoss, nearest: AtRadius | None) -> str:
    found = trap(loss.link, lam=loss.lam) if loss.eta1 == 1 else None
    if found is None or not found.trapped:
        ends = nearest.ends if nearest else ()
        places = sorted({f"m1 = {end.m1:.3g}" if loss.planar else f"({end.m1:.3g}, {end.m2:.3g})" for end in ends})
        return f"the population flow takes every random start to {' or '.join(places)}, not to the target"
    height = "|m1|" if loss.link.is_even else "m1"
    beyond = "" if found.radius is None else f"; only starts with {height} > r* = {found.radius:.3g} get away"
    return f"at η1 = 1 zero overlap is a local minimum of Φ, and the samples N grow faster than any power of d{beyond}"


def _others(loss: PopulationLoss, nearest: AtRadius) -> str:
    ends, share = nearest.ends, nearest.share
    lost = [end for end in ends if not end.solves]
    minima = sum(end.kind == "other minimum" for end in lost)
    if minima:
        part = "half" if abs(minima / len(ends) - 0.5) < _ROUGH else f"{minima / len(ends):.0%}"
        return f"but {part} of the starts end in another minimum"
    wedge = " in the wedge X·v ≥ 0, C ≤ 0" if not loss.planar and wedge_traps(loss) else ""
    part = "half" if abs(share - 0.5) < _ROUGH else f"{share:.0%}"
    return f"the flow takes {part} of the starts to the target, the others wait{wedge} until noise frees them"


def _warm_words(warm: bool | None) -> str:
    if warm is None:
        return ""
    return "; from overlap 0.8 with the spike: " + ("N ~ d samples" if warm else "the flow does not reach the target")
