"""Easy, hard, or trapped? What a link, a spike and a random start come to, as theory has it. [O] Thm 1.3, [S] §3."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from theory.single_index.basin import warm_start_succeeds
from theory.single_index.exponent import information_exponent
from theory.single_index.fate import End, judge_end
from theory.single_index.fixed_points import fixed_points
from theory.single_index.flow import destinations
from theory.single_index.loss import PopulationLoss
from theory.single_index.regions import wedge_traps
from theory.single_index.taylor import variance_slope
from theory.single_index.trap import trap

Answer = Literal["easy", "hard", "trapped"]
_STARTS = 64
_SMALL = 0.01
_LEAST_SPEED = 1e-4
_WARM = 0.8
_ROUGH = 0.07
_PASSING = ("saddle", "unstable", "unsettled")
"""No start but those of a line ends there: one that seems to was too slow to be followed."""


@dataclass(frozen=True)
class Verdict:
    """How a random start fares, in the limit of large d.

    ``easy``: N ~ d samples, up to logarithms; ``hard``: N ~ d^``exponent``, from 2 on; ``trapped``: no power of d
    (``exponent`` is None). ``share``: the part of the random starts that the population flow itself takes to v_0 (or
    −v_0, for an even link); ``warm``: whether a start at overlap 0.8 with the spike gets there, None without a spike.
    """

    answer: Answer
    exponent: int | None
    reason: str
    share: float
    warm: bool | None

    def to_json(self) -> dict[str, object]:
        """The part of a record that holds the verdict."""
        return {
            "verdict": self.answer,
            "verdict_reason": self.reason,
            "samples_exponent": self.exponent,
            "share_of_random_starts": self.share,
            "warm_start_succeeds": self.warm,
        }

    def to_text(self) -> str:
        """One line."""
        return f"{self.answer}: {self.reason}"


def verdict(loss: PopulationLoss) -> Verdict:
    """Judge a random start, of overlap ~ d^−½ and either sign, by the exponent and by where the flow takes it.

    Zero overlap is left at once for information exponent k ≤ 2, and where the spike's variance term is unstable,
    V′(1) < 0: N ~ d. Otherwise N ~ d^{k−1}. Both hold only for starts that the flow takes to the target, which is
    followed from 64 directions on a small circle.

    >>> from theory.single_index.link import Link
    >>> cubic = Link.parse("x**3-3*x")
    >>> [verdict(PopulationLoss(cubic, lam=1.0, eta1=eta1)).answer for eta1 in (0.45, 1.0)]
    ['hard', 'trapped']
    """
    loss = replace(loss, quick=True)
    k = information_exponent(loss.link).exponent
    unstable = loss.lam > 0 and float(variance_slope(loss.link)) < 0
    ends = _ends(loss, k)
    share = sum(end.solves for end in ends) / max(len(ends), 1)
    warm = warm_start_succeeds(loss, _WARM)[0] if loss.lam > 0 and loss.eta1 > 0 else None
    if (loss.eta1 == 1 and loss.lam > 0 and trap(loss.link, lam=loss.lam).trapped) or share == 0:
        return Verdict("trapped", None, f"{_prison(loss, ends)}{_warm_words(warm)}", 0.0, warm)
    exponent = 1 if k <= 2 or unstable else k - 1
    cause = f"information exponent {k}" + (", but V′(1) < 0 drives starts out along the spike" if unstable else "")
    parts = [f"{cause}: a random start needs N ~ d{f'^{exponent}' if exponent > 1 else ''} samples, up to logs"]
    if loss.lam > 0 and loss.eta1 < 1 and k > 2 and not unstable:
        parts.append("zero overlap is half-stable, left only along X·v = 0" if k % 2 else "left only along X·v = 0")
    if share < 1:
        parts.append(_others(loss, ends, share))
    return Verdict("easy" if exponent == 1 else "hard", exponent, "; ".join(parts) + _warm_words(warm), share, warm)


def _ends(loss: PopulationLoss, k: int) -> list[End]:
    """Where the flow takes random directions from a radius small, but not so small that it counts as at rest."""
    radius = max(_SMALL, _LEAST_SPEED ** (1 / max(k - 1, 1))) if k > 1 else _SMALL
    angles = 2 * np.pi * (np.arange(_STARTS) + 0.5) / _STARTS
    x, y, _ = destinations(loss, radius * np.cos(angles), radius * np.sin(angles))
    points = fixed_points(loss)
    ends = [judge_end(loss, points, float(a), float(b)) for a, b in zip(x, y, strict=True)]
    return [end for end in ends if end.kind not in _PASSING]


def _prison(loss: PopulationLoss, ends: list[End]) -> str:
    found = trap(loss.link, lam=loss.lam) if loss.eta1 == 1 else None
    if found is None or not found.trapped:
        places = sorted({f"m1 = {end.m1:.3g}" if loss.planar else f"({end.m1:.3g}, {end.m2:.3g})" for end in ends})
        return f"the population flow takes every random start to {' or '.join(places)}, not to the target"
    height = "|m1|" if loss.link.is_even else "m1"
    beyond = "" if found.radius is None else f"; only starts with {height} > r* = {found.radius:.3g} get away"
    return f"at η1 = 1 zero overlap is a local minimum of Φ, and the samples N grow faster than any power of d{beyond}"


def _others(loss: PopulationLoss, ends: list[End], share: float) -> str:
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
