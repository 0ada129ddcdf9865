"""What a claim is, and the one rule by which every claim is judged."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from numerics.judge import Quantity, Verdict
from numerics.runs.machine import HERE, Machine
from numerics.runs.places import PlaceError
from theory.errors import InputError

Effort = Literal["quick", "full"]


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


@dataclass(frozen=True)
class Conditions:
    """How a claim is run: the effort, the seed, and the machine for its replicas.

    A claim hands the machine on to whatever runs them, beside an experiment name that begins with its id.
    """

    effort: Effort = "quick"
    seed: int = 0
    machine: Machine = HERE


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
    """A claim that was run; ``reused`` where it was not run now, but by an earlier run of the same code."""

    claim: Claim
    evidence: Evidence
    seconds: float
    error: str | None = None
    reused: bool = False
    warnings: tuple[str, ...] = ()

    @property
    def verdict(self) -> Verdict:
        """The worst of the quantities' verdicts; a claim that raised fails, one without quantities is blind."""
        if self.error is not None:
            return "fails"
        verdicts = [quantity.verdict for quantity in self.evidence.quantities]
        if "fails" in verdicts:
            return "fails"
        return "holds" if verdicts and "blind" not in verdicts else "blind"

    @property
    def took(self) -> str:
        """The time it took, and that this was before, where the verdict is reused."""
        return f"reused, took {self.seconds:.1f} s" if self.reused else f"{self.seconds:.1f} s"

    def to_text(self) -> str:
        """The verdict on one line, then the quantities that do not hold, or the first one where all hold."""
        head = f"{self.verdict:5}  {self.claim.id:8} {self.claim.statement}  [{self.took}]"
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
    warnings: list[str] = []
    try:
        told = replace(conditions, machine=replace(conditions.machine, warn=warnings.append))
        evidence, error = claim.gather(told), None
    except PlaceError:
        raise
    except Exception as raised:
        evidence, error = Evidence(()), f"{type(raised).__name__}: {raised}"
    return Result(claim, evidence, time.perf_counter() - start, error, warnings=tuple(dict.fromkeys(warnings)))


def select(ledger: Sequence[Claim], ids: Sequence[str]) -> tuple[Claim, ...]:
    """The claims named by ``ids`` (all, when none is named), in the ledger's order."""
    known = {claim.id: claim for claim in ledger}
    unknown = [name for name in ids if name.upper() not in known]
    if unknown:
        raise InputError(
            "claim",
            given=unknown[0],
            expected=f"one of {', '.join(known)}",
            remedy="name one of these, or none for all",
        )
    wanted = {name.upper() for name in ids}
    return tuple(claim for claim in ledger if not wanted or claim.id in wanted)
