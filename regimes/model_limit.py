"""The verb ``limit`` for any model: the leading series of a face, resummed as far as its own error allows. [D]"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import factorial
from typing import Any

from regimes.model_regime import read_scaling
from regimes.polytope_atlas import PolytopeAtlas, RateFace, polytope_atlas
from theory.checks import positive
from theory.engine.laurent import Laurent
from theory.errors import InputError, ReachError
from theory.latex import decimal, table, typed
from theory.models.model import Model
from theory.models.orders import PATIENCE, orders_within
from theory.models.resummation import Resummation
from theory.models.values import Values, read_values, to_json
from theory.times import time_grid

Progress = Callable[[int, int], None]

VERSION = 1
TOLERANCE = 0.05
"""Errors may be this part of the largest change of the loss so far; beyond that a time is refused."""
METHOD = "exact leading series, resummed by Padé and Borel-Padé approximants"


@dataclass(frozen=True)
class ModelLimit:
    """The losses of a face of a model at given sizes and times: the face's own leading expressions.

    ``errors`` estimate what the resummation is off by, never less than its approximants differ by; ``orders`` is the
    number of orders each series has. What the face neglects is not in them.
    """

    model: str
    face: RateFace
    sizes: Values
    eta: float
    times: tuple[float, ...]
    losses: Mapping[str, tuple[float, ...]]
    errors: Mapping[str, tuple[float, ...]]
    reach: Mapping[str, float]
    orders: Mapping[str, int]
    warnings: tuple[str, ...] = ()
    method: str = METHOD

    def to_json(self) -> dict[str, Any]:
        """One entry a loss."""
        return {
            "version": VERSION,
            "model": self.model,
            "face": self.face.name,
            "sizes": to_json(self.sizes),
            "eta": self.eta,
            "times": list(self.times),
            "losses": {name: list(values) for name, values in self.losses.items()},
            "method": self.method,
            "error_estimate": {name: list(values) for name, values in self.errors.items()},
            "reach": dict(self.reach),
            "orders": dict(self.orders),
            "warnings": list(self.warnings),
        }

    def to_text(self) -> str:
        """A table of the losses with the errors of the resummation."""
        sizes = ", ".join(f"{name}={value}" for name, value in self.sizes.items())
        orders = ", ".join(f"{name} to order {order}" for name, order in self.orders.items())
        lines = [f"{self.model}, face {self.face.name}, {sizes}, η = {self.eta:g}", f"{self.method}: {orders}", ""]
        lines.append(f"{'time':>12}" + "".join(f"  {name:>14} {'error':>8}" for name in self.losses))
        for k, t in enumerate(self.times):
            cells = "".join(f"  {self.losses[name][k]:>14.6g} {self.errors[name][k]:>8.1g}" for name in self.losses)
            lines.append(f"{t:>12.6g}{cells}")
        return "\n".join(lines)

    def to_latex(self) -> str:
        r"""The table of the losses at the times."""
        head = ["t", *(typed(loss) for loss in self.losses)]
        rows = [[f"{t:g}", *(decimal(values[k]) for values in self.losses.values())] for k, t in enumerate(self.times)]
        return table("r" * len(head), [head, *rows])


def model_limit(
    model: Model,
    face: str | None,
    sizes: object,
    times: Iterable[float],
    *,
    scaling: object = None,
    eta: float = 1.0,
    patience: float = PATIENCE,
    order: int | None = None,
    progress: Progress | None = None,
) -> ModelLimit:
    """Evaluate the leading series of a face (the rates that win, ``1/p,sigma2*n/p``), or of a ``scaling``.

    The series go to ``order``, or as far as ``patience`` seconds of one core each allow.

    >>> found = model_limit(Model.named("cp:2"), "1", "p=40,H=40,sigma2=1/40", [0, 0.1], patience=1)
    >>> found.losses["train"][1] < found.losses["train"][0]
    True

    Raises ``InputError`` for a face that the model does not have, and ``ReachError`` for times beyond those up to which
    the resummation vouches for its answer, naming them.
    """
    grid = time_grid(times)
    eta = positive("eta", eta, remedy="use for example --eta 1")
    values = read_values(model, sizes)
    atlas = polytope_atlas(model.plan, progress=progress)
    chosen, weights = chosen_face(model, face, scaling)
    losses, errors, reaches, orders = {}, {}, {}, {}
    for loss in model.loss_names:
        coefficients = leading_series(atlas, weights, orders_within(model, loss, patience, order))
        resummed = Resummation(taylor(coefficients, values))
        reaches[loss] = resummed.reach(tolerance=TOLERANCE) / eta
        found = [resummed(eta * t) for t in grid]
        largest = 0.0
        for t, point in zip(grid, found, strict=True):
            largest = max(largest, abs(point.value - resummed.start))
            if not point.error <= TOLERANCE * largest and t > 0 and any(coefficients[1:]):
                raise ReachError(
                    f"times of the {loss} loss on face {chosen.name}",
                    given=t,
                    reach=f"t = {reaches[loss]:.3g} ({len(coefficients) - 1} orders)",
                    remedy="ask for earlier times, or simulate",
                )
        losses[loss] = tuple(point.value for point in found)
        errors[loss] = tuple(point.error for point in found)
        orders[loss] = len(coefficients) - 1
    return ModelLimit(
        model.name, chosen, values, eta, grid, losses, errors, reaches, orders, _warnings(atlas, chosen, values)
    )


def leading_series(
    atlas: PolytopeAtlas, weights: Mapping[str, Fraction], coefficients: tuple[Laurent, ...]
) -> tuple[Laurent, ...]:
    """What of each coefficient is as large as the leading change of the loss while ηt ~ 1 / the winning rate.

    The constant keeps whatever is at least of that size.
    """
    rate = max(atlas.rate_exponents(weights).values())
    known = {**dict.fromkeys(coefficients[-1].variables, Fraction(0)), **weights}
    scales = [c.degree(known) - s * rate for s, c in enumerate(coefficients) if s and c]
    if not scales:
        return coefficients
    largest = max(scales)
    kept = []
    for s, c in enumerate(coefficients):
        terms = {}
        for exponents, number in c.terms.items():
            degree = sum(
                (Fraction(e) * known[name] for e, name in zip(exponents, c.variables, strict=True)), Fraction(0)
            )
            if degree - s * rate >= largest:
                terms[exponents] = number
        kept.append(Laurent(c.variables, terms))
    return tuple(kept)


def taylor(coefficients: tuple[Laurent, ...], values: Values) -> tuple[Fraction, ...]:
    """Exact coefficients of (ηt)^0, (ηt)^1, …; fixed matrices are the identity, their symbols 1."""
    known: dict[str, Fraction | int | float] = {**dict.fromkeys(coefficients[-1].variables, 1), **values}
    return tuple(Fraction(c.evaluate(known)) * (-1) ** s / factorial(s) for s, c in enumerate(coefficients))


def chosen_face(model: Model, face: str | None, scaling: object) -> tuple[RateFace, Mapping[str, Fraction]]:
    """The face named, or the one that a scaling selects, and exponents of N inside its cone."""
    atlas = polytope_atlas(model.plan)
    if (face is None) == (scaling is None):
        given = "neither" if face is None else "both"
        raise InputError("face", given=given, expected="a face or a scaling", remedy="give one of the two")
    if scaling is not None:
        weights = read_scaling(scaling, atlas.variables)
        return atlas.face_at(weights), weights
    found = atlas.face(str(face))
    return found, atlas.representative(found)


def _warnings(atlas: PolytopeAtlas, face: RateFace, values: Values) -> tuple[str, ...]:
    """Rates off the face that are nevertheless not small at these sizes."""
    speeds = {}
    for name, vertex in zip(atlas.rates, atlas.limiting.polytope.vertices, strict=True):
        speed = 1.0
        for variable, power in zip(atlas.variables, vertex, strict=True):
            size = abs(float(values[variable]))
            speed *= (size ** float(power) if size else 0.0 if power > 0 else math.inf) if power else 1.0
        speeds[name] = speed
    largest = max(speeds[name] for name in face.vertices)
    return tuple(
        f"rate {name} is {speed / largest:.2g} of the largest of this face at these sizes: it is neglected"
        for name, speed in speeds.items()
        if name not in face.vertices and speed > 0.2 * largest
    )
