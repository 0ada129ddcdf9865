"""What theory says of sample complexity: exponents in d, step sizes, and the ODE at finite d. [S] §3, §4; [O] Thm 1.3

With samples counted by n, SGD of step δ/d follows dm/dn = −(δ/d)[∇^sphΦ + ½δE[c²]m]: the second term is what dividing
by the norm costs, since ‖X − (δ/d)g‖² ≈ 1 + (δ²/d)c². It must not beat the signal, which is of order m^{k−1} at
information exponent k; so δ ≲ m_0^{k−2} from overlap m_0, and N ~ (d/δ)m_0^{2−k} ~ d m_0^{−2(k−2)}.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
from scipy.integrate import LSODA

from numerics.single_index.setting import Setting
from numerics.single_index.starts import Overlaps, Start
from theory.errors import InputError
from theory.single_index.exponent import signal_exponent
from theory.single_index.noise import fitted_noise, gradient_noise
from theory.single_index.verdict import spike_slope, verdict

NORM_SHARE = 0.5
"""How much of the signal the normalisation drift may take, at its worst point on the way to the target."""

_MOST_ODE_STEPS = 4000
_LOST = 1e-3


def theory_exponent(setting: Setting, start: Start, target: float = 0.5) -> float | None:
    """α in N* ~ d^α (up to logarithms); None where the start is trapped and N* grows faster than any power.

    From overlap d^{−ζ}: 1 + 2ζ(k−2) for k ≥ 3, hence k − 1 from a random start; 1 for a warm start, for k ≤ 2, and
    where a spike's variance term is unstable, V′(1) < 0. Trapped are starts of vanishing overlap where ``verdict``
    says so, at whatever information exponent, and warm starts from which the population flow does not reach the target.

    >>> from theory.single_index.link import Link
    >>> from numerics.single_index.starts import parse_start
    >>> plain = Setting(Link.parse("He(4, x)"), lam=0.0, eta1=1.0, d=1000)
    >>> [theory_exponent(plain, parse_start(text)) for text in ("random", "transfer:0.25", "0.5,0")]
    [3.0, 2.0, 1.0]
    """
    k = signal_exponent(setting.link, variance=setting.loss.B).exponent
    decay = _decay(setting, start)
    if decay == 0:
        return 1.0 if ode_samples(setting, start.typical(setting), 1e-15, target) is not None else None
    if verdict(setting.loss).answer == "trapped":
        return None
    return 1.0 + 2.0 * decay * _power(setting, k)


def _power(setting: Setting, k: int) -> int:
    """By which power of the overlap the signal is weaker than the normalisation's drift: k − 2 for k ≥ 3.

    Zero where the spike's own term drives starts out: that term is of first order in the overlap, as the drift is.
    """
    driven = setting.lam > 0 and spike_slope(setting.loss) < 0
    return 0 if driven else max(k - 2, 0)


def choose_steps(setting: Setting, start: Start, dims: Sequence[int], target: float) -> tuple[float, ...]:
    """The steps δ/d for each dimension: δ = c·m_0^{k−2}, one c for all.

    c is the largest with which, at every dimension, the normalisation drift ½δE[c²]‖m‖ stays below ``NORM_SHARE`` of
    the signal ‖∇^sphΦ‖ along the population flow from the start's typical overlaps to the target.
    """
    k = signal_exponent(setting.link, variance=setting.loss.B).exponent
    power = _power(setting, k) if _decay(setting, start) > 0 else 0
    settings = [replace(setting, d=d) for d in dims]
    overlaps = [math.hypot(*start.typical(one)) for one in settings]
    factor = min(
        _largest_delta(one, start.typical(one), target) / m0**power for one, m0 in zip(settings, overlaps, strict=True)
    )
    return tuple(factor * m0**power / d for m0, d in zip(overlaps, dims, strict=True))


def ode_samples(setting: Setting, begin: Overlaps, step: float, target: float) -> float | None:
    """The number of samples after which the ODE above, its normalisation term included, reaches the target.

    None where it never does: it is trapped, or the step is too large for the signal.

    >>> from theory.single_index.link import Link
    >>> setting = Setting(Link.parse("x**3-3*x"), lam=0.0, eta1=1.0, d=1000)
    >>> round(ode_samples(setting, (0.1, 0.0), 1e-12, 0.5) * 1e-12 * 36, 3)    # ∫ dm/(m²(1−m²)), 0.1 to 0.5
    8.449
    """
    before: tuple[float, float] | None = None
    for time, m1, _ in _follow(setting, begin, step * setting.d):
        height = abs(m1) if setting.even else m1
        if height >= target:
            if before is None:
                return 0.0
            share = (target - before[1]) / (height - before[1])
            return (before[0] + share * (time - before[0])) / step
        before = time, height
    return None


def noise_strength(setting: Setting, m1: float, m2: float) -> float:
    """E[c²] for c = 2(f(z) − y)f′(z), exact for polynomials, else by quadrature; see ``theory.single_index.noise``.

    >>> from theory.single_index.link import Link
    >>> noise_strength(Setting(Link.parse("x"), lam=0.0, eta1=1.0, d=10), 0.0, 0.0)
    8.0
    """
    return gradient_noise(setting.loss, m1, m2).value


def _largest_delta(setting: Setting, begin: Overlaps, target: float) -> float:
    """The smallest along the way of NORM_SHARE · 2‖∇^sphΦ‖ / (E[c²]‖m‖); at the start alone, if there is no way."""
    largest: list[float] = []
    strength = fitted_noise(setting.loss)
    for _, m1, m2 in _follow(setting, begin, 0.0):
        norm, signal = math.hypot(m1, m2), math.hypot(*_spherical(setting, m1, m2))
        cost = strength(m1, m2) * norm
        if cost > 0:
            largest.append(NORM_SHARE * 2 * signal / cost)
        if (abs(m1) if setting.even else m1) >= target:
            return min(largest, default=1.0)
    if not largest or largest[0] <= 0:
        raise InputError(
            "start",
            given=begin,
            expected="a start at which the population gradient does not vanish",
            remedy="move the start, or give step=",
        )
    return largest[0]


def _follow(setting: Setting, begin: Overlaps, delta: float) -> Iterator[tuple[float, float, float]]:
    """(t, m_1, m_2) along dm/dt = −∇^sphΦ − ½δE[c²]m, as the solver steps, until nothing more will happen."""

    strength = fitted_noise(setting.loss)

    def velocity(_time: float, m: np.ndarray) -> np.ndarray:
        m = m / max(1.0, float(np.linalg.norm(m)))
        drift = 0.5 * delta * strength(m[0], m[1]) if delta else 0.0
        return -np.array(_spherical(setting, m[0], m[1])) - drift * m

    begun = math.hypot(*begin)
    yield 0.0, *begin
    solver = LSODA(velocity, 0.0, np.array(begin), 1e15, rtol=1e-7, atol=1e-10 * begun)
    for _ in range(_MOST_ODE_STEPS):
        solver.step()
        m1, m2 = float(solver.y[0]), float(solver.y[1])
        yield float(solver.t), m1, m2
        if solver.status != "running" or math.hypot(m1, m2) < _LOST * begun:
            return


def _spherical(setting: Setting, m1: float, m2: float) -> tuple[float, float]:
    first, second = setting.loss.spherical_gradient(m1, m2)
    return float(first), float(second)


def _decay(setting: Setting, start: Start) -> float:
    """ζ, a principal component below its threshold being no better than a random start."""
    from numerics.single_index.starts import PcaStart

    if isinstance(start, PcaStart) and start.limit(setting) == 0:
        return 0.5
    return start.decay
