"""One learning problem: link, spike, dimension, label noise. [S] §2"""

from __future__ import annotations

import math
from dataclasses import dataclass

from theory.errors import InputError
from theory.single_index.link import Link
from theory.single_index.loss import PopulationLoss

SMALLEST_DIMENSION = 5
"""The reduced chain draws a chi-square with d − 3 ≥ 2 degrees of freedom."""
LARGEST_DIMENSION = 10**12


@dataclass(frozen=True)
class Setting:
    """Samples a ~ N(0, I_d + λvvᵀ), v = η_1v_0 + √(1−η_1²)v_⊥, and labels y = f(a·v_0) + ε. [S] §2

    ``lam`` is λ in [0, 1000], ``eta1`` η_1 in [0, 1], ``noise`` the variance of the normal ε; ``loss`` is the
    population loss of the same problem, which has no dimension.

    >>> setting = Setting(Link.parse("x**3-3*x"), lam=1.0, eta1=0.45, d=1000)
    >>> round(setting.stretch, 4), setting.even
    (0.4142, False)

    Raises ``InputError`` for a value outside its range.
    """

    link: Link
    lam: float
    eta1: float
    d: int
    noise: float = 0.0

    def __post_init__(self) -> None:
        if isinstance(self.d, bool) or not isinstance(self.d, int):
            raise InputError("dimension d", given=self.d, expected="a whole number", remedy="use for example d=1000")
        if not SMALLEST_DIMENSION <= self.d <= LARGEST_DIMENSION:
            raise InputError(
                "dimension d",
                given=self.d,
                expected=f"a whole number from {SMALLEST_DIMENSION} to {LARGEST_DIMENSION:.0e}",
                remedy="use for example d=1000",
            )
        _ = self.loss

    @property
    def loss(self) -> PopulationLoss:
        """Φ of this link and spike; making it checks their ranges."""
        return PopulationLoss(self.link, float(self.lam), float(self.eta1), float(self.noise), quick=True)

    @property
    def stretch(self) -> float:
        """κ = √(1+λ) − 1: a = b + κ(v·b)v has the covariance wanted when b is standard normal."""
        return math.sqrt(1 + self.lam) - 1

    @property
    def eta2(self) -> float:
        """√(1 − η_1²)."""
        return math.sqrt(1 - self.eta1**2)

    @property
    def even(self) -> bool:
        """Whether f(−x) = f(x), so that −v_0 is as good an answer as v_0."""
        return self.link.is_even

    def describe(self) -> str:
        """The setting in one line."""
        return f"f = {self.link}, λ = {self.lam:g}, η1 = {self.eta1:g}, Var ε = {self.noise:g}, d = {self.d}"

    def succeeds(self, m1: float, target: float) -> bool:
        """Whether an overlap counts as found: m_1 ≥ ``target``, or |m_1| ≥ ``target`` for an even link."""
        return (abs(m1) if self.even else m1) >= target
