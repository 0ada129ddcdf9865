"""What a claim is, and the one rule by which every claim is judged."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Literal, TypedDict

from numerics.places import PlaceError
from numerics.student import as_rare
from theory.errors import InputError

Effort = Literal["quick", "full"]
Relation = Literal["=", "<=", ">="]
Verdict = Literal["holds", "fails", "blind"]

STANDARD_ERRORS = 4.0
"""A measurement may miss its prediction by the stated allowance and by this many of its standard errors."""


@cache
def standard_errors(replicas: int) -> float:
    """How many standard errors, found from so many replicas, are as seldom exceeded as ``STANDARD_ERRORS`` true ones.

    Student's t: with few replicas the standard error is itself uncertain. Infinite for a single one.

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


@dataclass(frozen=True)
class Curve:
    """Data for a claim's plot: a line (theory) or points with bars (measurement)."""

    label: str
    x: Sequence[float]
    y: Sequence[float]
    yerr: Sequence[float] | None = None
    kind: Literal["line", "points"] = "line"


@dataclass(frozen=True)
class Plot:
    """Curves on one pair of axes, with a sentence for those who cannot see it."""

    curves: Sequence[Curve]
    xlabel: str
    ylabel: str
    alt: str
    xscale: Literal["linear", "log"] = "linear"
    yscale: Literal["linear", "log"] = "linear"


@dataclass(frozen=True)
class Evidence:
    """What a run of a claim brought home: quantities to judge, plots, and remarks finer than the statement."""

    quantities: Sequence[Quantity]
    plots: Sequence[Plot] = ()
    remarks: Sequence[str] = ()


class Where(TypedDict):
    """Local workers, a store, and the address of a cluster's scheduler in place of workers."""

    workers: int
    store: str | None
    dask: str | None


@dataclass(frozen=True)
class Conditions:
    """How a claim is run: the effort and the seed; where its replicas are: see ``where``."""

    effort: Effort = "quick"
    seed: int = 0
    workers: int = 1
    store: str | None = None
    dask: str | None = None

    @property
    def where(self) -> Where:
        """What a claim hands on to whatever runs its replicas, beside an experiment name that begins with its id.

        >>> Conditions(workers=2).where
        {'workers': 2, 'store': None, 'dask': None}
        """
        return {"workers": self.workers, "store": self.store, "dask": self.dask}


@dataclass(frozen=True)
class Claim:
    """A statement of a paper that this project makes real.

    ``source`` cites paper and statement, ``prediction`` says where the predicted number comes from, ``experiment`` what
    is run, ``rule`` the acceptance rule in words, written before the run, and ``power`` the wrong answer it catches.
    """

    id: str
    statement: str
    source: str
    prediction: str
    experiment: str
    rule: str
    power: str
    gather: Callable[[Conditions], Evidence] = field(repr=False)


@dataclass(frozen=True)
class Result:
    """A claim that was run."""

    claim: Claim
    evidence: Evidence
    seconds: float
    error: str | None = None

    @property
    def verdict(self) -> Verdict:
        """The worst of the quantities' verdicts; a claim that raised fails, one without quantities is blind."""
        if self.error is not None:
            return "fails"
        verdicts = [quantity.verdict for quantity in self.evidence.quantities]
        if "fails" in verdicts:
            return "fails"
        return "holds" if verdicts and "blind" not in verdicts else "blind"

    def to_text(self) -> str:
        """The verdict on one line, then the quantities that do not hold, or the first one where all hold."""
        head = f"{self.verdict:5}  {self.claim.id:8} {self.claim.statement}  [{self.seconds:.1f} s]"
        if self.error:
            return f"{head}\n       {self.error}"
        quantities = self.evidence.quantities
        shown = [quantity for quantity in quantities if quantity.verdict != "holds"] or quantities[:1]
        return "\n".join([head, *(f"       {quantity.to_text()}" for quantity in shown)])


def run_claim(claim: Claim, conditions: Conditions) -> Result:
    """Run one claim and judge it. An exception on the way is a failure with its reason, so that the others go on.

    Raises ``PlaceError`` where a store or a cluster cannot be used: that says nothing about the claim.
    """
    start = time.perf_counter()
    try:
        evidence, error = claim.gather(conditions), None
    except PlaceError:
        raise
    except Exception as raised:
        evidence, error = Evidence(()), f"{type(raised).__name__}: {raised}"
    return Result(claim, evidence, time.perf_counter() - start, error)


def select(ledger: Sequence[Claim], ids: Sequence[str]) -> tuple[Claim, ...]:
    """The claims named by ``ids`` (all, when none is named), in the ledger's order."""
    known = {claim.id: claim for claim in ledger}
    unknown = [name for name in ids if name.upper() not in known]
    if unknown:
        raise InputError("claim", given=unknown[0], expected=f"one of {', '.join(known)}", remedy="see claims --list")
    wanted = {name.upper() for name in ids}
    return tuple(claim for claim in ledger if not wanted or claim.id in wanted)
