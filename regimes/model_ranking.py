"""The faces of any model's polytope ranked at actual sizes: how far each is from all rates together, early on.

A face's series is compared with that of the whole polytope, the leading one where all sizes grow in the given ratios. A
finite size adds corrections of relative order 1/size to both, which are left out.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import factorial, prod
from pathlib import Path
from time import process_time

import numpy as np

from regimes.model_regime import read_values
from regimes.polytope_atlas import Plan, PolytopeAtlas, RateFace, loss_series, polytope_atlas
from theory.checks import rational
from theory.engine.laurent import Laurent, nearest_float
from theory.engine.pade import Array, resummed
from theory.errors import BudgetError, InputError, ReachError
from theory.latex import decimal, table, typed
from theory.models.model import Model

Progress = Callable[[int, int], None]

VERSION = 1
TOLERANCE = 0.05
_GRID = 12
_AGREEMENT = 0.02
_DEEPEST = 7
_PATIENCE = 10.0
_LOSES = 1e-12
_SHOWN = 10


@dataclass(frozen=True)
class RankedRateFace:
    """A face and the largest miss of the early change of a loss, as a part of the largest change."""

    face: RateFace
    distance_early: float
    within: bool


@dataclass(frozen=True)
class ModelRanking:
    """The smallest face within ``tolerance`` first, then the others within it, then the rest by distance.

    ``horizon`` is ηt = 1/(sum of the rates); distances are taken up to ``reach``, where the series can vouch for them.
    """

    model: str
    values: tuple[tuple[str, Fraction], ...]
    faces: tuple[RankedRateFace, ...]
    rates: tuple[tuple[str, float], ...]
    horizon: float
    reach: float
    tolerance: float
    warnings: tuple[str, ...]

    @property
    def best(self) -> RateFace:
        """The smallest face within the tolerance."""
        return self.faces[0].face

    def to_json(self) -> dict[str, object]:
        """The best face, and the ranking; ``distance``, over the whole training, is not known without a solution."""
        return {
            "version": VERSION,
            "model": self.model,
            "sizes": {name: str(value) for name, value in self.values},
            "face": self.best.name,
            "vertices": list(self.best.vertices),
            "dimension": self.best.dimension,
            "rates": dict(self.rates),
            "horizon": self.horizon,
            "reach": self.reach,
            "tolerance": self.tolerance,
            "ranking": [
                {"face": r.face.name, "distance_early": r.distance_early, "distance": None, "within": r.within}
                for r in self.faces
            ],
            "warnings": list(self.warnings),
        }

    def to_text(self) -> str:
        """The nearest faces, one a line; warnings are left to the caller."""
        head = [
            f"model    {self.model}",
            f"sizes    {', '.join(f'{name}={value}' for name, value in self.values)}",
            f"face     {self.best.name} (dimension {self.best.dimension})",
            f"early    ηt ≤ {self.reach:.3g} (1/sum of the rates: {self.horizon:.3g})",
            "",
            "miss of the early change",
        ]
        rows = [f"{100 * r.distance_early:8.3g} %  {r.face.name}" for r in self.faces[:_SHOWN]]
        return "\n".join([*head, *rows])

    def to_latex(self) -> str:
        """A table of the nearest faces."""
        return table(
            "lr", [(typed(r.face.name), rf"{decimal(100 * r.distance_early, 3)}\,\%") for r in self.faces[:_SHOWN]]
        )


def rank_model(
    model: Model | str | Path,
    sizes: Mapping[str, object] | str,
    *,
    tolerance: float = TOLERANCE,
    progress: Progress | None = None,
) -> ModelRanking:
    """The faces of a model's polytope at actual values of its sizes, variances and parameters, all positive.

    >>> rank_model("weight-decay", "p=200,n=100,m=400,sigma2=1/200,decay=10").best.name
    'decay'

    Raises ``InputError`` for values that are missing, unknown or not positive, and ``ReachError`` where the rates
    do not settle.
    """
    declared = Model.of(model)
    atlas = polytope_atlas(declared.plan, progress=progress)
    values = read_values(sizes, atlas.variables, whole=atlas.plan.sizes)
    share = rational("tolerance", tolerance, remedy="use for example tolerance=0.05")
    if not 0 < share < 1:
        raise InputError(
            "tolerance", given=tolerance, expected="a share between 0 and 1", remedy="use for example tolerance=0.05"
        )
    rates = {
        name: _monomial(values, atlas.variables, vertex)
        for name, vertex in zip(atlas.rates, atlas.limiting.polytope.vertices, strict=True)
    }
    horizon = 1 / sum(rates.values())
    grid = np.linspace(0, horizon, _GRID + 1)[1:]
    whole = atlas.faces[0]
    series = {loss: deepest_series(declared.plan, loss, atlas.exact) for loss in declared.loss_names}
    reference, held = {}, len(grid)
    for loss, coefficients in series.items():
        curve, spread = _change(_leading(coefficients, atlas, whole), values, grid)
        size = np.maximum.accumulate(np.abs(curve))
        sure = spread <= _AGREEMENT * size
        held = min(held, len(grid) if sure.all() else int(np.argmin(sure)))
        reference[loss] = curve
    if held == 0:
        raise ReachError(
            "ranking at these sizes",
            given=f"ηt = {grid[0]:.2g}",
            reach="times for which the series to the order affordable can vouch",
            remedy="classify a scaling instead",
        )
    misses = dict.fromkeys(atlas.faces, 0.0)
    for face in atlas.faces[1:]:
        for loss, coefficients in series.items():
            exact = reference[loss][:held]
            curve, _ = _change(_leading(coefficients, atlas, face), values, grid[:held])
            largest = np.maximum.accumulate(np.abs(exact))
            if largest[-1] > _LOSES:
                misses[face] = max(misses[face], float((np.abs(curve - exact) / largest).max()))
    ranked = [RankedRateFace(face, miss, miss <= tolerance) for face, miss in misses.items()]
    ranked.sort(key=lambda r: (not r.within, len(r.face.vertices) if r.within else 0, r.distance_early))
    reach = float(grid[held - 1])
    return ModelRanking(
        declared.name,
        tuple(values.items()),
        tuple(ranked),
        tuple(rates.items()),
        horizon,
        reach,
        float(tolerance),
        tuple(_warnings(atlas, values, horizon, reach)),
    )


@lru_cache(maxsize=32)
def deepest_series(plan: Plan, loss: str, exact: bool) -> tuple[Laurent, ...]:
    """The series of a loss to the highest order, at most 7, that a few seconds afford."""
    found, last = loss_series(plan, loss, 3, exact), 0.0
    for order in range(4, _DEEPEST + 1):
        start = process_time()
        try:
            found = loss_series(plan, loss, order, exact)
        except BudgetError:
            break
        spent = process_time() - start
        if spent * (min(40.0, spent / last) if last > 0.01 else 8.0) > _PATIENCE:
            break
        last = spent
    return found


def _leading(coefficients: tuple[Laurent, ...], atlas: PolytopeAtlas, face: RateFace) -> list[Laurent]:
    return [atlas.part(c, face) for c in coefficients[1:]]


def _change(coefficients: list[Laurent], values: Mapping[str, Fraction], times: Array) -> tuple[Array, Array]:
    """The change of a loss at η = 1, resummed, and the spread of the approximants."""
    point: dict[str, Fraction | int | float] = dict(values)
    taylor = [Fraction(c.evaluate(point)) * (-1) ** s / factorial(s) for s, c in enumerate(coefficients, start=1)]
    slope, spread = resummed(taylor, times)
    return slope * times, spread * times


def _monomial(values: Mapping[str, Fraction], variables: tuple[str, ...], exponents: tuple[Fraction, ...]) -> float:
    """The value of a rate; its powers may be halves."""
    unit = max(e.denominator for e in exponents)
    whole = prod((values[v] ** int(e * unit) for v, e in zip(variables, exponents, strict=True)), start=Fraction(1))
    return float(nearest_float("rate", whole) ** (1 / unit))


def _warnings(atlas: PolytopeAtlas, values: Mapping[str, Fraction], horizon: float, reach: float) -> list[str]:
    found = [
        f"{name} = {values[name]} is small: limits want all sizes → ∞, so corrections of relative order 1/{name} stay"
        for name in atlas.plan.sizes
        if values[name] < 10
    ]
    if reach < horizon:
        found.append(f"distances are taken up to ηt = {reach:.3g} only, where the series can vouch for them")
    return found
