"""The basin of attraction of the target m = (1, 0), and the separatrices that bound it. [S] §5 and its Figures 1–3."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from theory.errors import BudgetError
from theory.single_index.fixed_points import FixedPoint, hessian
from theory.single_index.flow import destinations, into_disc
from theory.single_index.loss import PopulationLoss

Floats = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]

FINEST_GRID = 401
_ARRIVED = 0.05
_STEP = 0.01
_LONGEST = 4.0
_OFFSET = 2e-3


@dataclass(frozen=True, eq=False)
class Basin:
    """On a square grid of overlaps: which starts end at the target, and which do so with m_1 growing all the way.

    ``m1``, ``m2``: the grid's axes, shape (G,). ``reaches``, ``monotone``: shape (G, G), indexed [m2, m1], false
    outside the disc. ``monotone`` is this project's reading of the flow condition of [S] Thm 3.3: a warm start in it is
    carried to v_0 without ever losing overlap. ``share``: the part of the disc's area in the basin.
    """

    m1: Floats
    m2: Floats
    reaches: Mask
    monotone: Mask
    share: float


def basin(loss: PopulationLoss, *, grid: int = 81) -> Basin:
    """Follow the flow from a ``grid`` × ``grid`` square of starts, those in the disc.

    >>> from theory.single_index.link import Link
    >>> 0.5 < basin(PopulationLoss(Link.parse("x**3-3*x"), lam=1.0, eta1=0.45), grid=21).share < 0.9
    True

    Raises ``BudgetError`` for grids finer than 401 × 401.
    """
    if not 2 <= grid <= FINEST_GRID:
        raise BudgetError(
            "basin",
            estimate=f"{grid}² starts",
            limit=f"{FINEST_GRID}²",
            remedy=f"ask for a grid from 2 to {FINEST_GRID}",
        )
    axis = np.linspace(-1, 1, grid)
    m1, m2 = np.meshgrid(axis, axis)
    inside = np.hypot(m1, m2) <= 1
    reaches, monotone = np.zeros_like(inside), np.zeros_like(inside)
    reaches[inside], monotone[inside] = reaches_target(loss, m1[inside], m2[inside])
    return Basin(axis, axis, reaches, monotone, float(reaches.sum() / inside.sum()))


def reaches_target(
    loss: PopulationLoss,
    m1: npt.ArrayLike,
    m2: npt.ArrayLike,
    *,
    progress: Callable[[int, int], None] | None = None,
) -> tuple[Mask, Mask]:
    """For each start: does the flow end at m = (1, 0), and does it do so with m_1 growing all the way?

    Where Φ depends on m_1 alone, m_1 → 1 is what counts. ``progress`` counts the starts that have arrived anywhere.

    >>> from theory.single_index.link import Link
    >>> trapped = PopulationLoss(Link.parse("x**3-3*x"), lam=1.0, eta1=1.0)
    >>> [bool(part) for part in reaches_target(trapped, [0.05, 0.2], [0.0, 0.0])[0]]
    [False, True]
    """
    x, y, rising = destinations(loss, m1, m2, progress=progress)
    arrived = np.hypot(x - 1, y) < _ARRIVED if not loss.planar else x > 1 - _ARRIVED
    return arrived, arrived & rising


def warm_start_succeeds(loss: PopulationLoss, overlap: float) -> tuple[bool, bool]:
    """The start X with X·v = ``overlap`` that leans nowhere else, m = overlap·(η_1, η_2), as PCA gives it in the limit.

    Returns whether it ends at the target, and whether m_1 grows all the way.

    >>> from theory.single_index.link import Link
    >>> warm_start_succeeds(PopulationLoss(Link.parse("x**3-3*x"), lam=1.0, eta1=0.45), 0.8)
    (True, True)
    """
    reaches, monotone = reaches_target(loss, [overlap * loss.eta1], [overlap * loss.eta2])
    return bool(reaches[0]), bool(monotone[0])


def separatrices(loss: PopulationLoss, points: Sequence[FixedPoint]) -> tuple[Floats, ...]:
    """Curves, each (N, 2), along which the flow runs into a saddle or a half-stable point: they bound the basins.

    Each is the flow followed backwards from near the point, along a decaying direction. Where Φ depends on m_1 alone,
    the bounds are the lines m_1 = const through the points that are not stable. A curve that runs in along a zero rate,
    into a half-stable point whose other rate grows, is not among them.
    """
    if loss.planar:
        lines = [p.m1 for p in points if not p.on_circle and p.stability != "stable"]
        return tuple(np.array([[m, -math.sqrt(1 - m**2)], [m, math.sqrt(1 - m**2)]]) for m in lines)
    loss = replace(loss, quick=True)
    curves = []
    for point in points:
        if point.stability in ("saddle", "half-stable"):
            for direction in _decaying(loss, point):
                for sign in (1.0, -1.0):
                    start = np.array([point.m1, point.m2]) + sign * _OFFSET * direction
                    if np.hypot(*start) <= 1:
                        curves.append(_backwards(loss, start))
    return tuple(curves)


def _decaying(loss: PopulationLoss, point: FixedPoint) -> list[Floats]:
    m = np.array([point.m1, point.m2])
    if point.on_circle:
        return [m] if point.rates[1] < 0 else []
    rates, vectors = np.linalg.eig(-(np.eye(2) - np.outer(m, m)) @ hessian(loss, point.m1, point.m2))
    largest = np.abs(rates).max()
    return [vectors[:, i].real for i in range(2) if rates[i].real < -1e-4 * largest]


def _backwards(loss: PopulationLoss, start: Floats) -> Floats:
    """Climb Φ by arc length until a step no longer leads upwards, or the longest useful length is reached."""
    path = [start]
    for _ in range(int(_LONGEST / _STEP)):
        here = path[-1]
        middle = here + _STEP / 2 * _uphill(loss, here)
        step = _STEP * _uphill(loss, middle)
        ahead = np.array([float(part) for part in into_disc(*(here + step))])
        path.append(ahead)
        if float(loss.value(*ahead)) <= float(loss.value(*here)):
            break
    return np.array(path)


def _uphill(loss: PopulationLoss, m: Floats) -> Floats:
    direction = np.array([float(part) for part in loss.spherical_gradient(*into_disc(m[0], m[1]))])
    return np.asarray(direction / max(float(np.hypot(*direction)), 1e-300))
