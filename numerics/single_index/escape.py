"""How a trap at η_1 = 1 leaks: the mean time to leave m = 0 at a finite step, as a Kramers problem with its prefactor.

Per sample of step s = δ/d, dm = b(m)s + s√D(m) dW with b = −∇^sphΦ − ½δE[c²]m and D = E[c²(a_0 − zm)²]; the mean first
passage from 0 to ``target``, reflected far on the other side, is 2∫dy p(y)∫dx/(sD(x)p(x))/s, p = exp(−∫2b/(sD)).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy import integrate

from numerics.single_index.rates import noise_strength
from numerics.single_index.setting import Setting
from theory.errors import ReachError
from theory.single_index.trap import trap

_NODES = 48
_HALF = 160
_LONGEST = 690.0
_BEYOND = 2.5


@dataclass(frozen=True)
class Leak:
    """The mean number of samples until a chain leaves the trap, as its logarithm, and the barrier's exponent."""

    log_samples: float
    barrier_exponent: float
    radius: float

    @property
    def samples(self) -> float:
        """The mean, infinite where no float holds it."""
        return math.exp(self.log_samples) if self.log_samples < _LONGEST else math.inf


def drift(setting: Setting, step: float, m: float) -> float:
    """b(m): the spherical gradient and the normalisation's drift, time counted in n·step."""
    slope, _ = setting.loss.spherical_gradient(m, 0.0)
    return -float(slope) - 0.5 * step * setting.d * noise_strength(setting, m, 0.0) * m


def diffusion(setting: Setting, m: float) -> float:
    """D(m) = E[c²(a_0 − zm)²]: the variance that one sample adds to m is step²·D."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(_NODES)
    weights = weights / weights.sum()
    field = math.sqrt(setting.loss.B) * nodes[:, None]
    z = m * field + math.sqrt(1 - m**2) * nodes[None, :]
    f, slope = setting.link.value, setting.link.derivative
    squares = (4 * ((f(z) - f(field)) ** 2 + setting.noise)) * (slope(z) * (field - z * m)) ** 2
    return float(weights @ squares @ weights)


def leak(setting: Setting, step: float, target: float | None = None) -> Leak:
    """The mean escape time from m = 0 of a trap; ``target`` is 2.5 radii of the trap unless given.

    >>> from theory.single_index.link import Link
    >>> found = leak(Setting(Link.parse("x**3-3*x"), lam=1.0, eta1=1.0, d=250), 4e-7, 0.2)
    >>> 5e5 < found.samples < 5e7
    True

    Raises ``ReachError`` where there is no trap, or none that ends before m = 1.
    """
    found = trap(setting.link, lam=setting.lam) if setting.eta1 == 1 and setting.lam > 0 else None
    if found is None or not found.trapped or found.radius is None:
        raise ReachError(
            "leak of the trap",
            given=setting.describe(),
            reach="traps at η1 = 1 that have an edge",
            remedy="see the verdict: this start is not trapped there",
        )
    end = min(_BEYOND * found.radius, 0.95) if target is None else target
    grid = np.linspace(-end, end, 2 * _HALF + 1)
    noise = step * np.array([diffusion(setting, float(m)) for m in grid])
    force = np.array([drift(setting, step, float(m)) for m in grid])
    exponent = -integrate.cumulative_trapezoid(2 * force / noise, grid, initial=0.0)
    exponent -= exponent[_HALF]
    low = float((-exponent).max())
    inner = integrate.cumulative_trapezoid(np.exp(-exponent - low) / noise, grid, initial=0.0)
    top = float(exponent[_HALF:].max())
    outer = np.exp(exponent[_HALF:] - top) * inner[_HALF:]
    whole = float(integrate.trapezoid(outer, grid[_HALF:]))
    return Leak(math.log(2 * whole / step) + low + top, top + max(low, 0.0), found.radius)
