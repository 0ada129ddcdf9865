"""Separation: a series whose coefficients factorise is an integral of a simpler one.

If the coefficient of x^s A^k r^j is h(s, k) · μ_s(j), then G = ∫ H(xλ, A) dμ(λ), where H has the coefficients h and
μ the moments μ_s = Σ_j μ_s(j) r^j. If that of x^s A^a B^b is h(s, a + b) · μ_{a+b}(a, b), then G = ∫ H(x, λ) dμ(λ).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations

from theory.equations.reduced import Powers, ReducedSeries

LAMBDA = "λ"


@dataclass(frozen=True)
class Factors:
    """G = ∫ H dμ(λ): ``kernel`` is H, ``moments`` the series Σ_k z^k ∫ λ^k dμ.

    Where ``rescales_time`` the kernel is taken at the time xλ, else λ is its drive.
    """

    kernel: ReducedSeries
    moments: ReducedSeries
    rescales_time: bool


def factorisations(series: ReducedSeries) -> Iterator[Factors]:
    """The ways in which G (with its constant apart) factorises.

    Tried are the moments in any set of drives, the last ones first, graded by the power of the time or by the set's
    own degree.
    """
    drives = range(len(series.names) - 1, 0, -1)
    for count in range(1, len(series.names)):
        for chosen in combinations(drives, count):
            split = tuple(sorted(chosen))
            by_time = _split(series, split, lambda powers: powers[0])
            if by_time:
                yield Factors(*by_time, rescales_time=True)
            if count > 1:
                by_degree = _split(series, split, _degree_in(split))
                if by_degree:
                    yield Factors(*by_degree, rescales_time=False)


def _degree_in(split: tuple[int, ...]) -> Callable[[Powers], int]:
    return lambda powers: sum(powers[i] for i in split)


def _split(
    series: ReducedSeries, split: tuple[int, ...], grade: Callable[[Powers], int]
) -> tuple[ReducedSeries, ReducedSeries] | None:
    by_time = grade((1, *([0] * (len(series.names) - 1)))) == 1
    rest = [i for i in range(len(series.names)) if i not in split]
    table: dict[tuple[int, Powers], dict[Powers, Fraction]] = {}
    for powers, c in series.coefficients.items():
        key = (grade(powers), tuple(powers[i] for i in rest))
        table.setdefault(key, {})[tuple(powers[i] for i in split)] = c
    shapes: dict[int, Mapping[Powers, Fraction]] = {}
    kernel: dict[Powers, Fraction] = {}
    for (k, outer), row in table.items():
        lead = row[min(row)]
        shape = {inner: c / lead for inner, c in row.items()}
        if shapes.setdefault(k, shape) != shape:
            return None
        kernel[outer if by_time else (*outer, k)] = lead
    if by_time and series.constant and (0,) * len(rest) in kernel:
        return None
    moments = {(k, *inner): c for k, shape in shapes.items() for inner, c in shape.items()}
    if not any(k == 0 for k in shapes):  # the constant of the loss is a moment as well
        moments[(0,) * (1 + len(split))] = Fraction(1)
    names = tuple(series.names[i] for i in rest) + (() if by_time else (LAMBDA,))
    variables = {name: series.variables.get(name, {}) for name in names}
    law_names = ("z", *(series.names[i] for i in split))
    law_variables = {name: series.variables.get(name, {}) for name in law_names}
    return (
        ReducedSeries(names, variables, {}, (), kernel, series.order, series.constant),
        ReducedSeries(law_names, law_variables, {}, (), moments, max(shapes)),
    )
