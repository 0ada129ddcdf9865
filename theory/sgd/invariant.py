"""Invariant sets that a start lies on: statistics that are 0 or equal up to sign, and stay so along the ODE."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from theory.sgd.drift import Drift
from theory.sgd.expectations import Laws, Quadrature, evaluator
from theory.sgd.gaussian_rules import GaussianRule, gauss_hermite
from theory.sgd.state import State, full_gram
from theory.sgd.task import Task

Array = NDArray[np.float64]
Whole = NDArray[np.int64]
Flow = Callable[[Array], Array]

_EQUAL = 1e-12  # statistics that differ by less than this part of the largest are meant to be equal
_SAME_DRIFT = 1e-6  # roots of singular Gram matrices carry the root of a rounding error
_POINTS = 3
_NUDGE = 1e-5
_SPREAD = 0.05
_TENSOR = 4
_THREE = 10
_INTERIOR = 1e-3


@dataclass(frozen=True, eq=False)
class InvariantSet:
    """A linear set x = embed·y of moving statistics which the ODE never leaves. [E] (saddles, symmetric plateaus).

    ``embed`` (n × m) has one entry ±1 in a row, or none where the statistic stays 0. ``relations`` say in words what
    holds on the set.
    """

    embed: Array
    relations: tuple[str, ...]

    def reduce(self, flat: Array) -> Array:
        """The coordinates y of a point of the set (of its projection, for a point beside it)."""
        result: Array = (self.embed.T @ flat) / np.maximum((self.embed**2).sum(axis=0), 1.0)
        return result

    def expand(self, y: Array) -> Array:
        """The point of the set with coordinates y."""
        result: Array = self.embed @ y
        return result

    def transverse(self) -> Array:
        """An orthonormal basis (n × (n − m)) of the directions that lead off the set."""
        q, _ = np.linalg.qr(np.hstack([self.embed, np.eye(len(self.embed))]))
        count = self.embed.shape[1]
        basis = q - self.embed @ ((self.embed.T @ q) / np.maximum((self.embed**2).sum(axis=0), 1.0)[:, None])
        left, sizes, _ = np.linalg.svd(basis, full_matrices=False)
        return np.asarray(left[:, : len(self.embed) - count][:, sizes[: len(self.embed) - count] > 0.5])


class _SymmetricQuadrature(Quadrature):
    """A quadrature whose nodes are mapped to one another by every signed permutation of the normals.

    No accuracy is asked of it: with it the drift has exactly the symmetries of the true one, for any number of fields.
    """

    def rule(self, level: int) -> GaussianRule:
        """The same nodes on every level."""
        D = len(self.read)
        fields = gauss_hermite(D, 6 if D <= 2 else 4) if D <= _TENSOR else _orbits(D, level)
        noise = gauss_hermite(1, min(self.noise_order, 4))
        nodes = np.column_stack(
            [np.repeat(fields.nodes, len(noise.weights), axis=0), np.tile(noise.nodes[:, 0], len(fields.weights))]
        )
        return GaussianRule(nodes, np.outer(fields.weights, noise.weights).ravel(), fields.method)


def _orbits(D: int, seed: int) -> GaussianRule:
    """All signed permutations of (a, b, c, 0 …) and of (g, 0 …): symmetric, and generic in everything else.

    In many dimensions (a, b, 0 …) has to do in place of the first.
    """
    a, b, c, g = 1.0 + np.random.default_rng(seed).uniform(0.2, 1.2, 4)
    width = 3 if D <= _THREE else 2
    places = np.array(list(itertools.permutations(range(D), width)))
    signs = np.array(list(itertools.product((-1.0, 1.0), repeat=width)))
    nodes = np.zeros((len(places) * len(signs), D))
    rows = np.arange(len(nodes)).reshape(len(places), len(signs))
    for k, value in enumerate((a, b, c)[:width]):
        nodes[rows, places[:, k, None]] = value * signs[:, k]
    alone = np.vstack([g * np.eye(D), -g * np.eye(D)])
    weights = np.concatenate([np.full(len(nodes), 0.6 / len(nodes)), np.full(len(alone), 0.4 / len(alone))])
    return GaussianRule(np.vstack([nodes, alone]), weights, "quasi-Monte Carlo")


def symmetric_drift(task: Task, laws: Laws) -> Drift:
    """The drift on a rule that shares every symmetry of the Gaussian rest."""
    expressions = (*task.gradients.c, *task.gradients.b)
    used = set().union(*(expression.free_symbols for expression in expressions))
    read = tuple(place for place, field in enumerate((*task.z, *task.u)) if field in used)
    plan = _SymmetricQuadrature(read, None, 4 if task.label_noise > 0 else 1, task.is_smooth)
    return Drift(task, laws, plan, 0, evaluator(task, expressions))


def invariant_set(task: Task, state: State, *, laws: Laws, frozen: tuple[int, ...] = ()) -> InvariantSet | None:
    """The smallest set of this kind that holds ``state`` and is kept by the drift; ``None`` where there is none.

    Statistics of ``state`` that are 0 stay a class, and so do statistics of equal size. A class is split where the
    drift, at random points that respect the classes, moves its members apart; what is left is invariant. ``frozen``
    are positions of statistics that never move.

    >>> from theory.sgd.expectations import GAUSSIAN
    >>> from theory.sgd.state import start_state
    >>> from theory.sgd.tasks import single_index
    >>> task = single_index(step=0.02)  # (w·a)² does not know the sign of w
    >>> invariant_set(task, start_state(task, {"M_1_1": 0.0, "Q_1_1": 0.6}), laws=GAUSSIAN).relations
    ('M_1_1 = 0',)
    >>> invariant_set(task, start_state(task), laws=GAUSSIAN) is None
    True
    """
    return find_invariant_set(symmetric_drift(task, laws), state, frozen=frozen)


def find_invariant_set(drift: Drift, state: State, *, frozen: tuple[int, ...] = ()) -> InvariantSet | None:
    """As ``invariant_set``, for a drift that has the task's symmetries exactly (see ``symmetric_drift``)."""
    flat = state.flat()
    moving = np.array([k for k in range(len(flat)) if k not in frozen], dtype=np.int64)
    sizes, scale = np.abs(flat), float(np.abs(flat).max(initial=0.0)) or 1.0
    labels: Whole = np.full(
        len(flat), -1, dtype=np.int64
    )  # the class of each statistic, 0 for what stays 0, −1 for what is frozen
    signs = np.where(flat < 0, -1.0, 1.0)
    representatives: list[float] = []
    for k in moving:
        if sizes[k] <= _EQUAL * scale:
            labels[k] = 0
            continue
        same = [c for c, value in enumerate(representatives) if abs(value - sizes[k]) <= _EQUAL * scale]
        labels[k] = 1 + (same[0] if same else len(representatives))
        if not same:
            representatives.append(float(sizes[k]))
    if len(representatives) == len(moving):
        return None
    generator = np.random.default_rng(0)
    for _ in range(len(flat) + 1):
        points = _points(drift.task, state, labels, signs, generator)
        velocities = np.array([drift.at_level(n)(state.moved(x)).flat() for n, x in enumerate(points)])
        if not np.isfinite(velocities).all():
            return None
        if not _split(labels, signs, velocities, moving):
            break
    used = sorted({int(c) for c in labels[moving] if c > 0})
    if len(used) == len(moving):
        return None
    embed = np.zeros((len(moving), len(used)))
    for row, k in enumerate(moving):
        if labels[k] > 0:
            embed[row, used.index(int(labels[k]))] = signs[k]
    return InvariantSet(embed, _relations(state.names, labels, signs, moving))


def _points(task: Task, state: State, labels: Whole, signs: Array, generator: np.random.Generator) -> list[Array]:
    """Random points near ``state`` that respect the classes and that some vectors have."""
    flat = state.flat()
    points: list[Array] = []
    spread = _SPREAD
    for attempt in range(40 * _POINTS):
        if len(points) == _POINTS:
            break
        x = flat.copy()
        for label in set(labels[labels > 0].tolist()):
            members = np.flatnonzero(labels == label)
            size = float(np.abs(flat[members]).max())
            change = spread * generator.standard_normal() * max(size, 0.2)
            x[members] = signs[members] * (float((signs * flat)[members[0]]) + change)
        moved = state.moved(x)
        local = np.concatenate([moved.p, moved.s])
        if float(np.linalg.eigvalsh(full_gram(task, moved) - local @ local.T).min()) >= -1e-12:
            points.append(x)
        elif attempt % 10 == 9:
            spread /= 2
    while len(points) < _POINTS:
        points.append(flat)
    return points


def _split(labels: Whole, signs: Array, velocities: Array, moving: Whole) -> bool:
    """Split the classes whose members move apart; whether any was."""
    tolerance = _SAME_DRIFT * max(float(np.abs(velocities).max()), 1e-9)
    fresh, changed = int(labels.max()) + 1, False
    for label in sorted({int(c) for c in labels[moving]}):
        members = np.flatnonzero(labels == label)
        groups: list[tuple[Array, list[int]]] = []
        for k in members:
            own = velocities[:, k] * (signs[k] if label else 1.0)
            if label == 0 and np.abs(own).max() <= tolerance:
                continue
            for first, group in groups:
                if np.abs(first - own).max() <= tolerance:
                    group.append(int(k))
                    break
                if label == 0 and np.abs(first + own).max() <= tolerance:
                    signs[k] = -1.0
                    group.append(int(k))
                    break
            else:
                if label == 0:
                    signs[k] = 1.0
                groups.append((own, [int(k)]))
        for position, (_, group) in enumerate(groups):
            if label == 0 or position > 0:
                labels[group] = fresh
                fresh, changed = fresh + 1, True
    return changed


def _relations(names: tuple[str, ...], labels: Whole, signs: Array, moving: Whole) -> tuple[str, ...]:
    still = [names[k] for k in moving if labels[k] == 0]
    relations = [" = ".join([*still, "0"])] if still else []
    for label in sorted({int(c) for c in labels[moving] if c > 0}):
        members = [int(k) for k in moving if labels[k] == label]
        if len(members) > 1:
            first = signs[members[0]]
            relations.append(" = ".join(("" if signs[k] == first else "−") + names[k] for k in members))
    return tuple(relations)


def leaving_rate(flow: Flow, found: InvariantSet, task: Task, state: State, moving: Whole) -> float:
    """The largest real part of the eigenvalues of the drift's Jacobian off the set: how fast noise grows there.

    Where the vectors are linearly dependent the Jacobian is taken a little inside the Gram matrices.
    """
    local = np.concatenate([state.p, state.s])
    if float(np.linalg.eigvalsh(full_gram(task, state) - local @ local.T).min()) < _INTERIOR:
        state = replace(state, Q=state.Q + _INTERIOR * np.eye(len(state.Q)))
    whole, off = state.flat(), found.transverse()
    if not off.shape[1]:
        return -np.inf
    columns = []
    for direction in off.T:
        nudge = np.zeros_like(whole)
        nudge[moving] = _NUDGE * direction
        columns.append((flow(whole + nudge) - flow(whole - nudge))[moving] / (2 * _NUDGE))
    return float(np.linalg.eigvals(off.T @ np.array(columns).T).real.max())
