"""The loss series of the linear autoencoder: the exact Laurent polynomials Y_s and Ŷ_s. [P] §3."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from math import factorial
from typing import TYPE_CHECKING, Any, Literal

from theory.autoencoder.model import AUTOENCODER
from theory.autoencoder.sizes import Sizes
from theory.engine.cost import Progress
from theory.engine.laurent import Laurent
from theory.engine.series import expected_derivatives_together
from theory.errors import InputError
from theory.latex import display

if TYPE_CHECKING:
    import sympy

LossName = Literal["train", "population"]
VARIABLES = AUTOENCODER.variables


@dataclass(frozen=True)
class LossSeries:
    """E L(t) ~ ½ + Σ_s (−η/pm)^s Y_s t^s/s! (population), or the same with Ŷ_s (train). [P] §3.

    ``coefficients`` are Y_0 … Y_order in the variables p, n, m, sigma2, the division by p (population) or pm (train)
    included; the constant ½ is not part of Y_0. ``face`` is the face whose terms alone were kept, if one was asked.
    """

    loss: LossName
    coefficients: tuple[Laurent, ...]
    constant: Fraction = Fraction(1, 2)
    face: str | None = field(default=None, compare=False)

    @property
    def order(self) -> int:
        """The highest order s."""
        return len(self.coefficients) - 1

    def exact_taylor(self, sizes: Sizes) -> tuple[Fraction, ...]:
        """Exact coefficients of (ηt)^0, (ηt)^1, … in E L(t) at given sizes, the constant included."""
        point: dict[str, Fraction | int | float] = {
            "p": sizes.p,
            "n": sizes.n,
            "m": sizes.m,
            "sigma2": sizes.sigma2,
        }
        rate = Fraction(-1, sizes.p * sizes.m)
        result = [Fraction(c.evaluate(point)) * rate**s / factorial(s) for s, c in enumerate(self.coefficients)]
        result[0] += self.constant
        return tuple(result)

    def taylor(self, sizes: Sizes, eta: float = 1.0) -> tuple[float, ...]:
        """Coefficients of t^0, t^1, … in E L(t) at given sizes, the constant included."""
        return tuple(float(c) * eta**s for s, c in enumerate(self.exact_taylor(sizes)))

    def to_json(self) -> dict[str, Any]:
        """The loss, the order and, for each s, the terms of the coefficient."""
        return {
            "version": 1,
            "model": "autoencoder",
            "loss": self.loss,
            "order": self.order,
            **({} if self.face is None else {"face": self.face}),
            "variables": list(VARIABLES),
            "coefficients": [{"s": s, "terms": c.to_json()} for s, c in enumerate(self.coefficients)],
            "warnings": [],
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any], *, constant: Fraction = Fraction(1, 2)) -> LossSeries:
        """Read what ``to_json`` wrote.

        >>> series = loss_series("population", order=1)
        >>> LossSeries.from_json(series.to_json()) == series
        True
        """
        try:
            loss = data["loss"]
            check_loss(loss)
            coefficients = tuple(Laurent.from_json(VARIABLES, row["terms"]) for row in data["coefficients"])
        except (KeyError, TypeError) as error:
            raise InputError(
                "loss series", given=repr(error), expected="loss and coefficients", remedy="derive it again"
            ) from error
        return cls(loss, coefficients, constant)

    def to_text(self) -> str:
        """The expansion and each coefficient, one a line."""
        symbol, loss = ("Ŷ", "L̂") if self.loss == "train" else ("Y", "L")
        start = f"{self.constant} + " if self.constant else ""
        lines = [f"E {loss}(t) ~ {start}Σ_s (-η/pm)^s {symbol}_s t^s/s!"]
        return "\n".join(lines + [f"{symbol}_{s} = {c}" for s, c in enumerate(self.coefficients)])

    def to_latex(self) -> str:
        r"""An ``align*`` environment: the expansion, then each coefficient."""
        symbol, loss = (r"\hat Y", r"\hat L") if self.loss == "train" else ("Y", "L")
        start = r"\tfrac{1}{2} + " if self.constant else ""
        rows = [
            rf"\mathbb{{E}} {loss}(t) &\sim {start}\sum_s \left(-\frac{{\eta}}{{pm}}\right)^s {symbol}_s "
            rf"\frac{{t^s}}{{s!}}"
        ]
        return display([*rows, *(rf"{symbol}_{{{s}}} &= {c.to_latex()}" for s, c in enumerate(self.coefficients))])

    def to_sympy(self) -> tuple[sympy.Expr, ...]:
        """The coefficients as SymPy expressions in p, n, m, sigma2."""
        return tuple(c.to_sympy() for c in self.coefficients)

    def leading(self, weights: Mapping[str, Fraction | int], *, constant: Fraction = Fraction(1, 2)) -> LossSeries:
        """Each coefficient's leading part where every variable is N to its weight; the constant may be subleading."""
        return LossSeries(self.loss, tuple(c.leading(weights) for c in self.coefficients), constant)

    def compile(self) -> Callable[..., Any]:
        """A numeric function (p, n, m, sigma2, t) → partial sum of the series at η = 1; arrays broadcast."""
        functions = [coefficient.compile() for coefficient in self.coefficients]

        def value(p: Any, n: Any, m: Any, sigma2: Any, t: Any) -> Any:
            scaled = -t / (p * m)
            terms = (f(p, n, m, sigma2) * scaled**s / factorial(s) for s, f in enumerate(functions))
            return sum(terms, start=float(self.constant))

        return value


def loss_series(
    loss: LossName, *, order: int, workers: int = 1, force: bool = False, progress: Progress | None = None
) -> LossSeries:
    """The exact series of a loss to an order. ``BudgetError`` as ``expected_derivatives`` has it.

    >>> print(loss_series("population", order=1).coefficients[0])
    1/2 p n sigma2^2 + 1/2 n^2 sigma2^2 + 1/2 n sigma2^2 - n sigma2
    """
    check_loss(loss)
    return loss_series_together({loss: order}, workers=workers, force=force, progress=progress)[loss]


def loss_series_together(
    orders: Mapping[LossName, int], *, workers: int = 1, force: bool = False, progress: Progress | None = None
) -> dict[LossName, LossSeries]:
    """The exact series of several losses, each to its own order, from one sweep over the states."""
    for loss in orders:
        check_loss(loss)
    by_name: dict[str, int] = {str(loss): order for loss, order in orders.items()}
    expected = expected_derivatives_together(AUTOENCODER, by_name, workers=workers, force=force, progress=progress)
    return {loss: from_expected(loss, expected[loss]) for loss in orders}


def from_expected(loss: LossName, expected: Sequence[Laurent]) -> LossSeries:
    """The series whose E D^s F are given: (pm)^s and the constant ½ taken out."""
    pm = Laurent.monomial({"p": 1, "m": 1}, VARIABLES)
    scaled = [pm**s * derivative for s, derivative in enumerate(expected)]
    scaled[0] = scaled[0] - Fraction(1, 2)
    return LossSeries(loss, tuple(scaled))


def check_loss(loss: str) -> None:
    """Raise ``InputError`` unless ``loss`` is ``train`` or ``population``."""
    if not isinstance(loss, str) or loss not in ("train", "population"):
        raise InputError("loss", given=loss, expected="train or population", remedy="use loss='train'")


def checked_loss(loss: str) -> LossName:
    """The loss's name; ``InputError`` unless it is ``train`` or ``population``."""
    check_loss(loss)
    return "train" if loss == "train" else "population"
