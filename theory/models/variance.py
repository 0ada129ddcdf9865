"""The variance of a loss of any model along the flow, as a series, and the standard error that it predicts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from math import comb, factorial
from typing import Any

import numpy as np
import numpy.typing as npt

from theory.checks import positive, whole
from theory.engine.cost import Progress
from theory.engine.derivatives import check_order
from theory.engine.laurent import Laurent
from theory.engine.model import MatrixModel
from theory.engine.newton import leading_monomials
from theory.engine.pade import resummed
from theory.engine.series import expected_derivatives_together
from theory.engine.variance import variance_derivatives
from theory.errors import InputError, ReachError
from theory.latex import display
from theory.models.model import Model
from theory.models.plans import diagram_plan
from theory.models.series import check_plan_cost
from theory.models.terms import collect, contract, multiply
from theory.times import time_grid

VERSION = 1
_AUTOENCODER = "autoencoder"
_AGREEMENT = 0.1
_SEARCHED = 100
_SQUARE = "square of the loss"


@dataclass(frozen=True)
class VarianceSeries:
    """Var L(t) ~ Σ_s (−η)^s V_s t^s/s!, with (1/pm)^s taken out for the autoencoder, as in its other series.

    ``coefficients`` are exact Laurent polynomials in the model's variables: the connected pairings of E L·L; ``sizes``
    names those variables that are sizes, ``face`` the face whose terms alone were kept, if one was asked.
    """

    model: str
    loss: str
    coefficients: tuple[Laurent, ...]
    sizes: tuple[str, ...]
    warnings: tuple[str, ...] = ()
    face: str | None = field(default=None, compare=False)

    @property
    def order(self) -> int:
        """The highest order s."""
        return len(self.coefficients) - 1

    @property
    def unit(self) -> dict[str, int]:
        """The monomial whose −s-th power is taken out of the s-th coefficient."""
        return {"p": 1, "m": 1} if self.model == _AUTOENCODER else {}

    def leading(self) -> VarianceSeries:
        """What leads for some growth of the sizes: none of the other terms has all its powers of sizes, or more."""
        kept = []
        for c in self.coefficients:
            largest = leading_monomials(c, sizes=self.sizes, planar=False)
            kept.append(Laurent(c.variables, {e: c.terms[e] for e in largest}))
        return replace(self, coefficients=tuple(kept))

    def leading_at(self, weights: Mapping[str, Fraction | int]) -> VarianceSeries:
        """What leads where each variable is N to its weight."""
        known = {**dict.fromkeys(self.coefficients[-1].variables, 0), **weights}
        return replace(self, coefficients=tuple(c.leading(known) for c in self.coefficients))

    def exact_taylor(self, values: Mapping[str, Fraction | int]) -> tuple[Fraction, ...]:
        """Exact coefficients of (ηt)^0, (ηt)^1, … of Var L at given values of the variables."""
        point: dict[str, Fraction | int | float] = {name: Fraction(value) for name, value in values.items()}
        rate = Fraction(-1)
        for name, power in self.unit.items():
            rate /= Fraction(point[name]) ** power
        return tuple(Fraction(c.evaluate(point)) * rate**s / factorial(s) for s, c in enumerate(self.coefficients))

    def to_json(self) -> dict[str, Any]:
        """The model, the loss and, for each s, the terms of the coefficient; ``moment`` is 2."""
        return {
            "version": VERSION,
            "model": self.model,
            "loss": self.loss,
            "moment": 2,
            "order": self.order,
            **({} if self.face is None else {"face": self.face}),
            "coefficients": [{"s": s, "terms": c.to_json()} for s, c in enumerate(self.coefficients)],
            "warnings": list(self.warnings),
        }

    def to_text(self) -> str:
        """The expansion and each coefficient, one a line."""
        rate = "-η/pm" if self.unit else "-η"
        head = f"{self.model}, {self.loss}: Var L(t) ~ Σ_s ({rate})^s V_s t^s/s!"
        return "\n".join([head, *(f"V_{s} = {c}" for s, c in enumerate(self.coefficients))])

    def to_latex(self) -> str:
        r"""An ``align*`` environment: the expansion, then each coefficient in lines that fit a page."""
        rate = r"\left(-\frac{\eta}{pm}\right)" if self.unit else r"(-\eta)"
        rows = [rf"\operatorname{{Var}} L(t) &\sim \sum_s {rate}^s V_s \frac{{t^s}}{{s!}}"]
        return display([*rows, *(f"V_{{{s}}} &= {c.to_latex()}" for s, c in enumerate(self.coefficients))])


def variance_series(
    model: Model, loss: str, *, order: int, force: bool = False, progress: Progress | None = None
) -> VarianceSeries:
    """The exact series of the variance of a loss to an order.

    >>> print(variance_series(Model.named("autoencoder"), "population", order=0).coefficients[0].leading(
    ...     {"p": 1, "n": 1, "m": 1, "sigma2": -1}))
    2 p n sigma2^4 + 5 n^2 sigma2^4 - 4 n sigma2^3 + 2 p^-1 n^3 sigma2^4 - 4 p^-1 n^2 sigma2^3 + 2 p^-1 n sigma2^2

    Raises ``InputError`` for a loss that the model does not have, ``BudgetError`` for what would take more than ten
    minutes or 8 GiB, unless ``force`` is given.
    """
    model.check_loss(loss)
    plan = model.plan
    if not isinstance(plan, MatrixModel):
        return VarianceSeries(model.name, loss, _over_diagrams(model, loss, order, force, progress), model.sizes)
    found = variance_derivatives(plan, loss, order=order, force=force, progress=progress)
    if model == Model.named(_AUTOENCODER):
        unit = Laurent.monomial({"p": 1, "m": 1}, plan.variables)
        found = tuple(unit**s * v for s, v in enumerate(found))
        return VarianceSeries(_AUTOENCODER, loss, found, model.sizes)
    return VarianceSeries(model.name, loss, found, model.sizes)


def _over_diagrams(model: Model, loss: str, order: int, force: bool, progress: Progress | None) -> tuple[Laurent, ...]:
    """The series of E L² less that of (E L)², L² declared as a further loss."""
    check_order(order)
    terms = model.expanded[loss]
    square = collect(contract(multiply(a, b), (), ()) for a in terms for b in terms)
    losses = {**model.expanded, _SQUARE: square}
    tensors = (*model.tensors, *model.implied)
    plan = diagram_plan(model.name, model.sizes, tensors, losses, model.descend, model.parameters)
    if not force:
        check_plan_cost(plan, _SQUARE, order=order, what=f"the variance of {loss} of {model.name}")
    orders = {loss: order, _SQUARE: order}
    found = expected_derivatives_together(plan, orders, force=force, progress=progress)
    mean = found[loss]
    result = []
    for s, total in enumerate(found[_SQUARE]):
        for k in range(s + 1):
            total = total - mean[k] * mean[s - k] * Fraction(comb(s, k))
        result.append(total)
    return tuple(result)


@dataclass(frozen=True)
class PredictedError:
    """The standard error that a simulation of ``replicas`` draws should show in its mean loss, at each time.

    ``error_estimate`` is by how much neighbouring approximants of the series differ, in the same unit.
    """

    times: tuple[float, ...]
    stderr: tuple[float, ...]
    error_estimate: tuple[float, ...]
    replicas: int


def predicted_error(
    series: VarianceSeries,
    values: Mapping[str, Fraction | int],
    times: Iterable[float],
    *,
    replicas: int,
    eta: float = 1.0,
) -> PredictedError:
    """√(Var L(t)/replicas) at actual values of the variables: diagonal Padé approximants of the exact series.

    >>> series = variance_series(Model.named("autoencoder"), "population", order=3)
    >>> sizes = {"p": 20, "n": 10, "m": 30, "sigma2": Fraction(1, 20)}
    >>> [round(error, 5) for error in predicted_error(series, sizes, [0, 0.2], replicas=100).stderr]
    [0.00385, 0.00307]

    Raises ``ReachError``, with the latest time that can be vouched for, where neighbouring approximants differ by more
    than a tenth of the variance.
    """
    replicas = whole("replicas", replicas, least=1, remedy="use for example replicas=16")
    eta = positive("eta", eta, remedy="use eta=1")
    grid = time_grid(times)
    taylor = series.exact_taylor(values)
    if taylor[0] <= 0:
        raise InputError("variance", given=float(taylor[0]), expected="a loss that varies", remedy="take another loss")
    found, spread = resummed(taylor, np.array(grid) * eta)
    sure = _sure(found, spread)
    if not sure.all():
        bad = grid[int(np.argmin(sure))]
        earlier = np.linspace(0.0, bad, _SEARCHED + 1)
        held = int(np.argmin(_sure(*resummed(taylor, earlier * eta))))
        raise ReachError(
            "predicted standard error",
            given=f"t = {bad:g}",
            reach=f"t = {earlier[max(held - 1, 0)]:.3g}, where approximants of order {series.order} agree to a tenth",
            remedy="ask for earlier times, or derive a higher order",
        )
    stderr = np.sqrt(found / replicas)
    return PredictedError(
        tuple(grid), tuple(map(float, stderr)), tuple(map(float, stderr * spread / found / 2)), replicas
    )


def _sure(found: npt.NDArray[np.float64], spread: npt.NDArray[np.float64]) -> npt.NDArray[np.bool_]:
    return (found > 0) & (spread <= _AGREEMENT * found)
