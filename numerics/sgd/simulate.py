"""Simulate one-pass SGD: replicas of a task under an input law, their statistics on a time grid."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from numerics.runs.machine import HERE, Machine, check_machine
from numerics.runs.replicas import check_replicas
from numerics.sgd.gradient import gradient_kernel
from numerics.sgd.noise import recipes
from numerics.sgd.replicas import run_setting
from numerics.sgd.run import Method, Setting, step_marks
from numerics.sgd.vectors import Spread
from theory.checks import whole
from theory.errors import BudgetError, InputError
from theory.sgd.expectations import GAUSSIAN, Laws, component_laws
from theory.sgd.laws import Law
from theory.sgd.stability import round_down, stable_step
from theory.sgd.state import State, as_state, describe, statistic_names
from theory.sgd.task import Task
from theory.spectrum import read_spectrum
from theory.times import time_grid

Array = NDArray[np.float64]

# Measured on one slow core: a coordinate of the full simulation, a step of the reduced chain.
_SECONDS_PER_COORDINATE = 3e-9
_SECONDS_PER_STEP = 3e-7
_LONGEST_HOURS = 48.0
_MOST_COORDINATES = 2 * 10**8


@dataclass(frozen=True, eq=False)
class Simulation:
    """Summary statistics of simulated SGD.

    ``values`` has shape replicas × times × statistics, in the order of ``names`` (M_i_a = w_i·v_a, Q_i_j = w_i·w_j,
    b_i, p_i_c). ``steps`` are the step counts n at which they were read: the nearest to n δ/d = t. A replica that left
    the floating-point range has NaN from there on.
    """

    task: str
    law: str
    d: int
    delta: float
    seed: int
    method: Method
    times: tuple[float, ...]
    steps: tuple[int, ...]
    names: tuple[str, ...]
    values: Array
    notes: tuple[str, ...] = ()
    interrupted: bool = False

    @property
    def replicas(self) -> int:
        """The number of replicas."""
        return len(self.values)

    @property
    def mean(self) -> Array:
        """Mean over replicas, times × statistics."""
        with np.errstate(invalid="ignore", over="ignore"):
            return np.asarray(self.values.mean(axis=0))

    @property
    def stderr(self) -> Array:
        """Standard error of ``mean``; NaN for a single replica."""
        if self.replicas == 1:
            return np.full(self.values.shape[1:], np.nan)
        with np.errstate(invalid="ignore", over="ignore"):
            return np.asarray(self.values.std(axis=0, ddof=1) / np.sqrt(self.replicas))

    @property
    def realised_times(self) -> Array:
        """The times n δ/d of the recorded steps."""
        return np.array(self.steps) * self.delta / self.d

    @property
    def diverged(self) -> int:
        """How many replicas left the floating-point range."""
        return int((~np.isfinite(self.values)).any(axis=(1, 2)).sum())

    @property
    def diverged_by(self) -> float:
        """The first recorded time at which a replica had diverged; infinite where none did."""
        gone = (~np.isfinite(self.values)).any(axis=(0, 2))
        return float(self.times[int(np.argmax(gone))]) if gone.any() else float("inf")

    @property
    def warnings(self) -> tuple[str, ...]:
        """What a reader should know before trusting the numbers."""
        if not self.diverged:
            return self.notes
        return (
            *self.notes,
            f"{self.diverged} of {self.replicas} replicas diverged, the first by t = {self.diverged_by:g}: "
            f"the step δ = {self.delta:g} is beyond stability; lower it",
        )

    def to_json(self) -> dict[str, object]:
        """``{"times", "statistics": {NAME: […]}, "stderr": {NAME: […]}}``, and what was run; not finite is null."""
        return {
            "task": self.task,
            "law": self.law,
            "delta": self.delta,
            "d": self.d,
            "replicas": self.replicas,
            "seed": self.seed,
            "method": self.method,
            "times": list(self.times),
            "statistics": {name: _numbers(self.mean[:, k]) for k, name in enumerate(self.names)},
            "stderr": {name: _numbers(self.stderr[:, k]) for k, name in enumerate(self.names)},
            "warnings": list(self.warnings),
        }

    def to_text(self) -> str:
        """A table: one row a statistic, one column a time, each mean with its standard error."""
        head = (
            f"{self.task}, {self.law} inputs, d = {self.d}, δ = {self.delta:g}, {self.replicas} "
            f"replica{'s' * (self.replicas > 1)} ({self.method} simulation); mean ± standard error"
        )
        rows = [["t =", *(f"{time:g}" for time in self.times)]]
        for name, means, stderrs in zip(self.names, self.mean.T, self.stderr.T, strict=True):
            bars = [f" ± {bar:.5f}" if np.isfinite(bar) else "" for bar in stderrs]
            rows.append([name, *(f"{mean:.5f}{bar}" for mean, bar in zip(means, bars, strict=True))])
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        table = ["  ".join(c.rjust(w) for c, w in zip(row, widths, strict=True)) for row in rows]
        return "\n".join([head, *table, describe(self.names)])


def simulate_sgd(
    task: Task,
    times: Iterable[float],
    *,
    d: int,
    replicas: int,
    seed: int,
    laws: Laws = GAUSSIAN,
    start: State | None = None,
    spread: Spread = "random",
    spectrum: str | None = None,
    method: Method | Literal["auto"] = "auto",
    machine: Machine = HERE,
    name: str = "sgd",
) -> Simulation:
    """Run one-pass SGD with step δ/d, δ = ``task.step``, on ``replicas`` independent input streams. [U] §2, [E] §2.

    Inputs have independent coordinates of one law, or of one law for each component of the mixture. The start (the
    task's own unless given) fixes every overlap exactly; ``spread`` says how delocalised vectors lie (see
    ``vectors.Spread``). ``full`` keeps all d coordinates, one input at a time; ``reduced``, for Gaussian inputs only,
    follows the overlaps and is exact in law at a cost independent of d; ``auto`` takes it wherever it may. Results
    depend on the seed alone, never on the ``machine``; a store keeps replicas under ``name``, the task, the law and d.
    Progress counts the recorded times of all replicas.

    ``spectrum`` (see ``theory.spectrum``) gives the coordinates unequal variances; only ``full`` knows them.

    Raises ``InputError`` for a law that cannot be drawn, a step of 0 or a d too small, a store of another run, and
    where every replica diverges; ``BudgetError`` beyond two days.

    >>> from theory.sgd.tasks import single_index
    >>> run = simulate_sgd(single_index(), [0, 1], d=100, replicas=2, seed=0)
    >>> run.names, run.values.shape
    (('M_1_1', 'Q_1_1'), (2, 2, 2))
    """
    grid = time_grid(times)
    start = as_state(task, start)
    check_replicas(replicas)
    check_machine(machine)
    whole("d", d, least=1, remedy="give for example d=1000")
    choice("spread", spread, ("random", "flat"))
    drawn = component_laws(task, laws)
    chosen = _method(method, drawn, task.batch, spectrum)
    deviations = np.zeros(0)
    if spectrum is not None and spectrum != "isotropic":
        if start.localised:
            raise InputError("spectrum", given=spectrum, expected="nothing localised", remedy="drop p_… and s_…")
        deviations = np.sqrt(read_spectrum(spectrum, d).eigenvalues())
    setting = Setting(task, drawn, start, d, step_marks(task, grid, d), chosen, spread, deviations)
    _ = setting.reduced  # checks that d has room for every direction
    recipes(drawn)
    _check_budget(setting, replicas, machine.workers)
    gradient_kernel(task)
    law = " and ".join(dict.fromkeys(law.name for law in drawn))
    values, notes, interrupted = run_setting(
        setting,
        name=f"{name}: {task.name}, {law} inputs, d = {d}",
        replicas=replicas,
        seed=seed,
        machine=machine,
    )
    names = statistic_names(len(start.Q), start.M.shape[1], len(start.b), start.localised)
    run = Simulation(task.name, law, d, task.step, seed, chosen, grid, setting.marks, names, values, notes, interrupted)
    if run.diverged == replicas:
        stable = min(stable_step(task, start), round_down(task.step / 4))
        raise InputError(
            f"step of {task.name}",
            given=task.step,
            expected=f"a stable δ: all {replicas} replicas diverged by t = {run.diverged_by:g} ({law} inputs, d = {d})",
            remedy=f"use step={stable:g}",
        )
    return run


def _method(method: Method | Literal["auto"], laws: tuple[Law, ...], batch: int, spectrum: str | None) -> Method:
    other = next((f"{law.name} inputs" for law in laws if law.recipe != "gaussian"), None)
    other = other or (f"batches of {batch}" if batch > 1 else None)
    other = other or (f"the spectrum {spectrum}" if spectrum not in (None, "isotropic") else None)
    if method == "auto":
        return "full" if other else "reduced"
    choice("method", method, ("auto", "full", "reduced"))
    if method == "reduced" and other:
        raise InputError(
            "method",
            given=f"reduced with {other}",
            expected="isotropic Gaussian inputs, one a step, for which the overlaps are a Markov chain kept here",
            remedy="use method='full'",
        )
    return method


def choice(what: str, given: str, allowed: tuple[str, ...]) -> None:
    """Raise ``InputError`` unless ``given`` is among ``allowed``."""
    if given not in allowed:
        raise InputError(what, given=given, expected=" or ".join(allowed), remedy=f"use {allowed[0]}")


def _check_budget(setting: Setting, replicas: int, workers: int) -> None:
    rows = len(setting.start.Q) + setting.start.M.shape[1]
    steps = setting.marks[-1] * replicas
    full = setting.method == "full"
    if full and setting.d * rows * min(workers, replicas) > _MOST_COORDINATES:
        raise BudgetError(
            "sgd simulation",
            estimate=f"{setting.d * rows * min(workers, replicas) * 8 / 1e9:.1f} GB",
            limit=f"{_MOST_COORDINATES * 8 / 1e9:.1f} GB",
            remedy="lower d or the number of workers",
        )
    seconds = (
        steps
        * setting.task.batch
        * (setting.d * (1 + rows / 8) * _SECONDS_PER_COORDINATE if full else _SECONDS_PER_STEP)
    )
    hours = seconds / workers / 3600
    if hours > _LONGEST_HOURS:
        raise BudgetError(
            "sgd simulation",
            estimate=f"about {hours:.3g} hours",
            limit=f"{_LONGEST_HOURS:g} hours",
            remedy="lower d, the last time or the number of replicas, or raise the step",
        )


def _numbers(column: Array) -> list[float | None]:
    return [float(x) if np.isfinite(x) else None for x in column]
