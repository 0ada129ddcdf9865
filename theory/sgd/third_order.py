"""What third cumulants of the input law do at order d^{-1/2}: the part of the fluctuations that is not universal."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import sympy
from numpy.typing import NDArray

from theory.errors import InputError
from theory.sgd.drift import Drift
from theory.sgd.expectations import Sample, component_laws, evaluator
from theory.sgd.state import State
from theory.sgd.task import Task

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Shape:
    """How the truths lie against the coordinate axes, beyond their Gram matrix.

    ``first`` (r) holds Σ_i v_αi/√d and ``third`` (r × r × r) holds √d Σ_i v_αi v_βi v_γi, localised coordinates left
    out: of order one for truths such as (1, …, 1)/√d, 0 on average for random ones.
    """

    first: Array
    third: Array

    @classmethod
    def generic(cls, truths: int) -> Shape:
        """Truths in random directions: everything 0."""
        return cls(np.zeros(truths), np.zeros((truths,) * 3))

    @classmethod
    def of(cls, V: Array) -> Shape:
        """The shape of delocalised truths given as columns (d × r).

        >>> round(Shape.of(np.full((400, 1), 0.05)).third.item(), 12)
        1.0
        """
        root_d = math.sqrt(len(V))
        return cls(V.sum(axis=0) / root_d, root_d * np.einsum("ia,ib,ic->abc", V, V, V))


def field_shape(task: Task, state: State, truths: Shape) -> Shape:
    """The same sums over all field vectors (w_1 … w_K, v_1 … v_r), once the start is forgotten.

    A parameter is then its projection on the truths plus a rest made of many steps' noise, which is spread evenly over
    the coordinates: Σ_i w_i w′_i v_i gains (Q − M G⁻¹ Mᵀ)·Σ_i v_i/d from the rests, and nothing else survives.
    """
    K, r = state.M.shape
    gram = np.array(task.truth_gram).reshape(r, r) - state.s @ state.s.T
    M, Q = state.M - state.p @ state.s.T, state.Q - state.p @ state.p.T
    onto = np.concatenate([M @ np.linalg.pinv(gram, hermitian=True), np.eye(r)])
    rest = np.zeros((K + r, K + r))
    rest[:K, :K] = Q - onto[:K] @ M.T
    first = onto @ truths.first
    third = np.einsum("ax,by,cz,xyz->abc", onto, onto, onto, truths.third)
    for axes in ("ab,c->abc", "ac,b->abc", "bc,a->abc"):
        third += np.einsum(axes, rest, first)
    return Shape(first, third)


def third_order_shift(drift: Drift, state: State, truths: Shape) -> State:
    """√d × the change of the drift at order d^{-1/2} that third cumulants κ_3 make; 0 for symmetric laws. [U]

    With t_abc the ``third`` of the fields and s_a their ``first``: E[Ψ] gains κ_3 τ³ Σ t_abc E[∂_abc Ψ]/6 (Edgeworth),
    and ‖a‖² correlates with the fields, which adds δτ³ κ_3 Σ s_a E[∂_a (c_i c_j)] to Q̇.

    Raises ``InputError`` for a loss with a kink.
    """
    task, K = drift.task, len(drift.task.z)
    kappa3 = np.array([law.kappa3 for law in component_laws(task, drift.laws)])
    if not kappa3.any():
        return state.moved(np.zeros_like(state.flat()))
    if not task.is_smooth:
        raise InputError(
            f"task {task.name}",
            given="a loss with a kink",
            expected="a smooth loss: the shift needs its derivatives",
            remedy="take a smooth activation, or a law with third cumulant 0",
        )
    shape = field_shape(task, state, truths)
    points = drift.points(state)
    kappa = task.noise**1.5 * kappa3[points.component][:, None]
    jets = _jets(task, points, (*task.gradients.c, *task.gradients.b), drift.quadrature.read, shape.third)
    c, b = jets[:K], jets[K:]
    with_fields = np.array([points.with_fields(kappa * x.third) for x in c])
    with_fields += np.array([[points.average(kappa * second) for second in x.second] for x in c])
    products = np.zeros((K, K))  # of τ² c_i c_j, halved: (i, j) and (j, i) add up to it
    for i, j in itertools.product(range(K), repeat=2):
        change = c[i].value * c[j].third + sum(c[i].second[a] * slope for a, slope in c[j].first.items())
        norm = sum(shape.first[a] * c[i].value * slope for a, slope in c[j].first.items())
        products[i, j] = points.average(kappa * (task.noise * change + norm))
    cross = with_fields[:, :K]
    return State(
        M=-with_fields[:, K:],
        Q=-(cross + cross.T) + task.critical * (products + products.T),
        b=-np.array([points.average(kappa * x.third) for x in b]) if task.train_second else np.zeros(len(state.b)),
        p=-np.array([points.with_local(kappa * x.third) for x in c]),
        s=np.zeros_like(state.s),
    )


@dataclass(frozen=True, eq=False)
class _Jet:
    """On the points of a sample: f, ∂_a f for fields read, ½ Σ_bc t_abc ∂_bc f for all fields, Σ t_abc ∂_abc f / 6."""

    value: Array
    first: dict[int, Array]
    second: list[Array]
    third: Array


def _jets(
    task: Task, points: Sample, expressions: Sequence[sympy.Expr], read: tuple[int, ...], third: Array
) -> list[_Jet]:
    fields = (*task.z, *task.u)
    orders = [index for n in range(4) for index in itertools.combinations_with_replacement(read, n)]
    derivatives = [sympy.diff(f, *(fields[a] for a in index)) if index else f for f in expressions for index in orders]
    values = iter(evaluator(task, derivatives)(points))
    jets = []
    for _ in expressions:
        table = {index: next(values) for index in orders}
        zero = np.zeros_like(table[()])
        pairs = {index: value for index, value in table.items() if len(index) == 2}
        second = [
            sum((_orderings(i) * third[a, i[0], i[1]] / 2 * value for i, value in pairs.items()), zero)
            for a in range(len(fields))
        ]
        cubes = {index: value for index, value in table.items() if len(index) == 3}
        whole = sum((_orderings(i) * third[i] / 6 * value for i, value in cubes.items()), zero)
        jets.append(_Jet(table[()], {a: table[(a,)] for a in read}, second, whole))
    return jets


def _orderings(index: tuple[int, ...]) -> int:
    return len(set(itertools.permutations(index)))
