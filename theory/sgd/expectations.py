"""Expectations over the input of what a step of SGD reads: mixture ⊗ localised coordinates ⊗ Gaussian rest."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
import sympy
from numpy.typing import NDArray

from theory.errors import BudgetError, InputError
from theory.sgd.compiled import on_arrays
from theory.sgd.gaussian_rules import GaussianRule, gauss_hermite, gaussian_rule
from theory.sgd.laws import LAWS, Law
from theory.sgd.state import State, full_gram
from theory.sgd.task import Task

Array = NDArray[np.float64]
Laws = Law | Sequence[Law]
"""The law of the coordinates of x: one for all, or one for each component of the mixture."""

GAUSSIAN = LAWS["gaussian"]
MOST_EVALUATIONS = 2**22
_NOISE_ORDER = 24
_RANK = 1e-12


@dataclass(frozen=True, eq=False)
class Sample:
    """Weighted points of the input as the loss sees it.

    S strata (a component of the mixture and values of its localised coordinates) times N nodes for the Gaussian rest.
    ``weights`` (S × N) sum to 1; ``arguments`` are the arrays (S × N, or S × 1) for compiled expressions; ``mean``
    (S × F) and ``local`` (S × L) are the stratum's mean of all fields and its localised coordinates of a; ``nodes``
    (N × D) and ``root`` (F × D) give every field as mean + root·node, a field that is not read by its regression on
    those that are, with ``residual`` (F × F) the covariance that this leaves. ``component`` (S) numbers the strata's
    components.
    """

    weights: Array
    arguments: tuple[Array, ...]
    mean: Array
    local: Array
    nodes: Array
    root: Array
    residual: Array
    component: NDArray[np.int64]

    def average(self, values: Array) -> float:
        """E[values], for an array S × N."""
        return float(np.sum(self.weights * values))

    def with_fields(self, values: Array) -> Array:
        """E[values · F] for every field F, read or not (linear regression on the fields that are read)."""
        weighted = self.weights * values
        result: Array = weighted.sum(axis=1) @ self.mean + self.root @ (self.nodes.T @ weighted.sum(axis=0))
        return result

    def with_local(self, values: Array) -> Array:
        """E[values · a_l] for every localised coordinate l."""
        result: Array = (self.weights * values).sum(axis=1) @ self.local
        return result


@dataclass(frozen=True)
class Quadrature:
    """How the Gaussian rest is integrated for a task: which arguments are read, and in which order or at which level.

    ``read`` are positions of the fields (z, then u) that the integrands depend on. ``exact_order`` is the Gauss–Hermite
    order that is exact for them where they are polynomials, else ``None``. ``noise_order`` is that for the label noise
    (1: it is not read).
    """

    read: tuple[int, ...]
    exact_order: int | None
    noise_order: int
    smooth: bool

    @classmethod
    def of(cls, task: Task, expressions: Sequence[sympy.Expr]) -> Quadrature:
        """The plan for expectations of products of two of ``expressions``."""
        used = set().union(*(expression.free_symbols for expression in expressions))
        fields = (*task.z, *task.u)
        read = tuple(position for position, symbol in enumerate(fields) if symbol in used)
        order = _exact_order(tuple(expressions), fields)
        if order is not None and order ** len(read) > MOST_EVALUATIONS // 8:
            order = None
        noise_order = _exact_order(tuple(expressions), (task.e,)) or _NOISE_ORDER
        return cls(read, order, noise_order if task.label_noise > 0 else 1, task.is_smooth)

    def squared(self) -> Quadrature:
        """The plan for products of four of the expressions."""
        order = None if self.exact_order is None else 2 * self.exact_order
        return replace(self, exact_order=order, noise_order=2 * self.noise_order)

    def rule(self, level: int) -> GaussianRule:
        """Nodes for the standard normal vector behind the fields that are read, label noise last."""
        if self.exact_order is not None:
            fields = gauss_hermite(len(self.read), self.exact_order)
        else:
            fields = gaussian_rule(len(self.read), level, smooth=self.smooth)
        noise = gauss_hermite(1, self.noise_order)
        nodes = np.column_stack(
            [np.repeat(fields.nodes, len(noise.weights), axis=0), np.tile(noise.nodes[:, 0], len(fields.weights))]
        )
        return GaussianRule(nodes, np.outer(fields.weights, noise.weights).ravel(), fields.method)


@lru_cache(maxsize=256)
def _exact_order(expressions: tuple[sympy.Expr, ...], variables: tuple[sympy.Symbol, ...]) -> int | None:
    """The Gauss–Hermite order exact for products of two of the expressions; ``None`` where one is no polynomial."""
    if not all(expression.is_polynomial(*variables) for expression in expressions):
        return None
    return 1 + max(int(sympy.Poly(expression, *variables).total_degree()) for expression in expressions)


def component_laws(task: Task, laws: Laws) -> tuple[Law, ...]:
    """One law for each component of the mixture."""
    if isinstance(laws, Law):
        return (laws,) * len(task.components)
    given = list(laws) if isinstance(laws, Sequence) and not isinstance(laws, str) else [laws]
    if not given or not all(isinstance(law, Law) for law in given):
        raise InputError(
            f"laws of {task.name}",
            given=laws,
            expected="a Law, or one for each component of the mixture",
            remedy='read one by its name: theory.sgd.laws.law("gaussian")',
        )
    if len(laws) != len(task.components):
        raise InputError(
            f"laws of {task.name}",
            given=[law.name for law in laws],
            expected=f"one law, or {len(task.components)}: one for each component",
            remedy="give one law for all",
        )
    return tuple(laws)


def evaluations(task: Task, state: State, *, laws: Laws, quadrature: Quadrature, level: int) -> int:
    """The number of points of ``sample``.

    >>> from theory.sgd.state import start_state
    >>> from theory.sgd.tasks import logistic
    >>> task, (tanh,) = logistic(), logistic().gradients.c
    >>> evaluations(task, start_state(task), laws=GAUSSIAN, quadrature=Quadrature.of(task, (tanh,)), level=0)
    24
    """
    L = state.localised
    order = _law_order(level, L)
    strata = sum(len(law.nodes(order)[0]) ** L if L else 1 for law in component_laws(task, laws))
    return strata * len(quadrature.rule(level).weights)


def _law_order(level: int, localised: int) -> int:
    """Nodes for the law of a localised coordinate: as many more on each level as the Gaussian rest has, to a limit."""
    limit = 6 if localised == 1 else 3
    return int(12 * 2 ** min(level // 2, limit))


@dataclass(frozen=True, eq=False)
class Strata:
    """The input, given a component of the mixture and values of the localised coordinates: Gaussian fields.

    ``weights`` (S) sum to 1; ``mean`` (S × F), ``local`` (S × L), ``labels`` (S × Y), ``component`` (S), and one
    ``covariance`` (F × F) for all.
    """

    weights: Array
    mean: Array
    local: Array
    labels: Array
    component: NDArray[np.int64]
    covariance: Array


def law_strata(task: Task, state: State, laws: Laws, level: int) -> Strata:
    """The strata at ``state``: F = [W, V]ᵀμ_k + τ Σ_l [p, s]_l x_l + ζ, ζ ~ N(0, τ²(Gram − [p, s][p, s]ᵀ)). [U] §2."""
    K, L = len(task.z), state.localised
    tau = math.sqrt(task.noise)
    gram, entries = full_gram(task, state), np.concatenate([state.p, state.s])
    strata = []
    for place, (component, law) in enumerate(zip(task.components, component_laws(task, laws), strict=True)):
        mu = np.array(component.mean)
        values, chances = law.nodes(_law_order(level, L)) if L else (np.zeros(0), np.zeros(0))
        picks = np.indices((len(values),) * L).reshape(L, len(values) ** L).T
        x = values[picks]
        fields = gram[:, K:] @ mu + tau * x @ entries.T
        number = np.full(len(x), place)
        labels = np.tile(np.array(component.labels), (len(x), 1))
        strata.append((component.weight * chances[picks].prod(axis=1), fields, mu @ state.s + tau * x, labels, number))
    weights, mean, local, labels, number = (np.concatenate(column) for column in zip(*strata, strict=True))
    return Strata(weights, mean, local, labels, number, task.noise * (gram - entries @ entries.T))


def sample(task: Task, state: State, *, laws: Laws, quadrature: Quadrature, level: int) -> Sample:
    """The input as the loss sees it when the parameters are in ``state``. [U] §2; localised coordinates keep their law.

    See ``law_strata`` for the fields.
    """
    if evaluations(task, state, laws=laws, quadrature=quadrature, level=level) > MOST_EVALUATIONS:
        raise BudgetError(
            f"expectation for {task.name}",
            estimate=f"{evaluations(task, state, laws=laws, quadrature=quadrature, level=level):.1e} "
            "evaluations of the loss",
            limit=f"{MOST_EVALUATIONS:.1e}",
            remedy="localise fewer coordinates, or take a law with few atoms",
        )
    strata = law_strata(task, state, laws, level)
    mean, labels = strata.mean, strata.labels
    rule_z = quadrature.rule(level)
    read = list(quadrature.read)
    root = _root(strata.covariance, read)
    fluctuation = rule_z.nodes @ root.T
    arrays = [mean[:, f, None] + (fluctuation[None, :, f] if f in read else 0.0) for f in range(mean.shape[1])]
    ones = np.ones((1, 1))
    noise = math.sqrt(task.label_noise) * rule_z.nodes[None, :, -1]
    arguments = (*arrays, *(b * ones for b in state.b), *(labels[:, [c]] for c in range(labels.shape[1])), noise)
    residual = strata.covariance - root @ root.T
    return Sample(
        np.outer(strata.weights, rule_z.weights),
        arguments,
        mean,
        strata.local,
        rule_z.nodes,
        root,
        residual,
        strata.component,
    )


def _root(covariance: Array, read: list[int]) -> Array:
    """F × (D + 1): the fields on the standard normal vector behind those read, and 0 on the label noise.

    The symmetric square root moves continuously with the covariance, so the rule's error does too.
    """
    root = np.zeros((len(covariance), len(read) + 1))
    values, vectors = np.linalg.eigh(covariance[np.ix_(read, read)])
    scale = np.sqrt(np.clip(values, 0.0, None))
    inverse = np.divide(1.0, scale, out=np.zeros_like(scale), where=values > _RANK * values.max(initial=1e-300))
    root[:, : len(read)] = covariance[:, read] @ (vectors * inverse) @ vectors.T
    root[read, : len(read)] = (vectors * scale) @ vectors.T
    return root


def evaluator(task: Task, expressions: Sequence[sympy.Expr]) -> Callable[[Sample], list[Array]]:
    """The expressions, compiled, on the points of a sample."""
    compute = on_arrays(task, expressions)
    return lambda points: [np.broadcast_to(value, points.weights.shape) for value in compute(*points.arguments)]
