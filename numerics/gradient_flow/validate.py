"""The verb ``validate``: the theory at given sizes against simulation, and what a face costs there.

The reference is the interior's solution at the user's own ratios. A finite size adds c/N + e/N² to it, which a ladder
of other sizes in the same ratios measures. So the theory is judged by numerical and statistical errors alone, and a
face by its distance from the reference, for which no simulation is needed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, cast

import numpy as np

from numerics.gradient_flow.control_variate import expected_start
from numerics.gradient_flow.formulation import choose
from numerics.gradient_flow.ladder import Deviation, LossName, Rung, Term, finite_size_term, rungs
from numerics.gradient_flow.simulate import TOLERANCE, Simulation, simulate
from numerics.judge import STANDARD_ERRORS, Quantity, Verdict, standard_errors
from numerics.runs.machine import HERE, Machine, check_machine
from regimes.distance import LOSSES, Distance, at, distance
from regimes.faces import Face, parse_face
from regimes.limit import LimitCurves, limit
from regimes.ranking import rank_faces
from theory.autoencoder.sizes import Sizes, check_sizes
from theory.checks import positive
from theory.errors import InputError, ReachError
from theory.times import time_grid

FaceVerdict = Literal["holds", "fails", "undecided"]

RIVAL_SPEED = 0.8
"""The rival that must be rejected: the same theory at this speed, as if the learning rate were wrong by a fifth."""

BUDGET = 60.0
"""CPU seconds that the default number of replicas is made to fit into, the ladder included."""

FEWEST, MOST = 8, 200
"""The default number of replicas stays within these."""

TOLERANCE_OF_FACE = 0.05
REFERENCE = "interior and 1/N"
_PERFECT = "L(0)"


@dataclass(frozen=True)
class Validation:
    """The theory against a simulation, and a face against the theory; [P] §4, §5.

    ``reference`` is the interior's solution at these ratios, ``terms`` what the finite size adds to it (see
    ``numerics.gradient_flow.ladder``), ``quantities`` the comparison point by point: the loss itself at time 0, where
    its mean is known exactly; later its mean change since. ``distances`` says what the face costs at these ratios.
    ``verdict`` and ``face_verdict`` answer by loss.
    """

    face: Face
    sizes: Sizes
    tolerance: float
    simulation: Simulation
    reference: LimitCurves
    curves: LimitCurves | None
    terms: Mapping[LossName, Term]
    ladder: tuple[Rung, ...]
    quantities: Mapping[LossName, tuple[Quantity, ...]]
    distances: Mapping[LossName, Distance]
    warnings: tuple[str, ...]

    @property
    def verdict(self) -> dict[LossName, Verdict]:
        """By loss: ``fails`` where one point does, ``blind`` where no point rejects the rival, else ``holds``."""
        return {loss: _worst([quantity.verdict for quantity in self.quantities[loss]]) for loss in LOSSES}

    @property
    def face_verdict(self) -> dict[LossName, FaceVerdict]:
        """By loss: whether the face is within the tolerance; ``undecided`` within the reference's own error."""
        names: dict[bool | None, FaceVerdict] = {True: "holds", False: "fails", None: "undecided"}
        return {loss: names[self.distances[loss].within(self.tolerance)] for loss in LOSSES}

    @property
    def holds(self) -> bool:
        """Whether theory and face hold for both losses."""
        return set(self.verdict.values()) | set(self.face_verdict.values()) == {"holds"}

    @property
    def rule(self) -> str:
        """The acceptance rule in words."""
        return (
            f"theory: |measured − predicted| ≤ numerical error + {standard_errors(self.simulation.replicas):.3g} s.e."
            f" ({STANDARD_ERRORS:g} of a normal law, widened by Student's t for {self.simulation.replicas} replicas) at"
            f" every time, and the rival, the same theory at {RIVAL_SPEED:g} of the speed, is rejected at one time at"
            f" least; face: its distance from the interior is at most {self.tolerance:g} of the"
            " change of the loss"
        )

    def to_json(self) -> dict[str, Any]:
        """DESIGN's ``validate`` schema, and beside it what was run."""
        return {
            "version": 2,
            "model": "autoencoder",
            "face": self.face.name,
            "verdict": self.verdict,
            "face_distance": {loss: _finite(self.distances[loss].miss) for loss in LOSSES},
            "face_distance_error": {loss: _finite(self.distances[loss].error) for loss in LOSSES},
            "face_verdict": self.face_verdict,
            "tolerance": self.tolerance,
            "reference": REFERENCE,
            "rows": [row for loss in LOSSES for row in self._rows(loss)],
            "warnings": list(self.warnings),
            "sizes": self.sizes.to_json(),
            "eta": self.simulation.eta,
            "times": list(self.simulation.times),
            "replicas": self.simulation.replicas,
            "seed": self.simulation.seed,
            "rule": self.rule,
            "ladder": [{"sizes": rung.sizes.to_json(), "replicas": rung.replicas} for rung in self.ladder],
            "losses": {loss: getattr(self.simulation, loss).to_json() for loss in LOSSES},
        }

    def _rows(self, loss: LossName) -> list[dict[str, Any]]:
        return [
            {
                "loss": loss,
                "time": time,
                "name": quantity.name,
                "predicted": quantity.predicted,
                "measured": quantity.measured,
                "stderr": quantity.stderr,
                "numerical_error": quantity.allowance,
                "interior": self._interior(loss)[k],
                "face": self._face(loss)[k],
                "rival": quantity.rival,
                "verdict": quantity.verdict,
            }
            for k, (time, quantity) in enumerate(zip(self.simulation.times, self.quantities[loss], strict=True))
        ]

    def _interior(self, loss: LossName) -> list[float]:
        return _since_start(self.reference, loss)

    def _face(self, loss: LossName) -> Sequence[float | None]:
        return [None] * len(self.simulation.times) if self.curves is None else _since_start(self.curves, loss)

    def to_text(self) -> str:
        """Three parts: the theory's table, the face's distance, and the verdicts with what to do about them."""
        simulation = self.simulation
        ladder = ", ".join(f"{rung.replicas} at {rung.sizes}" for rung in self.ladder)
        lines = [
            f"{simulation.sizes}, η = {simulation.eta:g}",
            f"theory:    the interior at these ratios ({self.reference.method}), and its terms in 1/N",
            f"measured:  {simulation.replicas} replicas, seed {simulation.seed}; {simulation.formulation}",
            f"1/N:       from replicas in the same ratios: {ladder}",
            f"rule:      {self.rule}",
        ]
        for loss in LOSSES:
            lines += [
                "",
                f"{loss + ' loss':<18}{'predicted':>13}{'measured':>13}{'± s.e.':>10}{'numerical':>11}  verdict"
                f"{'interior':>20}{self.face.name:>15}",
            ]
            for row, quantity in zip(self._rows(loss), self.quantities[loss], strict=True):
                face = "—" if row["face"] is None else f"{row['face']:.6g}"
                lines.append(
                    f"{quantity.name:<18}{quantity.predicted:>13.6g}{quantity.measured:>13.6g}{quantity.stderr:>10.2g}"
                    f"{quantity.allowance:>11.2g}  {_point(quantity):<16}{row['interior']:>11.6g}{face:>15}"
                )
        verdict, face_verdict = self.verdict, self.face_verdict
        lines += ["", "theory:  " + ", ".join(f"{loss} {verdict[loss]}" for loss in LOSSES)]
        lines += [
            f"{self.face.name}: "
            + ", ".join(f"{loss} {face_verdict[loss]}, {self._off(loss)}" for loss in LOSSES)
            + f" (distance from the interior at these ratios; tolerance {100 * self.tolerance:g} %)"
        ]
        return "\n".join(lines)

    def _off(self, loss: LossName) -> str:
        found = self.distances[loss]
        if not np.isfinite(found.miss):
            return "beyond its reach"
        return f"{100 * found.miss:.2g} % off (± {100 * found.error:.1g} %)"


def validate(
    face: Face | str | None,
    sizes: Sizes,
    times: Iterable[float],
    *,
    replicas: int | None = None,
    seed: int,
    eta: float = 1.0,
    tolerance: float = TOLERANCE_OF_FACE,
    machine: Machine = HERE,
    force: bool = False,
) -> Validation:
    """Judge the theory at ``sizes`` by a simulation there, and ``face`` by the theory. [P] §4, §5.

    With ``face=None`` it is the smallest face within ``tolerance`` over the early change (see ``classify``). Time 0 is
    added to the grid where it is missing, as the point from which changes are measured. ``replicas`` are those at the
    user's sizes, by default as many as fit into a minute of CPU time (from 8 to 200); the ladder gets its own.

    >>> found = validate("R,N|m", Sizes.parse("p=20,n=2000,m=4000,sigma2=1/8000"), [0, 2, 5], replicas=8, seed=0)
    >>> found.verdict, found.face_verdict
    ({'train': 'holds', 'population': 'holds'}, {'train': 'holds', 'population': 'holds'})

    Raises what ``limit`` and ``simulate`` raise, and ``InputError`` for a single replica, no time after 0, or a
    tolerance that is not positive.
    """
    check_sizes(sizes)
    check_machine(machine)
    tolerance = positive("tolerance", tolerance, remedy="use for example tolerance=0.05")
    grid = time_grid(times)
    if grid[0] > 0:
        grid = (0.0, *grid)
    if len(grid) == 1:
        raise InputError("times", given=list(grid), expected="a time after 0", remedy="add one, for example 0,10")
    if replicas is None:
        replicas = affordable(sizes, grid, eta=eta)
    elif replicas < 2:
        raise InputError("replicas", given=replicas, expected="at least 2", remedy="use for example replicas=16")
    if face is None:
        face = rank_faces(sizes, tolerance=tolerance, whole=False).best
    place = parse_face(face) if isinstance(face, str) else face
    warnings: list[str] = []
    reference, rival = _reference(sizes, grid, eta)
    try:
        curves = reference if place == reference.face else limit(place, sizes, grid, eta=eta)
    except ReachError as error:
        curves = None
        warnings.append(f"{place.name} gives no answer at these times: {error}")
    plan = rungs(sizes, replicas=replicas)
    total = replicas + sum(rung.replicas for rung in plan)
    simulation = simulate(
        sizes, grid, replicas=replicas, seed=seed, eta=eta, machine=machine.part(0, total), force=force
    )
    deviations, done = [], replicas
    for rung in plan:
        deviations.append(_deviation(rung, reference, seed, machine.part(done, total)))
        done += rung.replicas
    smallest = min(sizes.p, sizes.n, sizes.m)
    terms = {loss: finite_size_term(loss, (deviations[0], deviations[1]), smallest=smallest) for loss in LOSSES}
    found = Validation(
        face=place,
        sizes=sizes,
        tolerance=tolerance,
        simulation=simulation,
        reference=reference,
        curves=curves,
        terms=terms,
        ladder=plan,
        quantities={loss: _quantities(loss, reference, rival, simulation, terms[loss]) for loss in LOSSES},
        distances={
            loss: distance(curves, reference, loss) if curves else Distance(float("inf"), 0.0) for loss in LOSSES
        },
        warnings=(*simulation.warnings, *warnings),
    )
    return replace(found, warnings=(*found.warnings, *_advice(found)))


def affordable(sizes: Sizes, times: Sequence[float], *, eta: float = 1.0) -> int:
    """How many replicas fit into ``BUDGET`` seconds of CPU time, with their share of the ladder.

    >>> affordable(Sizes.parse("p=30,n=30,m=30,sigma2=1/30"), [0.0, 30.0])
    200
    """

    def seconds(where: Sizes, end: float) -> float:
        return choose(where, end=end, eta=eta, tolerance=TOLERANCE).seconds

    each = seconds(sizes, times[-1])
    for rung in rungs(sizes, replicas=1):
        each += rung.replicas * seconds(rung.sizes, rung.times(times, sizes)[-1])
    return max(FEWEST, min(MOST, int(BUDGET / each)))


def _reference(sizes: Sizes, times: Sequence[float], eta: float) -> tuple[LimitCurves, LimitCurves]:
    """The interior at these times, and the rival: what it would be there at another speed. One solution serves both."""
    slower = [RIVAL_SPEED * t for t in times]
    both = limit("interior", sizes, sorted({*times, *slower}), eta=eta)

    def chosen(wanted: Sequence[float]) -> LimitCurves:
        return replace(at(both, [both.times.index(t) for t in wanted]), times=tuple(times))

    return chosen(times), chosen(slower)


def _deviation(rung: Rung, reference: LimitCurves, seed: int, machine: Machine) -> Deviation:
    times, eta = rung.times(reference.times, reference.sizes), reference.eta
    same = rung.same_ratios(reference.sizes)
    expected = reference if same else limit("interior", rung.sizes, times, eta=eta)
    measured = simulate(
        rung.sizes, times, replicas=rung.replicas, seed=seed, eta=eta, machine=machine, name=f"rung {rung.sizes}"
    )
    changes = {loss: getattr(measured, f"{loss}_change") for loss in LOSSES}
    return Deviation(
        rung,
        {loss: changes[loss].mean - np.array(_since_start(expected, loss)) for loss in LOSSES},
        {loss: changes[loss].stderr for loss in LOSSES},
    )


def _quantities(
    loss: LossName, reference: LimitCurves, rival: LimitCurves, measured: Simulation, term: Term
) -> tuple[Quantity, ...]:
    interior, slower = (np.array(_since_start(curves, loss)) for curves in (reference, rival))
    level, change = getattr(measured, loss), getattr(measured, f"{loss}_change")
    error = np.array(getattr(reference, f"{loss}_error"))
    unit = float(np.abs(interior).max())
    start = expected_start(measured.sizes)
    bound = float("inf")

    def quantity(k: int) -> Quantity:
        if k == 0:
            return Quantity(
                name=_PERFECT,
                predicted=start,
                measured=float(level.mean[0]),
                stderr=float(level.stderr[0]),
                stderr_bound=bound,
                rival=start,
                rival_name="none: the mean at time 0 is exact",
                allowance=1e-12 * max(1.0, abs(start)),
                replicas=measured.replicas,
            )
        numerical = abs(1 - term.share) * float(error[k] + error[0]) + float(term.truncation[k])
        return Quantity(
            name=f"L({measured.times[k]:g}) − L(0)",
            predicted=float(interior[k] + term.mean[k]),
            measured=float(change.mean[k]),
            stderr=float(np.hypot(change.stderr[k], term.stderr[k])),
            stderr_bound=unit,
            rival=float(slower[k] + term.mean[k]),
            rival_name=f"the same theory at {RIVAL_SPEED:g} of the speed",
            allowance=numerical,
            replicas=measured.replicas,
        )

    return tuple(quantity(k) for k in range(len(measured.times)))


def _worst(verdicts: Sequence[Verdict]) -> Verdict:
    if "fails" in verdicts:
        return "fails"
    return "holds" if "holds" in verdicts else "blind"


def _point(quantity: Quantity) -> str:
    if not quantity.agrees_with(quantity.predicted):
        return "FAILS"
    if quantity.name == _PERFECT:
        return "agrees, exact"
    return "agrees, blind" if quantity.agrees_with(quantity.rival) else "agrees"


def _since_start(curves: LimitCurves, loss: str) -> list[float]:
    values = cast(Sequence[float], getattr(curves, loss))
    return [value - values[0] for value in values]


def _finite(value: float) -> float | None:
    return value if np.isfinite(value) else None


def _advice(found: Validation) -> list[str]:
    """What keeps a blind verdict from seeing, and the remedy."""
    advice = []
    for loss, verdict in found.verdict.items():
        if verdict != "blind":
            continue
        points = found.quantities[loss][1:]
        enough = any(abs(q.rival - q.predicted) > 2 * q.allowance for q in points)
        advice.append(
            f"{loss}: no verdict, since the same theory at {RIVAL_SPEED:g} of the speed would have agreed too; "
            + ("take more replicas" if enough else "the numerical error covers it: take larger sizes or earlier times")
        )
    return advice
