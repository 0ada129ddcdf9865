"""The trap at η_1 = 1: when the spike lies along the target, is X ⟂ v_0 a local minimum? [S] Thm 3.5.

At η_1 = 1, Φ is a function of m = m_1 alone, with A = 1 + λm², B = 1 + λ, C = (1+λ)m. Where F_1(1) = F_2(1) = 0
(information exponent from 3 on), Φ″(0) = 2λV′(1): its sign, and not the symmetry of f alone, decides.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from theory.single_index.exponent import vanishes
from theory.single_index.link import Link
from theory.single_index.loss import PopulationLoss
from theory.single_index.moments import hermite_coefficient
from theory.single_index.taylor import variance_slope

Floats = npt.NDArray[np.float64]
_SCAN = 2000
_NOISE = 1e-9


@dataclass(frozen=True)
class Trap:
    """The landscape Φ(m), m in [−1, 1], around m = 0 at η_1 = 1.

    ``slope`` Φ′(0) and ``curvature`` Φ″(0); ``trapped``: m = 0 is a strict local minimum. Then ``radius`` r* is the
    nearest maximum towards the target, and ``barrier`` Φ(r*) − Φ(0) what must be climbed to leave; both are
    ``None`` where there is no trap, and the radius is ``None`` too where Φ rises all the way to m = 1.
    """

    link: Link
    lam: float
    slope: float
    curvature: float
    variance_slope: float
    trapped: bool
    radius: float | None
    barrier: float | None

    def to_json(self) -> dict[str, object]:
        """Flat record."""
        return {
            "slope": self.slope,
            "curvature": self.curvature,
            "variance_slope": self.variance_slope,
            "trapped": self.trapped,
            "radius": self.radius,
            "barrier": self.barrier,
        }


def trap(link: Link, *, lam: float) -> Trap:
    """Judge m = 0 at η_1 = 1.

    >>> result = trap(Link.parse("x**3-3*x"), lam=1.0)
    >>> result.trapped, result.curvature, round(result.radius, 4)
    (True, 36.0, 0.0933)
    >>> trap(Link.parse("(x-x**3)*exp(-x**2)"), lam=1.0).trapped    # V′(1) < 0
    False
    """
    loss = PopulationLoss(link, lam=lam, eta1=1.0)
    slope, curvature = _expansion(link, lam, loss.B)
    scale = _NOISE * max(float(loss.value(0.0, 0.0)), 1e-300)
    trapped = abs(slope) <= scale and (curvature > scale or (abs(curvature) <= scale and _rises(loss)))
    radius = _first_maximum(loss) if trapped else None
    barrier = None
    if radius is not None:
        barrier = float(loss.value(radius, 0.0) - loss.value(0.0, 0.0))
    return Trap(link, lam, slope, curvature, float(variance_slope(link)), trapped, radius, barrier)


def aligned_slope(loss: PopulationLoss, m: npt.ArrayLike) -> Floats:
    """Φ′(m) for a loss that depends on m_1 alone."""
    return loss.gradient(m, np.zeros_like(np.asarray(m, dtype=np.float64)))[0]


def _expansion(link: Link, lam: float, B: float) -> tuple[float, float]:
    """Φ′(0) and Φ″(0) from the Taylor terms of order 1 and 2."""
    at_one = [_number(link, k, 1.0) for k in range(3)]
    at_B = [_number(link, k, B) for k in range(3)]
    slope = -2 * at_B[1] * at_one[1] * B
    spike = 2 * lam * (float(variance_slope(link)) - at_B[0] * at_one[2])
    return slope + 0.0, spike - 2 * at_B[2] * at_one[2] * B**2


def _number(link: Link, k: int, variance: float) -> float:
    estimate = hermite_coefficient(link, k, variance=variance)
    return 0.0 if vanishes(link, k, estimate, variance=variance) else estimate.value


def _rises(loss: PopulationLoss) -> bool:
    """Whether Φ is larger on both sides of m = 0, where neither slope nor curvature tells."""
    near = np.array([-0.05, -0.02, 0.02, 0.05])
    return bool(np.all(loss.value(near, 0.0) > loss.value(0.0, 0.0)))


def _first_maximum(loss: PopulationLoss) -> float | None:
    from scipy.optimize import brentq

    grid = np.geomspace(1e-4, 1.0, _SCAN)
    signs = np.sign(aligned_slope(replace(loss, quick=True), grid))
    turns = np.flatnonzero((signs[:-1] > 0) & (signs[1:] <= 0))
    if not turns.size:
        return None
    i = int(turns[0])
    return float(brentq(lambda m: float(aligned_slope(loss, m)), grid[i], grid[i + 1], xtol=1e-14))
