"""Batches of replicas for the kernels: plans, and chunks between which a run can be stopped."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from numerics.kernels.normals import LANES, stream
from numerics.runs.clock import Clock
from numerics.runs.outcome import Values
from numerics.runs.seeds import child
from numerics.single_index import full, reduced
from numerics.single_index.program import Program
from numerics.single_index.setting import Setting
from numerics.single_index.starts import Overlaps, embed
from theory.checks import positive, real, whole
from theory.errors import InputError

_CHUNK_STEPS = 2**18
_CHUNK_COORDINATES = 2**27
"""Steps of a batch, or coordinates of steps in full dimension, between two looks at the clock: under a second."""
_LONGEST_PATH = 10**6


@dataclass(frozen=True)
class Plan:
    """How long SGD runs, and what is kept.

    ``steps`` of size ``step`` = δ/d, the factor of the gradient. With ``target`` the first step at which m_1 reaches it
    is noted (|m_1| for an even link); with ``stop`` a batch ends when all its replicas have, and of those that have
    only that first step is kept. ``every`` > 0 keeps the overlaps after each ``every`` steps.
    """

    steps: int
    step: float
    target: float = math.inf
    stop: bool = False
    every: int = 0

    def __post_init__(self) -> None:
        if isinstance(self.steps, bool) or not isinstance(self.steps, int) or not 1 <= self.steps <= 10**15:
            raise InputError(
                "steps", given=self.steps, expected="a whole number from 1 to 1e15", remedy="use steps=100000"
            )
        positive("step", self.step, remedy="use for example step=1e-7")
        if real(self.target) is None or math.isnan(self.target):
            raise InputError("target", given=self.target, expected="a number", remedy="use for example target=0.9")
        whole("every", self.every, remedy="record each so many steps, or use 0 for none")
        if self.every and self.steps // self.every > _LONGEST_PATH:
            raise InputError(
                "every", given=self.every, expected=f"at most {_LONGEST_PATH} records", remedy="record less often"
            )


def reduced_batch(
    setting: Setting,
    starts: Sequence[Overlaps],
    plan: Plan,
    seeds: Sequence[np.random.SeedSequence],
    program: Program,
    clock: Clock,
) -> list[Values]:
    """Up to ``LANES`` replicas through the reduced chain, one a lane."""
    lanes = [np.asarray(child(s, 1).generate_state(4, np.uint64), dtype=np.uint64) for s in seeds]
    states = np.ascontiguousarray(np.array(lanes + [lanes[0]] * (LANES - len(lanes))).T)
    begin = np.zeros((2, LANES))
    begin[:, : len(starts)] = np.array(starts).T
    m1, m2 = begin[0].copy(), begin[1].copy()
    hits = np.zeros(LANES, dtype=np.int64)
    hits[: len(starts)] = [0 if setting.succeeds(m, plan.target) else -1 for m, _ in starts]
    path = np.empty((plan.steps // plan.every if plan.every else 0, 2, LANES))
    rows = np.zeros((program.registers, 2 * LANES))
    for done, steps in _chunks(plan.steps, _CHUNK_STEPS):
        clock.add()
        reduced.advance(
            states,
            m1,
            m2,
            hits,
            done,
            steps,
            plan.step,
            setting.eta1,
            setting.stretch,
            math.sqrt(setting.noise),
            (setting.d - 3) / 2 - 1 / 3,
            plan.target,
            setting.even,
            plan.every or plan.steps + 1,
            path,
            program.instructions,
            program.constants,
            rows,
            program.value,
            program.slope,
        )
        clock.add(steps * len(starts))
        if plan.stop and (hits >= 0).all():
            clock.add((plan.steps - done - steps) * len(starts))
            break
    end = np.where(plan.stop & (hits >= 0), begin, np.array([m1, m2]))  # how far a stopped batch ran is chance
    return [
        {
            "start": begin[:, k].tolist(),
            "end": end[:, k].tolist(),
            "hit": [float(hits[k])],
            "path1": path[:, 0, k].tolist(),
            "path2": path[:, 1, k].tolist(),
        }
        for k in range(len(starts))
    ]


def full_batch(
    setting: Setting,
    starts: Sequence[Overlaps],
    plan: Plan,
    seeds: Sequence[np.random.SeedSequence],
    program: Program,
    clock: Clock,
) -> list[Values]:
    """One replica in full dimension."""
    (overlaps,), (seed,) = starts, seeds
    weights, target, other = embed(setting, overlaps, child(seed, 2))
    state = stream(child(seed, 1))
    hit = np.array([0 if setting.succeeds(overlaps[0], plan.target) else -1])
    path = np.empty((plan.steps // plan.every if plan.every else 0, 2))
    rows = np.zeros((program.registers, 2))
    for done, steps in _chunks(plan.steps, max(1, _CHUNK_COORDINATES // setting.d)):
        clock.add()
        full.advance(
            state,
            weights,
            target,
            other,
            hit,
            done,
            steps,
            plan.step,
            setting.eta1,
            setting.stretch,
            math.sqrt(setting.noise),
            plan.target,
            setting.even,
            plan.every or plan.steps + 1,
            path,
            program.instructions,
            program.constants,
            rows,
            program.value,
            program.slope,
        )
        clock.add(steps)
        if plan.stop and hit[0] >= 0:
            clock.add(plan.steps - done - steps)
            break
    end = overlaps if plan.stop and hit[0] >= 0 else (float(weights @ target), float(weights @ other))
    return [
        {
            "start": list(overlaps),
            "end": list(end),
            "hit": [float(hit[0])],
            "path1": path[:, 0].tolist(),
            "path2": path[:, 1].tolist(),
        }
    ]


def _chunks(steps: int, size: int) -> Iterator[tuple[int, int]]:
    for done in range(0, steps, size):
        yield done, min(size, steps - done)
