"""Where SGD ends from a random start: which ends, with what probability, after how long. [E]"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from numerics.runs.clock import Clock
from numerics.runs.machine import HERE, Machine
from numerics.runs.outcome import Batches, Experiment, Json, Values
from numerics.runs.replicas import check_replicas, run_replicas
from numerics.runs.seeds import child
from numerics.sgd.outlook import AHEAD, Kind, Outlook, outlook
from numerics.sgd.random_starts import SecondLaw, StartLaw, random_start
from numerics.sgd.run import Setting, run_replica, step_marks
from numerics.sgd.simulate import choice
from theory.checks import positive, whole
from theory.errors import InputError, ReachError
from theory.sgd.drift import expected_loss
from theory.sgd.expectations import component_laws
from theory.sgd.laws import LAWS, Law
from theory.sgd.ode import effective_ode
from theory.sgd.state import State, start_state
from theory.sgd.task import Task

Array = NDArray[np.float64]
Route = Literal["ode", "reduced", "full"]

_MARKS = 41
_START_STREAM = 9
_CLOSE = 0.15
_NOISE = 3.0
_SAME_LOSS = 0.02
_NORMAL = 1.959963984540054
_CHECKED = 8
_UNSETTLED = 0.02


@dataclass(frozen=True)
class End:
    """One end: its mean statistics, its share of the starts with a 95 % Wilson interval, its loss, the median time.

    Ends that differ by a permutation of the students are one. ``time`` is the first recorded one at which the
    statistics are as close to the end as ends are told apart.

    ``kind`` is what the ODE makes of it (see ``outlook``): an ``end`` stays, a ``plateau`` is left at about
    ``leaves_at``; ``drift`` is the largest velocity of a statistic there. Rare ends are not checked: ``unknown``.
    """

    statistics: Mapping[str, float]
    share: float
    low: float
    high: float
    loss: float
    time: float
    count: int
    kind: Kind = "unknown"
    drift: float | None = None
    leaves_at: float | None = None

    def to_json(self) -> dict[str, object]:
        """The fields by name."""
        return {
            "statistics": dict(self.statistics),
            "share": self.share,
            "low": self.low,
            "high": self.high,
            "loss": self.loss,
            "time": self.time,
            "kind": self.kind,
            "drift": self.drift,
            "leaves_at": self.leaves_at,
        }

    @property
    def label(self) -> str:
        """What it is, in words for a table."""
        if self.kind == "plateau":
            return f"plateau, left at t ≈ {self.leaves_at:.3g}"
        return "end" if self.kind == "end" else "not checked"


@dataclass(frozen=True)
class Basins:
    """The ends of a task from random starts, the most frequent first, and the shares of each loss level."""

    task: str
    law: str
    method: Route
    d: int | None
    time: float
    replicas: int
    ends: tuple[End, ...]
    levels: tuple[End, ...]
    warnings: tuple[str, ...]
    interrupted: bool = False

    def to_json(self) -> dict[str, object]:
        """``{"ends": […], "levels": […], "replicas", …}``; levels are ends of one loss taken together."""
        return {
            "task": self.task,
            "law": self.law,
            "method": self.method,
            "d": self.d,
            "time": self.time,
            "ends": [end.to_json() for end in self.ends],
            "levels": [
                {"loss": level.loss, "share": level.share, "low": level.low, "high": level.high}
                for level in self.levels
            ],
            "replicas": self.replicas,
            "warnings": list(self.warnings),
        }

    def to_text(self) -> str:
        """A table of the loss levels, then the ends, then a sentence."""
        where = "d = ∞" if self.d is None else f"d = {self.d}"
        lines = [f"{self.task}, {self.law} inputs, {where}: ends of {self.replicas} random starts ({self.method})"]
        lines += [f"{'loss':>10}  {'share':>7}  95 % interval    median time"]
        lines += [f"{x.loss:>10.4f}  {x.share:>7.4f}  {x.low:.4f} … {x.high:.4f}  {x.time:>8.3g}" for x in self.levels]
        lines += ["", "ends, up to the order of the students"]
        for end in self.ends[:20]:
            values = ", ".join(f"{name} = {value:.3f}" for name, value in end.statistics.items())
            lines.append(
                f"{end.share:.4f} ({end.low:.4f} … {end.high:.4f}), loss {end.loss:.4f} [{end.label}]: {values}"
            )
        if len(self.ends) > 20:
            lines.append(f"and {len(self.ends) - 20} ends more")
        best = min(self.levels, key=lambda level: level.loss)
        lines.append(
            f"{best.share:.1%} of the starts ({best.low:.1%} to {best.high:.1%}) come to the lowest loss seen, "
            f"{best.loss:.4f}"
        )
        return "\n".join(lines)


def wilson(count: int, total: int) -> tuple[float, float]:
    """The 95 % Wilson interval of a share.

    >>> [round(x, 4) for x in wilson(5, 10)]
    [0.2366, 0.7634]
    """
    z, share = _NORMAL, count / total
    centre = (share + z**2 / (2 * total)) / (1 + z**2 / total)
    half = z / (1 + z**2 / total) * math.sqrt(share * (1 - share) / total + z**2 / (4 * total**2))
    return max(centre - half, 0.0), min(centre + half, 1.0)


def basins(
    task: Task,
    *,
    time: float,
    replicas: int,
    seed: int,
    d: int | None = 400,
    starts: StartLaw = "gaussian",
    scale: float = 1.0,
    second: SecondLaw | Literal["auto"] = "auto",
    law: Law = LAWS["gaussian"],
    method: Route | Literal["auto"] = "auto",
    machine: Machine = HERE,
) -> Basins:
    """Follow ``replicas`` random starts to ``time``, and tell the ends apart. [E] §3 (XOR), [U].

    ``starts`` and ``scale``: see ``random_start``; ``second`` left at auto is Gaussian where the second layer is
    trained. ``method``: the ODE from each start, the reduced chain, or full simulation; auto takes the reduced chain
    for Gaussian inputs at finite ``d``, full simulation for others, and the ODE for ``d=None``.

    Raises ``InputError`` for a simulation without d, a law that cannot be drawn, a time that is not positive;
    ``ReachError`` where all replicas diverge.

    >>> from theory.sgd.tasks import single_index
    >>> found = basins(single_index(step=0.02), time=5.0, replicas=8, seed=1, d=100)
    >>> sorted(round(end.statistics["M_1_1"]) for end in found.ends)
    [-1, 1]
    """
    check_replicas(replicas)
    positive("time", time, remedy="use a time by which SGD has ended, such as 20")
    positive("scale", scale, remedy="use 1")
    choice("starts", starts, ("gaussian", "spherical"))
    if d is not None:
        whole("d", d, least=1, remedy="use 400, or leave d out for the limit")
    gaussian = law.recipe == "gaussian"
    if method == "auto":
        method = "ode" if d is None else "reduced" if gaussian and task.batch == 1 else "full"
    choice("method", method, ("ode", "reduced", "full"))
    if method != "ode" and d is None:
        raise InputError("d", given=None, expected="a dimension, for a simulation", remedy="give d, or the method ode")
    if method == "reduced" and (not gaussian or task.batch > 1):
        raise InputError("method", given="reduced", expected="Gaussian inputs, one a step", remedy="use full")
    drawn: SecondLaw = ("gaussian" if task.train_second else "start") if second == "auto" else second
    choice("second", drawn, ("start", "signs", "gaussian"))
    grid = tuple(float(t) for t in np.linspace(0.0, time, _MARKS))
    marks = () if method == "ode" else step_marks(task, grid, d or 1)
    parameters: dict[str, Json] = {
        "loss": str(task.loss),
        "noise": task.noise,
        "label_noise": task.label_noise,
        "ridge": task.ridge,
        "delta": task.step,
        "batch": task.batch,
        "schedule": None if task.schedule is None else str(task.schedule),
        "components": [[k.weight, list(k.mean), list(k.labels)] for k in task.components],
        "law": [law.name, law.kappa3, law.kappa4],
        "starts": [starts, scale, drawn],
        "d": d,
        "method": method,
        "time": time,
    }
    run = partial(_replica, task, law, method, d, starts, scale, drawn, grid, marks)
    name = f"sgd basins: {task.name}, {law.name} inputs, {'limit' if d is None else f'd = {d}'}"
    experiment = Experiment(name, parameters, Batches(run, units=1))
    found = run_replicas(experiment, replicas=replicas, seed=seed, machine=machine)
    values = np.array([values["statistics"] for values in found]).reshape(len(found), _MARKS, -1)
    finite = np.isfinite(values).all(axis=(1, 2))
    if not finite.any():
        raise ReachError(
            f"basins of {task.name}",
            given=task.step,
            reach="no replica: all diverged",
            remedy="lower --delta, or add a ridge",
        )
    warnings = list(found.warnings)
    if not finite.all():
        warnings.append(f"{int((~finite).sum())} of {len(finite)} replicas diverged and are left out")
    ends, levels, unsettled = _ends(task, law, values[finite], grid, d if method != "ode" else None)
    if unsettled > _UNSETTLED:
        warnings.append(
            f"{unsettled:.0%} of the replicas still moved in the last fifth of the time: take a longer time"
        )
    warnings += _plateau_warnings(ends, time)
    return Basins(
        task.name, law.name, method, d, time, int(finite.sum()), ends, levels, tuple(warnings), found.interrupted
    )


def _replica(
    task: Task,
    law: Law,
    method: Route,
    d: int | None,
    starts: StartLaw,
    scale: float,
    second: SecondLaw,
    grid: tuple[float, ...],
    marks: tuple[int, ...],
    parameters: Mapping[str, Json],  # noqa: ARG001  the rest says it all
    seeds: Sequence[np.random.SeedSequence],
    clock: Clock,
) -> list[Values]:
    (seed,) = seeds
    generator = np.random.default_rng(child(seed, _START_STREAM))
    start = random_start(task, d=d, law=starts, scale=scale, second=second, generator=generator)
    values = np.full((len(grid), len(start.flat())), np.nan)
    if method == "ode":
        with contextlib.suppress(ReachError):
            values = effective_ode(task, grid, start=start, laws=law, tolerance=1e-2).values
        clock.add(1)
    else:
        assert d is not None
        setting = Setting(task, component_laws(task, law), start, d, marks, method, "random")
        with np.errstate(all="ignore"):
            values = run_replica(setting, seed, lambda _: clock.add(0))
        clock.add(1)
    return [{"statistics": values.ravel().tolist()}]


def _ends(
    task: Task, law: Law, values: Array, grid: tuple[float, ...], d: int | None
) -> tuple[tuple[End, ...], tuple[End, ...], float]:
    """The ends, the loss levels, and the share of replicas that still move."""
    template = start_state(task)
    tail = values[:, -max(2, _MARKS // 10) :].mean(axis=1)
    scale = float(np.abs(tail).max())
    close = _CLOSE * scale + (_NOISE / math.sqrt(d) if d else 0.0)
    centres: list[Array] = []
    members: list[list[int]] = []
    aligned = tail.copy()
    orders: list[list[int]] = [[] for _ in tail]
    for n, flat in enumerate(tail):
        for c, centre in enumerate(centres):
            order = _best_order(template.moved(flat), template.moved(centre))
            moved = _permuted(template.moved(flat), order).flat()
            if float(np.abs(moved - centre).max()) < close:
                members[c].append(n)
                aligned[n], orders[n] = moved, order
                break
        else:
            centres.append(flat)
            members.append([n])
            orders[n] = list(range(len(template.Q)))
    total = len(tail)
    ends: list[End] = []
    seen: dict[int, State] = {}
    for group in members:
        mean = aligned[group].mean(axis=0)
        times = []
        for n in group:
            track = np.array([_permuted(template.moved(row), orders[n]).flat() for row in values[n]])
            near = np.abs(track - mean).max(axis=1) < close
            times.append(grid[int(np.argmax(near))] if near.any() else grid[-1])
        place = template.moved(mean)
        typical = min(group, key=lambda n: float(np.abs(aligned[n] - mean).max()))
        seen[len(ends)] = template.moved(values[typical, -1])
        loss = expected_loss(task, place, laws=law)
        ends.append(
            End(
                place.named(), len(group) / total, *wilson(len(group), total), loss, float(np.median(times)), len(group)
            )
        )
    ranked = sorted(range(len(ends)), key=lambda k: -ends[k].count)
    for k in ranked[:_CHECKED]:
        ends[k] = _with_outlook(ends[k], outlook(task, law, seen[k], time=grid[-1], close=close))
    ends = [ends[k] for k in ranked]
    before = values[:, int(0.8 * _MARKS)]
    moving = float((np.abs(before - tail).max(axis=1) > close).mean())
    at_start = abs(expected_loss(task, template, laws=law))
    return tuple(ends), _levels(ends, total, at_start), moving


def _with_outlook(end: End, found: Outlook) -> End:
    return replace(end, kind=found.kind, drift=found.drift, leaves_at=found.leaves_at)


def _plateau_warnings(ends: Sequence[End], time: float) -> list[str]:
    """Which share of the starts is on a plateau, and which share was not checked."""
    found = []
    left = [end for end in ends if end.kind == "plateau"]
    share = sum(end.share for end in left)
    if share > _UNSETTLED:
        last = max(end.leaves_at or time for end in left)
        found.append(
            f"{share:.0%} of the replicas are on a plateau at t = {time:g}, not at an end: from there the ODE moves "
            f"on, the last by t ≈ {last:.3g}. Their shares and losses are those of plateaus: take a time well beyond it"
        )
    open_ = sum(end.share for end in ends if end.kind == "unknown")
    if open_ > _UNSETTLED:
        found.append(
            f"{open_:.0%} of the replicas are at places not known to be ends: only the {_CHECKED} most frequent are "
            f"followed on by the ODE, to {1 + AHEAD} times the time, where it can be solved"
        )
    return found


def _levels(ends: Sequence[End], total: int, scale: float) -> tuple[End, ...]:
    """Ends of about one loss taken together, the lowest loss first."""
    ordered = sorted(ends, key=lambda end: end.loss)
    width = _SAME_LOSS * max(scale, *(abs(end.loss) for end in ordered))
    groups: list[list[End]] = []
    for end in ordered:
        if groups and end.loss - groups[-1][-1].loss <= width:
            groups[-1].append(end)
        else:
            groups.append([end])
    found = []
    for group in groups:
        count = sum(end.count for end in group)
        loss, time = (
            sum(end.count * value for end, value in zip(group, column, strict=True)) / count
            for column in ([end.loss for end in group], [end.time for end in group])
        )
        found.append(End({}, count / total, *wilson(count, total), loss, time, count))
    return tuple(found)


def _best_order(state: State, reference: State) -> list[int]:
    """The order of the students of ``state`` that is nearest to ``reference``."""
    rows, targets = (
        np.column_stack([x.M, np.diag(x.Q), *([x.b] if len(x.b) == len(x.Q) else [])]) for x in (state, reference)
    )
    cost = ((rows[:, None, :] - targets[None, :, :]) ** 2).sum(axis=2)
    first, second = linear_sum_assignment(cost)
    order = [0] * len(rows)
    for i, j in zip(first.tolist(), second.tolist(), strict=True):
        order[j] = i
    return order


def _permuted(state: State, order: list[int]) -> State:
    b = state.b[order] if len(state.b) == len(state.Q) else state.b
    return State(state.M[order], state.Q[np.ix_(order, order)], b, state.p[order], state.s)
