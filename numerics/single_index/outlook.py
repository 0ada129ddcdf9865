"""Easy, hard, or trapped, asked as a user asks it: at this d, from this start, within this budget. [S] §3"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

from numerics.runs.seeds import child
from numerics.single_index.escape import Leak, leak
from numerics.single_index.rates import choose_steps, ode_samples
from numerics.single_index.setting import Setting
from numerics.single_index.starts import PcaStart, RandomStart, Start
from theory.checks import positive, real
from theory.errors import InputError, ReachError

_DRAWS = 24
_SEED = 20_250
_MOST = 0.75
_FEW = 0.25
_SMALL = 1e-15

Prospect = Literal["arrives", "some arrive", "too slow", "trapped"]


@dataclass(frozen=True)
class Outlook:
    """What theory expects at a dimension, from a start, within a budget of samples.

    ``share``: the part of 24 draws of the start from which the ODE with its normalisation drift reaches ``target``
    within ``budget`` samples of size ``step``; ``samples``: their median, None where half of them never arrive;
    ``never``: the part from which the ODE does not arrive at any time. ``leak`` is the mean escape time of a trap.
    """

    setting: Setting
    start: str
    budget: float
    step: float
    target: float
    prospect: Prospect
    share: float
    samples: float | None
    never: float
    leak: Leak | None
    reason: str

    def to_json(self) -> dict[str, object]:
        """Flat record."""
        return {
            "d": self.setting.d,
            "start": self.start,
            "budget": self.budget,
            "step": self.step,
            "target": self.target,
            "verdict": self.prospect,
            "share": self.share,
            "samples_median": self.samples,
            "never": self.never,
            "leak_samples": self.leak.samples if self.leak and math.isfinite(self.leak.samples) else None,
            "leak_log10": None if self.leak is None else self.leak.log_samples / math.log(10),
            "reason": self.reason,
        }

    def to_text(self) -> str:
        """One line."""
        return f"at d = {self.setting.d}, start {self.start}, {self.budget:.4g} samples: {self.prospect}: {self.reason}"


def outlook(
    setting: Setting, start: Start, *, budget: float, step: float | None = None, target: float = 0.5
) -> Outlook:
    """Judge a start at ``setting.d`` by the ODE with the drift that noise adds, from draws of the start itself.

    ``step`` = δ/d; by default the one that theory takes for this start (``rates.choose_steps``). A trap's leak is the
    mean first passage of its diffusion.

    >>> from numerics.single_index.starts import parse_start
    >>> from theory.single_index.link import Link
    >>> plain = Setting(Link.parse("x**3-3*x"), lam=0.0, eta1=1.0, d=300)
    >>> outlook(plain, parse_start("random"), budget=1.5 * 300**2, step=0.1 / 300**2).prospect    # [S]'s budget
    'too slow'
    """
    positive("budget", budget, remedy="use for example budget=1e6")
    if real(target) is None or not 0 < target < 1:
        raise InputError("target", given=target, expected="a number between 0 and 1", remedy="use target=0.5")
    if step is None:
        try:
            (chosen,) = choose_steps(setting, start, (setting.d,), target)
        except InputError:
            chosen = 0.1 / setting.d**2
    else:
        chosen = positive("step", step, remedy="use for example step=1e-7")
    seed = np.random.SeedSequence(_SEED)
    draws = [start.draw(setting, child(seed, k)) for k in range(_DRAWS)]
    counts = [ode_samples(setting, draw, chosen, target) for draw in draws]
    lost = [draw for draw, count in zip(draws, counts, strict=True) if count is None]
    held = sum(ode_samples(setting, draw, _SMALL, target) is None for draw in lost) / _DRAWS
    within = [count for count in counts if count is not None and count <= budget]
    share, never = len(within) / _DRAWS, counts.count(None) / _DRAWS
    order = sorted(math.inf if count is None else count for count in counts)
    middle = (order[_DRAWS // 2 - 1] + order[_DRAWS // 2]) / 2
    median = None if math.isinf(middle) else middle
    found: Leak | None = None
    if never > 0:
        try:
            found = leak(setting, chosen)
        except ReachError:
            found = None
    leaks = found is not None and found.samples <= budget
    prospect: Prospect
    if share > _MOST or leaks:
        prospect = "arrives"
    elif share > _FEW:
        prospect = "some arrive"
    elif held > _MOST:
        prospect = "trapped"
    else:
        prospect = "too slow"
    reason = _reason(setting, start, budget, share, never, median, found, held)
    return Outlook(setting, start.text, float(budget), chosen, target, prospect, share, median, never, found, reason)


def _reason(
    setting: Setting,
    start: Start,
    budget: float,
    share: float,
    never: float,
    median: float | None,
    found: Leak | None,
    held: float,
) -> str:
    parts = [f"the ODE takes {share:.0%} of the starts to the target in time"]
    if median is not None:
        parts.append(f"the median needs {median:.3g} samples ({median / budget:.2g} of the budget)")
    if never > 0:
        parts.append(f"from {never:.0%} it never arrives, and only noise frees them")
    if never > held:
        parts.append(f"{never - held:.0%} are held by the normalisation alone: a smaller step would let them go")
    if found is not None:
        time = f"{found.samples:.3g}" if math.isfinite(found.samples) else f"10^{found.log_samples / math.log(10):.0f}"
        parts.append(f"the trap of radius {found.radius:.3g} leaks after {time} samples on average")
    if isinstance(start, PcaStart) and start.sign.rule != "oracle" and not setting.even:
        parts.append("a wrong sign of PCA arrives later, in the limit too")
    if isinstance(start, RandomStart) and setting.lam == 0 and share < 1:
        parts.append("without a spike the time is spent near zero overlap")
    return "; ".join(parts)
