"""The regimes of any model: the polytope of its leading rates, from its own series, and the faces of that. [P] §4."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from time import process_time

import numpy as np

from regimes.rates import parse_rate, rate_latex, rate_name
from theory.engine.diagram_model import DiagramModel
from theory.engine.laurent import Laurent, latex_symbol
from theory.engine.model import MatrixModel
from theory.engine.newton import LimitingPolytope, leading_monomials, limiting_polytope
from theory.engine.planar import planar_derivatives
from theory.engine.planar_support import planar_supports
from theory.engine.polytope import Point
from theory.engine.series import expected_derivatives
from theory.errors import BudgetError, InputError, ReachError
from theory.models.cp_polytope import stated_polytope

Plan = MatrixModel | DiagramModel
Progress = Callable[[int, int], None]

PATIENCE = 60.0
"""Seconds of one core that finding a polytope may take, by default."""

HIGHEST_ORDER = 12
_FIRST_TRIED = 3
_SERIES_ORDER = 4
_CORNERS = 5
_DENOMINATORS = (12, 1000, 10**6)


@dataclass(frozen=True)
class RateFace:
    """A face of the polytope: the regime in which the ``vertices``, rates as text, win together."""

    vertices: tuple[str, ...]
    dimension: int

    @property
    def name(self) -> str:
        """The rates that win, for example ``1/p,sigma2*n/p``."""
        return ",".join(self.vertices)

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True)
class PolytopeAtlas:
    """The polytope of leading rates of the loss that a model descends, and its faces.

    ``limiting`` says how it was certified. ``exact`` tells whether the exact series settled it; otherwise it was found
    in the monomials of planar pairings, which were compared with the exact leading ones to order ``compared``.
    """

    plan: Plan
    limiting: LimitingPolytope
    exact: bool
    compared: int

    @property
    def variables(self) -> tuple[str, ...]:
        """Sizes, variances, parameters: the coordinates of the polytope."""
        return self.limiting.variables

    @property
    def certificate(self) -> str:
        """How the polytope is known, in a sentence."""
        found = self.limiting.certificate
        if self.exact:
            return found
        return f"{found}; monomials of planar pairings, which are the exact leading ones to order {self.compared}"

    @cached_property
    def rates(self) -> tuple[str, ...]:
        """The vertices as text, in the polytope's order."""
        return tuple(rate_name(self._powers(v), sizes=self.plan.sizes) for v in self.limiting.polytope.vertices)

    @cached_property
    def latex_rates(self) -> tuple[str, ...]:
        """The same in LaTeX."""
        symbols = {name: _latex_power(name) for name in self.variables}
        return tuple(
            rate_latex(self._powers(v), symbols, sizes=self.plan.sizes) for v in self.limiting.polytope.vertices
        )

    @cached_property
    def faces(self) -> tuple[RateFace, ...]:
        """The faces that a scaling with growing sizes selects, the largest first."""
        levels = self.limiting.polytope.faces
        found = [self._face(face) for level in reversed(levels) for face in level]
        return tuple(face for face in found if self._representative(face) is not None)

    def face_at(self, scaling: Mapping[str, Fraction]) -> RateFace:
        """The face that wins where each variable is N to its exponent. Ties are exact."""
        direction = [scaling[name] for name in self.variables]
        return self._face(self.limiting.polytope.face_in_direction(direction))

    def face(self, text: str) -> RateFace:
        """Read a face: the rates that win, in any order and spelling.

        Raises ``InputError`` where a rate is no vertex, or they are not the vertices of one face.
        """
        if not isinstance(text, str):
            raise self._no_face(text)
        try:
            wanted = [parse_rate(part, self.variables) for part in text.split(",")]
        except InputError as error:
            raise self._no_face(text) from error
        chosen: set[int] = set()
        for powers in wanted:
            point = tuple(powers.get(name, Fraction(0)) for name in self.variables)
            if point not in self.limiting.polytope.vertices:
                raise self._no_face(text)
            chosen.add(self.limiting.polytope.vertices.index(point))
        if not any(frozenset(chosen) in level for level in self.limiting.polytope.faces):
            raise self._no_face(text)
        return self._face(frozenset(chosen))

    def representative(self, face: RateFace) -> dict[str, Fraction]:
        """A scaling inside the cone of a face, all sizes growing.

        Raises ``InputError`` where there is none: the face wins only if some size shrinks.
        """
        found = self._representative(face)
        if found is None:
            raise InputError(
                "face", given=face.name, expected="one that wins for growing sizes", remedy="take one of the atlas"
            )
        return dict(found)

    def cone(self, face: RateFace) -> tuple[str, ...]:
        r"""The scalings that select the face, as LaTeX relations: which rates tie, and which they exceed."""
        inside = [latex for latex, name in zip(self.latex_rates, self.rates, strict=True) if name in face.vertices]
        outside = [latex for latex, name in zip(self.latex_rates, self.rates, strict=True) if name not in face.vertices]
        ties = r" \sim ".join(inside)
        return (ties,) if not outside else (rf"{ties} \gg {', '.join(outside)}",)

    def series(self, loss: str) -> tuple[Laurent, ...]:
        """The first coefficients of a loss: E d^sL/dt^s at time zero is (−η)^s times the s-th."""
        return loss_series(self.plan, loss, self._order, self.exact)

    def leading(self, face: RateFace, loss: str) -> tuple[Laurent, ...]:
        """The part of each coefficient that leads on the face: see ``part``."""
        return tuple(self.part(coefficient, face) for coefficient in self.series(loss))

    def part(self, coefficient: Laurent, face: RateFace) -> Laurent:
        """The terms that lead for some scaling in the face's cone; several scalings, spread over the cone, are asked.

        The face fixes which rates win, and not which terms of the loss itself are the largest at time zero.
        """
        kept: dict[tuple[int, ...], Fraction] = {}
        for weights in self._scalings(face):
            kept |= coefficient.leading(weights).terms
        return Laurent(coefficient.variables, kept)

    def rate_exponents(self, scaling: Mapping[str, Fraction]) -> dict[str, Fraction]:
        """Each rate as a power of N."""
        return {
            name: sum((scaling[v] * e for v, e in zip(self.variables, vertex, strict=True)), Fraction(0))
            for name, vertex in zip(self.rates, self.limiting.polytope.vertices, strict=True)
        }

    def loss_scale(self, loss: str, scaling: Mapping[str, Fraction]) -> Fraction | None:
        """The power of N of the change of a loss while ηt is of the order of 1 / the winning rate; None if it rests."""
        largest = max(self.rate_exponents(scaling).values())
        moved = [c.degree(scaling) - s * largest for s, c in enumerate(self.series(loss)) if s and c]
        return max(moved, default=None)

    @property
    def _order(self) -> int:
        return min(_SERIES_ORDER, max(self.limiting.orders) + self.limiting.period)

    def _powers(self, vertex: Point) -> dict[str, Fraction]:
        return dict(zip(self.variables, vertex, strict=True))

    def _face(self, numbers: frozenset[int]) -> RateFace:
        dimension = next(d for d, level in enumerate(self.limiting.polytope.faces) if numbers in level)
        return RateFace(tuple(self.rates[k] for k in sorted(numbers)), dimension)

    def _no_face(self, text: object) -> InputError:
        return InputError(
            "face",
            given=text,
            expected=f"rates that win together, of {', '.join(self.rates)}",
            remedy="give a scaling instead, or take a face of the atlas",
        )

    def _scalings(self, face: RateFace) -> tuple[dict[str, Fraction], ...]:
        """The representative scaling and others in the cone, none a multiple of another."""
        self.representative(face)
        points = _several(self.limiting.polytope.vertices, self._numbers(face), self._positive)
        return tuple(dict(zip(self.variables, point, strict=True)) for point in points)

    def _numbers(self, face: RateFace) -> frozenset[int]:
        return frozenset(self.rates.index(rate) for rate in face.vertices)

    @property
    def _positive(self) -> tuple[bool, ...]:
        return tuple(name in self.plan.sizes for name in self.variables)

    def _representative(self, face: RateFace) -> tuple[tuple[str, Fraction], ...] | None:
        solved = _solved(self.limiting.polytope.vertices, self._numbers(face), self._positive, 0)
        return None if solved is None else tuple(zip(self.variables, solved, strict=True))


def polytope_atlas(plan: Plan, *, patience: float = PATIENCE, progress: Progress | None = None) -> PolytopeAtlas:
    """The atlas of a model, from the series of the loss it descends: orders are raised until the increments settle.

    Where the exact series of a model over rings becomes too long, the monomials of planar pairings are taken on.

    >>> from theory.autoencoder.model import AUTOENCODER
    >>> atlas = polytope_atlas(AUTOENCODER)
    >>> atlas.rates
    ('1/p', 'sigma2*n/p', '1/m', 'sigma2', 'sigma2*n/m', 'sigma2*p/m')
    >>> len(atlas.faces), atlas.face("sigma2 n/p, 1/p").name
    (21, '1/p,sigma2*n/p')

    Raises ``InputError`` for a loss that does not move, ``ReachError``, with the order reached, where the increments do
    not settle within ``patience`` seconds of one core.
    """
    return _polytope_atlas(plan, patience)[0] if progress is None else _find(plan, patience, progress)


@lru_cache(maxsize=16)
def _polytope_atlas(plan: Plan, patience: float) -> tuple[PolytopeAtlas]:
    return (_find(plan, patience, None),)


def _find(plan: Plan, patience: float, progress: Progress | None) -> PolytopeAtlas:
    start, loss = process_time(), plan.train_loss
    supports: list[frozenset[tuple[int, ...]]] = []
    variables = plan.variables
    last: float | None = None
    stated = stated_polytope(plan)
    if stated is not None:
        return PolytopeAtlas(plan, stated, True, max(stated.orders) + 1)
    if not expected_derivatives(plan, loss, order=1)[1]:
        raise InputError(
            f"loss {loss} of {plan.name}",
            given="a first derivative of 0",
            expected="a loss that moves",
            remedy="let it depend on a tensor with trained = true",
        )
    for order in range(_FIRST_TRIED, HIGHEST_ORDER + 1):
        begun = process_time()
        try:
            series = expected_derivatives(plan, loss, order=order, progress=progress)
        except BudgetError:
            break
        variables = series[-1].variables
        supports = [leading_monomials(c, sizes=plan.sizes, planar=False) for c in series]
        try:
            return PolytopeAtlas(plan, limiting_polytope(supports, variables=variables), True, order)
        except ReachError:
            spent = process_time() - begun
            if process_time() - start + _next(spent, last) > patience / 2:
                break
            last = spent
    reached = len(supports) - 1
    if isinstance(plan, MatrixModel) and reached > 0 and process_time() - start < patience:
        found = _planar(plan, supports, patience, progress)
        if found is not None:
            return PolytopeAtlas(plan, found, False, reached)
    raise ReachError(
        f"polytope of rates of {plan.name}",
        given=f"{patience:g} seconds",
        reach=f"models whose rates settle by then: not settled to order {reached}",
        remedy="give more patience, or fewer independent sizes and variances",
    )


def _planar(
    plan: MatrixModel, exact: list[frozenset[tuple[int, ...]]], patience: float, progress: Progress | None
) -> LimitingPolytope | None:
    """The polytope in the monomials of planar pairings, if they settle and agree with the exact leading ones."""
    start = process_time()
    last: float | None = None
    for order in range(len(exact), HIGHEST_ORDER + 1):
        begun = process_time()
        try:
            supports = planar_supports(plan, plan.train_loss, order=order, progress=progress)
        except BudgetError:
            return None
        reduced = [
            leading_monomials(Laurent(plan.variables, dict.fromkeys(s, Fraction(1))), sizes=plan.sizes, planar=False)
            for s in supports
        ]
        if reduced[: len(exact)] != exact:
            return None
        try:
            return limiting_polytope(reduced, variables=plan.variables)
        except ReachError:
            spent = process_time() - begun
            if process_time() - start + _next(spent, last) > patience:
                return None
            last = spent
    return None


def _next(spent: float, last: float | None) -> float:
    """What the next order will take, if this one and the last took so long."""
    return spent * (6.0 if last is None else min(50.0, max(4.0, spent / max(last, 1e-3))))


@lru_cache(maxsize=64)
def loss_series(plan: Plan, loss: str, order: int, exact: bool) -> tuple[Laurent, ...]:
    """The exact series of a loss, or its planar part; kept."""
    if exact or not isinstance(plan, MatrixModel):
        return expected_derivatives(plan, loss, order=order)
    return planar_derivatives(plan, loss, order=order)


@lru_cache(maxsize=4096)
def _solved(
    points: tuple[Point, ...], inside: frozenset[int], positive: tuple[bool, ...], seed: int
) -> tuple[Fraction, ...] | None:
    """A small exact α with ⟨x, α⟩ largest exactly on ``inside``, its ``positive`` entries at least 1; None if none.

    Small in the sum of absolute values, which for each ``seed`` but 0 have weights of their own.
    """
    from scipy.optimize import linprog

    base = points[min(inside)]
    gaps = {k: [float(a - b) for a, b in zip(x, base, strict=True)] for k, x in enumerate(points)}
    equal = np.array([gaps[k] for k in sorted(inside)])
    less = [gaps[k] for k in gaps if k not in inside]
    count = len(base)
    found = linprog(
        np.ones(2 * count) if seed == 0 else np.random.default_rng(seed).uniform(0.1, 10, 2 * count),
        A_ub=np.array([[*row, *(-x for x in row)] for row in less]) if less else None,
        b_ub=-np.ones(len(less)) if less else None,
        A_eq=np.hstack([equal, -equal]),
        b_eq=np.zeros(len(equal)),
        bounds=[(1 if p else 0, None) for p in positive] + [(0, 0 if p else None) for p in positive],
        method="highs",
    )
    if not found.success:
        return None
    for denominator in _DENOMINATORS:
        exact = tuple(
            Fraction(float(a - b)).limit_denominator(denominator)
            for a, b in zip(found.x[:count], found.x[count:], strict=True)
        )
        heights = [sum((a * x for a, x in zip(exact, point, strict=True)), Fraction(0)) for point in points]
        winners = frozenset(k for k, height in enumerate(heights) if height == max(heights))
        if winners == inside and all(a > 0 for a, p in zip(exact, positive, strict=True) if p):
            return exact
    return None


@lru_cache(maxsize=4096)
def _several(
    points: tuple[Point, ...], inside: frozenset[int], positive: tuple[bool, ...]
) -> tuple[tuple[Fraction, ...], ...]:
    """Scalings in a cone: the smallest in several measures of size, and sums of them, which lie between."""
    corners = [_solved(points, inside, positive, seed) for seed in range(_CORNERS)]
    found = list(dict.fromkeys(corner for corner in corners if corner is not None))
    sums = [tuple(a + b for a, b in zip(found[0], other, strict=True)) for other in found[1:]]
    everything = tuple(sum(column, Fraction(0)) for column in zip(*found, strict=True))
    return tuple(dict.fromkeys([*found, *sums, everything]))


def _latex_power(name: str) -> str:
    symbol, power = latex_symbol(name)
    return symbol if power == 1 else f"{symbol}^{power}"
