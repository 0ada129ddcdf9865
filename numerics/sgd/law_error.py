"""The power of d in a law's distance from the ODE: its fit, what may move it, and what it says."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from numerics.judge import STANDARD_ERRORS, Quantity, as_rare

Array = NDArray[np.float64]
Approach = Literal["converges", "stays away", "undecided"]
"""What the distances of one law say: they fall like d^{−1/2}, they do not, or they cannot tell."""

EXPECTED_SLOPE = -0.5
"""The power of d where the ODE is the limit."""
RIVAL_SLOPE = 0.0
"""The power of d where the limit is another ODE: the distance stays."""
SLOPE_ALLOWANCE = 0.1
"""How far finite dimensions may move the fitted power from its prediction, beyond four standard errors."""

_ALLOWED = f"within {SLOPE_ALLOWANCE:g} and {STANDARD_ERRORS:g} standard errors"
RULE = (
    f"rule: a law converges where its power of d is −1/2 {_ALLOWED}, and 0 (a distance that stays) is not;\n"
    "      it stays away where −1/2 is refused from above; where both fit, more dims or replicas are needed.\n"
    "      With few replicas the error bar is widened by Student's t; the ODE's own error widens it as well.\n"
    "      Distances smaller than the ODE's own error are ignored"
)
_SHARPEST = 1e-9  # of a distance: no bar counts as smaller


@dataclass(frozen=True)
class LawError:
    """For one law: the mean over replicas of sup over times and statistics of |simulation − ODE|, one per dimension.

    ``slope`` is the power of d, fitted by least squares weighted with the standard errors; NaN where there is none.
    It may miss a prediction by ``standard_errors`` of its standard errors (more than 4 for few replicas), and by
    ``slope_floor``: how far the numerical error of the ODE can have moved it, infinite where a distance is within that
    error of 0.
    """

    law: str
    sup_error: tuple[float, ...]
    stderr: tuple[float, ...]
    slope: float
    slope_stderr: float
    standard_errors: float = STANDARD_ERRORS
    slope_floor: float = 0.0

    @classmethod
    def of(cls, law: str, dims: Sequence[int], distances: Sequence[Array], floors: Sequence[float]) -> LawError:
        """From the distance of each replica at each dimension, and the ODE's own error there.

        >>> LawError.of("uniform", (100, 400), [np.full(9, 1e-16), np.full(9, 2e-16)], [1e-14, 1e-14]).approach
        'undecided'
        """
        means = tuple(float(distance.mean()) for distance in distances)
        bars = tuple(float(distance.std(ddof=1) / np.sqrt(len(distance))) for distance in distances)
        wide = student_errors(dims, means, bars, freedom=min(map(len, distances)) - 1)
        return cls(law, means, bars, *power_of_d(dims, means, bars), wide, slope_floor(dims, means, bars, floors))

    @property
    def approach(self) -> Approach:
        """Whether the distance falls like d^{−1/2}, as it does where the ODE is the limit; see ``RULE``.

        A fit that would also accept the power 0 says nothing, as a claim that would accept its rival.

        >>> LawError("uniform", (0.2, 0.1), (0.01, 0.01), -0.5, 0.02).approach
        'converges'
        >>> LawError("uniform", (0.2, 0.1), (0.2, 0.2), -0.5, 0.2).approach
        'undecided'
        """
        bar = self.slope_stderr * self.standard_errors / STANDARD_ERRORS
        if not math.isfinite(self.slope) or not math.isfinite(bar):
            return "undecided"
        power = Quantity(
            name=f"power of d, {self.law} inputs",
            predicted=EXPECTED_SLOPE,
            measured=self.slope,
            stderr=bar,
            stderr_bound=math.inf,
            rival=RIVAL_SLOPE,
            rival_name="the distance stays",
            allowance=SLOPE_ALLOWANCE + self.slope_floor,
        )
        if power.verdict == "holds":
            return "converges"
        # A power far below −1/2 is no distance that stays: the dimensions are too small for the limit to be seen.
        return "stays away" if power.verdict == "fails" and self.slope > EXPECTED_SLOPE else "undecided"

    @property
    def has_power(self) -> bool:
        """Whether the distances are large enough to have a power of d."""
        return math.isfinite(self.slope) and math.isfinite(self.slope_floor)

    def power(self, *, digits: int = 3) -> str:
        """The power of d with its standard error, in words where there is none."""
        if not self.has_power:
            return "none: within the ODE's error"
        return f"{self.slope:.{digits}f} ± {self.slope_stderr:.{digits}f}"


def power_of_d(dims: Sequence[int], errors: Sequence[float], bars: Sequence[float]) -> tuple[float, float]:
    """The power of d in ``errors``, by weighted least squares on logarithms, and its standard error.

    >>> power_of_d([100, 400, 1600], [0.2, 0.1, 0.05], [0.01, 0.005, 0.0025])[0]
    -0.5
    """
    if min(errors) <= 0:
        return math.nan, math.inf
    leverage, stderr = _leverages(dims, errors, bars)
    return round(float(leverage @ np.log(errors)), 12), stderr


def _leverages(dims: Sequence[int], errors: Sequence[float], bars: Sequence[float]) -> tuple[Array, float]:
    """How the fitted power reads the logarithms, and its standard error."""
    x, size = np.log(np.asarray(dims, dtype=float)), np.asarray(errors)
    # Bars of 0 are those of replicas that agree in every digit kept.
    weight = (size / np.maximum(np.asarray(bars), _SHARPEST * size)) ** 2
    offset = x - float(weight @ x / weight.sum())
    spread = float(weight @ offset**2)
    return weight * offset / spread, float(1 / np.sqrt(spread))


def student_errors(dims: Sequence[int], errors: Sequence[float], bars: Sequence[float], *, freedom: int) -> float:
    """The number of standard errors of the power that is as rare as four of a normal law, when bars are estimates.

    Student's t, with the degrees of freedom of Welch and Satterthwaite, but twice those of one bar at the most: the
    fit leans on the bars that came out small.

    >>> [round(student_errors([100, 400], [0.2, 0.1], [0.02, 0.01], freedom=n), 1) for n in (1, 3, 15, 127)]
    [125.6, 9.8, 4.6, 4.1]
    """
    if min(errors) <= 0:
        return math.inf
    leverage, _ = _leverages(dims, errors, bars)
    variances = (leverage * np.maximum(np.asarray(bars) / np.asarray(errors), _SHARPEST)) ** 2
    together = float(variances.sum() ** 2 / (variances**2).sum())
    return as_rare(STANDARD_ERRORS, freedom * min(together, 2.0))


def slope_floor(dims: Sequence[int], errors: Sequence[float], bars: Sequence[float], floors: Sequence[float]) -> float:
    """How far the power moves where each distance is off by its floor, all of them in the worst direction.

    >>> round(slope_floor([100, 400], [0.2, 0.1], [0.01, 0.01], [0.002, 0.001]), 3)
    0.014
    """
    size, floor = np.asarray(errors), np.asarray(floors)
    if (floor >= size).any():
        return math.inf
    leverage, _ = _leverages(dims, errors, bars)
    return float(np.abs(leverage) @ -np.log1p(-floor / size))
