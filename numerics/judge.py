"""The one rule by which anything measured is judged: a quantity, its verdict, and Student's t for few replicas."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache
from typing import Literal

import numpy as np

Relation = Literal["=", "<=", ">="]
Verdict = Literal["holds", "fails", "blind"]

STANDARD_ERRORS = 4.0
"""A measurement may miss its prediction by the stated allowance and by this many of its standard errors."""


def as_rare(errors: float, freedom: float) -> float:
    """Student's t critical value with the same tail probability as ``errors`` sigmas of a normal law.

    >>> [round(as_rare(4.0, freedom), 2) for freedom in (2, 15, 999)]
    [125.64, 5.48, 4.02]
    """
    from scipy.stats import norm, t

    return float(t.isf(norm.sf(errors), freedom))


@cache
def standard_errors(replicas: int) -> float:
    """How many standard errors a judgement allows, when they were estimated from so many replicas.

    With few replicas the error bar is widened by Student's t, since it is itself uncertain. Infinite for a single one.

    >>> [round(standard_errors(count), 2) for count in (3, 16, 1000)]
    [125.64, 5.48, 4.02]
    """
    return as_rare(STANDARD_ERRORS, replicas - 1) if replicas > 1 else math.inf


@dataclass(frozen=True)
class Quantity:
    """One number the theory predicts, its measurement, and what would have been measured were a rival right.

    ``relation`` reads *measured relation predicted*. ``allowance`` is the finite-size or discretisation error stated
    before the run, ``stderr_bound`` the largest standard error with which the measurement is worth anything. ``rival``
    is the prediction of a wrong theory that the measurement must be able to reject; ``rival_name`` says which.
    ``replicas`` is how many the standard error was found from, where they may be few: see ``standard_errors``.
    """

    name: str
    predicted: float
    measured: float
    stderr: float
    stderr_bound: float
    rival: float
    rival_name: str
    relation: Relation = "="
    allowance: float = 0.0
    replicas: int | None = None

    def agrees_with(self, prediction: float) -> bool:
        """Whether the measurement is compatible with ``prediction``, and sharp enough to be asked."""
        if not (math.isfinite(self.measured) and 0 <= self.stderr <= self.stderr_bound):
            return False
        errors = STANDARD_ERRORS if self.replicas is None else standard_errors(self.replicas)
        slack = self.allowance + errors * self.stderr
        excess = self.measured - prediction
        if self.relation == "=":
            return abs(excess) <= slack
        return excess <= slack if self.relation == "<=" else excess >= -slack

    @property
    def verdict(self) -> Verdict:
        """``holds``; ``fails``; or ``blind`` when the rival would have passed as well."""
        if not self.agrees_with(self.predicted):
            return "fails"
        return "blind" if self.agrees_with(self.rival) else "holds"

    def to_text(self) -> str:
        """Prediction, measurement and rival on one line."""
        return (
            f"{self.name}: predicted {self.relation} {self.predicted:.5g}, measured {self.measured:.5g} ± "
            f"{self.stderr:.2g}, allowance {self.allowance:.2g}, rival {self.rival:.5g} ({self.rival_name})"
        )


def mean_and_error(sample: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mean over the rows, and its standard error (NaN for a single row)."""
    if len(sample) == 1:
        return sample[0], np.full(sample.shape[1:], math.nan)
    return sample.mean(axis=0), sample.std(axis=0, ddof=1) / math.sqrt(len(sample))
