"""Train: replicas of online spherical SGD from one kind of start, and how many find the target. [S] Fig. 1, 4"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from numerics.runs.machine import HERE, Machine
from numerics.single_index.batches import Plan
from numerics.single_index.censoring import median
from numerics.single_index.chains import Method, Runs, run_chains
from numerics.single_index.setting import Setting
from numerics.single_index.starts import PcaStart, Start

SUCCESS = 0.9
"""An end with m_1 (|m_1| for an even link) from here on counts as success unless another target is given."""


@dataclass(frozen=True)
class Training:
    """Replicas of one training run.

    ``starts`` and ``ends`` have a row (m_1, m_2) a replica; ``hits`` the steps at which the target was first reached,
    None where it was not; ``paths`` has shape (replicas, records, 2), one record after every ``every`` steps.
    """

    setting: Setting
    start: Start
    plan: Plan
    method: Method
    seed: int
    starts: NDArray[np.float64]
    ends: NDArray[np.float64]
    hits: tuple[int | None, ...]
    paths: NDArray[np.float64]
    asked: int
    interrupted: bool
    warnings: tuple[str, ...]

    @property
    def successes(self) -> NDArray[np.bool_]:
        """Which replicas ended at the target."""
        return np.array([self.setting.succeeds(m1, self.plan.target) for m1 in self.ends[:, 0]])

    @property
    def success_fraction(self) -> float:
        """The share of replicas that ended at the target."""
        return float(self.successes.mean())

    @property
    def success_stderr(self) -> float:
        """Standard error of the share; never zero: with K replicas a rate of 1/(K+2) cannot be told from none."""
        count = len(self.ends)
        share = (self.successes.sum() + 1) / (count + 2)
        return math.sqrt(share * (1 - share) / count)

    def to_json(self) -> dict[str, object]:
        """Final overlaps, one a replica, the share of successes, and what was run."""
        return {
            "m1": self.ends[:, 0].tolist(),
            "m2": self.ends[:, 1].tolist(),
            "success_fraction": self.success_fraction,
            "start": self.start.text,
            "method": self.method,
            "success_stderr": self.success_stderr,
            "hits": list(self.hits),
            "link": self.setting.link.text,
            "lambda": self.setting.lam,
            "eta1": self.setting.eta1,
            "noise": self.setting.noise,
            "d": self.setting.d,
            "steps": self.plan.steps,
            "step": self.plan.step,
            "target": self.plan.target,
            "seed": self.seed,
            "warnings": list(self.warnings),
        }

    def to_text(self) -> str:
        """The setting, the start as drawn, and the ends."""
        setting, plan = self.setting, self.plan
        height = "|m1|" if setting.even else "m1"
        lines = [
            setting.describe() + ("" if setting.lam else "  (no spike: η1 is idle)"),
            f"{plan.steps} steps of {plan.step:g} (δ = {plan.step * setting.d:.3g}), {self.method}, seed {self.seed}",
            f"start {self.start.text}: m1 = {_spread(self.starts[:, 0])}, m2 = {_spread(self.starts[:, 1])}",
            *_about_start(setting, self.start, self.starts),
            f"end: m1 = {_spread(self.ends[:, 0])}, m2 = {_spread(self.ends[:, 1])}",
            f"success ({height} ≥ {plan.target:g} at the end): {int(self.successes.sum())} of {len(self.ends)}, "
            f"{self.success_fraction:.3g} ± {self.success_stderr:.2g}",
            f"{height} ≥ {plan.target:g} first reached after {_arrival(self.hits, plan.steps)}",
            f"± is one standard error, s.d. the spread over the {len(self.ends)} replicas",
        ]
        return "\n".join(lines)


def train(
    setting: Setting,
    start: Start,
    *,
    steps: int,
    step: float,
    replicas: int,
    seed: int = 0,
    method: Method = "reduced",
    target: float = SUCCESS,
    every: int = 0,
    machine: Machine = HERE,
    name: str = "single-index train",
) -> Training:
    """Run ``replicas`` chains of ``steps`` steps X ← (X − ``step``·g)/‖·‖, g the spherical gradient at one sample.

    ``step`` is δ/d; ``every`` keeps the overlaps every so many steps; progress counts steps. See ``run_chains`` for
    seeds, ``machine`` and interruption.

    >>> from theory.single_index.link import Link
    >>> from numerics.single_index.starts import parse_start
    >>> setting = Setting(Link.parse("x**3-3*x"), lam=1.0, eta1=0.45, d=1000)
    >>> result = train(setting, parse_start("pca-law:4000"), steps=1_500_000, step=1e-7, replicas=2)
    >>> result.success_fraction
    1.0

    Raises ``InputError`` for values out of range, ``BudgetError`` for days of work.
    """
    plan = Plan(steps, step, target=target, every=every)
    runs = run_chains(
        setting,
        start,
        plan,
        replicas=replicas,
        seed=seed,
        method=method,
        machine=machine,
        name=name,
    )
    return _training(setting, start, plan, method, seed, runs)


def _training(setting: Setting, start: Start, plan: Plan, method: Method, seed: int, runs: Runs) -> Training:
    replicas = runs.replicas
    return Training(
        setting,
        start,
        plan,
        method,
        seed,
        starts=np.array([one.start for one in replicas]),
        ends=np.array([one.end for one in replicas]),
        hits=tuple(one.hit for one in replicas),
        paths=np.array([one.path for one in replicas]).reshape(len(replicas), -1, 2),
        asked=runs.asked,
        interrupted=runs.interrupted,
        warnings=runs.warnings,
    )


def _spread(values: NDArray[np.float64]) -> str:
    """Mean ± standard error, and the standard deviation; of a single value, just that."""
    if len(values) == 1:
        return f"{values[0]:.4g}"
    deviation = float(values.std(ddof=1))
    return f"{values.mean():.4g} ± {deviation / math.sqrt(len(values)):.2g} (s.d. {deviation:.2g})"


def _arrival(hits: Sequence[int | None], steps: int) -> str:
    """The median first time, those that did not arrive counting as later than all others."""
    found, arrived = median(hits, steps), len(hits) - sum(hit is None for hit in hits)
    if found.value is None:
        return f"more than {steps} samples (median; {arrived} of {len(hits)} replicas arrived)"
    error = f" ± {found.stderr:.0f}" if found.stderr and len(hits) > 1 else ""
    return f"{found.value:.0f}{error} samples (median; {arrived} of {len(hits)} replicas arrived)"


def _about_start(setting: Setting, start: Start, starts: NDArray[np.float64]) -> list[str]:
    if not isinstance(start, PcaStart):
        return []
    overlap = np.abs(starts @ [setting.eta1, setting.eta2])
    threshold = math.sqrt(setting.d / start.count(setting))
    lines = [
        f"  overlap with the spike {_spread(overlap)}; its limit {start.limit(setting):.4g} "
        f"(threshold λ = √γ = {threshold:.3g})"
    ]
    if start.sign.rule == "oracle":
        lines.append("  sign chosen towards the target by an oracle, as [S] assumes; without labels data cannot tell")
    return lines
