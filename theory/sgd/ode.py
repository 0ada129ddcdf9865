"""The ODE limit of one-pass SGD: solved from a start, with an error estimate, in closed form where there is one."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from theory.checks import real
from theory.errors import InputError
from theory.sgd.erf_committee import closed_form, erf_drift
from theory.sgd.expectations import GAUSSIAN, Laws, component_laws
from theory.sgd.refinement import COARSE, FINE, Refined, refine
from theory.sgd.solver import solve
from theory.sgd.stability import step_warnings
from theory.sgd.state import State, as_state, check_state, describe
from theory.sgd.task import Task
from theory.times import time_grid

Array = NDArray[np.float64]

SMALLEST_TOLERANCE = 1e-9
"""Solvers and quadratures keep no more."""
_WIDEST = 10
_LOSS_LEVEL = 2


@dataclass(frozen=True, eq=False)
class EffectiveODE:
    """The summary statistics of a task as functions of time nδ/d, in the limit d → ∞. [E] Thm 2.2, [U].

    ``values`` and ``error`` are arrays (times × statistics) in the order of ``names``; ``error`` is the
    difference between the last two solutions computed (two quadratures, or two tolerances where expectations are
    exact), and more where a far finer quadrature sees what those two missed.
    """

    task: Task
    law: str
    times: tuple[float, ...]
    names: tuple[str, ...]
    values: Array
    error: Array
    start: State
    method: str
    warnings: tuple[str, ...]

    def at_end(self) -> State:
        """The state at the last time."""
        return self.start.moved(self.values[-1])

    def to_json(self) -> dict[str, object]:
        """Times, statistics by name, the estimated numerical error of each under ``stderr``, and what was solved."""
        return {
            "task": self.task.name,
            "law": self.law,
            "delta": self.task.step,
            "method": self.method,
            "stderr_is": "estimated numerical error",
            "times": list(self.times),
            "statistics": {name: self.values[:, k].tolist() for k, name in enumerate(self.names)},
            "stderr": {name: self.error[:, k].tolist() for k, name in enumerate(self.names)},
        }

    def to_text(self) -> str:
        """A table: one row a time, one column a statistic; the other way round where there are many statistics."""
        head, rows = ("time", *self.names), [[f"{t:g}", *row] for t, row in zip(self.times, self._cells(), strict=True)]
        table = [head, *rows] if len(self.names) <= _WIDEST else [*zip(head, *rows, strict=True)]
        lines = [f"{row[0]:>8} " + " ".join(f"{cell:>10}" for cell in row[1:]) for row in table]
        about = f"{self.task.name}, δ = {self.task.step:g}: ODE limit in time nδ/d ({self.method})"
        return "\n".join([about, *lines, f"estimated error: {self.error.max():.1e}", describe(self.names)])

    def _cells(self) -> list[list[str]]:
        return [[f"{value:.5f}" for value in row] for row in self.values.round(5) + 0.0]

    def to_latex(self) -> str:
        """The system itself, with the task's gradients written out."""
        return latex_system(self.task)


def latex_system(task: Task) -> str:
    """The ODE system of a task in LaTeX."""
    import sympy

    beta, delta, tau2 = (sympy.latex(sympy.nsimplify(x)) for x in (task.ridge, task.step, task.noise))
    decay = rf" - {beta}\, M_{{i\alpha}}" if task.ridge else ""
    decay_q = rf" - 2 \cdot {beta}\, Q_{{ij}}" if task.ridge else ""
    scale = rf"{delta} \cdot {tau2}" if task.noise != 1 else delta
    lines = [
        rf"\dot M_{{i\alpha}} &= -\mathbb{{E}}[c_i u_\alpha]{decay}",
        rf"\dot Q_{{ij}} &= -\mathbb{{E}}[c_i z_j + c_j z_i]{decay_q} + {scale}\, \mathbb{{E}}[c_i c_j]",
    ]
    lines += [f"c_{{{i}}} &= {sympy.latex(c)}" for i, c in enumerate(task.gradients.c, start=1)]
    lines += [
        rf"\dot b_{{{i}}} &= -\mathbb{{E}}\left[{sympy.latex(g)}\right]"
        + (f" - {beta}\\, b_{{{i}}}" if task.ridge else "")
        for i, g in enumerate(task.gradients.b, start=1)
    ]
    return "\\begin{aligned}\n" + " \\\\\n".join(lines) + "\n\\end{aligned}"


def effective_ode(
    task: Task,
    times: Iterable[float],
    *,
    start: State | Mapping[str, float] | None = None,
    laws: Laws = GAUSSIAN,
    tolerance: float = 1e-4,
    progress: Callable[[int, int], None] | None = None,
) -> EffectiveODE:
    """Solve the ODE limit at the given times.

    ``start`` is a state, or values by name over the task's own start. ``laws`` matters where coordinates are localised,
    and only there ([U]: universality). Quadratures are refined until the estimated error is less than ``tolerance``,
    or until the budget is spent, which is then a warning.

    Raises ``InputError`` for a bad start or a law without what the start asks of it, ``ReachError`` where the solution
    leaves every bound: a step beyond stability, or a loss without a minimum; ``BudgetError`` where the times lie so far
    ahead that the solver would need hours.

    >>> from theory.sgd.tasks import single_index
    >>> linear = single_index(link="x", step=0.25)  # loss (z − u)²: Ṁ = 2(1 − M), R = Q − 2M + 1 obeys Ṙ = (4δ − 4)R
    >>> curve = effective_ode(linear, [0, 1], start={"M_1_1": 0.0, "Q_1_1": 0.0})
    >>> curve.values.round(6).tolist()
    [[0.0, 0.0], [0.864665, 0.779117]]
    """
    grid = time_grid(times)
    tight = real(tolerance)
    if tight is None or not SMALLEST_TOLERANCE <= tight < math.inf:
        raise InputError(
            "tolerance",
            given=tolerance,
            expected=f"a finite number from {SMALLEST_TOLERANCE:g}",
            remedy="use --tolerance 1e-4",
        )
    component_laws(task, laws)  # refuses what is no law
    state = as_state(task, start)
    check_state(task, state)
    form = closed_form(task, state, laws)
    if form is not None:
        flow = partial(erf_drift, task, form, state)
        values, coarse = (solve(task, flow, state, grid, accuracy).values for accuracy in (FINE, COARSE))
        found = Refined(values, np.abs(values - coarse), "closed form", True)
    else:
        found = refine(task, laws, state, grid, tight, progress)
    warnings = step_warnings(task, state, state.moved(found.values[-1]), laws=laws, level=max(found.level, _LOSS_LEVEL))
    if not task.is_smooth:
        warnings += ("the loss has a kink: universality is proved for smooth losses [U], and quadrature is slower",)
    if not found.converged:
        warnings += (f"quadrature: estimated error {found.error.max():.1e}, above the tolerance {tolerance:g}",)
    law = " and ".join(dict.fromkeys(law.name for law in component_laws(task, laws)))
    return EffectiveODE(task, law, grid, state.names, found.values, found.error, state, found.method, warnings)
