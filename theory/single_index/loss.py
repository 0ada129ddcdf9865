"""The population loss Φ(m_1, m_2) of the single-index model with a spiked covariance, as numbers. [S] §2, §5.

a ~ N(0, I + λvvᵀ), y = f(a·v_0) + ε, loss (y − f(a·X))², X on the unit sphere; v = η_1v_0 + η_2v_⊥, η_2 = √(1−η_1²);
m_1 = X·v_0, m_2 = X·v_⊥. With s̄ = X·v = η_1m_1 + η_2m_2 the fields a·X, a·v_0 are centred normal with variances
A = 1 + λs̄², B = 1 + λη_1² and covariance C = m_1 + λη_1s̄, so that

    Φ = V(A) − 2K(A, B, C) + V(B) + Var ε,    V(A) = E f(√A G)²,   K = Σ_k F_k(A)F_k(B)C^k/k!.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from theory.errors import InputError
from theory.single_index.kernel import Kernel, kernel, quick_kernel
from theory.single_index.link import Link

Floats = npt.NDArray[np.float64]
LARGEST_SPIKE = 1e3
_SAMPLED = 9


@dataclass(frozen=True)
class Parts:
    """Φ split as in [S]: ``variance`` V(A) pulls X away from v, ``alignment`` −2K pulls it to v_0, ``constant``."""

    variance: Floats
    alignment: Floats
    constant: float


@dataclass(frozen=True)
class PopulationLoss:
    """Φ for one link and one spike: strength ``lam`` = λ ≥ 0, alignment ``eta1`` = η_1 in [0, 1], ``noise`` = Var ε.

    ``quick``: prefer a cheap fit where the alternative is a quadrature at every point; ``error`` tells the price.

    >>> loss = PopulationLoss(Link.parse("x**3-3*x"), lam=1.0, eta1=0.45)
    >>> round(float(loss.value(1.0, 0.0)), 9) + 0.0    # X = v_0
    0.0
    >>> loss.method
    'exact series'

    Raises ``InputError`` for λ outside [0, 1000], η_1 outside [0, 1], or negative noise.
    """

    link: Link
    lam: float
    eta1: float
    noise: float = 0.0
    quick: bool = False

    def __post_init__(self) -> None:
        _check("lambda", self.lam, 0.0, LARGEST_SPIKE, "lam=1")
        _check("eta1", self.eta1, 0.0, 1.0, "eta1=0.45")
        _check("noise", self.noise, 0.0, math.inf, "noise=0.1")

    @property
    def eta2(self) -> float:
        """η_2 = √(1 − η_1²)."""
        return math.sqrt(1 - self.eta1**2)

    @property
    def spike(self) -> str:
        """The spike in words.

        >>> from theory.single_index.link import Link
        >>> PopulationLoss(Link.parse("x"), lam=0.0, eta1=0.45).spike
        'λ = 0 (no spike: η1 is idle)'
        """
        return f"λ = {self.lam:g}, η1 = {self.eta1:g}" if self.lam else "λ = 0 (no spike: η1 is idle)"

    @property
    def B(self) -> float:
        """Variance of the target field a·v_0."""
        return 1 + self.lam * self.eta1**2

    @property
    def planar(self) -> bool:
        """Whether Φ depends on m_1 alone: no spike, or a spike along v_0."""
        return self.lam == 0 or self.eta1 == 1

    @property
    def kernel(self) -> Kernel:
        """What computes V and K for this link at this B."""
        make = quick_kernel if self.quick else kernel
        return make(self.link, float(self.B), float(1 + self.lam))

    @property
    def method(self) -> str:
        """How the numbers are had."""
        return self.kernel.method

    @property
    def error(self) -> float:
        """Absolute error estimate of Φ, the largest in the disc."""
        variances = np.geomspace(1.0, 1 + self.lam, _SAMPLED)
        return float(self._error_at(variances).max())

    def error_at(self, m1: npt.ArrayLike, m2: npt.ArrayLike) -> Floats:
        """Absolute error estimate of Φ at overlaps (m_1, m_2), elementwise."""
        return self._error_at(self.fields(m1, m2)[1])

    def scale(self, m1: npt.ArrayLike, m2: npt.ArrayLike) -> Floats:
        """V(A) + V(B) at overlaps (m_1, m_2), elementwise: what Φ is a difference of."""
        _, A, _ = self.fields(m1, m2)
        return self.kernel.variance(A)[0] + float(self.kernel.variance(np.array(self.B))[0])

    def _error_at(self, A: Floats) -> Floats:
        size = np.sqrt(self.kernel.variance(A)[0]) + math.sqrt(float(self.kernel.variance(np.array(self.B))[0]))
        return self.kernel.error * size**2  # V(A), V(B), and K twice, that relative to √(V(A)V(B))

    def fields(self, m1: npt.ArrayLike, m2: npt.ArrayLike) -> tuple[Floats, Floats, Floats]:
        """s̄, A and C at overlaps (m_1, m_2)."""
        first, second = np.broadcast_arrays(np.asarray(m1, dtype=np.float64), np.asarray(m2, dtype=np.float64))
        s = self.eta1 * first + self.eta2 * second
        return s, 1 + self.lam * s**2, first + self.lam * self.eta1 * s

    def parts(self, m1: npt.ArrayLike, m2: npt.ArrayLike) -> Parts:
        """The variance term, the alignment term and the constant."""
        _, A, C = self.fields(m1, m2)
        constant = float(self.kernel.variance(np.array(self.B))[0]) + self.noise
        return Parts(self.kernel.variance(A)[0], -2 * self.kernel.covariance(A, C)[0], constant)

    def value(self, m1: npt.ArrayLike, m2: npt.ArrayLike) -> Floats:
        """Φ(m_1, m_2), elementwise, for overlaps in the disc m_1² + m_2² ≤ 1."""
        parts = self.parts(m1, m2)
        return parts.variance + parts.alignment + parts.constant

    def field_slopes(self, m1: npt.ArrayLike, m2: npt.ArrayLike) -> tuple[Floats, Floats]:
        """∂Φ/∂A and ∂Φ/∂C."""
        _, A, C = self.fields(m1, m2)
        _, slope_A, slope_C = self.kernel.covariance(A, C)
        return self.kernel.variance(A)[1] - 2 * slope_A, -2 * slope_C

    def gradient(self, m1: npt.ArrayLike, m2: npt.ArrayLike) -> tuple[Floats, Floats]:
        """∂Φ/∂m_1, ∂Φ/∂m_2: (∂Φ/∂A) 2λs̄ v + (∂Φ/∂C)(v_0 + λη_1v)."""
        s, _, _ = self.fields(m1, m2)
        slope_A, slope_C = self.field_slopes(m1, m2)
        along = 2 * self.lam * s * slope_A + self.lam * self.eta1 * slope_C
        return self.eta1 * along + slope_C, self.eta2 * along

    def spherical_gradient(self, m1: npt.ArrayLike, m2: npt.ArrayLike) -> tuple[Floats, Floats]:
        """The overlaps of (1 − XXᵀ)∇Φ with v_0 and v_⊥: ∂_iΦ − m_i (m·∇Φ)."""
        first, second = self.gradient(m1, m2)
        radial = np.asarray(m1) * first + np.asarray(m2) * second
        return first - np.asarray(m1) * radial, second - np.asarray(m2) * radial


def check_overlaps(m1: float, m2: float) -> tuple[float, float]:
    """The point, if it lies in the unit disc; ``InputError`` otherwise.

    >>> check_overlaps(0.6, -0.8)
    (0.6, -0.8)
    """
    if not (math.isfinite(m1) and math.isfinite(m2)) or m1**2 + m2**2 > 1 + 1e-12:
        raise InputError(
            "overlaps m1, m2",
            given=(m1, m2),
            expected="a point of the disc m1² + m2² ≤ 1",
            remedy="X is a unit vector: give for example 0.3,0.2",
        )
    return float(m1), float(m2)


def _check(name: str, value: float, low: float, high: float, example: str) -> None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not low <= value <= high or value == math.inf:
        expected = f"a number from {low:g} to {high:g}" if high < math.inf else f"a finite number from {low:g}"
        raise InputError(name, given=value, expected=expected, remedy=f"give for example {example}")
