"""What a limit solution is: curves with an error estimate, exact Taylor coefficients, a formula, an asymptote."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from theory.autoencoder.sizes import Sizes
from theory.engine.laurent import Laurent
from theory.errors import ReachError

FloatArray = npt.NDArray[np.float64]
Loss = Literal["train", "population"]
Kind = Literal["closed form", "quadrature", "ODE", "hierarchy", "free-product algebra"]

VARIABLES = ("p", "n", "m", "sigma2")
P, N, M, SIGMA2 = (Laurent.variable(name, VARIABLES) for name in VARIABLES)
ONE = Laurent.constant(1, VARIABLES)
LARGEST_EXPONENT = 700.0


class Curves(NamedTuple):
    """Both losses at the times asked for, and one bound for the numerical error of either."""

    train: FloatArray
    population: FloatArray
    error: FloatArray


class Asymptote(NamedTuple):
    """The leading large-time form of both losses; ``None`` where the constant is not known."""

    train: FloatArray | None
    population: FloatArray | None


@dataclass(frozen=True)
class Ratios:
    """The sizes as a limit sees them.

    ``a_n`` = σ²n and ``a_p`` = σ²p are the two scales of M(0); ``weights`` = n/p and ``data`` = m/p are the ratios of
    the Marchenko–Pastur laws of M(0) and of S; ``per_p`` = η/p and ``per_m`` = η/m turn a time into ηt/p and ηt/m.
    """

    a_n: float
    a_p: float
    weights: float
    data: float
    per_p: float
    per_m: float

    @classmethod
    def of(cls, sizes: Sizes, eta: float) -> Ratios:
        """The ratios at these sizes and learning rate."""
        return cls(
            a_n=float(sizes.sigma2 * sizes.n),
            a_p=float(sizes.sigma2 * sizes.p),
            weights=sizes.n / sizes.p,
            data=sizes.m / sizes.p,
            per_p=eta / sizes.p,
            per_m=eta / sizes.m,
        )


@dataclass(frozen=True)
class Formula:
    """The solution in LaTeX: both losses, the definitions they use, and the large-time behaviour."""

    train: str
    population: str
    where: tuple[str, ...]
    large_time: str


@dataclass(frozen=True)
class LimitSolution:
    """The leading-order losses on one face of the prism. [P] §4.

    ``face`` is the vertex set. ``evaluate(ratios, times)`` gives both losses on an increasing grid (``curves`` is the
    same, checked),
    ``taylor(loss, order)`` gives the exact leading coefficients Y_0 … Y_order of the loss (constant ½ left out) as
    Laurent polynomials in p, n, m, sigma2, and ``asymptote(ratios, times)`` the leading form at large times, the final
    value and the ½ included.
    """

    face: str
    kind: Kind
    method: str
    formula: Formula
    evaluate: Callable[[Ratios, FloatArray], Curves]
    taylor: Callable[[Loss, int], tuple[Laurent, ...]]
    asymptote: Callable[[Ratios, FloatArray], Asymptote]

    @property
    def has_target(self) -> bool:
        """Whether R is among the vertices, so that the losses start with the constant ½."""
        return "R" in self.face

    @property
    def is_free_pair(self) -> bool:
        """Whether there is no formula: M(0) and S are two free elements that the numerics follow."""
        return self.kind == "free-product algebra"

    def curves(self, ratios: Ratios, times: FloatArray) -> Curves:
        """Both losses on an increasing grid, one finite value for each time.

        Raises ``ReachError`` where float64 or the solver gives none.
        """
        with np.errstate(over="ignore"):
            scaled = 4 * np.maximum(ratios.per_p, ratios.per_m) * times
        refuse_where(~np.isfinite(scaled), self.face, times, "after which ηt leaves float64")
        with np.errstate(over="ignore", invalid="ignore", divide="ignore", under="ignore"):
            found = self.evaluate(ratios, times)
        assert all(values.shape == times.shape for values in found), "each time has its losses"
        finite = np.all(np.isfinite(found), axis=0)
        refuse_where(~finite, self.face, times, "after which it leaves float64")
        return found


def refuse_where(beyond: npt.NDArray[np.bool_], face: str, times: FloatArray, why: str) -> None:
    """Refuse a grid with times that cannot be answered, and say which could."""
    if np.any(beyond):
        reached = times[: int(np.argmax(beyond))]
        raise ReachError(
            f"limit {face}",
            given=float(times[int(np.argmax(beyond))]),
            reach=f"t = {float(reached[-1]):g} among these, {why}" if reached.size else f"none of these times, {why}",
            remedy="ask for earlier times",
        )


def check_exponent(exponent: FloatArray, face: str, times: FloatArray) -> None:
    """Refuse times at which a growing exponential leaves float64; ``exponent`` holds one value a time."""
    beyond = exponent > LARGEST_EXPONENT
    if np.any(beyond):
        reached = times[~beyond]
        raise ReachError(
            f"limit {face}",
            given=float(times[-1]),
            reach=f"about t = {float(reached[-1]) if reached.size else 0.0:g}, after which the formal limit overflows",
            remedy="ask for earlier times; the loss is bounded, so a face with more vertices takes over before that",
        )
