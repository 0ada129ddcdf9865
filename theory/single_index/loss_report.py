"""Everything there is to say about the population loss of one link, in one result. [S] §2–3."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol, TypeVar

import sympy

from theory.errors import InputError, ReachError
from theory.latex import display
from theory.single_index.exponent import InformationExponent, information_exponent
from theory.single_index.link import Link
from theory.single_index.loss import PopulationLoss, check_overlaps
from theory.single_index.moments import derivative_mean
from theory.single_index.symbolic import ETA1, FIELDS, LAMBDA, NOISE, SPIKE_OVERLAP, SymbolicLoss, symbolic_loss
from theory.single_index.taylor import TaylorTerm, coefficient_value, show, taylor_terms, variance_slope
from theory.single_index.trap import Trap, trap
from theory.single_index.verdict import Verdict, verdict

_TERSE_DEGREE = 6
_Result = TypeVar("_Result")


@dataclass(frozen=True)
class PointValues:
    """Φ and its gradients at one point (m_1, m_2), with the error estimate of the value."""

    m1: float
    m2: float
    value: float
    error: float
    variance: float
    alignment: float
    constant: float
    gradient: tuple[float, float]
    spherical_gradient: tuple[float, float]
    method: str


class Outlook(Protocol):
    """What is expected at one dimension, start and budget; made above this package, shown with the rest."""

    def to_json(self) -> dict[str, object]:
        """Flat record."""
        ...

    def to_text(self) -> str:
        """One line."""
        ...


@dataclass(frozen=True)
class LossReport:
    """What ``describe_loss`` found; ``spiked_exponent`` is the exponent seen at the label's variance B.

    ``setting`` is (λ, η_1) if they were given, and then there is a ``verdict``; ``point`` holds values if a point was.
    """

    link: Link
    order: int
    exponent: InformationExponent
    spiked_exponent: int | None
    symbolic: SymbolicLoss
    taylor: tuple[TaylorTerm, ...]
    variance_slope: sympy.Expr
    setting: tuple[float, float] | None
    noise: float
    trap: Trap | None
    point: PointValues | None
    verdict: Verdict | None
    warnings: tuple[str, ...] = ()
    outlook: Outlook | None = None

    def population_loss(self) -> sympy.Expr:
        """Φ in m_1, m_2 and whichever of λ, η_1 were left open."""
        return self.symbolic.in_overlaps.subs(NOISE, _rational(self.noise)).subs(self._numbers())

    @property
    def numeric(self) -> PopulationLoss | None:
        """The loss with its numbers, where λ and η_1 were given."""
        if self.setting is None:
            return None
        return PopulationLoss(self.link, lam=self.setting[0], eta1=self.setting[1], noise=self.noise)

    def _numbers(self) -> dict[sympy.Symbol, sympy.Rational]:
        if self.setting is None:
            return {}
        return {LAMBDA: _rational(self.setting[0]), ETA1: _rational(self.setting[1])}

    def to_json(self) -> dict[str, object]:
        """The interface's record: formulas as text that SymPy reads (``lamda`` is λ), values if a point was given."""
        record: dict[str, object] = {
            "link": self.link.text,
            "information_exponent": self.exponent.exponent,
            "information_exponent_spiked": self.spiked_exponent,
            "hermite_coefficients": [
                {"k": k, "value": c.value, "error": c.error} for k, c in enumerate(self.exponent.coefficients)
            ],
            "population_loss": str(self.population_loss()),
            "closed_form": self.symbolic.family,
            "parts": {name: str(part) for name, part in self._parts().items()},
            "fields": {str(symbol): str(value) for symbol, value in FIELDS.items()},
            "taylor": [self._term_record(term) for term in self.taylor],
            "variance_slope": float(self.variance_slope),
            "trapped_when_aligned": self._trap_word(),
        }
        record["unresolved_orders"] = list(self.exponent.unresolved)
        record["warnings"] = list(self.warnings)
        if self.setting is not None:
            record |= {"lambda": self.setting[0], "eta1": self.setting[1], "noise": self.noise}
        if self.verdict is not None:
            record |= self.verdict.to_json()
        if self.outlook is not None:
            record["at"] = self.outlook.to_json()
        if self.trap is not None:
            record["trap"] = self.trap.to_json()
        if self.point is not None:
            p = self.point
            record |= {
                "m1": p.m1,
                "m2": p.m2,
                "value": p.value,
                "error": p.error,
                "method": p.method,
                "values": {"variance": p.variance, "alignment": p.alignment, "constant": p.constant},
                "gradient": list(p.gradient),
                "spherical_gradient": list(p.spherical_gradient),
            }
        return record

    def to_text(self) -> str:
        """For people: exponent, the loss in its three parts, the expansion at zero overlap, the trap, the values."""
        lines = [
            f"link f(x) = {self.link.text}{'' if self.numeric is None else f', {self.numeric.spike}'}",
            *([] if self.verdict is None else [self.verdict.to_text()]),
            *([] if self.outlook is None else [self.outlook.to_text()]),
            f"information exponent {self.exponent.exponent}{self._spiked_words()}",
            "",
            f"population loss Φ = variance + alignment + constant ({self.symbolic.family or 'no closed form: series'})",
            *(f"  {name:<9} {_plain(part)}" for name, part in self._parts().items()),
            "  with      " + ",  ".join(f"{symbol} = {_plain(value)}" for symbol, value in FIELDS.items()),
            "            s = η1·m1 + √(1 − η1²)·m2",
            "",
            f"around zero overlap, to order {self.order} (s = X·v):",
            *(_term_line(term, self._value(term)) for term in self.taylor),
            "",
            f"V′(1) = {show(self.variance_slope)}: {self._trap_sentence()}",
        ]
        if self.trap is not None and self.trap.radius is not None and self.trap.barrier is not None:
            lines.append(f"  radius r* = {self.trap.radius:.6g}, barrier Φ(r*) − Φ(0) = {self.trap.barrier:.6g}")
        if self.point is not None:
            p = self.point
            lines += [
                "",
                f"at m = ({p.m1:g}, {p.m2:g}): Φ = {p.value:.10g} ± {p.error:.1g} ({p.method})",
                f"  variance {p.variance:.8g}, alignment {p.alignment:.8g}, constant {p.constant:.8g}",
                f"  gradient ({p.gradient[0]:.8g}, {p.gradient[1]:.8g})",
                f"  spherical gradient ({p.spherical_gradient[0]:.8g}, {p.spherical_gradient[1]:.8g})",
            ]
        lines += [f"note: {warning}" for warning in self.warnings]
        return "\n".join(lines)

    def to_latex(self) -> str:
        """Φ, its fields and the Taylor terms that do not vanish, as an ``align*``."""
        parts = self._parts()
        rows = [
            rf"\Phi &= {_latex(parts['variance'])}",
            rf"&\quad {_signed(parts['alignment'])}",
            rf"&\quad {_signed(parts['constant'])}",
            *(rf"{symbol} &= {_latex(value)}" for symbol, value in FIELDS.items()),
            r"\bar s &= \eta_1 m_1 + \sqrt{1-\eta_1^2}\, m_2",
        ]
        kept = [term for term in self.taylor if not term.vanishes]
        rows += [rf"\Phi_{{{term.order}}} &\ni {_latex(_monomial(term))} && \text{{({term.kind})}}" for term in kept]
        return display(rows)

    def _value(self, term: TaylorTerm) -> float | None:
        return (
            None
            if self.setting is None
            else coefficient_value(term, self.link, lam=self.setting[0], eta1=self.setting[1])
        )

    def _term_record(self, term: TaylorTerm) -> dict[str, object]:
        record: dict[str, object] = {**term.to_json(), "gradient": [str(part) for part in term.gradient]}
        return record if self.setting is None else {**record, "coefficient_value": self._value(term)}

    def _parts(self) -> dict[str, sympy.Expr]:
        parts = {"variance": self.symbolic.variance, "alignment": self.symbolic.alignment}
        parts["constant"] = (
            self.symbolic.constant.subs(NOISE, _rational(self.noise)) if self.noise else (self.symbolic.constant)
        )
        if self.link.is_polynomial and self.link.degree <= _TERSE_DEGREE:
            return {name: sympy.expand(part) for name, part in parts.items()}
        return parts

    def _trap_word(self) -> bool | None:
        """Whether m = 0 is a trap at η_1 = 1, where the sign of V′(1) alone decides (exponent from 3 on)."""
        if self.trap is not None:
            return self.trap.trapped
        return bool(self.variance_slope > 0) if self.exponent.exponent >= 3 and self.variance_slope != 0 else None

    def _trap_sentence(self) -> str:
        trapped = self._trap_word()
        if trapped is None:
            return "at η1 = 1, give --lambda to see whether zero overlap is a trap"
        if self.setting is not None and self.setting[0] == 0:
            return "idle at λ = 0"
        elsewhere = self.setting is not None and self.setting[1] < 1
        return f"at η1 = 1, zero overlap {'would be' if elsewhere else 'is'} {'a trap' if trapped else 'no trap'}"

    def _spiked_words(self) -> str:
        if self.spiked_exponent is None or (self.setting is not None and self.setting[0] == 0):
            return ""
        return f"; {self.spiked_exponent} after the spike rescales the label's field to variance B = 1 + λη1²"


def describe_loss(
    link: Link,
    *,
    lam: float | None = None,
    eta1: float | None = None,
    point: tuple[float, float] | None = None,
    order: int = 4,
    noise: float = 0.0,
) -> LossReport:
    """The population loss of a link: formula, exponents, expansion; numbers where λ, η_1 and a point are given.

    >>> report = describe_loss(Link.parse("x**3-3*x"), lam=1.0, eta1=0.45, point=(0.3, 0.2))
    >>> report.exponent.exponent, report.spiked_exponent, round(report.point.value, 6)
    (3, 1, 17.734238)

    Raises ``InputError`` where a point comes without λ and η_1, or one of these without the other.
    """
    if (lam is None) != (eta1 is None):
        raise InputError(
            "lambda, eta1", given=(lam, eta1), expected="both or neither", remedy="give lam=1 and eta1=0.45"
        )
    if point is not None and lam is None:
        raise InputError("m1, m2", given=point, expected="also lambda and eta1", remedy="add lam=1 and eta1=0.45")
    PopulationLoss(link, lam=0.0, eta1=1.0, noise=noise)  # refuses a noise that is none, also without λ and η_1
    setting = None if lam is None or eta1 is None else (float(lam), float(eta1))
    numeric = None if setting is None else PopulationLoss(link, lam=setting[0], eta1=setting[1], noise=noise)
    warnings: list[str] = []
    judged = None
    spiked = _attempt(lambda: _spiked_exponent(link, numeric), "the exponent seen by the labels", warnings)
    found_trap = None if lam is None else _attempt(lambda: trap(link, lam=float(lam)), "the trap at η1 = 1", warnings)
    if numeric is not None:
        judged = _attempt(lambda: verdict(numeric), "the verdict", warnings)
        warnings += judged.warnings if judged else ()
    exponent = information_exponent(link)
    if exponent.unresolved:
        orders = ", ".join(map(str, exponent.unresolved))
        warnings.append(f"whether the coefficient of order k = {orders} vanishes is unresolved")
    return LossReport(
        link=link,
        order=order,
        exponent=exponent,
        spiked_exponent=spiked,
        symbolic=symbolic_loss(link),
        taylor=taylor_terms(link, order=order),
        variance_slope=variance_slope(link),
        setting=setting,
        noise=noise,
        trap=found_trap,
        verdict=judged,
        point=None if numeric is None or point is None else _values(numeric, *check_overlaps(*point)),
        warnings=tuple(warnings),
    )


def _attempt(compute: Callable[[], _Result], what: str, warnings: list[str]) -> _Result | None:
    """The result, or a warning that it is out of reach: the rest of the report does not depend on it."""
    try:
        return compute()
    except ReachError as error:
        warnings.append(f"{what} is left out: {error}")
        return None


def _values(loss: PopulationLoss, m1: float, m2: float) -> PointValues:
    parts = loss.parts(m1, m2)
    gradient, spherical = loss.gradient(m1, m2), loss.spherical_gradient(m1, m2)
    variance, alignment = float(parts.variance), float(parts.alignment)
    return PointValues(
        m1=m1,
        m2=m2,
        value=variance + alignment + parts.constant,
        error=float(loss.error_at(m1, m2)),
        variance=variance,
        alignment=alignment,
        constant=parts.constant,
        gradient=(float(gradient[0]), float(gradient[1])),
        spherical_gradient=(float(spherical[0]), float(spherical[1])),
        method=loss.method,
    )


def _spiked_exponent(link: Link, loss: PopulationLoss | None) -> int | None:
    """At B: numerically where λ and η_1 are known; else, for polynomials, at generic λη_1 ≠ 0."""
    if loss is not None:
        return information_exponent(link, variance=loss.B).exponent
    if not link.is_polynomial:
        return None
    B = sympy.Symbol("B", positive=True)
    return next(k for k in range(1, link.degree + 1) if sympy.expand(derivative_mean(link, k, B)) != 0)


def _rational(value: float) -> sympy.Rational:
    exact = Fraction(repr(float(value)))
    return sympy.Rational(exact.numerator, exact.denominator)


def _monomial(term: TaylorTerm) -> sympy.Expr:
    s, C = sympy.Symbol("sbar"), sympy.Symbol("C")
    return term.coefficient * s**term.spike_power * C**term.signal_power


def _term_line(term: TaylorTerm, value: float | None) -> str:
    shape = "·".join(
        f"{name}^{power}" if power > 1 else name
        for name, power in (("s", term.spike_power), ("C", term.signal_power))
        if power
    )
    factor = show(term.coefficient) if value is None or term.vanishes else f"{value:.6g}"
    left = f"({_plain(factor)})·{shape}"
    return f"  order {term.order}  {term.kind:<9} {left:<30} {_plain(term.why)}"


def _plain(expression: sympy.Expr | str) -> str:
    text = str(expression)
    for pattern, readable in ((r"\blamda\b", "λ"), (r"\beta1\b", "η1"), (r"\*\*", "^"), (r"\bnoise\b", "Var ε")):
        text = re.sub(pattern, readable, text)
    return text.replace("(η1*m1 + m2*sqrt(1 - η1^2))", "s")


def _latex(expression: sympy.Expr) -> str:
    spike = sympy.Symbol("sbar")
    shown = expression.subs(SPIKE_OVERLAP, spike)
    return str(sympy.latex(shown, symbol_names={spike: r"\bar s", NOISE: r"\operatorname{Var}\varepsilon"}))


def _signed(expression: sympy.Expr) -> str:
    text = _latex(expression)
    return text if text.startswith("-") else f"+ {text}"
