"""A population flow with its fixed points and what becomes of the start, in one result. [S] §5."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from theory.single_index.fate import End, judge_end
from theory.single_index.fixed_points import FixedPoint, fixed_points, indices_complete
from theory.single_index.flow import Flow, destinations, flow
from theory.single_index.loss import PopulationLoss
from theory.single_index.regions import trapping_wedge, wedge_traps

_ROWS = 40


@dataclass(frozen=True)
class FlowReport:
    """The path, all fixed points by increasing loss, and the fate of the start.

    ``end``: where the flow ends, beyond the last time too; ``monotone``: at m = (1, 0), with m_1 growing all the way.
    ``in_trapping_wedge``: the start lies in the wedge {s̄ ≥ 0, C ≤ 0} and the flow can never leave it.
    """

    path: Flow
    points: tuple[FixedPoint, ...]
    end: End
    monotone: bool
    in_trapping_wedge: bool
    warnings: tuple[str, ...]

    @property
    def reaches_target(self) -> bool:
        """Whether the flow ends at m = (1, 0)."""
        return self.end.kind == "target"

    def to_json(self) -> dict[str, object]:
        """The interface's record."""
        loss = replace(self.path.loss, quick=True)
        return {
            "link": loss.link.text,
            "lambda": loss.lam,
            "eta1": loss.eta1,
            "start": list(self.path.start),
            "times": [float(t) for t in self.path.times],
            "m1": [float(m) for m in self.path.m1],
            "m2": [float(m) for m in self.path.m2],
            "loss": [float(value) for value in self.path.value],
            "fixed_points": [point.to_json() for point in self.points],
            "end": self.end.to_json(),
            "reaches_target": self.reaches_target,
            "monotone": self.monotone,
            "in_trapping_wedge": self.in_trapping_wedge,
            "method": loss.method,
            "error": loss.error,
            "warnings": list(self.warnings),
        }

    def to_text(self) -> str:
        """The path (at most 40 rows of it), the fixed points, the verdict on the start."""
        loss = replace(self.path.loss, quick=True)
        lines = [
            f"link f(x) = {loss.link.text}, {loss.spike}   (Φ by {loss.method})",
            "",
            f"{'t':>10} {'m1':>12} {'m2':>12} {'Φ':>14}",
        ]
        rows = list(zip(self.path.times, self.path.m1, self.path.m2, self.path.value, strict=True))
        every = -(-len(rows) // _ROWS)
        lines += [f"{t:>10.5g} {a:>12.8f} {b:>12.8f} {value:>14.8g}" for t, a, b, value in rows[::every]]
        lines += ["", f"fixed points{'' if not loss.planar else ' (m2 is idle: each stands for its line)'}:"]
        lines += [
            f"  ({p.m1:>9.6f}, {p.m2:>9.6f})  Φ = {p.value:<12.6g} {p.stability:<12}"
            f" rates {', '.join(f'{rate:.4g}' for rate in p.rates)}{'  on the circle' if p.on_circle else ''}"
            for p in self.points
        ]
        way = ", m1 growing all the way" if self.monotone else ""
        wedge = "; it lies in the wedge that no path leaves" if self.in_trapping_wedge else ""
        lines += ["", f"the start {self.path.start} ends at (m1, m2) = {self.end.to_text()}{way}{wedge}"]
        return "\n".join(lines)


def describe_flow(loss: PopulationLoss, *, start: tuple[float, float], times: Iterable[float]) -> FlowReport:
    """Follow the flow from ``start`` and judge it.

    >>> from theory.single_index.link import Link
    >>> report = describe_flow(PopulationLoss(Link.parse("x**3-3*x"), lam=1.0, eta1=0.45), start=(-0.1, 0.2), times=[1])
    >>> report.reaches_target, report.in_trapping_wedge
    (False, True)
    >>> report.end.kind
    'half-stable'
    """
    path = flow(loss, start, times)
    x, y, rising = destinations(loss, [path.start[0]], [path.start[1]])
    points = fixed_points(loss)
    end = judge_end(loss, points, float(x[0]), float(y[0]))
    warnings = []
    if not indices_complete(loss, points):
        warnings.append("the indices of the fixed points do not add up: one may be missing, or they are not isolated")
    if end.kind == "unsettled":
        warnings.append("the flow from the start could not be followed to a fixed point: its end is not known")
    inside = bool(trapping_wedge(loss).contains(*np.array(path.start))) and wedge_traps(loss)
    return FlowReport(path, points, end, end.kind == "target" and bool(rising[0]), inside, tuple(warnings))
