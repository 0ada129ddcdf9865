"""The ODE limit of one-pass SGD: solved from a start, with an error estimate, in closed form where there is one."""

from __future__ import annotations

import warnings as warnings_module
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray
from scipy.integrate import LSODA, RK45

from theory.effective.drift import Drift
from theory.effective.erf_committee import closed_form, erf_drift
from theory.effective.expectations import GAUSSIAN, MOST_EVALUATIONS, Laws, component_laws
from theory.effective.stability import step_warnings
from theory.effective.state import State, check_state, describe, start_state
from theory.effective.task import Task
from theory.errors import ReachError
from theory.times import time_grid

Array = NDArray[np.float64]

BEYOND = 1e6
"""A statistic larger than this has left every bound: the parameters started at order one."""
_FINE, _COARSE = (1e-9, 1e-11), (1e-7, 1e-9)
_LEVELS = range(0, 14, 2)
_POINTS_A_SOLVE = 2**19
_WIDEST = 10
_EXACT_ORDER = 11  # a coordinate's law is integrated by 12 nodes at least


@dataclass(frozen=True, eq=False)
class EffectiveODE:
    """The summary statistics of a task as functions of time nδ/d, in the limit d → ∞. [E] Thm 2.2, [U].

    ``values`` and ``error`` are arrays (times × statistics) in the order of ``names``; ``error`` is the difference
    between the last two solutions computed (two quadratures, or two tolerances where expectations are exact).
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
    and only there ([U]: universality). Quadratures are refined until two solutions in a row differ by less than
    ``tolerance``, or until the budget is spent, which is then a warning.

    Raises ``InputError`` for a bad start or a law without what the start asks of it, ``ReachError`` where the solution
    leaves every bound: a step beyond stability, or a loss without a minimum.

    >>> from theory.effective.tasks import single_index
    >>> linear = single_index(link="x", step=0.25)  # loss (z − u)²: Ṁ = 2(1 − M), R = Q − 2M + 1 obeys Ṙ = (4δ − 4)R
    >>> curve = effective_ode(linear, [0, 1], start={"M_1_1": 0.0, "Q_1_1": 0.0})
    >>> curve.values.round(6).tolist()
    [[0.0, 0.0], [0.864665, 0.779117]]
    """
    grid = time_grid(times)
    state = start if isinstance(start, State) else start_state(task, start)
    check_state(task, state)
    form = closed_form(task, state, laws)
    if form is not None:
        flow = partial(erf_drift, task, form, state)
        values, coarse = (_solve(task, flow, state, grid, accuracy) for accuracy in (_FINE, _COARSE))
        method, converged = "closed form", True
    else:
        values, coarse, method, converged = _refine(task, laws, state, grid, tolerance, progress)
    error = np.abs(values - coarse)
    warnings = step_warnings(task, state, state.moved(values[-1]), laws=laws)
    if not task.is_smooth:
        warnings += ("the loss has a kink: universality is proved for smooth losses [U], and quadrature is slower",)
    if not converged:
        warnings += (f"quadrature: estimated error {error.max():.1e}, above the tolerance {tolerance:g}",)
    law = " and ".join(dict.fromkeys(law.name for law in component_laws(task, laws)))
    return EffectiveODE(task, law, grid, state.names, values, error, state, method, warnings)


def _refine(
    task: Task,
    laws: Laws,
    state: State,
    grid: tuple[float, ...],
    tolerance: float,
    progress: Callable[[int, int], None] | None,
) -> tuple[Array, Array, str, bool]:
    """Solutions at finer and finer quadratures, until two agree: the last two, the method, whether they agree."""
    drift = Drift.of(task, laws=laws)
    method = drift.quadrature.rule(0).method
    order = drift.quadrature.exact_order
    exact = order is not None and (not state.localised or order <= _EXACT_ORDER)
    previous: Array | None = None
    for done, level in enumerate(_LEVELS):
        refined = drift.at_level(level)
        size = refined.points(state).weights.size
        flow = partial(_flat_drift, refined, state)
        # On fixed nodes a kinked loss has a drift that jumps by a weight: finer steps would see nothing else.
        # The solver's tolerance tightens with the quadrature, so that the difference tells both errors.
        jump, relative = 0.0 if task.is_smooth else 8 / size, tolerance / (10 * 4**done)
        accuracy = _FINE if exact else (max(relative, jump), max(relative / 10, jump))
        values = _solve(task, flow, state, grid, accuracy)
        if progress:
            progress(done + 1, len(_LEVELS))
        if exact:
            return values, _solve(task, flow, state, grid, _COARSE), f"exact {method}", True
        if previous is not None:
            agree = float(np.abs(values - previous).max()) < tolerance
            if agree or 4 * size > _POINTS_A_SOLVE or 4 * size > MOST_EVALUATIONS:
                return values, previous, method, agree
        previous = values
    return values, values, method, False


def _flat_drift(drift: Drift, state: State, flat: Array) -> Array:
    return drift(state.moved(flat)).flat()


def _solve(
    task: Task, flow: Callable[[Array], Array], state: State, grid: tuple[float, ...], accuracy: tuple[float, float]
) -> Array:
    """The statistics at the grid's times, stepped one step at a time: a solution that blows up may do so within one,
    where nothing is left to interpolate."""
    relative, absolute = accuracy
    method = LSODA if task.is_smooth else RK45
    rows = [state.flat() for time in grid if time == 0]
    with np.errstate(all="ignore"), warnings_module.catch_warnings():
        warnings_module.simplefilter("ignore")  # LSODA's own words on what is a ReachError here
        last = grid[-1]
        solver = method(lambda _, flat: flow(flat), 0.0, state.flat(), max(last, 1e-12), rtol=relative, atol=absolute)
        while len(rows) < len(grid):
            before = solver.t
            solver.step()
            if solver.status == "failed" or not np.abs(solver.y).max(initial=0.0) <= BEYOND:
                raise ReachError(
                    f"ODE of {task.name}",
                    given=last,
                    reach=f"time {before:.3g}, where the statistics leave every bound",
                    remedy=f"δ = {task.step:g} is beyond stability, or the loss has no minimum: "
                    "lower --delta, or add a ridge",
                )
            passed = [time for time in grid[len(rows) :] if time <= solver.t]
            if passed:
                rows += list(solver.dense_output()(np.array(passed)).T)
    return np.array(rows)
