"""The ODE limit of one-pass SGD: solved from a start, with an error estimate, in closed form where there is one."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from theory.checks import real
from theory.errors import InputError
from theory.latex import display
from theory.sgd.chart import Chart
from theory.sgd.erf_committee import SIGMOID_ERROR, closed_form
from theory.sgd.evaluation import error_rates, fresh_losses
from theory.sgd.expectations import GAUSSIAN, Laws, component_laws
from theory.sgd.invariant import invariant_set, leaving_rate
from theory.sgd.refinement import COARSE, FINE, Refined, refine
from theory.sgd.routes import exact_flow, motion_of, velocity
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
_ROUNDING = 1e-6
_REPELS = 1e-6
_SCHEDULE_POINTS = 1001


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
    invariant: Leaving | None = None
    laws: Laws = GAUSSIAN

    def at_end(self) -> State:
        """The state at the last time."""
        return self.start.moved(self.values[-1])

    @cached_property
    def losses(self) -> Array:
        """E[loss] of a fresh input at each time, the ridge left out."""
        return fresh_losses(self.task, self._states, laws=self.laws)

    @cached_property
    def error_rates(self) -> Array | None:
        """How often the label is wrong at each time; ``None`` for tasks without classes."""
        return error_rates(self.task, self._states, laws=self.laws)

    @property
    def _states(self) -> list[State]:
        return [self.start.moved(row) for row in self.values]

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
            "loss": self.losses.tolist(),
            **({} if self.error_rates is None else {"error_rate": self.error_rates.tolist()}),
            "invariant": self.invariant.to_json() if self.invariant else None,
            "warnings": list(self.warnings),
        }

    def to_text(self) -> str:
        """A table: one row a time, one column a statistic; the other way round where there are many statistics."""
        extra = {"loss": self.losses} | ({} if self.error_rates is None else {"error rate": self.error_rates})
        head = ("time", *self.names, *extra)
        cells = [[*row, *(f"{column[n]:.5f}" for column in extra.values())] for n, row in enumerate(self._cells())]
        rows = [[f"{t:g}", *row] for t, row in zip(self.times, cells, strict=True)]
        table = [head, *rows] if len(self.names) <= _WIDEST else [*zip(head, *rows, strict=True)]
        lines = [f"{row[0]:>8} " + " ".join(f"{cell:>10}" for cell in row[1:]) for row in table]
        about = f"{self.task.name}, δ = {self.task.step:g}: ODE limit in time nδ/d ({self.method})"
        return "\n".join([about, *lines, f"estimated error: {self.error.max():.1e}", describe(self.names)])

    def _cells(self) -> list[list[str]]:
        return [[f"{value:.5f}" for value in row] for row in self.values.round(5) + 0.0]

    def to_latex(self) -> str:
        """The system itself, with the task's gradients written out."""
        return latex_system(self.task)


_LONG = 3
"""A sum of more terms than this gets a name of its own where it stands inside a formula in LaTeX."""


def latex_system(task: Task) -> str:
    """The ODE system of a task in LaTeX; sums within formulas are called h_1, h_2, …"""
    import sympy

    beta, delta, tau2 = (sympy.latex(sympy.nsimplify(x)) for x in (task.ridge, task.step, task.noise))
    decay = rf" - {beta}\, M_{{i\alpha}}" if task.ridge else ""
    decay_q = rf" - 2 \cdot {beta}\, Q_{{ij}}" if task.ridge else ""
    scale = rf"{delta} \cdot {tau2}" if task.noise != 1 else delta
    lines = [
        rf"\dot M_{{i\alpha}} &= -\mathbb{{E}}[c_i u_\alpha]{decay}",
        rf"\dot Q_{{ij}} &= -\mathbb{{E}}[c_i z_j + c_j z_i]{decay_q} + {scale}\, \mathbb{{E}}[c_i c_j]",
    ]
    named: dict[Any, Any] = {}
    lines += [f"c_{{{i}}} &= {sympy.latex(_folded(c, named))}" for i, c in enumerate(task.gradients.c, start=1)]
    lines += [
        rf"\dot b_{{{i}}} &= -\mathbb{{E}}\left[{sympy.latex(_folded(g, named))}\right]"
        + (f" - {beta}\\, b_{{{i}}}" if task.ridge else "")
        for i, g in enumerate(task.gradients.b, start=1)
    ]
    lines += [f"{sympy.latex(symbol)} &= {sympy.latex(value)}" for value, symbol in named.items()]
    return display(lines)


def _folded(expression: Any, named: dict[Any, Any]) -> Any:
    """The expression with each long sum inside it replaced by a symbol, which ``named`` remembers."""
    import sympy

    def fold(inner: Any) -> Any:
        if not inner.args:
            return inner
        folded = inner.func(*map(fold, inner.args))
        if folded.is_Add and len(folded.args) > _LONG:
            return named.setdefault(folded, sympy.Symbol(f"h_{len(named) + 1}"))
        return folded

    return expression.func(*map(fold, expression.args)) if expression.args else expression


@dataclass(frozen=True)
class Leaving:
    """The invariant set that a start lies on, and the rates at which a distance from it grows at start and end."""

    relations: tuple[str, ...]
    start: float
    end: float

    @property
    def warnings(self) -> tuple[str, ...]:
        """A warning where the set repels: noise leaves it, which the ODE never does."""
        rate = max(self.start, self.end)
        where = "at the start" if rate == self.start else "at the last time"
        held = "; ".join(self.relations)
        if not rate > _REPELS:
            return ()
        return (
            f"the start lies on an invariant set ({held}), which the ODE never leaves. It repels: what is off it grows "
            f"at the rate {rate:.3g} {where}, so noise of order d^(-1/2) leaves it after a time of about "
            f"ln(d)/(2·{rate:.3g}). Students that start equal, entry by entry, stay equal all the same",
        )

    def to_json(self) -> dict[str, object]:
        """The relations that hold on the set, and the rates (negative: it attracts)."""
        return {"relations": list(self.relations), "rate_start": _number(self.start), "rate_end": _number(self.end)}


def _number(value: float) -> float | None:
    return value if math.isfinite(value) else None


def chart_of(task: Task, state: State, *, laws: Laws = GAUSSIAN) -> Chart:
    """Coordinates for the ODE from ``state``: those of the invariant set that it lies on, where there is one."""
    frozen = tuple(k for k, name in enumerate(state.names) if name.startswith("b") and not task.train_second)
    moving = np.array([k for k in range(len(state.names)) if k not in frozen], dtype=np.int64)
    return Chart(state.flat(), moving, invariant_set(task, state, laws=laws, frozen=frozen))


def _leaving(
    task: Task,
    laws: Laws,
    chart: Chart,
    places: list[State],
    level: int,
) -> Leaving:
    assert chart.inside is not None
    flow = velocity(task, places[0], laws=laws, level=min(level, _LOSS_LEVEL))
    rates = [leaving_rate(flow, chart.inside, task, place, chart.moving) for place in places]
    return Leaving(chart.inside.relations, rates[0], rates[1])


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
            remedy="use tolerance=1e-4",
        )
    component_laws(task, laws)  # refuses what is no law
    state = as_state(task, start)
    check_state(task, state)
    task.pace(np.linspace(0.0, grid[-1], _SCHEDULE_POINTS))  # refuses a schedule that is no step
    chart, flow = chart_of(task, state, laws=laws), exact_flow(task, state, laws)
    if flow is not None:
        values, coarse = (
            chart.lift(solve(task, chart.flow(flow), chart.down(state.flat()), grid, accuracy).values)
            for accuracy in (FINE, COARSE)
        )
        form = closed_form(task, state, laws)
        floor = SIGMOID_ERROR if form is not None and form.approximate else 0.0
        error = np.abs(values - coarse) + floor * np.minimum(grid, 1.0)[:, None]
        found = Refined(values, error, "closed form", bool(error.max() < max(tight, _ROUNDING)))
    else:
        found = refine(motion_of(task, laws=laws), state, grid, tight, chart=chart, progress=progress)
    end = state.moved(found.values[-1])
    warnings: tuple[str, ...] = ()
    leaving = None
    if chart.inside is not None:
        leaving = _leaving(task, laws, chart, [state, end], found.level)
        warnings += leaving.warnings
    warnings += step_warnings(task, state, end, laws=laws, level=max(found.level, _LOSS_LEVEL))
    if not task.is_smooth:
        warnings += ("the loss has a kink: universality is proved for smooth losses [U], and quadrature is slower",)
    if not found.converged:
        what = "solver" if flow is not None else "quadrature"
        warnings += (f"{what}: estimated error {found.error.max():.1e}, above the tolerance {tolerance:g}",)
    drawn = component_laws(task, laws)
    if not state.localised and any(law.recipe == "own" for law in drawn):
        warnings += (
            "the law does not enter: nothing is localised, and every law of mean 0 and variance 1 has this ODE [U]",
        )
    law = " and ".join(dict.fromkeys(law.name for law in component_laws(task, laws)))
    return EffectiveODE(
        task, law, grid, state.names, found.values, found.error, state, found.method, warnings, leaving, laws
    )
