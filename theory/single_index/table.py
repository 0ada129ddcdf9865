"""The flow's velocity tabulated over the disc, for links whose loss is costly: thousands of paths from one table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from theory.single_index.loss import PopulationLoss

Floats = npt.NDArray[np.float64]
_RADII = 33
_ANGLES = 72
_OVERLAP = 4


class Field(Protocol):
    """Whatever has a spherical gradient on the disc."""

    def spherical_gradient(self, m1: npt.ArrayLike, m2: npt.ArrayLike) -> tuple[Floats, Floats]:
        """Overlaps of (1 − XXᵀ)∇Φ with v_0 and v_⊥."""


@dataclass(frozen=True, eq=False)
class FieldTable:
    """Bicubic splines in polar coordinates through 33 × 72 values of each component.

    ``error``: the largest deviation from the loss itself at 64 points between the nodes, relative to the largest speed.
    """

    error: float
    _components: tuple[object, object]

    @classmethod
    def of(cls, loss: PopulationLoss) -> FieldTable:
        """Tabulate, and measure the error."""
        from scipy.interpolate import RectBivariateSpline

        r = np.linspace(0, 1, _RADII)
        angle = np.arange(-_OVERLAP, _ANGLES + _OVERLAP + 1) * 2 * np.pi / _ANGLES
        once = angle[_OVERLAP : _OVERLAP + _ANGLES]
        fields = loss.spherical_gradient(r[:, None] * np.cos(once), r[:, None] * np.sin(once))
        wrap = np.arange(-_OVERLAP, _ANGLES + _OVERLAP + 1) % _ANGLES
        splines = tuple(RectBivariateSpline(r, angle, part[:, wrap]) for part in fields)
        table = cls(0.0, (splines[0], splines[1]))
        k = np.arange(64)
        radius, turn = np.sqrt((k + 0.5) / 64), 2.399963 * k  # a sunflower: even over the disc
        x, y = radius * np.cos(turn), radius * np.sin(turn)
        off = [a - b for a, b in zip(loss.spherical_gradient(x, y), table.spherical_gradient(x, y), strict=True)]
        largest = max(float(np.abs(part).max()) for part in fields)
        return cls(max(float(np.abs(part).max()) for part in off) / max(largest, 1e-300), table._components)

    def spherical_gradient(self, m1: npt.ArrayLike, m2: npt.ArrayLike) -> tuple[Floats, Floats]:
        """Interpolated."""
        x, y = np.asarray(m1, dtype=np.float64), np.asarray(m2, dtype=np.float64)
        radius, angle = np.minimum(np.hypot(x, y), 1.0), np.arctan2(y, x) % (2 * np.pi)
        first, second = (np.asarray(part.ev(radius, angle)) for part in self._components)  # type: ignore[attr-defined]
        return first, second


def quick_field(loss: PopulationLoss) -> Field:
    """The loss itself where one evaluation is cheap (polynomials, closed forms), else its table."""
    return loss if loss.kernel.cheap else FieldTable.of(loss)
