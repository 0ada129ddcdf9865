"""The verb ``solve``: from the series of a face to the equation that it satisfies. [D] §4."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from regimes.classify import classify
from regimes.derive import AUTOENCODER_NAME, Source, derive
from regimes.faces import Face, parse_face
from regimes.prism import SIZE_NAMES
from theory.autoencoder.sizes import Sizes
from theory.checks import whole
from theory.equations.closed_form import ClosedForm, close
from theory.equations.equation import Equation, monomial_text
from theory.equations.evaluate import Curve, evaluate
from theory.equations.reduced import TIME, ReducedSeries, reduce_series
from theory.equations.search import Findings, search
from theory.errors import ReachError
from theory.latex import display
from theory.models.model import Model

Progress = Callable[[int, int], None]
DEFAULT_ORDER = 10
MODELS_ORDER = 8
LEAST_ORDER = 4


@dataclass(frozen=True)
class Solution:
    """The equations of a face's leading loss, or how far there is none.

    F = Σ_s c_s u^s/s!, c_s the face's part of the coefficients of ``derive``, equals prefactor × G(x, …), where u is
    −ηt/pm for the autoencoder and −ηt for every other model; ``series`` holds G and the variables, ``findings`` the
    operators and the box searched. ``constant`` is by how much the loss exceeds F.
    """

    face: str
    loss: str
    series: ReducedSeries
    findings: Findings
    constant: Fraction = Fraction(0)
    closed_form: ClosedForm | None = None
    warnings: tuple[str, ...] = ()
    model: str = AUTOENCODER_NAME

    @property
    def equations(self) -> tuple[Equation, ...]:
        """The equations of G, minimal generators of what was found."""
        return tuple(
            Equation(operator, self.series.names, self.series.constant) for operator in self.findings.operators
        )

    def curve(
        self, sizes: Sizes | Mapping[str, Fraction | int], times: Sequence[float], *, eta: float = 1.0, digits: int = 25
    ) -> Curve:
        """The face's leading loss at given sizes and times, from the solution that was found, with error estimates.

        ``sizes`` gives every size, variance and parameter of another model than the autoencoder by name.

        Raises ``ReachError`` where no solution was found.
        """
        if self.closed_form is None:
            raise ReachError(
                "curve",
                given=self.face,
                reach="faces whose equations were solved",
                remedy="use limit, which has the solutions found by hand",
            )
        given = sizes if isinstance(sizes, Mapping) else {name: getattr(sizes, name) for name in SIZE_NAMES}
        point = {name: Fraction(value) for name, value in given.items()}
        rate = 1 / (point["p"] * point["m"]) if self.model == AUTOENCODER_NAME else Fraction(1)
        moments = [-Fraction(t) * Fraction(eta) * rate for t in times]
        series = self.series
        values = {name: _value(powers, point) for name, powers in series.variables.items()}
        unit = values.pop(series.names[0])
        found = evaluate(self.closed_form, [u * unit for u in moments], values, digits=digits)
        before = float(_value(series.prefactor, point))
        start = self.constant - series.constant  # a constant of another size than F
        return Curve(
            tuple(float(start) + before * v for v in found.values), tuple(abs(before) * e for e in found.errors)
        )

    def to_json(self) -> dict[str, Any]:
        """Everything, with exponents by name and exact coefficients as text."""
        series, found = self.series, self.findings
        return {
            "model": self.model,
            "face": self.face,
            "loss": self.loss,
            "prefactor": dict(series.prefactor),
            "variables": {name: dict(powers) for name, powers in series.variables.items()},
            "scalings": [scaling.to_json() for scaling in series.scalings],
            "equations": [equation.to_json() for equation in self.equations],
            "box": {
                "order": found.box.order,
                "degree": found.box.degree,
                "time_degree": found.box.time_degree,
                "unknowns": found.unknowns,
                "conditions": found.conditions,
            },
            "fitted_to": found.fitted_to,
            "checked_to": found.checked_to,
            "closed_form": str(self.closed_form) if self.closed_form else None,
            "warnings": list(self.warnings),
            "version": 1,
        }

    def to_text(self) -> str:
        """The variables, the equations, how they were found, and the solution."""
        time = "-ηt/pm" if self.model == AUTOENCODER_NAME else "-ηt"
        lines = [f"{self.face}, {self.loss}: F = Σ_s c_s u^s/s!, u = {time}"]
        before = _monomial(self.series.prefactor)
        lines.append(f"F = {before + ' ' if before else ''}G({', '.join(self.series.names)})")
        lines += [f"  {name} = {_monomial(powers)}" for name, powers in self.series.variables.items()]
        lines += [f"scaling: {scaling}" for scaling in self.series.scalings]
        lines += [str(equation) for equation in self.equations]
        lines.append(self._verdict())
        if self.closed_form:
            lines.append(f"G = {self.closed_form}")
        return "\n".join(lines)

    def to_latex(self) -> str:
        r"""An ``align*`` environment: the variables, the equations, the solution."""
        before = monomial_text(self.series.prefactor, self.series.prefactor.values(), latex=True)
        time = r"\frac{\eta t}{pm}" if self.model == AUTOENCODER_NAME else r"\eta t"
        rows = [
            rf"& F = \sum_s c_s \frac{{u^s}}{{s!}} = {before}\, G({', '.join(self.series.names)}),"
            rf"\quad u = -{time}"
        ]
        rows += [
            rf"& {name} = {monomial_text(powers, powers.values(), latex=True)}"
            for name, powers in self.series.variables.items()
        ]
        rows += [row for equation in self.equations for row in equation.to_latex()]
        if not self.equations:
            box, _, rest = self._verdict().partition(" (")
            rows += [rf"& \text{{{box}}}", rf"& \text{{({rest}}}"]
        if self.closed_form:
            first, *others = self.closed_form.to_latex()
            rows += [f"& G = {first}", *(f"& {row}" for row in others)]
        return display(rows)

    def _verdict(self) -> str:
        found = self.findings
        box = f"order {found.box.order}, degree {found.box.degree}, degree {found.box.time_degree} in x"
        counts = f"{found.unknowns} unknowns, {found.conditions} equations"
        if self.equations:
            return f"found at {box} ({counts}), fitted to s = {found.fitted_to}, holds to s = {found.checked_to}"
        return f"none up to {box} ({counts}), from the series to s = {found.checked_to}"


def solve(
    face: Face | str,
    loss: str = "train",
    *,
    model: Model | str | Path = AUTOENCODER_NAME,
    order: int | None = None,
    operator_order: int = 2,
    degree: int = 3,
    time_degree: int = 1,
    closed: bool = True,
    force: bool = False,
    source: Source | None = None,
    progress: Progress | None = None,
) -> Solution:
    """Find the linear equations that the leading loss of a face satisfies, from its exact coefficients alone. [D] §4.

    ``face`` is a face of the prism or, of another ``model``, the list of rates that win. ``order`` is that of the
    series; ``operator_order``, ``degree`` (in the drives and ratios) and ``time_degree`` bound the search; ``closed``
    asks for the solution as well.

    The last two orders of the series, and a fifth of all conditions at least, only check.

    >>> print(solve("R,N|m", order=6).equations[0])
    G_x + (-4 A^2 + 4 A) G_A = 0

    Raises ``InputError`` for an unknown face or loss and an order below 4.
    """
    declared = AUTOENCODER_NAME if model == AUTOENCODER_NAME else Model.of(model)
    ours = declared == AUTOENCODER_NAME or declared == Model.named(AUTOENCODER_NAME)
    if order is None:
        order = DEFAULT_ORDER if ours else MODELS_ORDER
    order = whole("order", order, least=LEAST_ORDER, remedy="use for example --order 10")
    if ours:
        chosen = face if isinstance(face, Face) else parse_face(face)
        found = derive(loss, order=order, face=chosen, force=force, source=source)
        coefficients, constant, name = found.coefficients, found.constant, AUTOENCODER_NAME
        place = chosen.name
    else:
        series_of = derive(loss, order=order, model=declared, face=face, force=force)
        coefficients, constant, place = series_of.coefficients, Fraction(0), str(face)
        name = Model.of(declared).name
    series = reduce_series(coefficients, constant=constant)
    findings = search(series, order=operator_order, degree=degree, time_degree=time_degree, progress=progress)
    solution = close(series) if closed else None
    return Solution(place, loss, series, findings, constant, solution, _warnings(findings), name)


def solve_at(scaling: Mapping[str, Fraction | int | str] | str, *, model: Model | str | Path = AUTOENCODER_NAME) -> str:
    """The face that a scaling selects, as ``solve`` takes it.

    >>> solve_at("p=1,n=2,m=1,sigma2=-2")
    'mean-field'
    """
    return classify(scaling, model=model).face.name


def _warnings(findings: Findings) -> tuple[str, ...]:
    if not findings.open_boxes:
        return ()
    box = findings.open_boxes[-1]
    return (
        f"the series does not decide {len(findings.open_boxes)} of the boxes searched, up to order {box.order}, "
        f"degree {box.degree}, degree {box.time_degree} in x: derive to a higher order",
    )


def _value(powers: Mapping[str, int], point: Mapping[str, Fraction]) -> Fraction:
    """A monomial at given sizes, u apart."""
    total = Fraction(1)
    for name, power in powers.items():
        if name != TIME:
            total *= point[name] ** power
    return total


def _monomial(powers: Any) -> str:
    return monomial_text(powers, powers.values())
