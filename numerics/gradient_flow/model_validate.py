"""The verb ``validate`` for any model: the exact finite-size series, as far as it reaches, against a simulation."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from numerics.gradient_flow.control_variate import Change, estimate_change
from numerics.gradient_flow.model_simulate import ModelSimulation, simulate_model
from numerics.judge import Quantity, Verdict
from numerics.runs.machine import HERE, Machine
from regimes.model_limit import TOLERANCE, chosen_face, leading_series, taylor
from regimes.polytope_atlas import polytope_atlas
from theory.checks import positive
from theory.errors import InputError
from theory.models.model import Model
from theory.models.orders import PATIENCE, orders_within
from theory.models.resummation import Resummation
from theory.models.values import Values, to_json
from theory.times import time_grid

VERSION = 1
REFERENCE = "exact finite-size series, resummed within its reach"
_SHARP = 0.25
"""A measurement is worth something if its standard error is below this part of the largest change predicted."""
_RIVAL_SPEED = 0.5

FaceVerdict = Literal["holds", "fails", "undecided"]


@dataclass(frozen=True)
class Row:
    """One loss at one time: the predicted change since t = 0 with its own error, and the measured one."""

    loss: str
    time: float
    predicted: float
    error: float
    measured: float
    stderr: float
    verdict: Verdict
    reason: str
    face: float | None

    def to_json(self) -> dict[str, Any]:
        """The row by names; what is not a finite number is null."""
        return {key: _finite(value) for key, value in vars(self).items()}


@dataclass(frozen=True)
class ModelValidation:
    """Predicted against measured changes of each loss, and the verdicts.

    A loss ``fails`` where one row does, ``holds`` where one row holds, and is ``blind`` otherwise. ``face_distance`` is
    how far the face's own leading series is from the reference, as a part of the largest change.
    """

    model: str
    face: str | None
    sizes: Values
    rows: tuple[Row, ...]
    simulation: ModelSimulation
    reach: Mapping[str, float]
    face_distance: Mapping[str, float | None]
    face_verdict: Mapping[str, FaceVerdict]
    tolerance: float
    warnings: tuple[str, ...]

    @property
    def interrupted(self) -> bool:
        """Whether Ctrl-C ended the simulation: what had finished is judged."""
        return self.simulation.interrupted

    @property
    def verdicts(self) -> dict[str, Verdict]:
        """By loss."""
        found: dict[str, Verdict] = {}
        for loss in self.simulation.losses:
            rows = [row.verdict for row in self.rows if row.loss == loss]
            found[loss] = "fails" if "fails" in rows else "holds" if "holds" in rows else "blind"
        return found

    @property
    def holds(self) -> bool:
        """Whether every loss holds, and the face too where one was asked."""
        return set(self.verdicts.values()) == {"holds"} and set(self.face_verdict.values()) <= {"holds"}

    def to_json(self) -> dict[str, Any]:
        """The verdicts, the rows and what was asked."""
        return {
            "version": VERSION,
            "model": self.model,
            "face": self.face,
            "sizes": to_json(self.sizes),
            "eta": self.simulation.eta,
            "reference": REFERENCE,
            "verdict": self.verdicts,
            "face_distance": dict(self.face_distance),
            "face_verdict": dict(self.face_verdict),
            "tolerance": self.tolerance,
            "reach": dict(self.reach),
            "rows": [row.to_json() for row in self.rows],
            "replicas": self.simulation.replicas,
            "seed": self.simulation.seed,
            "warnings": list(self.warnings),
        }

    def to_text(self) -> str:
        """The rows as a table, and a line a loss."""
        sizes = ", ".join(f"{name}={value}" for name, value in self.sizes.items())
        lines = [
            f"{self.model}, {sizes}, η = {self.simulation.eta:g}, {self.simulation.replicas} replicas",
            f"reference: {REFERENCE}",
            "",
            f"{'loss':>12} {'time':>10} {'predicted':>12} {'± error':>9} {'measured':>12} {'± s.e.':>9}  verdict",
        ]
        for row in self.rows:
            lines.append(
                f"{row.loss:>12} {row.time:>10.5g} {row.predicted:>12.5g} {row.error:>9.1g} {row.measured:>12.5g}"
                f" {row.stderr:>9.1g}  {row.verdict}{f' ({row.reason})' if row.reason else ''}"
            )
        lines.append("")
        for loss, verdict in self.verdicts.items():
            lines.append(f"{loss}: {verdict}")
            if loss in self.face_verdict:
                distance = self.face_distance[loss]
                shown = "not known" if distance is None else f"{distance:.2g} of the largest change"
                lines.append(f"  face {self.face}: {self.face_verdict[loss]}, distance {shown}")
        return "\n".join(lines)


def validate_model(
    model: Model,
    face: str | None,
    sizes: object,
    times: Iterable[float],
    *,
    replicas: int,
    seed: int,
    eta: float = 1.0,
    scaling: object = None,
    tolerance: float = TOLERANCE,
    patience: float = PATIENCE,
    order: int | None = None,
    machine: Machine = HERE,
    force: bool = False,
) -> ModelValidation:
    """Compare the exact series at these sizes, resummed, with a simulation; and a face with that series.

    Where the resummation's own error exceeds ``tolerance`` of the largest change, the row is blind and says why. A
    rival at half the speed must be rejected for a row to hold. Time 0 is added; at least two replicas.

    >>> found = validate_model(Model.named("cp:2"), None, "p=6,H=4,sigma2=1/6", [0.05], replicas=20, seed=0, patience=1)
    >>> found.verdicts["train"]
    'holds'
    """
    grid = time_grid(times)
    grid = grid if grid[0] == 0 else (0.0, *grid)
    tolerance = positive("tolerance", tolerance, remedy="use for example tolerance=0.05")
    if replicas < 2:
        raise InputError("replicas", given=replicas, expected="at least 2", remedy="use for example --replicas 16")
    chosen, weights = (None, {}) if face is None and scaling is None else chosen_face(model, face, scaling)
    simulation = simulate_model(
        model, sizes, grid, replicas=replicas, seed=seed, eta=eta, machine=machine, force=force, name="validate"
    )
    rows: list[Row] = []
    reach: dict[str, float] = {}
    distances: dict[str, float | None] = {}
    verdicts: dict[str, FaceVerdict] = {}
    for loss in model.loss_names:
        coefficients = orders_within(model, loss, patience, order)
        reference = Resummation(taylor(coefficients, simulation.sizes))
        reach[loss] = reference.reach(tolerance=tolerance) / eta
        start = reference.start if not simulation.failures else None
        change = estimate_change(simulation.samples[loss], start)
        leading = None
        if chosen is not None:
            series = leading_series(polytope_atlas(model.plan), weights, coefficients)
            leading = Resummation(taylor(series, simulation.sizes))
        found = _rows(loss, reference, leading, grid, eta, change, simulation.replicas, tolerance)
        rows += found
        if leading is not None:
            distances[loss], verdicts[loss] = _face(found, reference, leading, eta, tolerance)
    return ModelValidation(
        model=model.name,
        face=None if chosen is None else chosen.name,
        sizes=simulation.sizes,
        rows=tuple(rows),
        simulation=simulation,
        reach=reach,
        face_distance=distances,
        face_verdict=verdicts,
        tolerance=tolerance,
        warnings=simulation.warnings,
    )


def _rows(
    loss: str,
    reference: Resummation,
    leading: Resummation | None,
    grid: tuple[float, ...],
    eta: float,
    change: Change,
    replicas: int,
    tolerance: float,
) -> list[Row]:
    rows = []
    largest = 0.0
    for k, t in enumerate(grid):
        if t == 0:
            continue
        point = reference(eta * t)
        predicted = point.value - reference.start
        face = None if leading is None else leading(eta * t).value - leading.start
        measured, stderr = float(change.mean[k]), float(change.stderr[k])
        within = math.isfinite(point.error) and point.error <= tolerance * max(largest, abs(predicted))
        if not within:
            reason = f"beyond the reach of {reference.order} orders: its own error is {point.error:.2g}"
            rows.append(Row(loss, t, predicted, point.error, measured, stderr, "blind", reason, face))
            continue
        largest = max(largest, abs(predicted))
        rival = reference(_RIVAL_SPEED * eta * t).value - reference.start
        quantity = Quantity(
            f"change of {loss} at t = {t:g}",
            predicted,
            measured,
            stderr,
            _SHARP * largest,
            rival,
            "half the speed",
            allowance=point.error,
            replicas=replicas,
        )
        blind = stderr > _SHARP * largest
        reason = "the standard error is too large: more replicas" if blind else ""
        rows.append(
            Row(loss, t, predicted, point.error, measured, stderr, "blind" if blind else quantity.verdict, reason, face)
        )
    return rows


def _face(
    rows: list[Row], reference: Resummation, leading: Resummation, eta: float, tolerance: float
) -> tuple[float | None, FaceVerdict]:
    """How far the face is from the reference where both are known, as a part of the largest change."""
    distance, error, largest = 0.0, 0.0, 0.0
    for row in rows:
        near, far = reference(eta * row.time), leading(eta * row.time)
        if row.reason.startswith("beyond") or not math.isfinite(far.error):
            continue
        largest = max(largest, abs(near.value - reference.start))
        distance = max(distance, abs((near.value - reference.start) - (far.value - leading.start)))
        error = max(error, near.error + far.error)
    if not largest:
        return None, "undecided"
    part, doubt = distance / largest, error / largest
    if part + doubt <= tolerance:
        return part, "holds"
    return part, "fails" if part - doubt > tolerance else "undecided"


def _finite(value: object) -> object:
    return None if isinstance(value, float) and not math.isfinite(value) else value
