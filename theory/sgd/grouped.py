"""SGD on inputs whose coordinates have unequal variances: statistics by group of coordinates, and their ODE.

x_j has variance λ_g in group g, a part f_g of the coordinates. With M^g, Q^g, R^g the parts of the overlaps within a
group, fields have the covariance τ² Σ_g λ_g (·)^g, and

    Ṁ^g_iα = −E[c_i u^g_α] − β M^g_iα        Q̇^g_ij = −E[c_i z^g_j + c_j z^g_i] − 2β Q^g_ij + δτ²/B λ_g f_g E[c_i c_j]

where z^g, u^g are the fields' parts from group g: Gaussian beside the fields, so that E[c_i u^g] follows by linear
regression (Stein). The means of a mixture have their own parts μ^g. Goldt et al.; Collins-Woodfin et al. 2308.08977.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from theory.errors import InputError
from theory.sgd.chart import Chart
from theory.sgd.drift import Drift
from theory.sgd.expectations import GAUSSIAN, Laws
from theory.sgd.refinement import refine
from theory.sgd.state import State, as_state, describe
from theory.sgd.task import Task
from theory.spectrum import Spectrum
from theory.times import time_grid

Array = NDArray[np.float64]

MOST_GROUPS = 32


@dataclass(frozen=True, eq=False)
class GroupedState:
    """M (G × K × r) and Q (G × K × K) by group, the truths' Gram ``R`` (G × r × r) by group (fixed), and b."""

    M: Array
    Q: Array
    R: Array
    b: Array

    @classmethod
    def spread(cls, task: Task, state: State, fractions: Array) -> GroupedState:
        """The parts of vectors that lie evenly over all coordinates. Raises ``InputError`` for localised ones."""
        if state.localised:
            raise InputError(
                f"start of {task.name}",
                given=f"{state.localised} localised coordinates",
                expected="none, beside a spectrum",
                remedy="drop p_… and s_… from the start, or the spectrum",
            )
        gram = np.array(task.truth_gram, dtype=float).reshape(len(task.u), -1)
        M, Q, R = (np.multiply.outer(fractions, part) for part in (state.M, state.Q, gram))
        return cls(M, Q, R, state.b)

    localised = 0

    def total(self, weights: Array) -> State:
        """The state whose overlaps are Σ_g weight_g (·)^g."""
        K, r = self.M.shape[1:]
        M, Q = (np.tensordot(weights, part, 1) for part in (self.M, self.Q))
        return State(M, Q, self.b, np.zeros((K, 0)), np.zeros((r, 0)))

    def flat(self) -> Array:
        """M, then the upper triangles of Q, group by group, then b."""
        rows, columns = np.triu_indices(self.Q.shape[1])
        return np.concatenate([self.M.ravel(), self.Q[:, rows, columns].ravel(), self.b])

    def moved(self, flat: Array) -> GroupedState:
        """The state whose moving statistics are ``flat``."""
        G, K, r = self.M.shape
        rows, columns = np.triu_indices(K)
        triangle = len(rows)
        Q = np.zeros((G, K, K))
        Q[:, rows, columns] = flat[G * K * r : G * (K * r + triangle)].reshape(G, triangle)
        Q[:, columns, rows] = Q[:, rows, columns]
        return GroupedState(flat[: G * K * r].reshape(G, K, r), Q, self.R, flat[G * (K * r + triangle) :])


@dataclass(frozen=True, eq=False)
class GroupedDrift:
    """The drift of the statistics of every group, on one level of quadrature (see ``drift.Motion``)."""

    base: Drift
    variances: Array
    fractions: Array

    @classmethod
    def of(
        cls, task: Task, variances: Array, fractions: Array, *, laws: Laws = GAUSSIAN, level: int = 1
    ) -> GroupedDrift:
        """Compile the drift; nothing is localised, so that every product law has the same."""
        return cls(Drift.of(task, laws=laws, level=level), variances, fractions)

    @property
    def task(self) -> Task:
        """Whose drift it is."""
        return self.base.task

    @property
    def level(self) -> int:
        """The level of quadrature."""
        return self.base.level

    @property
    def method(self) -> str:
        """How expectations are taken."""
        return self.base.method

    @property
    def even(self) -> bool:
        """Whether its error moves smoothly with the state."""
        return self.base.even

    @property
    def finest(self) -> int:
        """The level beyond which nothing is refined."""
        return self.base.finest

    def is_exact(self, state: GroupedState) -> bool:
        """Whether level 0 is exact."""
        return self.base.is_exact(state.total(self.variances))

    def size(self, state: GroupedState) -> int:
        """The number of points of one call."""
        return self.base.size(state.total(self.variances))

    def at_level(self, level: int) -> GroupedDrift:
        """The same on another level."""
        return replace(self, base=self.base.at_level(level))

    def __call__(self, state: GroupedState, pace: float = 1.0) -> GroupedState:
        """The velocity of each statistic, laid out like the state."""
        task, K = self.task, len(self.task.z)
        seen, plain = state.total(self.variances), np.ones(len(self.variances))
        read = list(self.base.quadrature.read)
        grams = np.block([[state.Q, state.M], [state.M.transpose(0, 2, 1), state.R]])
        whole = np.tensordot(self.variances, grams, 1)
        # Gaussian parts have the covariance of the variances, means that of the plain overlaps.
        task_seen = replace(task, truth_gram=tuple(map(tuple, np.tensordot(self.variances, state.R, 1).tolist())))
        base = replace(self.base, task=task_seen)
        points = base.points(seen)
        means = np.array([[*component.mean] for component in task.components])
        direct = np.tensordot(plain, grams, 1)[:, K:]
        shift = (direct - whole[:, K:]) @ means.T  # the sample's own means are those of the weighted overlaps
        moved = points.mean + shift[:, points.component].T
        arrays = list(points.arguments)
        for f in range(len(whole)):
            arrays[f] = arrays[f] + shift[f, points.component][:, None]
        points = replace(points, mean=moved, arguments=tuple(arrays))
        values = self.base.gradients(points)
        c = np.stack(values[:K])
        weighted = c * points.weights
        by_component = np.array([weighted[:, points.component == k].sum(axis=(1, 2)) for k in range(len(means))])
        normals = weighted.sum(axis=1) @ points.nodes  # E[c_i ξ], K × D
        root = points.root[read]
        inverse = np.linalg.pinv(root, rcond=1e-10)
        along = normals @ inverse  # K × read: Cov(fields)⁻¹ E[c_i (F − E F)]
        flat = c.reshape(K, -1)
        second = (flat * points.weights.ravel()) @ flat.T
        M, Q = np.empty_like(state.M), np.empty_like(state.Q)
        for g, (variance, fraction) in enumerate(zip(self.variances, self.fractions, strict=True)):
            cross = task.noise * variance * along @ grams[g][read]  # E[c_i F^g], the Gaussian part
            cross = cross + by_component.T @ (means @ grams[g][:, K:].T)
            M[g] = -cross[:, K:] - task.ridge * state.M[g]
            Q[g] = -(cross[:, :K] + cross[:, :K].T) - 2 * task.ridge * state.Q[g]
            Q[g] += pace * task.critical * task.noise * variance * fraction * second
        b = np.zeros(len(state.b))
        if task.train_second:
            b = -np.array([points.average(value) for value in values[K:]]) - task.ridge * state.b
        return GroupedState(pace * M, pace * Q, np.zeros_like(state.R), pace * b)


@dataclass(frozen=True, eq=False)
class GroupedODE:
    """Statistics of a task on inputs with a spectrum, as functions of time nδ/d, in the limit d → ∞.

    ``values`` and ``error`` (times × statistics) are the plain overlaps w·v and w·w summed over groups, in the order of
    ``names``; ``groups`` (times × groups × statistics) are their parts, b left out.
    """

    task: Task
    law: str
    spectrum: str
    variances: Array
    fractions: Array
    times: tuple[float, ...]
    names: tuple[str, ...]
    values: Array
    error: Array
    groups: Array
    start: State
    method: str
    warnings: tuple[str, ...]

    def to_json(self) -> dict[str, object]:
        """As ``EffectiveODE.to_json``, with the spectrum and the parts by group."""
        size = self.groups.shape[2]
        return {
            "task": self.task.name,
            "law": self.law,
            "delta": self.task.step,
            "method": self.method,
            "stderr_is": "estimated numerical error",
            "times": list(self.times),
            "statistics": {name: self.values[:, k].tolist() for k, name in enumerate(self.names)},
            "stderr": {name: self.error[:, k].tolist() for k, name in enumerate(self.names)},
            "spectrum": self.spectrum,
            "groups": {
                "variances": self.variances.tolist(),
                "fractions": self.fractions.tolist(),
                "statistics": {name: self.groups[:, :, k].tolist() for k, name in enumerate(self.names[:size])},
            },
            "warnings": list(self.warnings),
        }

    def to_text(self) -> str:
        """A table of the summed statistics: one row a time."""
        lines = [
            f"{self.task.name}, δ = {self.task.step:g}, spectrum {self.spectrum} in {len(self.variances)} groups: "
            f"ODE limit in time nδ/d ({self.method})",
            f"{'time':>8} " + " ".join(f"{name:>10}" for name in self.names),
        ]
        for time, row in zip(self.times, self.values.round(5) + 0.0, strict=True):
            lines.append(f"{time:>8g} " + " ".join(f"{value:>10.5f}" for value in row))
        return "\n".join([*lines, f"estimated error: {self.error.max():.1e}", describe(self.names)])


def grouped_ode(
    task: Task,
    times: Iterable[float],
    spectrum: Spectrum,
    *,
    start: State | Mapping[str, float] | None = None,
    groups: int = MOST_GROUPS,
    tolerance: float = 1e-4,
    progress: Callable[[int, int], None] | None = None,
) -> GroupedODE:
    """Solve the ODE on inputs with that spectrum, from vectors that lie evenly over all coordinates.

    A spectrum of more values than ``groups`` is binned; half as many groups then tell how much that matters, which is
    added to the error. Raises as ``effective_ode`` does, and ``InputError`` for localised coordinates.

    >>> from theory.sgd.tasks import single_index
    >>> from theory.spectrum import read_spectrum
    >>> linear = single_index(link="x", step=0.25)  # Ṁ^g = 2λ_g(f_g − M^g)
    >>> curve = grouped_ode(linear, [0, 1], read_spectrum("values:2*1,0.5*1", 2), start={"M_1_1": 0, "Q_1_1": 0})
    >>> bool(abs(curve.values[1, 0] - (1 - np.exp(-4) / 2 - np.exp(-1) / 2)) < 1e-6)
    True
    """
    grid, state = time_grid(times), as_state(task, start)
    task.pace(np.linspace(0.0, grid[-1], 1001))
    binned, spread = spectrum.binned(groups)
    found = _solve(task, grid, binned, state, tolerance, progress)
    values, error, parts, method, converged = found
    warnings: tuple[str, ...] = ()
    if spread > 0:
        coarse = _solve(task, grid, spectrum.binned(max(groups // 2, 1))[0], state, tolerance, None)[0]
        error = error + np.abs(values - coarse)
        warnings += (
            f"the spectrum is binned into {len(binned.values)} groups (values in one spread by up to {spread:.0%}); "
            f"half as many move the result by {np.abs(values - coarse).max():.1e}, which the error holds",
        )
    if not converged or error.max() > tolerance:
        warnings += (f"estimated error {error.max():.1e}, above the tolerance {tolerance:g}",)
    return GroupedODE(
        task,
        "any product law",
        spectrum.text,
        binned.values,
        binned.fractions,
        grid,
        state.names,
        values,
        error,
        parts,
        state,
        method,
        warnings,
    )


def _solve(
    task: Task,
    grid: tuple[float, ...],
    spectrum: Spectrum,
    state: State,
    tolerance: float,
    progress: Callable[[int, int], None] | None,
) -> tuple[Array, Array, Array, str, bool]:
    """Summed statistics, their error, the parts by group, the method, whether the tolerance was reached."""
    begun = GroupedState.spread(task, state, spectrum.fractions)
    drift = GroupedDrift.of(task, spectrum.values, spectrum.fractions)
    moving = np.arange(len(begun.flat()) - (0 if task.train_second else len(state.b)))
    found = refine(drift, begun, grid, tolerance, chart=Chart(begun.flat(), moving), progress=progress)
    ones = np.ones(len(spectrum.values))
    rows, bars, parts = [], [], []
    for value, error in zip(found.values, found.error, strict=True):
        grouped = begun.moved(value)
        rows.append(grouped.total(ones).flat())
        bars.append(begun.moved(error).total(ones).flat())
        alone = [grouped.total(unit).flat() for unit in np.eye(len(ones))]
        parts.append([row[: len(row) - len(state.b)] for row in alone])
    return np.array(rows), np.array(bars), np.array(parts), found.method, found.converged
