"""Which regime a scaling is in: the terms that win, by how much the others lose, the time and loss scales. [P] §4."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import overload

from regimes.atlas import ATLAS
from regimes.faces import Face
from regimes.model_regime import Regime, model_regime, read_scaling
from regimes.prism import SIZE_NAMES, VERTICES
from regimes.scaling import Scaling, power
from theory.errors import InputError
from theory.latex import display
from theory.models.model import Model

AUTOENCODER_NAME = "autoencoder"
VERSION = 1
_MEANING = {
    "R": "target term",
    "N": "quadratic term, new pair of weights on an n node",
    "P": "quadratic term, new pair of weights on a p node",
}
_NEAR_TIE = Fraction(1, 3)
"""A vertex that loses by less than this power of the largest size is within a factor 10 where that size is 1000."""


@dataclass(frozen=True)
class Classification:
    """The regime of a scaling.

    ``deficits`` says by which power of N each of the six rates falls short of the largest (0: it wins). The losses
    move while ηt ~ N^(−``rate_exponent``); by then L̂(t) − L̂(0) ~ N^``train_scale`` and L(t) − L(0) ~
    N^``population_scale``. ``solution`` names the kind of solution the atlas holds for the face.
    """

    scaling: Scaling
    face: Face
    deficits: tuple[tuple[str, Fraction], ...]
    rate_exponent: Fraction
    train_scale: Fraction
    population_scale: Fraction
    solution: str
    warnings: tuple[str, ...]

    def to_json(self) -> dict[str, object]:
        """The face and its scales; exponents as exact ratios in strings.

        ``terms`` has the exponent of each of the six rates, and the ``margin`` by which it loses (0: it wins).
        """
        return {
            "version": VERSION,
            "model": AUTOENCODER_NAME,
            "scaling": self.scaling.to_json(),
            "face": self.face.name,
            "vertices": list(self.face.vertices),
            "dimension": self.face.dimension,
            "rate_exponent": str(self.rate_exponent),
            "train_scale": str(self.train_scale),
            "population_scale": str(self.population_scale),
            "scales": {"train": str(self.train_scale), "population": str(self.population_scale)},
            "solution": self.solution,
            "warnings": list(self.warnings),
            "terms": [
                {"vertex": name, "rate_exponent": str(self.rate_exponent - deficit), "margin": str(deficit)}
                for name, deficit in self.deficits
            ],
        }

    def to_text(self) -> str:
        """The classification with its reasons; warnings are left to the caller."""
        deficits = dict(self.deficits)
        lines = [
            f"scaling     {self.scaling}",
            f"face        {self.face.name}: vertices {' '.join(self.face.vertices)} (dimension {self.face.dimension})",
            f"rate        η·{power(self.rate_exponent)}: the losses move while ηt ~ {power(-self.rate_exponent)}",
            f"train       L̂(t) − L̂(0) ~ {power(self.train_scale)}"
            + (", a small part of the constant ½" if self.train_scale < 0 else ""),
            f"population  L(t) − L(0) ~ {power(self.population_scale)}"
            + ("" if "m" in self.face.segment else ", a factor m/p below the train loss"),
            f"solution    {self.solution}",
            "",
            "term  rate   as a power of N",
        ]
        for vertex in VERTICES:
            deficit = deficits[vertex.name]
            verdict = f"loses by {power(deficit)}" if deficit else f"wins: {_MEANING[vertex.triangle]}"
            lines.append(f"{vertex.name:<5} {vertex.formula:<6} {power(self.rate_exponent - deficit):<10} {verdict}")
        return "\n".join(lines)

    def to_latex(self) -> str:
        """The scales as display lines.

        >>> print(classify(Scaling(p=1, n=1, m=2, sigma2=-1)).to_latex().splitlines()[1])
        \\text{face} & \\{R, N, P\\} \\times \\{m\\} \\quad \\text{(large-data)} \\\\
        """
        triangle = ", ".join(a for a in "RNP" if a in self.face.triangle)
        segment = ", ".join(b for b in "mp" if b in self.face.segment)
        name = "" if "|" in self.face.name else rf" \quad \text{{({self.face.name})}}"
        rows = (
            rf"\text{{face}} & \{{{triangle}\}} \times \{{{segment}\}}{name}",
            rf"\eta t & \sim N^{{{-self.rate_exponent}}}",
            rf"\hat L(t) - \hat L(0) & \sim N^{{{self.train_scale}}}",
            rf"L(t) - L(0) & \sim N^{{{self.population_scale}}}",
        )
        return display(rows)


@overload
def classify(scaling: Scaling) -> Classification: ...
@overload
def classify(
    scaling: Scaling | Mapping[str, Fraction | int | str] | str,
    *,
    model: Model | str | Path,
    progress: Callable[[int, int], None] | None = ...,
) -> Classification | Regime: ...
def classify(
    scaling: Scaling | Mapping[str, Fraction | int | str] | str,
    *,
    model: Model | str | Path = AUTOENCODER_NAME,
    progress: Callable[[int, int], None] | None = None,
) -> Classification | Regime:
    """The face that a scaling selects, with its scales: of the prism, or of any model's own polytope. [P] §4.

    For another ``model`` than the autoencoder the scaling is a mapping or a text ``p=1,n=2,…`` of exponents, and the
    result a ``Regime``: see ``regimes.model_regime.model_regime``.

    The scales are those of the moving parts at times ηt ~ N^(−rate). Before any merge a leading term of L̂ or L is one
    of σ²n × {1, σ²n, σ²p} for R, N, P, and every merge multiplies it by a rate: L̂(t) − L̂(0) ~ σ²n · max(1, σ²n, σ²p).
    (Beside it stands the constant ½, which does not move.) The population loss needs a contracted m node in its first
    derivative, whatever the later ones contract: L(t) − L(0) is smaller by m / max(m, p). Where a leading coefficient
    vanishes, as on ``R,P|p`` at σ²p = 2, the true scale is smaller.

    >>> result = classify(Scaling(p=2, n=2, m=1, sigma2=-2))
    >>> result.face.name, str(result.rate_exponent), str(result.train_scale), str(result.population_scale)
    ('small-data', '-1', '0', '-1')

    Raises ``InputError`` for what is no scaling.
    """
    if model != AUTOENCODER_NAME:
        declared = Model.of(model)
        if declared != Model.named(AUTOENCODER_NAME):
            exponents = scaling.weights if isinstance(scaling, Scaling) else scaling
            return model_regime(declared, exponents, progress=progress)
    if isinstance(scaling, str | Mapping):
        scaling = Scaling(**read_scaling(scaling, SIZE_NAMES))
    if not isinstance(scaling, Scaling):
        raise InputError(
            "scaling",
            given=scaling,
            expected="a Scaling, or exponents by name",
            remedy="give for example Scaling(p=1, n=1, m=2, sigma2=-1); rank_faces takes actual sizes",
        )
    rates = scaling.rates
    largest = max(rates.values())
    face = scaling.face()
    train = scaling.sigma2 + scaling.n + max(Fraction(0), scaling.sigma2 + scaling.n, scaling.sigma2 + scaling.p)
    return Classification(
        scaling=scaling,
        face=face,
        deficits=tuple((name, largest - rate) for name, rate in rates.items()),
        rate_exponent=largest,
        train_scale=train,
        population_scale=train + scaling.m - max(scaling.m, scaling.p),
        solution=ATLAS[face.name].solution,
        warnings=(*_size_warnings(scaling), *_tie_warnings(scaling)),
    )


def _size_warnings(scaling: Scaling) -> list[str]:
    warnings = []
    for name, exponent in zip(SIZE_NAMES[:3], scaling.exponents[:3], strict=True):
        if exponent == 0:
            warnings.append(
                f"{name} does not grow (exponent 0): the limits want p, n, m → ∞, so corrections of relative order"
                f" 1/{name} stay"
            )
        elif exponent < 0:
            warnings.append(
                f"{name} shrinks (exponent {exponent}): no whole number does; the face is right for the six rates but"
                " no model has such sizes"
            )
    return warnings


def _tie_warnings(scaling: Scaling) -> list[str]:
    growth = max(scaling.exponents[:3])
    largest = scaling.rate_exponent
    near = [(name, largest - rate) for name, rate in scaling.rates.items() if 0 < largest - rate < _NEAR_TIE * growth]
    return [
        f"{name} loses by only {power(deficit)}, a factor {1000 ** float(deficit / growth):.2g} where the largest size"
        " is 1000: ties are exact, but at such sizes the larger face describes the curves better"
        for name, deficit in near
    ]
