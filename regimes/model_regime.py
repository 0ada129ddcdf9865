"""The regime of a scaling of any model: the rates that win, by how much the others lose, and the scales. [P] §4."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from regimes.polytope_atlas import PATIENCE, PolytopeAtlas, RateFace, polytope_atlas
from regimes.scaling import parse_exponent, power
from theory.checks import rational
from theory.engine.laurent import Laurent
from theory.errors import InputError
from theory.latex import display
from theory.models.model import Model

Progress = Callable[[int, int], None]

VERSION = 1
_LEADING_ORDERS = 3
_PRINTED = 2
_NEAR_TIE = Fraction(1, 3)


@dataclass(frozen=True)
class Regime:
    """The regime of a scaling of a model.

    ``margins`` says for each rate by which power of N it falls short of the largest (0: it wins). The losses move while
    ηt ~ N^(−``rate_exponent``); by then each has changed by N to its entry in ``scales``, or rests (``None``).
    ``leading`` holds the part of the first coefficients of each loss that leads: E d^sL/dt^s = (−η)^s × the s-th.
    """

    model: str
    scaling: tuple[tuple[str, Fraction], ...]
    face: RateFace
    margins: tuple[tuple[str, Fraction], ...]
    rate_exponent: Fraction
    scales: tuple[tuple[str, Fraction | None], ...]
    leading: tuple[tuple[str, tuple[Laurent, ...]], ...]
    cone: tuple[str, ...]
    certificate: str
    warnings: tuple[str, ...]
    solution: str = "leading series"

    def to_json(self) -> dict[str, object]:
        """The face, its scales and its leading series; exponents as exact ratios in strings."""
        return {
            "version": VERSION,
            "model": self.model,
            "scaling": {name: str(exponent) for name, exponent in self.scaling},
            "face": self.face.name,
            "vertices": list(self.face.vertices),
            "dimension": self.face.dimension,
            "rate_exponent": str(self.rate_exponent),
            "scales": {loss: None if scale is None else str(scale) for loss, scale in self.scales},
            "solution": self.solution,
            "cone": list(self.cone),
            "terms": [
                {"vertex": rate, "rate_exponent": str(self.rate_exponent - margin), "margin": str(margin)}
                for rate, margin in self.margins
            ],
            "losses": {
                loss: {
                    "scale": None if scale is None else str(scale),
                    "leading": [{"s": s, "terms": c.to_json()} for s, c in enumerate(coefficients)],
                }
                for (loss, scale), (_, coefficients) in zip(self.scales, self.leading, strict=True)
            },
            "certificate": self.certificate,
            "warnings": list(self.warnings),
        }

    def to_text(self) -> str:
        """The regime with its reasons; warnings are left to the caller."""
        lines = [
            f"model       {self.model}",
            f"scaling     {', '.join(f'{name} = {power(exponent)}' for name, exponent in self.scaling)}",
            f"face        {self.face.name} (dimension {self.face.dimension})",
            f"rate        η·{power(self.rate_exponent)}: the losses move while ηt ~ {power(-self.rate_exponent)}",
            *(
                f"{loss:<11} " + ("rests" if scale is None else f"changes by {power(scale)}")
                for loss, scale in self.scales
            ),
            f"polytope    {self.certificate}",
            "",
            "rate as a power of N",
        ]
        width = max(len(rate) for rate, _ in self.margins)
        for rate, margin in self.margins:
            verdict = f"loses by {power(margin)}" if margin else "wins"
            lines.append(f"{rate:<{width}}  {power(self.rate_exponent - margin):<10} {verdict}")
        lines += ["", "leading part of the coefficients: E d^sL/dt^s = (-η)^s C_s at t = 0"]
        for loss, coefficients in self.leading:
            lines += [f"{loss}: C_{s} = {c}" for s, c in enumerate(coefficients[:_PRINTED])]
        return "\n".join(lines)

    def to_latex(self) -> str:
        r"""The cone and the scales, in an ``align*`` environment."""
        rows = [*self.cone, rf"\eta t \sim N^{{{-self.rate_exponent}}}"]
        rows += [
            rf"\text{{{loss}}}(t) - \text{{{loss}}}(0) " + (r"= 0" if scale is None else rf"\sim N^{{{scale}}}")
            for loss, scale in self.scales
        ]
        return display(f"& {row}" for row in rows)


def model_regime(
    model: Model | str | Path,
    scaling: Mapping[str, Fraction | int | str] | str,
    *,
    patience: float = PATIENCE,
    progress: Progress | None = None,
) -> Regime:
    """The face of a model's own polytope that a scaling selects, with its scales and leading series.

    ``scaling`` gives the exponent of N of every size, variance and parameter, exactly: by name, as text, whole numbers
    or fractions, or all in one text ``p=1,n=2,sigma2=-1``.

    >>> regime = model_regime("weight-decay", {"p": 1, "n": 1, "m": 2, "sigma2": -1, "decay": -1})
    >>> regime.face.name, str(regime.rate_exponent), dict(regime.scales)["train"] == 0
    ('1/p,sigma2*n/p,decay,sigma2', '-1', True)

    Raises ``InputError`` for exponents that are missing, unknown or inexact, and ``ReachError`` where the rates do not
    settle within ``patience`` seconds.
    """
    declared = Model.of(model)
    atlas = polytope_atlas(declared.plan, patience=patience, progress=progress)
    exponents = read_scaling(scaling, atlas.variables)
    rates = atlas.rate_exponents(exponents)
    largest = max(rates.values())
    losses = declared.loss_names
    return Regime(
        model=declared.name,
        scaling=tuple(exponents.items()),
        face=atlas.face_at(exponents),
        margins=tuple((rate, largest - exponent) for rate, exponent in rates.items()),
        rate_exponent=largest,
        scales=tuple((loss, atlas.loss_scale(loss, exponents)) for loss in losses),
        leading=tuple((loss, _leading(atlas, loss, exponents)) for loss in losses),
        cone=atlas.cone(atlas.face_at(exponents)),
        certificate=atlas.certificate,
        warnings=tuple(_warnings(atlas, exponents, rates)),
    )


def read_scaling(scaling: object, variables: tuple[str, ...]) -> dict[str, Fraction]:
    """The exponents by name in the order of the variables: a mapping, or text ``p=1,n=2,sigma2=-1``.

    >>> read_scaling("n=-1/2, p=1", ("p", "n"))
    {'p': Fraction(1, 1), 'n': Fraction(-1, 2)}
    """
    return {name: parse_exponent(name, value) for name, value in _by_name("scaling", scaling, variables).items()}


def _by_name(what: str, given: object, variables: tuple[str, ...]) -> dict[str, object]:
    """One value for each variable, in their order; ``InputError`` unless all are there, once, and no others."""
    remedy = f"name each of {', '.join(variables)} once"
    if isinstance(given, str):
        found: dict[str, object] = {}
        for item in given.split(","):
            name, _, value = (part.strip() for part in item.partition("="))
            if name in found:
                raise InputError(what, given=given, expected="each name once", remedy=remedy)
            found[name] = value
    elif isinstance(given, Mapping):
        found = dict(given)
    else:
        raise InputError(what, given=given, expected="a value for each variable", remedy=remedy)
    unknown = [name for name in found if name not in variables]
    missing = [name for name in variables if name not in found]
    if unknown or missing:
        expected = f"no {unknown[0]!r}" if unknown else f"also {', '.join(missing)}"
        shown = given if isinstance(given, str) else ", ".join(map(str, found)) or "nothing"
        raise InputError(what, given=shown, expected=expected, remedy=remedy)
    return {name: found[name] for name in variables}


def read_values(given: object, variables: tuple[str, ...], *, whole: tuple[str, ...]) -> dict[str, Fraction]:
    """Actual values by name, in the order of the variables: a mapping, or text ``p=200,n=100,sigma2=1/200``.

    All are positive and exact; those of ``whole`` are whole numbers from 1.

    >>> read_values("n=10, sigma2=0.005", ("n", "sigma2"), whole=("n",))
    {'n': Fraction(10, 1), 'sigma2': Fraction(1, 200)}
    """
    found = {}
    for name, value in _by_name("sizes", given, variables).items():
        exact = rational(f"size {name}", value, remedy=f"give for example {name}=100")
        if exact <= 0 or (name in whole and exact.denominator != 1):
            expected = "a whole number from 1" if name in whole else "a positive number"
            raise InputError(f"size {name}", given=value, expected=expected, remedy=f"give for example {name}=100")
        found[name] = exact
    return found


def _leading(atlas: PolytopeAtlas, loss: str, exponents: Mapping[str, Fraction]) -> tuple[Laurent, ...]:
    return tuple(c.leading(exponents) for c in atlas.series(loss)[: _LEADING_ORDERS + 1])


def _warnings(atlas: PolytopeAtlas, exponents: Mapping[str, Fraction], rates: Mapping[str, Fraction]) -> list[str]:
    warnings = []
    for name in atlas.plan.sizes:
        if exponents[name] == 0:
            warnings.append(
                f"{name} does not grow (exponent 0): limits want all sizes → ∞, so corrections of relative order"
                f" 1/{name} stay"
            )
        elif exponents[name] < 0:
            warnings.append(f"{name} shrinks (exponent {exponents[name]}): no whole number does")
    growth = max(exponents[name] for name in atlas.plan.sizes)
    largest = max(rates.values())
    warnings += [
        f"{rate} loses by only {power(largest - value)}, a factor"
        f" {1000 ** float((largest - value) / growth):.2g} where the largest size is 1000"
        for rate, value in rates.items()
        if growth > 0 and 0 < largest - value < _NEAR_TIE * growth
    ]
    if not atlas.exact:
        warnings.append(f"the polytope of {atlas.plan.name} rests on planar pairings beyond order {atlas.compared}")
    return warnings
