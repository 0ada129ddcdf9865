"""The trap at η_1 = 1: when the spike lies along the target, is X ⟂ v_0 a local minimum? [S] Thm 3.5.

At η_1 = 1, Φ is a function of m = m_1 alone, with A = 1 + λm², B = 1 + λ, C = (1+λ)m. Where F_1(1) = F_2(1) = 0
(information exponent from 3 on), Φ″(0) = 2λV′(1): its sign, and not the symmetry of f alone, decides.
"""

from __future__ import annotations

from dataclasses import dataclass

from theory.single_index.aligned import aligned_zeros, climb
from theory.single_index.exponent import coefficient
from theory.single_index.link import Link
from theory.single_index.loss import PopulationLoss
from theory.single_index.taylor import variance_slope

_NOISE = 1e-9


@dataclass(frozen=True)
class Trap:
    """The landscape Φ(m), m in [−1, 1], around m = 0 at η_1 = 1.

    ``slope`` Φ′(0) and ``curvature`` Φ″(0); ``trapped``: m = 0 is a strict local minimum. Then ``radius`` r* is the
    nearest maximum towards the target, and ``barrier`` Φ(r*) − Φ(0) what must be climbed to leave; both are
    ``None`` where there is no trap, and where Φ rises all the way to m = 1.
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
    scale = 0.0 if link.is_polynomial else _NOISE * float(loss.value(0.0, 0.0))
    zeros = aligned_zeros(loss) if abs(slope) <= scale and curvature >= -scale else ()
    trapped = any(zero.m == 0 and zero.kind < 0 for zero in zeros)
    radius = next((zero.m for zero in zeros if zero.m > 0 and zero.kind > 0), None) if trapped else None
    barrier = None if radius is None else climb(loss, radius)
    return Trap(link, lam, slope, curvature, float(variance_slope(link)), trapped, radius, barrier)


def _expansion(link: Link, lam: float, B: float) -> tuple[float, float]:
    """Φ′(0) and Φ″(0) from the Taylor terms of order 1 and 2."""
    at_one = [_number(link, k, 1.0) for k in range(3)]
    at_B = [_number(link, k, B) for k in range(3)]
    slope = -2 * at_B[1] * at_one[1] * B
    spike = 2 * lam * (float(variance_slope(link)) - at_B[0] * at_one[2])
    return slope + 0.0, spike - 2 * at_B[2] * at_one[2] * B**2


def _number(link: Link, k: int, variance: float) -> float:
    found = coefficient(link, k, variance=variance)
    return 0.0 if found.zero is not False else found.value
