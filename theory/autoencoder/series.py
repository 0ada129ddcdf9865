"""The loss series of the linear autoencoder: the exact Laurent polynomials Y_s and Ŷ_s. [P] §3."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import factorial
from typing import Any, Literal

from theory.autoencoder.model import AUTOENCODER
from theory.autoencoder.sizes import Sizes
from theory.engine.derivatives import check_order
from theory.engine.laurent import Laurent
from theory.engine.series import expected_derivatives
from theory.errors import InputError

LossName = Literal["train", "population"]
VARIABLES = AUTOENCODER.variables


@dataclass(frozen=True)
class LossSeries:
    """E L(t) ~ ½ + Σ_s (−η/pm)^s Y_s t^s/s! (population), or the same with Ŷ_s (train). [P] §3.

    ``coefficients`` are Y_0 … Y_order in the variables p, n, m, sigma2, the division by p (population) or pm (train)
    included; the constant ½ is not part of Y_0.
    """

    loss: LossName
    coefficients: tuple[Laurent, ...]
    constant: Fraction = Fraction(1, 2)

    @property
    def order(self) -> int:
        """The highest order s."""
        return len(self.coefficients) - 1

    def taylor(self, sizes: Sizes, eta: float = 1.0) -> tuple[float, ...]:
        """Coefficients of t^0, t^1, … in E L(t) at given sizes, the constant included."""
        point: dict[str, Fraction | int] = {"p": sizes.p, "n": sizes.n, "m": sizes.m, "sigma2": sizes.sigma2}
        rate = Fraction(-1, sizes.p * sizes.m)
        result = []
        for s, coefficient in enumerate(self.coefficients):
            exact = coefficient.evaluate(point) * rate**s / factorial(s)
            result.append(float(exact + self.constant if s == 0 else exact) * eta**s)
        return tuple(result)

    def compile(self) -> Callable[..., Any]:
        """A numeric function (p, n, m, sigma2, t) → partial sum of the series at η = 1; arrays broadcast."""
        functions = [coefficient.compile() for coefficient in self.coefficients]

        def value(p: Any, n: Any, m: Any, sigma2: Any, t: Any) -> Any:
            scaled = -t / (p * m)
            terms = (f(p, n, m, sigma2) * scaled**s / factorial(s) for s, f in enumerate(functions))
            return sum(terms, start=float(self.constant))

        return value


def loss_series(loss: LossName, *, order: int) -> LossSeries:
    """The exact series of a loss to an order.

    >>> print(loss_series("population", order=1).coefficients[0])
    1/2 p n sigma2^2 + 1/2 n^2 sigma2^2 + 1/2 n sigma2^2 - n sigma2
    """
    check_loss(loss)
    check_order(order)
    return from_expected(loss, expected_derivatives(AUTOENCODER, loss, order=order))


def from_expected(loss: LossName, expected: Sequence[Laurent]) -> LossSeries:
    """The series whose E D^s F are given: (pm)^s and the constant ½ taken out."""
    pm = Laurent.monomial({"p": 1, "m": 1}, VARIABLES)
    scaled = [pm**s * derivative for s, derivative in enumerate(expected)]
    scaled[0] = scaled[0] - Fraction(1, 2)
    return LossSeries(loss, tuple(scaled))


def check_loss(loss: str) -> None:
    """Raise ``InputError`` unless ``loss`` is ``train`` or ``population``."""
    if loss not in ("train", "population"):
        raise InputError("loss", given=loss, expected="train or population", remedy="use --loss train")
