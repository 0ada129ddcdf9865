"""The variance of a loss along the flow: E L² − (E L)², connected pairings only. [D]; for rings.

D^s L² = Σ_k C(s, k) D^kL · D^{s−k}L, so that d^s Var L/dt^s at time zero is (−η)^s times

    V_s = Σ_k C(s, k) [E D^kL · D^{s−k}L − E D^kL · E D^{s−k}L].

Pairings that connect the two traces of a product are what the difference leaves; they lose two nodes at least.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import islice
from math import comb

import numpy as np

from theory.engine.composite import CompositePlan, PackedCombination, composite_plan, successive_packed
from theory.engine.cost import Progress, Watch
from theory.engine.derivatives import check_order, successive
from theory.engine.gram import expectations
from theory.engine.laurent import Exponents, Laurent
from theory.engine.model import Combination, MatrixModel
from theory.engine.packed import Codes, Integers, add_up, largest
from theory.engine.recursion import Meter, expectation

_MACHINE_LIMIT = 2**62


def variance_derivatives(
    model: MatrixModel, loss: str, *, order: int, force: bool = False, progress: Progress | None = None
) -> tuple[Laurent, ...]:
    """V_0, …, V_order with d^s Var L/dt^s = (−η)^s V_s at time zero, L the loss named ``loss``. Exact.

    >>> from theory.engine.model import GaussianMatrix, Loss, Space, Term
    >>> p = Space("p")
    >>> norm = Loss("norm", (Term(Fraction(1, 2), ("X X'",)),))
    >>> model = MatrixModel("chi square", (p,), (GaussianMatrix("X", p, p, trained=True),), (norm,), train_loss="norm")
    >>> [str(v) for v in variance_derivatives(model, "norm", order=2)]
    ['1/2 p^2', '2 p^2', '8 p^2']

    Raises ``BudgetError`` where the first orders show that all would take more than ten minutes or 8 GiB, unless
    ``force`` is given.
    """
    check_order(order)
    watch = Watch(f"the variance of {loss}", order, force=force, progress=progress)
    plan = composite_plan(model, [loss])
    return _over_words(plan, loss, watch) if plan is not None else _over_rings(model, loss, watch)


def _over_rings(model: MatrixModel, loss: str, watch: Watch) -> tuple[Laurent, ...]:
    combinations: list[Combination] = []
    means: list[Laurent] = []
    result = []
    for s, combination in enumerate(islice(successive(model, loss), watch.order + 1)):
        meter = Meter()
        combinations.append({rings: factor for rings, factor in combination.items() if rings})
        means.append(expectation(combinations[-1], model=model, meter=meter))
        total = Laurent.constant(0, model.variables)
        for k in range(s // 2 + 1):
            both = expectation(_product(combinations[k], combinations[s - k]), model=model, meter=meter)
            total = total + (both - means[k] * means[s - k]) * _weight(s, k)
        result.append(total)
        watch.done(meter.work, held=500 * meter.held)
    return tuple(result)


def _product(left: Combination, right: Combination) -> Combination:
    total: Combination = {}
    for a, x in left.items():
        for b, y in right.items():
            rings = tuple(sorted(a + b))
            total[rings] = total[rings] + x * y if rings in total else x * y
    return total


def _over_words(plan: CompositePlan, loss: str, watch: Watch) -> tuple[Laurent, ...]:
    combinations: list[PackedCombination] = []
    means: list[Laurent] = []
    result = []
    for s, combination in enumerate(islice(successive_packed(plan, loss), watch.order + 1)):
        combinations.append(PackedCombination(combination.scale, combination.parts, {}))
        pairs = [_packed_product(combinations[k], combinations[s - k]) for k in range(s // 2 + 1)]
        mean, *both = expectations(plan, [combinations[-1], *pairs])
        means.append(mean)
        total = Laurent.constant(0, plan.model.variables)
        for k, value in enumerate(both):
            total = total + (value - means[k] * means[s - k]) * _weight(s, k)
        result.append(total)
        words = sum(pair.words for pair in pairs)
        watch.done(words, held=10_000 * words)
    return tuple(result)


def _packed_product(left: PackedCombination, right: PackedCombination) -> PackedCombination:
    """All products of two rings, as rows of two codes."""
    pieces: dict[Exponents, list[tuple[Codes, Integers]]] = {}
    for a, (left_codes, x) in left.parts.items():
        for b, (right_codes, y) in right.parts.items():
            rows = np.stack(np.broadcast_arrays(left_codes[:, None], right_codes[None, :]), axis=-1).reshape(-1, 2)
            fits = x.dtype != object and y.dtype != object and largest(x) * largest(y) < _MACHINE_LIMIT
            products = np.outer(x, y) if fits else np.outer(x.astype(object), y.astype(object))
            key = tuple(i + j for i, j in zip(a, b, strict=True))
            pieces.setdefault(key, []).append((-np.sort(-rows, axis=1), products.ravel()))
    parts = {}
    for key, found in pieces.items():
        rows, values = (np.concatenate(arrays) for arrays in zip(*found, strict=True))
        distinct, inverse = np.unique(rows, axis=0, return_inverse=True)
        kept, totals = add_up(inverse.ravel().astype(np.int64), values)
        parts[key] = (distinct[kept], totals)
    return PackedCombination(left.scale * right.scale, parts, {})


def _weight(s: int, k: int) -> Fraction:
    """C(s, k), and as much again for the pair the other way round."""
    return Fraction(comb(s, k) * (1 if 2 * k == s else 2))
