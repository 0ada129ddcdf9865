"""Is the ODE the same for every input law? The sup-distance of simulations from it, and its power of d."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from numerics.runs.machine import HERE, Machine
from numerics.sgd.law_error import RULE, Approach, LawError
from numerics.sgd.run import step_marks
from numerics.sgd.simulate import Simulation, choice, simulate_sgd
from numerics.sgd.vectors import Spread
from theory.checks import whole
from theory.errors import InputError, ReachError
from theory.sgd.expectations import GAUSSIAN
from theory.sgd.grouped import grouped_ode
from theory.sgd.laws import Law
from theory.sgd.ode import effective_ode
from theory.sgd.state import State, as_state
from theory.sgd.task import Task
from theory.spectrum import read_spectrum
from theory.times import time_grid

Array = NDArray[np.float64]
Reference = Literal["universal", "own"]
"""The ODE compared with: that of Gaussian inputs, or the law's own, which differs where a start is localised."""

Verdict = Literal["universal", "not universal", "undecided"]

_SHOWN = 1e-3  # smaller distances are printed as powers of ten
_ROUNDINGS = 4  # in units of the last place of a statistic of order one, for the root of the number of steps


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
        """``{LAW: {"sup_error", "stderr", "slope", "slope_stderr", "dims", "verdict"}, …, "warnings": […]}``.

        Lists go along "dims"; no law is called "warnings".

        A slope is null where a distance is within the ODE's own error: it has no power of d.
        """
        by_law: dict[str, object] = {
            law.law: {
                "sup_error": list(law.sup_error),
                "stderr": list(law.stderr),
                "slope": law.slope if law.has_power else None,
                "slope_stderr": law.slope_stderr if law.has_power else None,
                "dims": list(self.dims),
                "verdict": law.approach,
            }
            for law in self.laws
        }
        return by_law | {"warnings": list(self.warnings)}

    def to_text(self) -> str:
        """A table of distances, the fitted powers, the rule and the verdict."""
        which = "the Gaussian ODE" if self.reference == "universal" else "the law's own ODE"
        rows = [["law", *(f"d = {d}" for d in self.dims), "power of d", ""]]
        for law in self.laws:
            cells = [_cell(error, bar) for error, bar in zip(law.sup_error, law.stderr, strict=True)]
            rows.append([law.law, *cells, law.power(), law.approach])
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = ["  ".join(c.ljust(w) for c, w in zip(row, widths, strict=True)).rstrip() for row in rows]
        head = f"{self.task}: sup |simulation − {which}|, {self.replicas} replicas; the limit predicts the power −1/2"
        return "\n".join([head, *lines, RULE, self._conclusion()])

    def _conclusion(self) -> str:
        names = {kind: ", ".join(law.law for law in self.laws if law.approach == kind) for kind in get_args(Approach)}
        away, open_ = names["stays away"], names["undecided"]
        if self.verdict == "undecided":
            if not any(law.has_power for law in self.laws if law.approach == "undecided"):
                return f"undecided: distances are within the ODE's own error, nothing is left to tell ({open_})"
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
    spectrum: str | None = None,
    reference: Reference = "universal",
    machine: Machine = HERE,
    name: str = "sgd universality",
) -> Universality:
    """Measure how simulations under each law approach the ODE as d grows. [U] main theorem.

    For delocalised starts and truths every law with mean 0 and variance 1 has one ODE, and the distance falls like
    d^{−1/2}; with a localised coordinate the ODE depends on its law, and the distance from the Gaussian one stays.
    The same replica seeds serve every law and dimension; for ``machine`` and ``name`` see ``simulate_sgd``. Raises
    ``InputError`` for fewer than two dimensions, laws of one name or fewer than two replicas, ``ReachError`` where
    simulations diverge.

    >>> from theory.sgd.laws import law
    >>> from theory.sgd.tasks import logistic
    >>> verdict = universality(logistic(), [0, 1], laws=[law("rademacher")], dims=[50, 200], replicas=4, seed=0)
    >>> verdict.dims, verdict.laws[0].law
    ((50, 200), 'rademacher')
    """
    grid = time_grid(times)
    choice("reference", reference, ("universal", "own"))
    _check(grid, laws, dims, replicas)
    start = as_state(task, start)
    marks = {d: step_marks(task, grid, d) for d in dims}
    curves = _curves(task, start, [law if reference == "own" else GAUSSIAN for law in laws], marks)
    spectral = None if spectrum in (None, "isotropic") else _spectral_curves(task, start, spectrum, marks)
    results = []
    warnings = list(curves[0].warnings if spectral is None else spectral[dims[-1]].warnings)
    total = len(laws) * len(dims) * replicas * len(grid)
    for place, (law, curve) in enumerate(zip(laws, curves, strict=True)):
        distances, floors = [], []
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
                spectrum=spectrum,
                machine=machine.part((place * len(dims) + step) * replicas * len(grid), total),
                name=name,
            )
            if run.diverged:
                raise ReachError(
                    f"universality of {task.name}",
                    given=f"{law.name} inputs at d = {d}",
                    reach=f"{run.replicas - run.diverged} of {run.replicas} replicas: the others diverged",
                    remedy="lower step=, raise the smallest dimension, or stop at an earlier time",
                )
            values, error = (curve if spectral is None else spectral[d]).at(run.realised_times)
            distances.append(sup_distance(run, values))
            rounding = np.finfo(float).eps * max(1.0, float(np.abs(values).max())) * math.sqrt(run.steps[-1])
            floors.append(error + _ROUNDINGS * rounding)
        results.append(LawError.of(law.name, dims, distances, floors))
    return Universality(task.name, reference, tuple(dims), replicas, tuple(results), tuple(warnings))


def sup_distance(run: Simulation, curve: Array) -> Array:
    """For each replica, sup over times and statistics of |statistic − curve| (curve: times × statistics)."""
    distance: Array = np.abs(run.values - curve).max(axis=(1, 2))
    return distance


def _cell(error: float, bar: float) -> str:
    return f"{error:.4f} ± {bar:.4f}" if error >= _SHOWN else f"{error:.1e} ± {bar:.1e}"


@dataclass(frozen=True, eq=False)
class _Curve:
    """An ODE solved at every time any simulation was read."""

    times: Array
    values: Array
    error: Array
    warnings: tuple[str, ...]

    def at(self, times: Array) -> tuple[Array, float]:
        """The statistics at some of the times, and the largest estimated error of any there."""
        rows = np.searchsorted(self.times, times)
        return self.values[rows], float(self.error[rows].max())


def _spectral_curves(
    task: Task, start: State, spectrum: str | None, marks: dict[int, tuple[int, ...]]
) -> dict[int, _Curve]:
    """The ODE at each dimension's own spectrum, which no product law changes."""
    solved = {}
    for d, steps in marks.items():
        times = np.array(steps) * task.step / d
        ode = grouped_ode(task, times, read_spectrum(spectrum or "isotropic", d), start=start)
        solved[d] = _Curve(np.array(ode.times), ode.values, ode.error, ode.warnings)
    return solved


def _curves(task: Task, start: State, laws: Sequence[Law], marks: dict[int, tuple[int, ...]]) -> list[_Curve]:
    realised = np.unique([step * task.step / d for d, steps in marks.items() for step in steps])
    solved: dict[str, _Curve] = {}
    for law in laws:
        # Where nothing is localised, one law's ODE is every law's.
        key = law.name if start.localised else "any"
        if key not in solved:
            ode = effective_ode(task, realised, start=start, laws=law)
            solved[key] = _Curve(np.array(ode.times), ode.values, ode.error, ode.warnings)
    return [solved[law.name if start.localised else "any"] for law in laws]


def _check(grid: tuple[float, ...], laws: Sequence[Law], dims: Sequence[int], replicas: int) -> None:
    if isinstance(dims, str) or not isinstance(dims, Sequence) or not isinstance(laws, Sequence):
        raise InputError(
            "dims and laws", given=[dims, laws], expected="lists of each", remedy="use [100, 400, 1600] and [law(NAME)]"
        )
    for d in dims:
        whole("dims", d, least=1, remedy="use 100,400,1600")
    if len(dims) < 2 or any(a >= b for a, b in itertools.pairwise(dims)):
        raise InputError(
            "dims", given=list(dims), expected="two dimensions or more, from 1, increasing", remedy="use 100,400,1600"
        )
    if grid[-1] == 0:
        raise InputError("times", given=list(grid), expected="a time after 0", remedy="use for example 0,1")
    if not all(isinstance(law, Law) for law in laws):
        raise InputError(
            "laws",
            given=laws,
            expected="a list of Law",
            remedy='read each by its name: theory.sgd.laws.law("gaussian")',
        )
    names = [law.name for law in laws]
    if not names or len(set(names)) < len(names):
        raise InputError("laws", given=names, expected="one law or more, each once", remedy="use gaussian,rademacher")
    whole("replicas", replicas, least=1, remedy="use 32")
    if replicas < 2:
        raise InputError("replicas", given=replicas, expected="at least 2, for a standard error", remedy="use 32")
