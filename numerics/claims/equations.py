"""Claims AE-EQ-1 and -2: equations that follow from the coefficients of a face alone, and faces without one."""

from __future__ import annotations

from fractions import Fraction

from numerics.claims.ledger import Claim, Conditions, Evidence
from numerics.judge import Quantity
from regimes.derive import derive
from regimes.faces import parse_face
from theory.autoencoder.limits.table import SOLUTIONS
from theory.autoencoder.series import LossName
from theory.equations.operators import Box, Operator
from theory.equations.reduced import ReducedSeries, reduce_series
from theory.equations.search import count_solutions, search

_FOUND: tuple[tuple[str, LossName, int], ...] = (("large-data", "train", 8), ("mean-field", "population", 10))
_LATER = 12
_ORDER = {"quick": 8, "full": 10}
_BOXES = {"quick": (Box(2, 3, 1),), "full": (Box(2, 3, 1), Box(2, 6, 2), Box(2, 8, 1), Box(3, 4, 1), Box(3, 8, 0))}
_RIVAL_BOX = Box(2, 3, 1)


def _series(face: str, loss: LossName, order: int) -> ReducedSeries:
    found = derive(loss, order=order, face=face)
    return reduce_series(found.coefficients, constant=found.constant)


def _later(face: str, loss: LossName) -> ReducedSeries:
    """The same face's series from the solution found by hand."""
    chosen = parse_face(face)
    constant = Fraction(1, 2) if "R" in chosen.triangle else 0
    return reduce_series(SOLUTIONS[chosen.vertex_set].taylor(loss, _LATER), constant=constant)


def _broken(operator: Operator) -> Operator:
    """The operator with one coefficient changed by one."""
    term = next(iter(operator.terms))
    return Operator({**operator.terms, term: operator.terms[term] + 1})


def _found(_: Conditions) -> Evidence:
    quantities = []
    for face, loss, order in _FOUND:
        operators = search(_series(face, loss, order)).operators
        later = _later(face, loss)
        left = sum(len(operator.residue(later)) for operator in operators)
        rival = sum(len(_broken(operator).residue(later)) for operator in operators)
        quantities += [
            Quantity(
                f"{face}, {loss}: equations found from s ≤ {order} (minimal generators)",
                predicted=2.0 if face == "large-data" else 3.0,
                measured=float(len(operators)),
                stderr=0.0,
                stderr_bound=0.0,
                rival=0.0,
                rival_name="no equation of second order",
            ),
            Quantity(
                f"{face}, {loss}: monomials to s = {_LATER} on which they fail",
                predicted=0.0,
                measured=float(left),
                stderr=0.0,
                stderr_bound=0.0,
                rival=float(rival),
                rival_name="one coefficient of each changed by one",
            ),
        ]
    return Evidence(quantities)


def _none(conditions: Conditions) -> Evidence:
    order = _ORDER[conditions.effort]
    rival = count_solutions(_later("mean-field", "population"), _RIVAL_BOX).solutions
    quantities = []
    for face in ("free", "narrow-latent"):
        series = _series(face, "population", order)
        for box in _BOXES[conditions.effort]:
            count = count_solutions(series, box)
            quantities.append(
                Quantity(
                    f"{face}: operators of order ≤ {box.order}, degree ≤ {box.degree}, degree ≤ {box.time_degree} in "
                    f"time, that annihilate the series to s = {order} ({count.unknowns} unknowns, {count.conditions} "
                    "conditions)",
                    predicted=0.0,
                    measured=float(count.solutions),
                    stderr=0.0,
                    stderr_bound=0.0,
                    rival=float(rival),
                    rival_name="as many as mean-field has in the first box",
                )
            )
    return Evidence(quantities)


CLAIMS: tuple[Claim, ...] = (
    Claim(
        id="AE-EQ-1",
        statement="The large-data and mean-field losses satisfy second-order linear equations with few terms.",
        source="[D] §4, for the faces of [P] §4",
        prediction="equations found from the planar coefficients alone, none of them put in",
        experiment=f"the coefficients to s = {_LATER} of the solutions found by hand, another route than planar",
        rule="two and three minimal generators; no monomial is left over",
        power="an equation with one coefficient changed by one",
        gather=_found,
    ),
    Claim(
        id="AE-EQ-2",
        statement="No linear equation of low order and degree holds for the free and narrow-latent regimes.",
        source="open; the search of AE-EQ-1",
        prediction="full rank of the linear conditions, modulo a prime, which proves it over the rationals",
        experiment="planar coefficients to s = 8 (quick) or 10 (full); boxes to order 3 and degree 8",
        rule="no operator in any of the boxes",
        power="a face with as many equations as mean-field",
        gather=_none,
    ),
)
