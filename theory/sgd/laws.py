"""Laws of one input coordinate: mean 0, variance 1, third and fourth cumulants declared, and a quadrature."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from theory.checks import real
from theory.errors import InputError
from theory.sgd.law_rules import CONTINUOUS, continuous_rule

Array = NDArray[np.float64]
Recipe = Literal["gaussian", "rademacher", "uniform", "laplace", "exponential", "atoms", "own"]
Sampler = Callable[[Any, tuple[int, ...]], Array]
"""A user's own sampler: ``(numpy Generator, shape) -> array`` of independent coordinates."""

MATCHING = 1e-9
"""How far a declared mean may be from 0 and a declared variance from 1."""


@dataclass(frozen=True)
class Law:
    """The law of one coordinate of the input noise, mean 0 and variance 1; the input is their product. [U] §2.

    ``kappa3`` and ``kappa4`` are the third and fourth cumulants. ``recipe`` names the way it is drawn: for
    ``gaussian``, ``rademacher``, ``uniform`` (on ±√3), ``laplace`` (rate √2) and ``exponential`` (Exp(1) − 1) the name
    says it all; for ``atoms``, ``values`` and ``weights`` are the law; for ``own``, ``sampler`` draws it (``None``: it
    cannot be simulated), and ``values`` and ``weights``, where given, are a quadrature rule for it.

    >>> law("exponential").kappa3
    2.0
    >>> x, w = law("laplace").nodes(20)
    >>> round(float(w @ x**4), 6)
    6.0
    """

    name: str
    kappa3: float
    kappa4: float
    recipe: Recipe
    values: tuple[float, ...] = ()
    weights: tuple[float, ...] = ()
    sampler: Sampler | None = field(default=None, compare=False, repr=False)

    @property
    def has_quadrature(self) -> bool:
        """Whether expectations of a function of one coordinate can be computed."""
        return self.recipe != "own" or bool(self.values)

    def nodes(self, order: int) -> tuple[Array, Array]:
        """Nodes and weights of a rule for this law: exact for atoms, else see ``continuous_rule``.

        Raises ``InputError`` for an own law without a quadrature.
        """
        if self.values:
            return np.array(self.values), np.array(self.weights)
        if self.recipe in CONTINUOUS:
            return continuous_rule(self.recipe, order)
        raise InputError(
            f"law {self.name}",
            given="a law known by its moments alone",
            expected="its distribution, which a localised coordinate keeps",
            remedy="declare it by its atoms, or give own_law(quadrature=(values, weights))",
        )


def discrete_law(name: str, values: Sequence[float], weights: Sequence[float]) -> Law:
    """A law with finitely many atoms; its cumulants are computed.

    Raises ``InputError`` unless the weights are a probability, the mean is 0 and the variance 1.

    >>> discrete_law("signs", [-1, 1], [0.5, 0.5]).kappa4
    -2.0
    """
    try:
        x, w = np.asarray(values, dtype=float), np.asarray(weights, dtype=float)
    except (TypeError, ValueError) as error:
        raise InputError(
            f"law {name}", given=[values, weights], expected="values and weights as numbers", remedy="give -1:0.5,1:0.5"
        ) from error
    if x.ndim != 1 or x.shape != w.shape or not x.size or not np.isfinite(x).all():
        raise InputError(
            f"law {name}", given=values, expected="finite values, one weight each", remedy="give -1:0.5,1:0.5"
        )
    if not (w > 0).all() or abs(w.sum() - 1) > MATCHING:
        raise InputError(
            f"law {name}", given=list(weights), expected="positive weights that sum to 1", remedy="normalise them"
        )
    with np.errstate(over="ignore", invalid="ignore"):  # atoms beyond every variance are refused here
        _check_matched(name, float(w @ x), float(w @ x**2) - float(w @ x) ** 2)
        kappa3, kappa4 = float(w @ x**3), float(w @ x**4) - 3
    if not math.isfinite(kappa4):
        raise InputError(
            f"law {name}", given=list(values), expected="a finite fourth moment", remedy="drop the atoms that far out"
        )
    return Law(name, kappa3, kappa4, "atoms", tuple(map(float, x)), tuple(map(float, w)))


def two_point_law(rho: float) -> Law:
    """The sparse two-point law: the large value √((1−ρ)/ρ) with probability ρ, else −√(ρ/(1−ρ)).

    >>> round(two_point_law(0.1).kappa3, 6)
    2.666667
    """
    if not 0 < (real(rho) or 0.0) < 1:
        raise InputError("two-point law", given=rho, expected="a probability between 0 and 1", remedy="use 0.1")
    name = f"two-point:{rho:g}"
    return discrete_law(name, [-math.sqrt(rho / (1 - rho)), math.sqrt((1 - rho) / rho)], [1 - rho, rho])


def own_law(
    name: str,
    *,
    mean: float | None = None,
    variance: float | None = None,
    kappa3: float | None = None,
    kappa4: float | None = None,
    sampler: Sampler | None = None,
    quadrature: tuple[Sequence[float], Sequence[float]] | None = None,
) -> Law:
    """A user's own law, by its declared moments; ``sampler`` lets it be simulated, ``quadrature`` lets it be localised.

    Raises ``InputError`` when a moment is not declared, or the mean is not 0, or the variance not 1.

    >>> own_law("mine", mean=0, variance=1, kappa3=0, kappa4=1).kappa4
    1.0
    """
    declared = {"mean": mean, "variance": variance, "kappa3": kappa3, "kappa4": kappa4}
    missing = [key for key, value in declared.items() if not math.isfinite(_or_nan(value))]
    if missing or mean is None or variance is None or kappa3 is None or kappa4 is None:
        raise InputError(
            f"law {name}",
            given={key: value for key, value in declared.items() if value is not None},
            expected=f"also a declared {', '.join(missing)}",
            remedy="give mean=0,variance=1,kappa3=…,kappa4=…",
        )
    _check_matched(name, mean, variance)
    if kappa4 < kappa3**2 - 2 - MATCHING:
        raise InputError(
            f"law {name}",
            given={"kappa3": kappa3, "kappa4": kappa4},
            expected="kappa4 ≥ kappa3² − 2, which holds for every law",
            remedy="give cumulants (kappa4 is the fourth moment minus 3)",
        )
    values, weights = quadrature or ((), ())
    return Law(
        name, float(kappa3), float(kappa4), "own", tuple(map(float, values)), tuple(map(float, weights)), sampler
    )


def _or_nan(value: object) -> float:
    number = real(value)
    return math.nan if number is None else number


def _check_matched(name: str, mean: float, variance: float) -> None:
    if not (abs(mean) <= MATCHING and abs(variance - 1) <= MATCHING):
        raise InputError(
            f"law {name}",
            given={"mean": mean, "variance": variance},
            expected="mean 0 and variance 1, the Gaussian's",
            remedy="centre and scale it; the task's noise variance sets the size",
        )


LAWS: Mapping[str, Law] = {
    law.name: law
    for law in (
        Law("gaussian", 0.0, 0.0, "gaussian"),
        discrete_law("rademacher", [-1.0, 1.0], [0.5, 0.5]),
        Law("uniform", 0.0, -1.2, "uniform"),
        Law("laplace", 0.0, 3.0, "laplace"),
        Law("exponential", 2.0, 6.0, "exponential"),
        two_point_law(0.1),
        # 0 and ±√3: the Gaussian's moments to the fifth, and still another law.
        discrete_law("three-point", [-math.sqrt(3), 0.0, math.sqrt(3)], [1 / 6, 2 / 3, 1 / 6]),
    )
}
"""The laws known by name; ``law`` also reads laws with parameters."""

_EXPECTED = f"one of {', '.join(LAWS)}, two-point:RHO, atoms:X:P,X:P,…, moments:mean=…,variance=…,kappa3=…,kappa4=…"


def law(text: str) -> Law:
    """Read a law: a name of ``LAWS``, ``two-point:0.2``, ``atoms:-2:0.2,0.5:0.8`` or ``moments:mean=0,variance=1,…``.

    >>> law("atoms:-2:0.2,0.5:0.8").kappa3
    -1.5
    """
    if not isinstance(text, str):
        raise InputError("law", given=text, expected=_EXPECTED, remedy='give for example "gaussian"')
    name, _, arguments = text.strip().partition(":")
    if text.strip() in LAWS:
        return LAWS[text.strip()]
    try:
        if name == "two-point":
            return two_point_law(float(arguments or "0.1"))
        if name == "atoms":
            pairs = [item.split(":") for item in arguments.split(",")]
            return discrete_law(text.strip(), [float(x) for x, _ in pairs], [float(p) for _, p in pairs])
        if name == "moments":
            given = {key.strip(): float(x) for key, x in (item.split("=") for item in arguments.split(",") if item)}
            if given.keys() <= {"mean", "variance", "kappa3", "kappa4"}:
                mean, variance, kappa3, kappa4 = map(given.get, ("mean", "variance", "kappa3", "kappa4"))
                return own_law("moments", mean=mean, variance=variance, kappa3=kappa3, kappa4=kappa4)
    except InputError:
        raise
    except ValueError as error:
        raise InputError("law", given=text, expected=_EXPECTED, remedy="use law='gaussian'") from error
    raise InputError("law", given=text, expected=_EXPECTED, remedy="use law='gaussian'")
