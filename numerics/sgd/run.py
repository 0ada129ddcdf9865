"""One replica of one-pass SGD: its random streams, its time grid, its recorded statistics."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from numerics.kernels.normals import BLOCK, fill_normals, fill_uniforms, stream
from numerics.runs.seeds import child
from numerics.sgd.full import advance
from numerics.sgd.gradient import gradient_kernel
from numerics.sgd.noise import GIVEN, recipes
from numerics.sgd.reduced import advance_reduced
from numerics.sgd.vectors import Spread, vectors
from theory.errors import InputError
from theory.sgd.laws import Law
from theory.sgd.state import State
from theory.sgd.task import Task

Array = NDArray[np.float64]
Method = Literal["full", "reduced"]
Tick = Callable[[int], None]
"""Called with 0 after each chunk of steps and with 1 at each recorded time; it may raise to stop the run."""

_CHUNK = 4096
_CHUNK_COORDINATES = 2**27  # a fraction of a second: how long a kernel keeps an interrupt waiting
_GIVEN_NUMBERS = 2**20
_STREAMS = ("input", "component", "label", "start")


@dataclass(frozen=True, eq=False)
class Setting:
    """What every replica of a run shares: one law for each component of the task's mixture; ``marks`` are the step
    counts at which the statistics are read."""

    task: Task
    laws: tuple[Law, ...]
    start: State
    d: int
    marks: tuple[int, ...]
    method: Method
    spread: Spread
    deviations: Array = field(default_factory=lambda: np.zeros(0))
    """The standard deviation of each coordinate of x; no entries: 1. Full simulation only."""

    @cached_property
    def reduced(self) -> tuple[Array, Array, Array]:
        """The start in the reduced chain's coordinates; see ``reduced_start``."""
        return reduced_start(self.task, self.start, self.d)


def step_marks(task: Task, times: tuple[float, ...], d: int) -> tuple[int, ...]:
    """The number of steps at each time: n δ/d = t, rounded to the nearest step.

    >>> from theory.sgd.tasks import committee
    >>> step_marks(committee(step=0.5), (0.0, 1.0, 2.0), 100)
    (0, 200, 400)
    """
    if task.step <= 0:
        raise InputError(
            f"task {task.name}: step",
            given=task.step,
            expected="a positive step δ",
            remedy="give for example step=0.5; time t = nδ/d stands still without one",
        )
    marks = tuple(round(t * d / task.step) for t in times)
    if any(later <= earlier for earlier, later in itertools.pairwise(marks)) or (times[0] > 0 and marks[0] == 0):
        raise InputError(
            "times",
            given=list(times),
            expected=f"0 and then times at least one step δ/d = {task.step / d:g} apart",
            remedy="lower step=, raise d=, or leave times out",
        )
    return marks


def run_replica(setting: Setting, seed: np.random.SeedSequence, tick: Tick) -> Array:
    """The statistics at the marks (marks × statistics), determined by the setting and the seed alone."""
    return _run_reduced(setting, seed, tick) if setting.method == "reduced" else _run_full(setting, seed, tick)


class _Draws:
    """The component and the label noise of each step, drawn a chunk at a time."""

    def __init__(self, task: Task, seed: np.random.SeedSequence) -> None:
        self._cumulative = np.cumsum([component.weight for component in task.components])[:-1]
        self._deviation = float(np.sqrt(task.label_noise))
        # A stream that nothing reads is not worth its seeding.
        self._components = stream(substream(seed, "component")) if len(self._cumulative) else None
        self._labels = stream(substream(seed, "label")) if self._deviation else None

    def next(self, size: int) -> tuple[NDArray[np.int64], Array]:
        components, errors = np.zeros(size, dtype=np.int64), np.zeros(size)
        if self._components is not None:
            uniforms = np.empty(size)
            fill_uniforms(self._components, uniforms)
            components = np.searchsorted(self._cumulative, uniforms, side="right").astype(np.int64)
        if self._labels is not None:
            fill_normals(self._labels, errors)
            errors *= self._deviation
        return components, errors


class _Rates:
    """The size δ/d of each step times its schedule, a chunk at a time."""

    def __init__(self, task: Task, d: int) -> None:
        self._task, self._size, self._done = task, task.step / d, 0

    def next(self, size: int) -> Array:
        times = self._size * np.arange(self._done, self._done + size)
        self._done += size
        return np.ascontiguousarray(self._size * self._task.pace(np.asarray(times, dtype=np.float64)))


def substream(seed: np.random.SeedSequence, purpose: str) -> np.random.SeedSequence:
    """The part of a replica's randomness that serves one purpose."""
    return child(seed, _STREAMS.index(purpose))


def _pieces(setting: Setting, chunk: int) -> list[list[int]]:
    """For each mark, the sizes of the chunks that lead to it from the mark before."""
    pieces, before = [], 0
    for mark in setting.marks:
        whole, rest = divmod(mark - before, chunk)
        pieces.append([chunk] * whole + [rest] * (rest > 0))
        before = mark
    return pieces


def _labels(task: Task) -> Array:
    return np.array([component.labels for component in task.components], dtype=float).reshape(len(task.components), -1)


def _mean_coefficients(task: Task) -> Array:
    """Components × truths, or no rows where every mean is 0."""
    means = np.array([component.mean for component in task.components], dtype=float)
    return means if means.any() else np.zeros((0, means.shape[1]))


def _run_full(setting: Setting, seed: np.random.SeedSequence, tick: Tick) -> Array:
    task, start, d = setting.task, setting.start, setting.d
    width = -(-d // BLOCK) * BLOCK
    rows = vectors(task, start, d, spread=setting.spread, generator=np.random.default_rng(substream(seed, "start")))
    W, V = (np.ascontiguousarray(np.pad(part, ((0, 0), (0, width - d)))) for part in rows)
    means, labels = np.ascontiguousarray(_mean_coefficients(task) @ V), _labels(task)
    second = start.b.copy()
    draw, gradient = recipes(setting.laws), gradient_kernel(task)
    state = stream(substream(seed, "input"))
    has_own = GIVEN in draw.kinds
    own = np.random.default_rng(substream(seed, "input"))
    chunk = max(1, min(_CHUNK, (_GIVEN_NUMBERS if has_own else _CHUNK_COORDINATES) // (d * task.batch)))
    deviations = setting.deviations
    draws = _Draws(task, seed)
    given = np.zeros((0, 0))
    rates = _Rates(task, d)
    recorded = []
    for pieces in _pieces(setting, chunk):
        for size in pieces:
            components, errors = draws.next(size * task.batch)
            if has_own:
                given = _given(setting.laws, components, d, own)
            advance(
                gradient,
                draw.kinds,
                draw.lowest,
                draw.jumps,
                draw.thresholds,
                state,
                given,
                d,
                float(np.sqrt(task.noise)),
                means,
                labels,
                components,
                errors,
                rates.next(size),
                task.ridge,
                task.batch,
                deviations,
                W,
                V,
                second,
                len(task.gradients.b),
            )
            tick(0)
        recorded.append(_read(W @ V.T, W @ W.T, second, W[:, : start.localised], start))
        tick(1)
    return np.array(recorded)


def _run_reduced(setting: Setting, seed: np.random.SeedSequence, tick: Tick) -> Array:
    task, start = setting.task, setting.start
    fixed, A, R = (part.copy() for part in setting.reduced)
    means, labels = np.ascontiguousarray(_mean_coefficients(task) @ fixed), _labels(task)
    second = start.b.copy()
    gradient = gradient_kernel(task)
    state = stream(substream(seed, "input"))
    draws, rates = _Draws(task, seed), _Rates(task, setting.d)
    recorded = []
    for pieces in _pieces(setting, _CHUNK):
        for size in pieces:
            components, errors = draws.next(size)
            advance_reduced(
                gradient,
                state,
                setting.d,
                float(np.sqrt(task.noise)),
                means,
                labels,
                components,
                errors,
                rates.next(size),
                task.ridge,
                A,
                R,
                fixed,
                second,
                len(task.gradients.b),
            )
            tick(0)
        Q = A @ A.T + np.tril(R) + np.tril(R, -1).T
        recorded.append(_read(A @ fixed.T, Q, second, A[:, : start.localised], start))
        tick(1)
    return np.array(recorded)


def reduced_start(task: Task, start: State, d: int) -> tuple[Array, Array, Array]:
    """Truths (r × f), parameters (K × f) and remainders' Gram (K × K) of a start, in the basis of the fixed space.

    The basis begins with the L localised coordinates; f = L + r. Raises ``InputError`` where d < f + K.
    """
    K, r, L = len(start.Q), start.M.shape[1], start.localised
    if d < K + r + L:
        raise InputError(
            "d", given=d, expected=f"at least {K + r + L}, one for each direction the chain follows", remedy="raise d"
        )
    truths = np.array(task.truth_gram, dtype=float).reshape(r, r) - start.s @ start.s.T
    values, basis = np.linalg.eigh(truths)
    roots = np.sqrt(np.clip(values, 0.0, None))
    inverse = np.where(roots > 1e-9, 1.0 / np.where(roots > 1e-9, roots, 1.0), 0.0)
    fixed = np.hstack([start.s, basis * roots])
    A = np.hstack([start.p, (start.M - start.p @ start.s.T) @ (basis * inverse)])
    return np.ascontiguousarray(fixed), np.ascontiguousarray(A), np.ascontiguousarray(start.Q - A @ A.T)


def _read(M: Array, Q: Array, second: Array, p: Array, start: State) -> Array:
    return State(M, Q, second.copy(), p.copy(), start.s).flat()


def _given(laws: tuple[Law, ...], components: NDArray[np.int64], d: int, generator: np.random.Generator) -> Array:
    """One input a row (steps × d) from the users' own samplers; rows of other laws are left empty."""
    given = np.zeros((len(components), d))
    for k, law in enumerate(laws):
        rows = np.flatnonzero(components == k)
        if law.sampler is None or not len(rows):
            continue
        drawn = np.asarray(law.sampler(generator, (len(rows), d)), dtype=np.float64)
        if drawn.shape != (len(rows), d) or not np.isfinite(drawn).all():
            raise InputError(
                f"law {law.name}: sampler",
                given=f"shape {drawn.shape}",
                expected=f"finite numbers of shape {(len(rows), d)}",
                remedy="return as many independent coordinates as asked for",
            )
        given[rows] = drawn
    return given
