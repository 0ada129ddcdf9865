"""Sets of overlaps on which the proofs of [S] turn: quadrants, the lines s̄ = 0 and C = 0, the wedge they trap, ascent.

Exact statements, for any link, from dm/dt = −∇Φ + (m·∇Φ)m and ∇Φ = 2λs̄ Φ_A v + Φ_C ∇C, ∇C = v_0 + λη_1v, with
Φ_A = ∂Φ/∂A and Φ_C = ∂Φ/∂C; the radial part moves no line through the origin:

    on s̄ = 0:  ds̄/dt = −Φ_C η_1(1+λ)       on C = 0:  dC/dt = −2λs̄ Φ_A η_1(1+λ) − Φ_C |∇C|²

So where Φ_C ≤ 0 on the first line and dC/dt ≤ 0 on the second, no start ever leaves the wedge {s̄ ≥ 0, C ≤ 0}, in which
the prediction stays anticorrelated with the label. For f = x³ − 3x, on the lines, Φ_C = −36C² and Φ_A = 45A² − 36A + 9,
Φ_C = −18(A−1)(B−1): near m = 0 the wedge traps for every λ and η_1; in the whole disc it does at λ = 1, not at large λ.
The names and the exact sets are this project's reading of [S], whose proofs use such quadrants and lines near m = 0.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from theory.errors import InputError
from theory.single_index.loss import PopulationLoss

Floats = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]
_SAMPLES = 801
_SLACK = 1e-9


@dataclass(frozen=True)
class Region:
    """A set of overlaps: a name, what it is, and its membership test for arrays (m_1, m_2)."""

    name: str
    description: str
    contains: Callable[[Floats, Floats], Mask]


def quadrant(number: int) -> Region:
    """Q1 … Q4 of the (m_1, m_2) plane, counted anticlockwise from m_1, m_2 > 0; Q3 and Q4 have m_2 < 0.

    >>> bool(quadrant(4).contains(np.array(0.1), np.array(-0.1)))
    True
    """
    signs = {1: (1, 1), 2: (-1, 1), 3: (-1, -1), 4: (1, -1)}
    if number not in signs:
        raise InputError("quadrant", given=number, expected="1, 2, 3 or 4", remedy="Q4 is m1 > 0 > m2")
    a, b = signs[number]
    words = f"m1 {'>' if a > 0 else '<'} 0, m2 {'>' if b > 0 else '<'} 0"
    return Region(f"Q{number}", words, lambda m1, m2: np.asarray((a * m1 > 0) & (b * m2 > 0)))


def bounding_lines(loss: PopulationLoss) -> dict[str, tuple[float, float]]:
    """Unit vectors along the lines s̄ = 0 (no variance to shed) and C = 0 (no covariance with the label).

    Both point to m_1 ≤ 0, where they bound the trapping wedge.
    """
    spike = np.array([-loss.eta2, loss.eta1])
    normal = np.array([1 + loss.lam * loss.eta1**2, loss.lam * loss.eta1 * loss.eta2])
    covariance = np.array([-normal[1], normal[0]]) / np.hypot(*normal)
    return {"spike": (float(spike[0]), float(spike[1])), "covariance": (float(covariance[0]), float(covariance[1]))}


def trapping_wedge(loss: PopulationLoss) -> Region:
    """{s̄ ≥ 0, C ≤ 0}; see ``wedge_traps`` for whether the flow can leave it."""

    def contains(m1: Floats, m2: Floats) -> Mask:
        s, _, C = loss.fields(m1, m2)
        return np.asarray((s >= 0) & (C <= 0))

    return Region("trapping wedge", "X·v ≥ 0 while the fields are anticorrelated, C ≤ 0", contains)


def wedge_traps(loss: PopulationLoss) -> bool:
    """Whether the flow points into the wedge at 801 points of each of its two edges: then no start inside ever leaves.

    >>> from theory.single_index.link import Link
    >>> wedge_traps(PopulationLoss(Link.parse("x**3-3*x"), lam=1.0, eta1=0.45))
    True
    >>> wedge_traps(PopulationLoss(Link.parse("x**2"), lam=1.0, eta1=0.45))    # there, C < 0 leads to −v_0
    False
    """
    if loss.planar:
        return False
    into_spike, into_covariance = edge_flow(replace(loss, quick=True), np.linspace(0, 1, _SAMPLES))
    slack = _SLACK * (np.abs(into_spike).max() + np.abs(into_covariance).max())
    return bool(np.all(into_spike >= -slack) and np.all(into_covariance >= -slack))


def edge_flow(loss: PopulationLoss, radius: Floats) -> tuple[Floats, Floats]:
    """ds̄/dt on the wedge's edge s̄ = 0 and −dC/dt on its edge C = 0, at distances ``radius`` from m = 0.

    Positive is inwards; shapes as ``radius``.
    """
    lines = bounding_lines(loss)
    a, b = (radius * part for part in lines["spike"])
    first, second = loss.gradient(a, b)
    into_spike = -(loss.eta1 * first + loss.eta2 * second)
    a, b = (radius * part for part in lines["covariance"])
    first, second = loss.gradient(a, b)
    along_v = loss.lam * loss.eta1 * (loss.eta1 * first + loss.eta2 * second)
    return into_spike, first + along_v


def ascent(loss: PopulationLoss) -> Region:
    """Where the flow gains overlap, dm_1/dt > 0: the local form of the condition of [S] Thm 3.3.

    ``theory.single_index.basin`` has its global form, the starts whose whole path stays here until m_1 = 1.
    """
    return Region("ascent", "dm1/dt > 0", lambda m1, m2: np.asarray(loss.spherical_gradient(m1, m2)[0] < 0))


def landing_overlap(loss: PopulationLoss, m1: npt.ArrayLike, m2: npt.ArrayLike) -> Floats:
    """m_1 once the fast decay of s̄ along v is over: η_2(η_2m_1 − η_1m_2), to first order in small m.

    Where V′(1) > 0 this is the overlap with which a random start enters the slow line s̄ = 0; its sign decides, for an
    odd information exponent, between growth and the wedge. Half of all random starts land on each side.
    """
    return np.asarray(loss.eta2 * (loss.eta2 * np.asarray(m1) - loss.eta1 * np.asarray(m2)))
