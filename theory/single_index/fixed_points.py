"""Fixed points of the population flow, in the disc and on its edge, with their stability. [S] §5.

Inside the disc they are the critical points of Φ; on the circle |m| = 1 the tangential slope vanishes. Where Φ depends
on m_1 alone (λ = 0 or η_1 = 1), m_2 has no say and the points with m_2 = 0 stand for their lines.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from theory.single_index.aligned import aligned_slope, aligned_zeros
from theory.single_index.flow import into_disc
from theory.single_index.loss import PopulationLoss

Floats = npt.NDArray[np.float64]
_RADII = 40
_ANGLES = 120
_CIRCLE = 1440
_DIFFERENCE = 1e-4
_ZERO = 1e-5
_SAME = 1e-4
_SMALL_CIRCLE = 0.02
_ACCEPTED = 1e-9
_SLOW_STEPS = (1e-2, 3e-3, 1e-3, 3e-4, 1e-4, 3e-5, 1e-5, 1e-6, 1e-7)
_SLOW_ROUNDS = 30
_SLOW_SETTLED = 1e-4
_SLOW_NOISE = 1e-11
_BEND = 0.02
_NAMES = {
    (a, b): "half-stable" if 0 in (a, b) else "saddle" if a != b else "stable" if a < 0 else "unstable"
    for a in (-1, 0, 1)
    for b in (-1, 0, 1)
}
"""Stability by the signs of the two rates."""


@dataclass(frozen=True)
class FixedPoint:
    """A fixed point and the rates of small deviations: negative decays.

    ``stability``: ``stable`` (a local minimum of Φ on the sphere), ``unstable`` (a local maximum), ``saddle``, or
    ``half-stable`` (a rate is zero, and Φ falls on one side only: starts there leave, others arrive). On the circle the
    first rate is tangential, the second that of leaving the plane of v_0 and v_⊥. ``index`` is the point's index as a
    zero of the flow in the plane of its two rates: 1 for minima and maxima, −1 for a saddle, 0 for a half-stable point.
    """

    m1: float
    m2: float
    value: float
    stability: str
    rates: tuple[float, ...]
    on_circle: bool
    index: int

    def to_json(self) -> dict[str, object]:
        """Flat record."""
        return {
            "m1": self.m1,
            "m2": self.m2,
            "loss": self.value,
            "stability": self.stability,
            "rates": list(self.rates),
            "on_circle": self.on_circle,
        }


def fixed_points(loss: PopulationLoss) -> tuple[FixedPoint, ...]:
    """All fixed points found, by increasing loss.

    Inside: Newton's method from every cell of a polar grid in which both components of the gradient change sign, and
    from every local minimum of |∇Φ| on it (a root of even order changes no sign). On the circle: the roots of the
    tangential slope on 1440 angles. ``indices_complete`` tells whether any can be missing.

    >>> from theory.single_index.link import Link
    >>> points = fixed_points(PopulationLoss(Link.parse("x**3-3*x"), lam=1.0, eta1=0.45))
    >>> [(round(p.m1, 3), round(p.m2, 3), p.stability) for p in points if p.stability in ("stable", "half-stable")]
    [(1.0, 0.0, 'stable'), (0.0, 0.0, 'half-stable')]
    """
    if loss.planar:
        return _on_axis(loss)
    points = [*_on_circle(loss), *_inside(loss)]
    return tuple(sorted(points, key=lambda point: point.value))


def indices_complete(loss: PopulationLoss, points: tuple[FixedPoint, ...]) -> bool:
    """Whether the indices add up as they must if none is missing.

    Poincaré–Hopf on the two-sphere over the disc, where each point inside appears twice and the sum is 2; where Φ
    depends on m_1 alone, on the line −1 ≤ m_1 ≤ 1, where minima and maxima alternate.
    """
    if loss.planar:
        return sum(1 if p.stability == "stable" else -1 if p.stability == "unstable" else 0 for p in points) in (0, 1)
    return sum(point.index * (1 if point.on_circle else 2) for point in points) == 2


def hessian(loss: PopulationLoss, m1: float, m2: float) -> Floats:
    """The matrix of second derivatives of Φ in (m_1, m_2), by central differences of the gradient."""
    h = _DIFFERENCE
    columns = []
    for dx, dy in ((h, 0.0), (0.0, h)):
        ahead, behind = loss.gradient(m1 + dx, m2 + dy), loss.gradient(m1 - dx, m2 - dy)
        columns.append([float(a - b) / (2 * h) for a, b in zip(ahead, behind, strict=True)])
    matrix = np.array(columns)
    return np.asarray((matrix + matrix.T) / 2)


def _inside(loss: PopulationLoss) -> list[FixedPoint]:
    from scipy.optimize import root

    radii = (np.arange(_RADII) + 0.5) / _RADII * 0.999
    angles = np.linspace(0, 2 * np.pi, _ANGLES, endpoint=False) + 0.01
    r, angle = np.meshgrid(radii, angles, indexing="ij")
    x, y = r * np.cos(angle), r * np.sin(angle)
    first, second = replace(loss, quick=True).gradient(x, y)
    scale = float(np.hypot(first, second).max())
    found: list[tuple[float, float]] = []

    def slopes(m: Floats) -> Floats:
        return np.array([float(part) for part in loss.gradient(*into_disc(m[0], m[1]))])

    starts = [(0.0, 0.0), *_candidates(x, y, first, second)]
    for start in starts:
        if start == (0.0, 0.0) and math.hypot(*slopes(np.zeros(2))) <= _ACCEPTED * scale:
            m1, m2 = start  # exactly: along a flat direction rounding would move the root
        else:
            m1, m2 = (float(part) for part in root(slopes, start, tol=1e-13).x)
        if math.hypot(m1, m2) > 1 - _SAME:
            continue
        if math.hypot(*(float(part) for part in loss.gradient(m1, m2))) > _ACCEPTED * scale:
            continue
        known = 1e-3 if abs(np.linalg.det(hessian(loss, m1, m2))) < _ZERO * scale**2 else _SAME
        if all(math.hypot(m1 - a, m2 - b) > max(known, 3 * _SMALL_CIRCLE * (known > _SAME)) for a, b in found):
            found.append((m1 + 0.0, m2 + 0.0))
    return [_judge_inside(loss, m1, m2, scale) for m1, m2 in found]


def _candidates(x: Floats, y: Floats, first: Floats, second: Floats) -> list[tuple[float, float]]:
    """Centres of cells where both components change sign, and local minima of the gradient's norm."""

    def changes(part: Floats) -> npt.NDArray[np.bool_]:
        around = np.concatenate([part, part[:, :1]], axis=1)
        corners = np.stack([around[:-1, :-1], around[1:, :-1], around[:-1, 1:], around[1:, 1:]])
        return np.asarray(corners.min(axis=0) * corners.max(axis=0) <= 0)

    cells = changes(first) & changes(second)
    norm = np.hypot(first, second)
    inner = norm[1:-1]
    neighbours = [norm[:-2], norm[2:], np.roll(inner, 1, axis=1), np.roll(inner, -1, axis=1)]
    lowest = np.all([inner <= other for other in neighbours], axis=0)
    picked = [(x[:-1][cells], y[:-1][cells]), (x[1:-1][lowest], y[1:-1][lowest])]
    return [(float(a), float(b)) for xs, ys in picked for a, b in zip(xs, ys, strict=True)]


def _judge_inside(loss: PopulationLoss, m1: float, m2: float, scale: float) -> FixedPoint:
    m = np.array([m1, m2])
    rates = np.sort(np.linalg.eigvals(-(np.eye(2) - np.outer(m, m)) @ hessian(loss, m1, m2)).real)
    value = float(loss.value(m1, m2))
    index = int(np.sign(rates[0] * rates[1]))
    stability = _NAMES[int(np.sign(rates[0])), int(np.sign(rates[1]))]
    if np.abs(rates).min() <= _ZERO * scale:
        flat = np.linalg.eigh(hessian(loss, m1, m2))
        stability, index = _by_surroundings(
            loss, m1, m2, value, flat.eigenvectors[:, np.abs(flat.eigenvalues).argmin()]
        )
    return FixedPoint(m1, m2, value, stability, tuple(float(rate) for rate in rates), False, index)


def _by_surroundings(loss: PopulationLoss, m1: float, m2: float, value: float, flat: Floats) -> tuple[str, int]:
    """A zero rate leaves the answer to higher orders of Φ along the slow line through the point.

    Beside the point, at distance u along the direction ``flat`` of the zero rate, the other coordinate w settles where
    ∂Φ/∂w = 0, and the slope of Φ that is left, dΦ/du, says on which sides Φ falls. The smallest u counts at which that
    slope is not rounding: structure further away is none of the point's. Where both rates vanish, the sectors of a
    small circle in which Φ is lower are counted instead.
    """
    fast = np.array([-flat[1], flat[0]])
    bend = float(fast @ hessian(loss, m1, m2) @ fast)
    sides = None if bend == 0 else _slow_sides(loss, np.array([m1, m2]), flat, fast, bend)
    if sides is not None:
        falls = sum(sides)
        names = ("stable", "half-stable", "saddle") if bend > 0 else ("saddle", "half-stable", "unstable")
        return names[falls], 1 - falls if bend > 0 else falls - 1
    along = math.atan2(flat[1], flat[0])
    beside = np.geomspace(1e-8, 0.1, 60)
    narrow = np.concatenate([-beside, [0.0], beside])
    angles = np.concatenate([np.linspace(0, 2 * np.pi, 720, endpoint=False), along + narrow, along + np.pi + narrow])
    angles = np.sort(angles % (2 * np.pi))
    around = replace(loss, quick=True).value(m1 + _SMALL_CIRCLE * np.cos(angles), m2 + _SMALL_CIRCLE * np.sin(angles))
    lower = around < value
    sectors = int((lower & ~np.roll(lower, 1)).sum())
    if sectors == 0:
        return ("unstable" if lower[0] else "stable"), 1
    return ("half-stable" if sectors == 1 else "saddle"), 1 - sectors


def _slow_sides(
    loss: PopulationLoss, point: Floats, flat: Floats, fast: Floats, bend: float
) -> tuple[bool, bool] | None:
    """Whether Φ falls away from the point on either side of the slow line; ``None`` where that cannot be seen."""

    def slopes(m: Floats) -> Floats:
        return np.array([float(part) for part in loss.gradient(m[0], m[1])])

    found: list[bool] = []
    for sign in (1.0, -1.0):
        seen = None
        for u in _SLOW_STEPS:
            w, last = 0.0, math.inf
            for _ in range(_SLOW_ROUNDS):
                here = slopes(point + sign * u * flat + w * fast)
                move = -float(here @ fast) / bend
                if not math.isfinite(move) or abs(move) > u:
                    break
                w, last = w + move, abs(move)
                if last <= _SLOW_SETTLED * u**3:
                    break
            if last > max(_SLOW_SETTLED * u**2, 1e-3 * abs(w)):
                continue
            down = sign * float(slopes(point + sign * u * flat + w * fast) @ flat)
            noise = _SLOW_NOISE * abs(bend) * (u if not loss.link.is_polynomial else 1e-3 * u)
            if abs(down) <= noise + 10 * float(np.abs(slopes(point)).max()):
                break
            seen = down < 0
        if seen is None:
            return None
        found.append(seen)
    return found[0], found[1]


def _on_circle(loss: PopulationLoss) -> list[FixedPoint]:
    from scipy.optimize import brentq

    def tangential(angle: npt.ArrayLike, loss: PopulationLoss = loss) -> Floats:
        first, second = loss.gradient(np.cos(angle), np.sin(angle))
        return np.asarray(np.cos(angle) * second - np.sin(angle) * first)

    grid = np.linspace(-np.pi, np.pi, _CIRCLE + 1) + 1e-3  # off the exact roots at 0 and ±π
    slopes = tangential(grid, replace(loss, quick=True))
    scale = float(np.abs(slopes).max())
    angles = [
        float(brentq(lambda a: float(tangential(a)), grid[i], grid[i + 1], xtol=1e-13, maxiter=1000))
        for i in np.flatnonzero(slopes[:-1] * slopes[1:] < 0)
    ]
    points = []
    for angle in angles:
        m1, m2 = math.cos(angle), math.sin(angle)
        turn = float(tangential(angle + _DIFFERENCE) - tangential(angle - _DIFFERENCE)) / (2 * _DIFFERENCE)
        first, second = loss.gradient(m1, m2)
        rates = (-turn, float(m1 * first + m2 * second))
        value = float(loss.value(m1, m2))
        ahead, behind = (float(loss.value(np.cos(a), np.sin(a))) for a in (angle + _BEND, angle - _BEND))
        signs = _sign(rates[0], scale, (ahead - value, behind - value)), int(np.sign(rates[1]))
        points.append(FixedPoint(_tidy(m1), _tidy(m2), value, _NAMES[signs], rates, True, signs[0] * signs[1]))
    return points


def _on_axis(loss: PopulationLoss) -> tuple[FixedPoint, ...]:
    """Φ depends on m_1 alone: dm_1/dt = −Φ′(m_1)(1 − m_1²)."""
    points = []
    for zero in aligned_zeros(loss):
        if abs(zero.m) < 1 - _SAME:
            sign, rate = zero.kind, 0.0 - zero.curvature * (1 - zero.m**2)
            value = float(loss.value(zero.m, 0.0))
            points.append(FixedPoint(zero.m, 0.0, value, _NAMES[sign, sign], (rate,), False, abs(sign)))
    for end in (1.0, -1.0):
        rate = end * float(aligned_slope(loss, end))
        sign = int(np.sign(rate))
        value = float(loss.value(end, 0.0))
        points.append(FixedPoint(end, 0.0, value, _NAMES[sign, sign], (rate,), True, abs(sign)))
    return tuple(sorted(points, key=lambda point: point.value))


def _sign(rate: float, scale: float, beside: tuple[float, ...]) -> int:
    """The sign of a rate; where the rate is zero, that of −(Φ beside the point − Φ there), 0 if the sides disagree."""
    if abs(rate) > _ZERO * scale:
        return int(np.sign(rate))
    return -1 if min(beside) > 0 else 1 if max(beside) < 0 else 0


def _tidy(m: float) -> float:
    """Put a coordinate that is 0 or ±1 to rounding exactly there."""
    nearest = round(m)
    return float(nearest) if abs(m - nearest) < 1e-9 else m
