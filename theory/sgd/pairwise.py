"""The drift for additive losses: integrals over two fields at a time, kinks split.

E[c_i F] needs the joint law of z_i and one further field. E[c_i c_j] = E[p_i p_j S²] is integrated over (z_i, z_j);
given these, S is a sum of functions of one field each, whose means and covariances are one-dimensional integrals: the
covariance of s_f and s_h is Σ_n ρⁿ a_fn a_hn, a_fn the Hermite coefficients (Mehler's formula).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.special import roots_hermitenorm

from theory.sgd.additive import Additive, Function, recognise_additive
from theory.sgd.expectations import GAUSSIAN, Laws, Strata, law_strata
from theory.sgd.state import State
from theory.sgd.task import Task

Array = NDArray[np.float64]

_FINEST = 12
_REACH = 8.5  # standard deviations
_EDGES = np.array([-4.0, -1.5, -0.3, 0.0, 0.3, 1.5, 4.0])
_DEGENERATE = 1e-13


@dataclass(frozen=True, eq=False)
class PairwiseDrift:
    """The drift of a task with an additive loss, on one level of one-dimensional rules (see ``drift.Motion``)."""

    task: Task
    laws: Laws
    form: Additive
    level: int

    @classmethod
    def of(cls, task: Task, *, laws: Laws = GAUSSIAN, level: int = 2) -> PairwiseDrift | None:
        """The drift, where the loss is additive.

        >>> from theory.sgd.state import start_state
        >>> from theory.sgd.tasks import committee
        >>> task = committee(activation="relu")
        >>> PairwiseDrift.of(task)(start_state(task)).M.shape
        (2, 2)
        """
        form = recognise_additive(task)
        return None if form is None else cls(task, laws, form, level)

    @property
    def method(self) -> str:
        """How expectations are taken."""
        return "pairs of fields"

    @property
    def even(self) -> bool:
        """Rules move smoothly with the state."""
        return True

    @property
    def finest(self) -> int:
        """The level beyond which nothing is refined."""
        return _FINEST

    def is_exact(self, state: State) -> bool:
        """Never known beforehand."""
        del state
        return False

    def at_level(self, level: int) -> PairwiseDrift:
        """The same drift on another level."""
        return replace(self, level=level)

    def size(self, state: State) -> int:
        """About the number of evaluations of one call."""
        n = _order(self.level)
        K, F = len(state.Q), len(state.Q) + state.M.shape[1]
        outer = n**2 * (K * (K - 1) // 2) + n * K
        strata = len(law_strata(self.task, state, self.laws, self.level).weights)
        return int(strata * outer * F * n // 8)

    def __call__(self, state: State, pace: float = 1.0) -> State:
        """The velocity of each statistic, laid out like the state."""
        task, K = self.task, len(self.task.z)
        strata = law_strata(task, state, self.laws, self.level)
        F = K + len(task.u)
        with_fields, with_local = np.zeros((K, F)), np.zeros((K, state.localised))
        squares, slopes = np.zeros((K, K)), np.zeros(len(state.b))
        for k, weight in enumerate(strata.weights):
            given = _Given(self.form, task, strata, k, state.b, self.level)
            fields, means = given.with_fields()
            with_fields += weight * fields
            with_local += weight * np.outer(means, strata.local[k])
            if task.critical > 0:
                squares += weight * given.squares()
            if task.train_second:
                slopes += weight * given.second()
        cross = with_fields[:, :K]
        b = -slopes - task.ridge * state.b if task.train_second else np.zeros(len(state.b))
        change = State(
            M=-with_fields[:, K:] - task.ridge * state.M,
            Q=-(cross + cross.T) - 2 * task.ridge * state.Q + pace * task.critical * task.noise * squares,
            b=b,
            p=-with_local - task.ridge * state.p,
            s=np.zeros_like(state.s),
        )
        return change if pace == 1.0 else change.moved(pace * change.flat())

    def loss(self, state: State) -> float | None:
        """E[loss] without the ridge; ``None`` where the loss is no square."""
        if self.form.quadratic is None:
            return None
        strata = law_strata(self.task, state, self.laws, self.level)
        total = 0.0
        for k, weight in enumerate(strata.weights):
            total += weight * _Given(self.form, self.task, strata, k, state.b, self.level).square()
        return self.form.quadratic * total


def _order(level: int) -> int:
    return round(12 * 2 ** (level / 4))


class _Given:
    """Expectations within one stratum: Gaussian fields with a mean and a covariance."""

    def __init__(self, form: Additive, task: Task, strata: Strata, k: int, b: Array, level: int) -> None:
        self.form, self.level = form, level
        self.mean, self.covariance = strata.mean[k], strata.covariance
        self.parameters = (*b.tolist(), *strata.labels[k].tolist())
        self.K, self.noise = len(task.z), task.label_noise
        self.F = len(self.mean)
        self.constant = float(form.constant(np.zeros(()), *self.parameters))
        self.sd = np.sqrt(np.clip(np.diag(self.covariance), 0.0, None))

    def value(self, function: Function, x: Array) -> Array:
        return function(x, *self.parameters)

    def rule(self, field: int, mean: Array, sd: Array) -> tuple[Array, Array]:
        """Nodes and weights, along a new last axis, for a standard normal ξ behind the field mean + sd ξ."""
        return axis_rule(self.form.kinks[field], mean, sd, self.level)

    def ordered(self, i: int, f: int) -> tuple[int, int]:
        """The two with the one that has kinks first: what is integrated over the other is then smooth in it."""
        return (f, i) if self.form.kinks[f] and not self.form.kinks[i] else (i, f)

    def pair(self, i: int, f: int) -> tuple[Array, Array, Array, Array, Array]:
        """Nodes (ξ, ξ′), their weights, and the values of fields i and f there; i = f: ξ′ is idle."""
        x, w = self.rule(i, self.mean[i], self.sd[i])
        z = self.mean[i] + self.sd[i] * x
        slope = self.covariance[f, i] / self.sd[i] if self.sd[i] > 0 else 0.0
        rest = self.covariance[f, f] - slope**2
        if i == f or rest <= _DEGENERATE * max(self.covariance[f, f], 1e-300):
            return x[:, None], np.zeros((len(x), 1)), w[:, None], z[:, None], (self.mean[f] + slope * x)[:, None]
        centre, sd = self.mean[f] + slope * x, np.full(len(x), math.sqrt(rest))
        y, v = self.rule(f, centre, sd)
        return x[:, None] + 0 * y, y, w[:, None] * v, z[:, None] + 0 * y, centre[:, None] + sd[:, None] * y

    def with_fields(self) -> tuple[Array, Array]:
        """E[c_i F] for every field (K × F), and E[c_i]."""
        K, F = self.K, self.F
        found, means = np.zeros((K, F)), np.zeros(K)
        for i in range(K):
            x, w = self.rule(i, self.mean[i], self.sd[i])
            p = w * self.value(self.form.factors[i], self.mean[i] + self.sd[i] * x)
            first = self.covariance[i] / self.sd[i] if self.sd[i] > 0 else np.zeros(F)
            means[i] += self.constant * p.sum()
            found[i] += self.constant * (p.sum() * self.mean + (p @ x) * first)
            for f, term in enumerate(self.form.terms):
                if term is None:
                    continue
                outer, inner = self.ordered(i, f)
                x, y, w, *values = self.pair(outer, inner)
                z, value = values if outer == i else values[::-1]
                product = w * self.value(self.form.factors[i], z) * self.value(term, value)
                total = float(product.sum())
                means[i] += total
                along = self.covariance[outer] / self.sd[outer] if self.sd[outer] > 0 else np.zeros(F)
                found[i] += total * self.mean + float((product * x).sum()) * along
                rest = self.covariance[inner, inner] - along[inner] ** 2
                if rest > _DEGENERATE * max(self.covariance[inner, inner], 1e-300):
                    across = (self.covariance[inner] - along[inner] * along) / math.sqrt(rest)
                    found[i] += float((product * y).sum()) * across
        return found, means

    def squares(self) -> Array:
        """E[c_i c_j]."""
        found = np.zeros((self.K, self.K))
        for i in range(self.K):
            for j in range(i, self.K):
                x, y, w, z, value = self.pair(i, j)
                p, q = self.value(self.form.factors[i], z), self.value(self.form.factors[j], value)
                weight = (w * p * q).ravel()
                kept = np.abs(weight) > 1e-17
                if not kept.any():
                    continue
                points = np.column_stack([x.ravel()[kept], y.ravel()[kept]])
                found[i, j] = found[j, i] = float(weight[kept] @ self._conditional_square(i, j, points))
        return found

    def _conditional_square(self, i: int, j: int, points: Array) -> Array:
        """E[S² | the normals behind z_i and z_j], at each of the points (N × 2)."""
        first = self.covariance[i] / self.sd[i] if self.sd[i] > 0 else np.zeros(self.F)
        rest = self.covariance[j, j] - first[j] ** 2
        alone = i == j or rest <= _DEGENERATE * max(self.covariance[j, j], 1e-300)
        second = np.zeros(self.F) if alone else (self.covariance[j] - first[j] * first) / math.sqrt(rest)
        left = self.covariance - np.outer(first, first) - np.outer(second, second)
        centres = self.mean + points @ np.stack([first, second])
        return self._square(centres, left) + self.noise

    def _square(self, centres: Array, left: Array) -> Array:
        """E[(Σ s_f + s_0)²] at centres (N × F), with one covariance; label noise left out."""
        scale = np.maximum(np.diag(self.covariance), 1e-300)
        sd = np.sqrt(np.clip(np.diag(left), 0.0, None))
        sd[np.diag(left) <= 1e-12 * scale] = 0.0
        total = np.full(len(centres), self.constant)
        spread = np.zeros(len(centres))
        read: list[int] = []
        coefficients: list[Array] = []
        for f, term in enumerate(self.form.terms):
            if term is None:
                continue
            if sd[f] == 0.0:
                total = total + self.value(term, centres[:, f])
                continue
            x, w = self.rule(f, centres[:, f], np.full(len(centres), sd[f]))
            values = self.value(term, centres[:, f, None] + sd[f] * x)
            found = _hermite_coefficients(x, w * values, _order(self.level), same=not self.form.kinks[f])
            total = total + found[0]
            spread = spread + np.einsum("ab,ab,ab->a", w, values, values) - found[0] ** 2
            read.append(f)
            coefficients.append(found[1:])
        if len(read) > 1:
            rho = np.clip(left[np.ix_(read, read)] / np.outer(sd[read], sd[read]), -1.0, 1.0)
            np.fill_diagonal(rho, 0.0)  # their own variances are there already
            table = np.stack(coefficients, axis=1)  # order × field × point
            powers = rho ** np.arange(1, len(table) + 1)[:, None, None]
            spread = spread + np.einsum("nfp,nfp->p", table, powers @ table)
        return np.asarray(total**2 + spread)

    def square(self) -> float:
        """E[S²], pair by pair."""
        total, mean = self.noise + self.constant**2, 0.0
        read = [f for f, term in enumerate(self.form.terms) if term is not None]
        for place, f in enumerate(read):
            x, w = self.rule(f, self.mean[f], self.sd[f])
            values = self.term(f, self.mean[f] + self.sd[f] * x)
            mean += float(w @ values)
            total += float(w @ values**2)
            for h in read[:place]:
                outer, inner = self.ordered(f, h)
                _, _, w, first, second = self.pair(outer, inner)
                total += 2 * float((w * self.term(outer, first) * self.term(inner, second)).sum())
        return total + 2 * self.constant * mean

    def term(self, field: int, x: Array) -> Array:
        """The summand of S that reads a field."""
        term = self.form.terms[field]
        return np.zeros_like(x) if term is None else self.value(term, x)

    def second(self) -> Array:
        """E[∂loss/∂b_k]."""
        found = np.zeros(len(self.form.second))
        mean = self.constant
        for f, term in enumerate(self.form.terms):
            if term is not None:
                x, w = self.rule(f, self.mean[f], self.sd[f])
                mean += float(w @ self.value(term, self.mean[f] + self.sd[f] * x))
        for k, (summands, rest) in enumerate(zip(self.form.second, self.form.second_constant, strict=True)):
            found[k] = mean * float(rest(np.zeros(()), *self.parameters))
            for g, slope in summands:
                x, w = self.rule(g, self.mean[g], self.sd[g])
                found[k] += self.constant * float(w @ self.value(slope, self.mean[g] + self.sd[g] * x))
                for f, term in enumerate(self.form.terms):
                    if term is not None:
                        outer, inner = self.ordered(g, f)
                        _, _, w, *values = self.pair(outer, inner)
                        z, value = values if outer == g else values[::-1]
                        found[k] += float((w * self.value(slope, z) * self.value(term, value)).sum())
        return found


@lru_cache(maxsize=32)
def _hermite(order: int) -> tuple[Array, Array]:
    x, w = roots_hermitenorm(order)
    return x, w / w.sum()


@lru_cache(maxsize=32)
def _legendre(order: int) -> tuple[Array, Array]:
    x, w = np.polynomial.legendre.leggauss(order)
    return x, w


def axis_rule(kinks: tuple[float, ...], mean: Array, sd: Array, level: int) -> tuple[Array, Array]:
    """Nodes and weights (… × N) for E over a standard normal ξ of a function with kinks at mean + sd ξ = kink.

    Gauss–Hermite where there is none, else Gauss–Legendre on panels that end at the kinks and are finer near them.

    >>> x, w = axis_rule((0.3,), np.array(0.1), np.array(2.0), 4)
    >>> round(float(w @ np.abs(0.1 + 2 * x - 0.3)), 8)  # E|2ξ − 0.2| = 4φ(0.1) + 0.2(2Φ(0.1) − 1)
    1.60374133
    """
    mean, sd = np.asarray(mean, dtype=float), np.asarray(sd, dtype=float)
    if not kinks or not (sd > 0).all():
        x, w = _hermite(_order(level))
        return np.broadcast_to(x, (*mean.shape, len(x))), np.broadcast_to(w, (*mean.shape, len(w)))
    places = [np.clip((kink - mean) / sd, -_REACH, _REACH)[..., None] + _EDGES for kink in kinks]
    ends = np.broadcast_to(np.array([-_REACH, _REACH]), (*mean.shape, 2))
    edges = np.sort(np.clip(np.concatenate([*places, ends], axis=-1), -_REACH, _REACH), axis=-1)
    x, w = _legendre(max(4, round(5 * 2 ** (level / 6))))
    low, width = edges[..., :-1, None], np.diff(edges, axis=-1)[..., None]
    nodes = (low + width * (x + 1) / 2).reshape(*mean.shape, -1)
    weights = (width * w / 2).reshape(*mean.shape, -1) * np.exp(-(nodes**2) / 2) / math.sqrt(2 * math.pi)
    return nodes, weights


def _hermite_coefficients(x: Array, weighted: Array, count: int, *, same: bool) -> Array:
    """Σ weighted · h_n(x) over the last axis for the orthonormal Hermite polynomials h_0 … h_{count−1}: count × N.

    ``same`` says that every point has the same nodes.
    """
    nodes = x[:1] if same else x
    table = np.empty((count, *nodes.shape))
    before, here = np.zeros_like(nodes), np.ones_like(nodes)
    for n in range(count):
        table[n] = here
        before, here = here, (nodes * here - math.sqrt(n) * before) / math.sqrt(n + 1)
    return table[:, 0] @ weighted.T if same else np.einsum("nab,ab->na", table, weighted)
