"""The verb ``validate``: the limit of a regime against a simulation at the same sizes, by a rule stated before."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from numerics.gradient_flow.control_variate import FEWEST
from numerics.gradient_flow.simulate import Simulation, simulate
from numerics.judge import STANDARD_ERRORS, Quantity, Verdict, standard_errors
from numerics.runs.machine import HERE, Machine
from regimes.faces import Face, parse_face
from regimes.limit import LimitCurves, limit
from regimes.neglected import neglected_ratios
from regimes.ranking import rank_faces
from theory.autoencoder.sizes import Sizes, check_sizes
from theory.errors import InputError
from theory.times import time_grid

LossName = Literal["train", "population"]
LOSSES: tuple[LossName, LossName] = ("train", "population")

ALLOWANCE_FACTOR = 1.0
"""The finite-size error allowed, in units of the corrections that the limit neglects (see ``neglected_terms``)."""

ESTIMATOR = (
    "mean of L(t) − E L(0) − β (L(0) − E L(0)), E L(0) exact; β the regression coefficient over the other replicas"
    f" (1 with fewer than {FEWEST} replicas, or where some failed)"
)
"""How the mean change since t = 0 is estimated."""

RIVAL_SPEED = 0.5
"""The rival that must be rejected: the same curves at this speed (slower ones stay within a resummation's reach)."""


@dataclass(frozen=True)
class Validation:
    """Predicted against measured, point by point, and the verdict.

    ``neglected`` is the sum of what the limit leaves out, relative to its leading terms (see ``neglected_terms``); from
    1 on the sizes are not on this face, and nothing holds. At the first time (0) the losses themselves are compared;
    later, their mean changes since, estimated as
    ``numerics.gradient_flow.control_variate.estimate_change`` says. The scale of a loss is ``initial_scale``, or its
    predicted change where that is larger; the population loss moves by m/p of it where S contracts p nodes only.
    """

    face: Face
    simulation: Simulation
    curves: LimitCurves
    neglected: float
    quantities: dict[LossName, tuple[Quantity, ...]]

    @property
    def warnings(self) -> tuple[str, ...]:
        """The simulation's."""
        return self.simulation.warnings

    @property
    def interrupted(self) -> bool:
        """Whether Ctrl-C ended the simulation: what had finished is judged."""
        return self.simulation.interrupted

    def loss_verdict(self, loss: LossName) -> Verdict:
        """``fails`` where one point does; ``blind`` where no point rejects the rival, or the face is not theirs."""
        verdicts = [quantity.verdict for quantity in self.quantities[loss]]
        if "fails" in verdicts:
            return "fails"
        return "holds" if "holds" in verdicts and self.on_face else "blind"

    @property
    def on_face(self) -> bool:
        """Whether the limit neglects less than it keeps at these sizes."""
        return self.allowed < 1

    @property
    def allowed(self) -> float:
        """The finite-size error allowed, relative to the scale of the loss."""
        return ALLOWANCE_FACTOR * self.neglected

    @property
    def verdict(self) -> Verdict:
        """The worse of the two losses' verdicts."""
        verdicts = [self.loss_verdict(loss) for loss in LOSSES]
        return "fails" if "fails" in verdicts else "blind" if "blind" in verdicts else "holds"

    @property
    def rule(self) -> str:
        """The acceptance rule in words."""
        return (
            f"|measured − predicted| ≤ allowance + {standard_errors(self.simulation.replicas):.3g} standard errors at"
            f" every time ({STANDARD_ERRORS:g}, made up for {self.simulation.replicas} replicas), the allowance"
            f" being {self.allowed:.3g} of the scale of the loss; the rival, the same curves at {RIVAL_SPEED:g} of the"
            " speed, must be rejected at one time"
        )

    def to_json(self) -> dict[str, Any]:
        """Everything in the table, with the simulation and the rule."""
        return {
            "face": self.face.name,
            "verdict": self.verdict,
            "rule": self.rule,
            "neglected": self.neglected,
            "on_face": self.on_face,
            "estimator": ESTIMATOR,
            "predicted": self.curves.to_json(),
            "measured": self.simulation.to_json(),
            "points": {
                loss: [
                    {
                        "name": quantity.name,
                        "predicted": quantity.predicted,
                        "measured": quantity.measured,
                        "stderr": quantity.stderr,
                        "allowance": quantity.allowance,
                        "rival": quantity.rival,
                        "verdict": quantity.verdict,
                    }
                    for quantity in self.quantities[loss]
                ]
                for loss in LOSSES
            },
        }

    def to_text(self) -> str:
        """The table, the rule and its terms, the verdict, and what to do about one that is not ``holds``."""
        simulation = self.simulation
        lines = [
            f"{self.face.name} ({self.face.vertex_set}) at {simulation.sizes}, η = {simulation.eta:g}",
            f"predicted: {self.curves.method}",
            f"measured:  {simulation.replicas} replicas, seed {simulation.seed}; {simulation.formulation}",
            f"changes:   {ESTIMATOR}",
            f"rule:      {self.rule}",
            f"allowance: {self.allowed:.3g} is the sum of what the limit neglects, the losing rates over the winning"
            " one and the loops (1/p, 1/n, 1/m); its numerical error comes on top",
            f"scale:     {initial_scale(self.face, simulation.sizes):.3g}, the terms of the loss at t = 0 that this"
            " face keeps and the flow can move, or the predicted change where that is larger"
            + ("; m/p of it for the change of the population loss" if "m" not in self.face.segment else ""),
        ]
        for loss in LOSSES:
            lines += [
                "",
                f"{loss + ' loss':<18}{'predicted':>13}{'measured':>13}{'± s.e.':>10}{'β':>7}{'allowed':>10}  verdict",
            ]
            betas = ["", *(f"{beta:.2f}" for beta in getattr(simulation, f"{loss}_change").beta[1:])]
            for quantity, beta in zip(self.quantities[loss], betas, strict=True):
                lines.append(
                    f"{quantity.name:<18}{quantity.predicted:>13.6g}{quantity.measured:>13.6g}"
                    f"{quantity.stderr:>10.2g}{beta:>7}{quantity.allowance:>10.2g}  {self._point(quantity)}"
                )
        lines += ["", "verdict: " + ", ".join(f"{loss} {self.loss_verdict(loss)}" for loss in LOSSES)]
        return "\n".join([*lines, *self._advice()])

    def _point(self, quantity: Quantity) -> str:
        if not quantity.agrees_with(quantity.predicted):
            return "FAILS"
        if not self.on_face:
            return "not on this face"
        return "agrees, as the rival would" if quantity.agrees_with(quantity.rival) else "agrees, rejects the rival"

    def _advice(self) -> list[str]:
        if not self.on_face:
            return [
                f"These sizes are not on this face: its limit neglects {self.neglected:.3g} times what it keeps."
                " Leave --face out for the face that ranks first, or take larger sizes."
            ]
        if self.verdict == "blind":
            blind = [
                quantity for loss in LOSSES if self.loss_verdict(loss) == "blind" for quantity in self.quantities[loss]
            ]
            enough = any(abs(quantity.rival - quantity.predicted) > quantity.allowance for quantity in blind)
            return [
                "blind: the curve at half the speed passes as well, so agreement shows nothing."
                + (" Take more replicas (smaller s.e.)," if enough else " The allowance alone covers it: take")
                + " larger sizes (smaller allowance), or times at which the loss moves faster."
            ]
        return []


def validate(
    face: Face | str | None,
    sizes: Sizes,
    times: Iterable[float],
    *,
    replicas: int,
    seed: int,
    eta: float = 1.0,
    machine: Machine = HERE,
    force: bool = False,
) -> Validation:
    """Compare the limit of ``face`` with a simulation at the same sizes and times. [P] §4, §5.

    With ``face=None`` it is the face that ranks first at these sizes. Time 0 is added to the grid where it is missing,
    as the point from which changes are measured. At least two replicas, for there to be a standard error.

    >>> found = validate("R,N|m", Sizes.parse("p=20,n=2000,m=4000,sigma2=1/8000"), [0, 2, 5], replicas=4, seed=0)
    >>> found.verdict
    'holds'

    Raises what ``limit`` and ``simulate`` raise, and ``InputError`` for a single replica or no time after 0.
    """
    check_sizes(sizes)
    place = rank_faces(sizes).best if face is None else parse_face(face) if isinstance(face, str) else face
    grid = time_grid(times)
    if grid[0] > 0:
        grid = (0.0, *grid)
    if len(grid) == 1:
        raise InputError("times", given=list(grid), expected="a time after 0", remedy="add one, for example 0,10")
    if replicas < 2:
        raise InputError("replicas", given=replicas, expected="at least 2", remedy="use for example replicas=16")
    curves = limit(place, sizes, grid, eta=eta)
    rival = limit(place, sizes, grid, eta=RIVAL_SPEED * eta)
    neglected = neglected_terms(place, sizes)
    measured = simulate(
        sizes,
        grid,
        replicas=replicas,
        seed=seed,
        eta=eta,
        machine=machine,
        force=force,
    )
    if measured.replicas < 2:  # interrupted, and too early to judge
        raise KeyboardInterrupt
    quantities = {loss: _quantities(loss, place, curves, rival, measured, neglected) for loss in LOSSES}
    return Validation(place, measured, curves, neglected, quantities)


def neglected_terms(face: Face, sizes: Sizes) -> float:
    """The sum of what the limit of ``face`` leaves out at these sizes, relative to what it keeps. [P] §4.

    Which ratios count is read from the coefficients: see ``regimes.neglected.neglected_ratios``.

    >>> round(neglected_terms(parse_face("large-data"), Sizes.parse("p=100,n=100,m=10000,sigma2=1/100")), 3)
    0.05
    """
    return sum(neglected_ratios(face, sizes).values())


def initial_scale(face: Face, sizes: Sizes) -> float:
    """The size of what can move of a loss: the terms of ½D − R at time 0 that the face keeps, added in quadrature.

    >>> initial_scale(parse_face("mean-field"), Sizes.parse("p=10,n=100,m=10,sigma2=1/100"))
    1.118033988749895
    """
    wide, narrow = float(sizes.sigma2 * sizes.n), float(sizes.sigma2 * sizes.p)
    terms = {"R": wide, "N": wide * wide / 2, "P": wide * narrow / 2}
    return math.hypot(*(term for name, term in terms.items() if name in face.triangle))


def _quantities(
    loss: LossName, face: Face, curves: LimitCurves, rival: LimitCurves, measured: Simulation, neglected: float
) -> tuple[Quantity, ...]:
    predicted = np.array(getattr(curves, loss))
    slower = np.array(getattr(rival, loss))
    level, change = getattr(measured, loss), getattr(measured, f"{loss}_change")
    share = measured.sizes.m / measured.sizes.p if loss == "population" and "m" not in face.segment else 1.0
    scale = max(initial_scale(face, measured.sizes), float(np.ptp(predicted)) / share)
    moving = scale * share
    allowed = ALLOWANCE_FACTOR * neglected
    numerical = [float(error) for error in curves.error_estimate]

    def quantity(k: int) -> Quantity:
        first = k == 0
        estimate = level if first else change
        base = 0.0 if first else predicted[0]
        rival_base = 0.0 if first else slower[0]
        return Quantity(
            name="L(0)" if first else f"L({curves.times[k]:g}) − L(0)",
            predicted=float(predicted[k] - base),
            measured=float(estimate.mean[k]),
            stderr=float(estimate.stderr[k]),
            stderr_bound=(scale if first else moving) / standard_errors(measured.replicas),
            rival=float(slower[k] - rival_base),
            rival_name=f"the same curve at {RIVAL_SPEED:g} of the speed",
            allowance=allowed * (scale if first else moving) + numerical[k] + (0.0 if first else numerical[0]),
            replicas=measured.replicas,
        )

    return tuple(quantity(k) for k in range(len(curves.times)))
