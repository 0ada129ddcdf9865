"""Declared models against Monte Carlo: each sample's gradient flow is expanded in t with plain matrices.

Nothing is shared with the engine: the gradients are written out by hand, the flow is a power series in t with matrices
as coefficients, and no ring is ever drawn. Rule, fixed before the run: every derivative within 4 standard errors, every
standard error at most 4 % of the prediction (so that a coefficient wrong by a sixth cannot pass).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from math import factorial

import numpy as np
import numpy.typing as npt
import pytest

from numerics.runs.seeds import replica_seed
from theory.engine.model import MatrixModel
from theory.engine.series import expected_derivatives
from theory.models.model import Model

ORDER = 2
REPLICAS = 400_000
Array = npt.NDArray[np.float64]
Series = list[Array]
"""Coefficients of t^0, t^1, …; each holds one matrix a replica."""


def times(*factors: Series) -> Series:
    """Product of matrix power series, truncated."""
    result = factors[0]
    for factor in factors[1:]:
        length = min(len(result), len(factor))
        result = [sum(result[i] @ factor[k - i] for i in range(k + 1)) for k in range(length)]
    return result


def turned(series: Series) -> Series:
    return [np.swapaxes(x, -1, -2) for x in series]


def minus(first: Series, second: Series) -> Series:
    return [a - b for a, b in zip(first, second, strict=True)]


def constant(matrix: Array, length: int) -> Series:
    return [matrix, *[np.zeros_like(matrix)] * (length - 1)]


def half_square(series: Series) -> Array:
    """½‖·‖² order by order, one row a replica."""
    products = [
        sum(np.einsum("rij,rij->r", series[i], series[k - i]) for i in range(k + 1)) for k in range(len(series))
    ]
    return np.stack(products, axis=1) / 2


class Draw:
    """Matrices of all replicas, and the derivatives of both losses at t = 0."""

    def __init__(self, sizes: dict[str, float], seed: int) -> None:
        self.sizes = sizes
        self.generator = np.random.default_rng(replica_seed(seed, 0))

    def gaussian(self, rows: str, columns: str, variance: str | None = None) -> Array:
        shape = (REPLICAS, int(self.sizes[rows]), int(self.sizes[columns]))
        return self.generator.standard_normal(shape) * (self.sizes[variance] ** 0.5 if variance else 1.0)

    def evolve(
        self, start: Sequence[Array], gradients: Callable[[Sequence[Series]], Sequence[Series]]
    ) -> Sequence[Series]:
        weights: list[Series] = [[w] for w in start]
        for k in range(ORDER):
            slopes = gradients(weights)
            weights = [[*w, -slope[k] / (k + 1)] for w, slope in zip(weights, slopes, strict=True)]
        return weights

    def losses(self, error: Series, X: Array) -> dict[str, Array]:
        p, m = self.sizes["p"], self.sizes["m"]
        return {
            "train": half_square([e @ X for e in error]) / (p * m),
            "population": half_square(error) / p,
        }


def deep(draw: Draw, names: Sequence[tuple[str, str, str]]) -> dict[str, Array]:
    """f = W_L ⋯ W_1; gradient (W_L ⋯ W_{i+1})ᵀ (f − 1) S (W_{i−1} ⋯ W_1)ᵀ / pm."""
    start = [draw.gaussian(*name) for name in names]
    X = draw.gaussian("p", "m")
    S = X @ np.swapaxes(X, 1, 2) / (draw.sizes["p"] * draw.sizes["m"])
    eye = np.broadcast_to(np.eye(int(draw.sizes["p"])), S.shape)

    def error(weights: Sequence[Series]) -> Series:
        return minus(times(*reversed(weights)), constant(eye, len(weights[0])))

    def gradients(weights: Sequence[Series]) -> Sequence[Series]:
        length = len(weights[0])
        result = []
        for i in range(len(weights)):
            after = [turned(w) for w in weights[i + 1 :]]
            before = [turned(w) for w in weights[:i]]
            result.append(times(*after, error(weights), constant(S, length), *before))
        return result

    return draw.losses(error(draw.evolve(start, gradients)), X)


def untied(draw: Draw) -> dict[str, Array]:
    return deep(draw, [("n", "p", "sigma2_u"), ("p", "n", "sigma2_v")])


def three_layers(draw: Draw) -> dict[str, Array]:
    return deep(draw, [("n1", "p", "sigma2_1"), ("n2", "n1", "sigma2_2"), ("p", "n2", "sigma2_3")])


def tied(draw: Draw, target: Array | None, decay: float) -> dict[str, Array]:
    """M = UᵀU; gradient U((M − T)S + S(M − T))/pm + λU."""
    start = draw.gaussian("n", "p", "sigma2")
    X = draw.gaussian("p", "m")
    S = X @ np.swapaxes(X, 1, 2) / (draw.sizes["p"] * draw.sizes["m"])
    wanted = np.broadcast_to(np.eye(int(draw.sizes["p"])), S.shape) if target is None else target

    def error(U: Series) -> Series:
        return minus(times(turned(U), U), constant(wanted, len(U)))

    def gradients(weights: Sequence[Series]) -> Sequence[Series]:
        (U,) = weights
        data = constant(S, len(U))
        both = [a + b for a, b in zip(times(error(U), data), times(data, error(U)), strict=True)]
        return [[a + decay * u for a, u in zip(times(U, both), U, strict=True)]]

    (U,) = draw.evolve([start], gradients)
    return draw.losses(error(U), X)


def decayed(draw: Draw) -> dict[str, Array]:
    """The bare losses along the decayed flow."""
    losses = tied(draw, None, draw.sizes["decay"])
    return {"data": losses["train"], "population": losses["population"]}


def taught(draw: Draw) -> dict[str, Array]:
    A = draw.gaussian("k", "p", "tau2")
    return tied(draw, np.swapaxes(A, 1, 2) @ A, 0.0)


CASES = [
    pytest.param(
        Model.named("untied").rings,
        untied,
        {"p": 3, "n": 2, "m": 2, "sigma2_u": Fraction(1, 4), "sigma2_v": Fraction(1, 2)},
        id="untied",
    ),
    pytest.param(
        Model.named("deep:3").rings,
        three_layers,
        {"p": 2, "n1": 3, "n2": 2, "m": 3} | {f"sigma2_{i}": Fraction(1, 2 * i) for i in (1, 2, 3)},
        id="three layers",
    ),
    pytest.param(
        Model.named("weight-decay").rings,
        decayed,
        {"p": 3, "n": 2, "m": 2, "sigma2": Fraction(1, 5), "decay": Fraction(3, 4)},
        id="weight decay",
    ),
    pytest.param(
        Model.named("teacher").rings,
        taught,
        {"p": 3, "n": 2, "k": 2, "m": 2, "sigma2": Fraction(1, 4), "tau2": Fraction(1, 3)},
        id="teacher",
    ),
]


@pytest.mark.parametrize(("model", "sample", "sizes"), CASES)
def test_derivatives_at_time_zero(
    model: MatrixModel, sample: Callable[[Draw], dict[str, Array]], sizes: dict[str, Fraction | int]
) -> None:
    measured = sample(Draw({name: float(value) for name, value in sizes.items()}, seed=5))
    for loss, coefficients in measured.items():
        exact = expected_derivatives(model, loss, order=ORDER)
        for s in range(ORDER + 1):
            values = coefficients[:, s] * factorial(s)
            mean, stderr = float(values.mean()), float(values.std(ddof=1)) / REPLICAS**0.5
            predicted = float((-1) ** s * exact[s].evaluate(sizes))
            assert stderr <= 0.04 * abs(predicted)
            assert abs(mean - predicted) <= 4 * stderr, (loss, s, predicted, mean, stderr)
