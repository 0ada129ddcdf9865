"""Is the ODE the same for every input law? The sup-distance of simulations from it, and its power of d."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from numerics.claims.ledger import STANDARD_ERRORS, Quantity
from numerics.replicas import Progress
from numerics.sgd.run import step_marks
from numerics.sgd.simulate import Simulation, choice, simulate_sgd
from numerics.sgd.vectors import Spread
from theory.effective.expectations import GAUSSIAN
from theory.effective.laws import Law
from theory.effective.ode import effective_ode
from theory.effective.state import State, start_state
from theory.effective.task import Task
from theory.errors import InputError, ReachError
from theory.times import time_grid

Array = NDArray[np.float64]
Reference = Literal["universal", "own"]
"""The ODE compared with: that of Gaussian inputs, or the law's own, which differs where a start is localised."""

Approach = Literal["converges", "stays away", "undecided"]
"""What the distances of one law say: they fall like d^{−1/2}, they do not, or they cannot tell."""
Verdict = Literal["universal", "not universal", "undecided"]

EXPECTED_SLOPE = -0.5
RIVAL_SLOPE = 0.0
"""The power of d where the limit is another ODE: the distance stays."""
SLOPE_ALLOWANCE = 0.1
"""How far finite dimensions may move the fitted power from its prediction, beyond four standard errors."""

_ALLOWED = f"within {SLOPE_ALLOWANCE:g} and {STANDARD_ERRORS:g} standard errors"
RULE = (
    f"rule: a law converges where its power of d is −1/2 {_ALLOWED}, and 0 (a distance that stays) is not;\n"
    "      it stays away where −1/2 is refused from above; where both fit, more dims or replicas are needed"
)


@dataclass(frozen=True)
class LawError:
    """For one law: the mean over replicas of sup over times and statistics of |simulation − ODE|, one per dimension.

    ``slope`` is the power of d, fitted by least squares weighted with the standard errors.
    """

    law: str
    sup_error: tuple[float, ...]
    stderr: tuple[float, ...]
    slope: float
    slope_stderr: float

    @property
    def approach(self) -> Approach:
        """Whether the distance falls like d^{−1/2}, as it does where the ODE is the limit; see ``RULE``.

        A fit that would also accept the power 0 says nothing, as a claim that would accept its rival.

        >>> LawError("uniform", (0.2, 0.1), (0.01, 0.01), -0.5, 0.02).approach
        'converges'
        >>> LawError("uniform", (0.2, 0.1), (0.2, 0.2), -0.5, 0.2).approach
        'undecided'
        """
        power = Quantity(
            name=f"power of d, {self.law} inputs",
            predicted=EXPECTED_SLOPE,
            measured=self.slope,
            stderr=self.slope_stderr,
            stderr_bound=math.inf,
            rival=RIVAL_SLOPE,
            rival_name="the distance stays",
            allowance=SLOPE_ALLOWANCE,
        )
        if power.verdict == "holds":
            return "converges"
        # A power far below −1/2 is no distance that stays: the dimensions are too small for the limit to be seen.
        return "stays away" if power.verdict == "fails" and self.slope > EXPECTED_SLOPE else "undecided"


@dataclass(frozen=True)
class Universality:
    """The verdict on universality of a task's ODE over input laws."""

    task: str
    reference: Reference
    dims: tuple[int, ...]
    replicas: int
    laws: tuple[LawError, ...]
    warnings: tuple[str, ...]

    @property
    def verdict(self) -> Verdict:
        """Not universal as soon as one law stays away; universal where every law converges."""
        approaches = {law.approach for law in self.laws}
        if "stays away" in approaches:
            return "not universal"
        return "undecided" if "undecided" in approaches else "universal"

    def to_json(self) -> dict[str, object]:
        """``{LAW: {"sup_error", "stderr", "slope", "slope_stderr", "dims", "verdict"}}``; lists go along "dims"."""
        return {
            law.law: {
                "sup_error": list(law.sup_error),
                "stderr": list(law.stderr),
                "slope": law.slope,
                "slope_stderr": law.slope_stderr,
                "dims": list(self.dims),
                "verdict": law.approach,
            }
            for law in self.laws
        }

    def to_text(self) -> str:
        """A table of distances, the fitted powers, the rule and the verdict."""
        which = "the Gaussian ODE" if self.reference == "universal" else "the law's own ODE"
        rows = [["law", *(f"d = {d}" for d in self.dims), "power of d", ""]]
        for law in self.laws:
            cells = [f"{error:.4f} ± {bar:.4f}" for error, bar in zip(law.sup_error, law.stderr, strict=True)]
            rows.append([law.law, *cells, f"{law.slope:.3f} ± {law.slope_stderr:.3f}", law.approach])
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = ["  ".join(c.ljust(w) for c, w in zip(row, widths, strict=True)).rstrip() for row in rows]
        head = f"{self.task}: sup |simulation − {which}|, {self.replicas} replicas; the limit predicts the power −1/2"
        return "\n".join([head, *lines, RULE, self._conclusion()])

    def _conclusion(self) -> str:
        names = {kind: ", ".join(law.law for law in self.laws if law.approach == kind) for kind in get_args(Approach)}
        away, open_ = names["stays away"], names["undecided"]
        if self.verdict == "undecided":
            return f"undecided: more dims or replicas ({open_})"
        left = f"; undecided: {open_}" if open_ else ""
        if self.reference == "own":
            return f"off their own ODE: {away}{left}" if away else "every law follows its own ODE"
        return f"not universal: {away}{left}" if away else "universal: one ODE for all these laws"


def universality(
    task: Task,
    times: Iterable[float],
    *,
    laws: Sequence[Law],
    dims: Sequence[int],
    replicas: int,
    seed: int,
    start: State | None = None,
    spread: Spread = "random",
    reference: Reference = "universal",
    workers: int = 1,
    progress: Progress | None = None,
    store: str | Path | None = None,
    dask: str | None = None,
    name: str = "sgd universality",
) -> Universality:
    """Measure how simulations under each law approach the ODE as d grows. [U] main theorem.

    For delocalised starts and truths every law with mean 0 and variance 1 has one ODE, and the distance falls like
    d^{−1/2}; with a localised coordinate the ODE depends on its law, and the distance from the Gaussian one stays.
    The same replica seeds serve every law and dimension; for ``workers``, ``store``, ``dask`` and ``name`` see
    ``simulate_sgd``. Raises ``InputError`` for fewer than two dimensions, laws of
    one name or fewer than two replicas, ``ReachError`` where simulations diverge.

    >>> from theory.effective.laws import law
    >>> from theory.effective.tasks import logistic
    >>> verdict = universality(logistic(), [0, 1], laws=[law("rademacher")], dims=[50, 200], replicas=4, seed=0)
    >>> verdict.dims, verdict.laws[0].law
    ((50, 200), 'rademacher')
    """
    grid = time_grid(times)
    choice("reference", reference, ("universal", "own"))
    _check(grid, laws, dims, replicas)
    start = start_state(task) if start is None else start
    marks = {d: step_marks(task, grid, d) for d in dims}
    curves = _curves(task, start, [law if reference == "own" else GAUSSIAN for law in laws], marks)
    results, warnings = [], list(curves[0].warnings)
    total = len(laws) * len(dims) * replicas * len(grid)
    for place, (law, curve) in enumerate(zip(laws, curves, strict=True)):
        errors, bars = [], []
        for step, d in enumerate(dims):
            run = simulate_sgd(
                task,
                grid,
                d=d,
                replicas=replicas,
                seed=seed,
                laws=law,
                start=start,
                spread=spread,
                workers=workers,
                progress=_part(progress, (place * len(dims) + step) * replicas * len(grid), total),
                store=store,
                dask=dask,
                name=name,
            )
            if run.diverged:
                raise ReachError(
                    f"universality of {task.name}",
                    given=f"{law.name} inputs at d = {d}",
                    reach=f"{run.replicas - run.diverged} of {run.replicas} replicas: the others diverged",
                    remedy="lower --delta, raise the smallest dimension, or stop at an earlier time",
                )
            distance = sup_distance(run, curve.at(run.realised_times))
            errors.append(float(distance.mean()))
            bars.append(float(distance.std(ddof=1) / np.sqrt(replicas)))
        slope, bar = power_of_d(dims, errors, bars)
        results.append(LawError(law.name, tuple(errors), tuple(bars), slope, bar))
    return Universality(task.name, reference, tuple(dims), replicas, tuple(results), tuple(warnings))


def sup_distance(run: Simulation, curve: Array) -> Array:
    """For each replica, sup over times and statistics of |statistic − curve| (curve: times × statistics)."""
    distance: Array = np.abs(run.values - curve).max(axis=(1, 2))
    return distance


def power_of_d(dims: Sequence[int], errors: Sequence[float], bars: Sequence[float]) -> tuple[float, float]:
    """The power of d in ``errors``, by weighted least squares on logarithms, and its standard error.

    >>> power_of_d([100, 400, 1600], [0.2, 0.1, 0.05], [0.01, 0.005, 0.0025])[0]
    -0.5
    """
    x, y = np.log(np.asarray(dims, dtype=float)), np.log(np.asarray(errors))
    weight = (np.asarray(errors) / np.maximum(np.asarray(bars), 1e-300)) ** 2
    centre = float(weight @ x / weight.sum())
    spread = float(weight @ (x - centre) ** 2)
    return round(float(weight @ ((x - centre) * y)) / spread, 12), float(1 / np.sqrt(spread))


@dataclass(frozen=True, eq=False)
class _Curve:
    """An ODE solved at every time any simulation was read."""

    times: Array
    values: Array
    warnings: tuple[str, ...]

    def at(self, times: Array) -> Array:
        rows = np.searchsorted(self.times, times - 1e-9)
        found: Array = self.values[rows]
        return found


def _curves(task: Task, start: State, laws: Sequence[Law], marks: dict[int, tuple[int, ...]]) -> list[_Curve]:
    realised = np.unique(np.round([n * task.step / d for d, steps in marks.items() for n in steps], 12))
    solved: dict[str, _Curve] = {}
    for law in laws:
        # Where nothing is localised, one law's ODE is every law's.
        key = law.name if start.localised else "any"
        if key not in solved:
            ode = effective_ode(task, realised, start=start, laws=law)
            solved[key] = _Curve(np.array(ode.times), ode.values, ode.warnings)
    return [solved[law.name if start.localised else "any"] for law in laws]


def _part(progress: Progress | None, before: int, total: int) -> Callable[[int, int], None] | None:
    return None if progress is None else lambda finished, _: progress(before + finished, total)


def _check(grid: tuple[float, ...], laws: Sequence[Law], dims: Sequence[int], replicas: int) -> None:
    if len(dims) < 2 or dims[0] < 1 or any(a >= b for a, b in itertools.pairwise(dims)):
        raise InputError(
            "dims", given=list(dims), expected="two dimensions or more, from 1, increasing", remedy="use 100,400,1600"
        )
    if grid[-1] == 0:
        raise InputError("times", given=list(grid), expected="a time after 0", remedy="use for example 0,1")
    names = [law.name for law in laws]
    if not names or len(set(names)) < len(names):
        raise InputError("laws", given=names, expected="one law or more, each once", remedy="use gaussian,rademacher")
    if replicas < 2:
        raise InputError("replicas", given=replicas, expected="at least 2, for a standard error", remedy="use 32")
