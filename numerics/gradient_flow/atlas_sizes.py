"""Sizes up to 1000 at which each face of the prism can be seen in simulation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from types import MappingProxyType

from regimes.atlas import ATLAS
from regimes.neglected import neglected_ratios
from theory.autoencoder.sizes import Sizes


@dataclass(frozen=True)
class Setting:
    """Sizes in a face's cone, and the last time in units of the face's own time scale, at η = 1.

    ``smallness`` is the largest of the ratios that the face takes to be zero: its limit is off by about that much.
    """

    face: str
    sizes: Sizes
    end: float

    @property
    def unit(self) -> float:
        """The time scale 1/(largest rate): min(p, m) over the largest of 1 (R), σ²n (N) and σ²p (P) on the face."""
        triangle = ATLAS[self.face].face.triangle
        drives = {"R": 1.0, "N": float(self.sizes.sigma2 * self.sizes.n), "P": float(self.sizes.sigma2 * self.sizes.p)}
        return min(self.sizes.p, self.sizes.m) / max(drives[a] for a in triangle)

    def times(self, count: int) -> tuple[float, ...]:
        """``count`` times from 0, closer together at the start."""
        return tuple(self.end * self.unit * (k / (count - 1)) ** 1.5 for k in range(count))

    @property
    def smallness(self) -> float:
        """The largest ratio that the face neglects (``regimes.neglected.neglected_ratios``)."""
        return max(neglected_ratios(ATLAS[self.face].face, self.sizes).values())


def _setting(face: str, p: int, n: int, m: int, sigma2: str, end: float) -> tuple[str, Setting]:
    return face, Setting(face, Sizes(p, n, m, Fraction(sigma2)), end)


SETTINGS: Mapping[str, Setting] = MappingProxyType(
    dict(
        (
            _setting("interior", 100, 100, 100, "1/100", 0.8),
            _setting("large-data", 60, 60, 900, "1/60", 0.8),
            _setting("small-data", 400, 400, 20, "1/400", 0.8),
            _setting("mean-field", 40, 1000, 80, "1/2000", 0.8),
            _setting("narrow-latent", 300, 12, 300, "1/600", 0.6),
            _setting("free", 100, 100, 100, "1", 0.8),
            _setting("R,N|m", 30, 1000, 900, "1/2000", 0.8),
            _setting("R,N|p", 150, 1000, 15, "1/2000", 0.8),
            _setting("R,P|m", 70, 8, 1000, "1/700", 0.8),
            _setting("R,P|p", 400, 15, 15, "1/800", 0.4),
            _setting("N,P|m", 60, 60, 900, "1", 0.8),
            _setting("N,P|p", 300, 300, 15, "1/10", 0.8),
            _setting("R|m,p", 100, 100, 100, "1/100000", 0.12),
            _setting("R|m", 60, 60, 900, "1/30000", 0.4),
            _setting("R|p", 300, 300, 15, "1/150000", 0.4),
            _setting("N|m,p", 40, 1000, 80, "1/20", 0.8),
            _setting("N|m", 30, 1000, 900, "1/20", 0.8),
            _setting("N|p", 150, 1000, 15, "1/20", 0.8),
            _setting("P|m,p", 300, 12, 300, "1/6", 0.8),
            _setting("P|m", 100, 10, 1000, "1/2", 0.8),
            _setting("P|p", 400, 15, 15, "1/8", 0.8),
        )
    )
)
"""Face name → setting, all 21."""
