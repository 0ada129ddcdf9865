"""What the limit of a face leaves out at actual sizes: one rule, read from the exact series' coefficients. [P] §4.

Every term of Y_s and Ŷ_s that does not lead on a face is below a leading one by a product of a few ratios: of a losing
rate to a winning one, or 1/p, 1/n, 1/m for a lost node. A ratio counts where some term is below a leading one by just
that ratio, up to factors that are of order one on the face. (So 1/n is nothing that ``narrow-latent`` leaves out.)
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import cache
from math import prod

from regimes.faces import Face
from regimes.prism import SIZE_NAMES, VERTICES
from regimes.scaling import representative
from theory.autoencoder.series import LossName, loss_series
from theory.autoencoder.sizes import Sizes
from theory.engine.laurent import Exponents
from theory.engine.polytope import integer_rank

ORDER = 2
"""Coefficients up to this one are looked at."""

_LOSSES: tuple[LossName, ...] = ("train", "population")


def neglected_ratios(face: Face, sizes: Sizes) -> dict[str, float]:
    """What the limit of ``face`` leaves out, by name, each relative to what it keeps.

    >>> from regimes.faces import parse_face
    >>> sizes = Sizes.parse("p=300,n=12,m=300,sigma2=1/300")
    >>> {name: round(value, 4) for name, value in neglected_ratios(parse_face("narrow-latent"), sizes).items()}
    {'N|m': 0.04, 'N|p': 0.04, '1/p': 0.0033, '1/m': 0.0033}
    """
    point = [Fraction(x) for x in (sizes.p, sizes.n, sizes.m, sizes.sigma2)]

    def value(exponents: Sequence[int]) -> float:
        return float(prod((x**e for x, e in zip(point, exponents, strict=True)), start=Fraction(1)))

    rates = {vertex.name: value(vertex.vector) for vertex in VERTICES}
    largest = max(rates[name] for name in face.vertices)
    return {name: rates[name] / largest if name in rates else value(ratio) for name, ratio in neglected_monomials(face)}


@cache
def neglected_monomials(face: Face) -> tuple[tuple[str, Exponents], ...]:
    """The ratios that count: of losing vertices, by their names, to a winning one, and the loops ``1/p`` and so on.

    Exponents are those of p, n, m, σ².
    """
    ties, gaps = _ties_and_gaps(face)
    counted = []
    for name, ratio in _candidates(face):
        if any(_same(ratio, gap, ties) for gap in gaps):
            counted.append((name, ratio))
    return tuple(counted)


def _candidates(face: Face) -> list[tuple[str, Exponents]]:
    winner = next(vertex.vector for vertex in VERTICES if vertex.name in face.vertices)
    losing = [(v.name, _minus(v.vector, winner)) for v in VERTICES if v.name not in face.vertices]
    return losing + [(f"1/{SIZE_NAMES[k]}", tuple(-int(i == k) for i in range(4))) for k in range(3)]


@cache
def _ties_and_gaps(face: Face) -> tuple[tuple[Exponents, ...], frozenset[Exponents]]:
    """Monomials of order one on the face, and by what each term that does not lead is below a leading one."""
    weights = representative(face).weights
    winners = [vertex.vector for vertex in VERTICES if vertex.name in face.vertices]
    ties = {_minus(vector, winners[0]) for vector in winners[1:]}
    gaps: set[Exponents] = set()
    for loss in _LOSSES:
        for coefficient in loss_series(loss, order=ORDER).coefficients[1:]:
            leading = list(coefficient.leading(weights).terms)
            ties |= {_minus(exponents, leading[0]) for exponents in leading[1:]}
            gaps |= {_minus(exponents, leading[0]) for exponents in coefficient.terms if exponents not in leading}
    return tuple(sorted(ties)), frozenset(gaps)


def _same(first: Exponents, second: Exponents, ties: Sequence[Exponents]) -> bool:
    """Whether two monomials differ by ties alone."""
    difference = _minus(first, second)
    return integer_rank([*ties, difference]) == integer_rank(ties) if any(difference) else True


def _minus(x: Sequence[int], y: Sequence[int]) -> Exponents:
    return tuple(a - b for a, b in zip(x, y, strict=True))
