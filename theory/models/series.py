"""The series of a loss of any model: E d^sL/dt^s at time zero is (−η)^s times its coefficient, nothing taken out."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from math import factorial
from typing import Any

from theory.engine.cost import Progress
from theory.engine.diagram_model import DiagramModel
from theory.engine.laurent import Laurent
from theory.engine.model import MatrixModel
from theory.engine.series import expected_derivatives
from theory.errors import BudgetError
from theory.latex import display
from theory.models.model import Model

SECONDS_LIMIT = 600.0
_TRIAL = 2
"""Orders derived first, to see what the others will cost."""
_LEAST_GROWTH = 4.0
"""An order costs at least so many times the one before."""
VERSION = 1


@dataclass(frozen=True)
class ModelSeries:
    """E L(t) ~ Σ_s (−η)^s coefficient_s t^s/s! for one loss of a model.

    ``coefficients`` are exact Laurent polynomials in the model's variables: sizes, variances, parameters, and a symbol
    for each word of fixed matrices that occurs. ``face`` is the face whose terms alone were kept, if one was asked.

    >>> print(model_series(Model.named("untied"), "population", order=0).coefficients[0])
    1/2 p n sigma2_u sigma2_v + 1/2
    """

    model: str
    loss: str
    coefficients: tuple[Laurent, ...]
    warnings: tuple[str, ...] = ()
    face: str | None = field(default=None, compare=False)

    @property
    def order(self) -> int:
        """The highest order s."""
        return len(self.coefficients) - 1

    @property
    def variables(self) -> tuple[str, ...]:
        """The keys of the terms."""
        return self.coefficients[-1].variables

    def exact_taylor(self, values: Mapping[str, Fraction | int]) -> tuple[Fraction, ...]:
        """Exact coefficients of (ηt)^0, (ηt)^1, … at given values of the variables."""
        point: dict[str, Fraction | int | float] = dict(values)
        return tuple(Fraction(c.evaluate(point)) * (-1) ** s / factorial(s) for s, c in enumerate(self.coefficients))

    def taylor(self, values: Mapping[str, Fraction | int], eta: float = 1.0) -> tuple[float, ...]:
        """Coefficients of t^0, t^1, … in E L(t)."""
        return tuple(float(c) * eta**s for s, c in enumerate(self.exact_taylor(values)))

    def to_json(self) -> dict[str, Any]:
        """The model, the loss and, for each s, the terms of the coefficient."""
        return {
            "version": VERSION,
            "model": self.model,
            "loss": self.loss,
            "order": self.order,
            **({} if self.face is None else {"face": self.face}),
            "variables": list(self.variables),
            "coefficients": [{"s": s, "terms": c.to_json()} for s, c in enumerate(self.coefficients)],
            "warnings": list(self.warnings),
        }

    def to_text(self) -> str:
        """The expansion and each coefficient, one a line."""
        head = f"{self.model}, {self.loss}: E L(t) ~ Σ_s (-η)^s C_s t^s/s!, in {', '.join(self.variables)}"
        return "\n".join([head, *(f"C_{s} = {c}" for s, c in enumerate(self.coefficients))])

    def to_latex(self) -> str:
        r"""An ``align*`` environment: the expansion, then each coefficient."""
        rows = [r"\mathbb{E}\,L(t) &\sim \sum_s (-\eta)^s C_s \frac{t^s}{s!}"]
        return display([*rows, *(f"C_{{{s}}} &= {c.to_latex()}" for s, c in enumerate(self.coefficients))])


def model_series(
    model: Model, loss: str, *, order: int, workers: int = 1, force: bool = False, progress: Progress | None = None
) -> ModelSeries:
    """The exact series of a loss to an order.

    Raises ``InputError`` for a loss that the model does not have, ``BudgetError`` for what would take more than ten
    minutes on one core, unless ``force`` is given.
    """
    model.check_loss(loss)
    if not force and not isinstance(model.plan, MatrixModel):  # rings are watched while they are computed
        check_cost(model, loss, order=order)
    found = expected_derivatives(model.plan, loss, order=order, workers=workers, force=force, progress=progress)
    return ModelSeries(model.name, loss, found)


def check_cost(model: Model, loss: str, *, order: int) -> None:
    """Derive a few orders, and refuse the order asked where it would take more than ten minutes, at their growth."""
    if order <= _TRIAL + 1:
        return
    check_plan_cost(model.plan, loss, order=order, what=f"loss {loss} of {model.name}")


def check_plan_cost(plan: MatrixModel | DiagramModel, loss: str, *, order: int, what: str) -> None:
    """The same for a plan; ``what`` is how the error speaks of the loss."""
    if order <= _TRIAL:
        return
    spent = []
    for trial in range(1, _TRIAL + 1):
        start = time.process_time()
        expected_derivatives(plan, loss, order=trial)
        spent.append(max(time.process_time() - start, 1e-4))
    growth = max(_LEAST_GROWTH if isinstance(plan, MatrixModel) else 2.0, min(spent[-1] / spent[-2], 30.0))
    exponent = order - _TRIAL
    seconds = spent[-1] * growth**exponent if exponent < 100 else float("inf")
    if seconds > SECONDS_LIMIT:
        cost = f"about {seconds / 60:.0f} minutes" if seconds < 3e5 else "days" if seconds < 3e7 else "years"
        raise BudgetError(
            f"order {order} of {what}",
            estimate=f"{cost} (order {_TRIAL} took {spent[-1]:.2g} s)",
            limit=f"{SECONDS_LIMIT / 60:.0f} minutes",
            remedy="ask for a lower order, or use force=True",
        )
