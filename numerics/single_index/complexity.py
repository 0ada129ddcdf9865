"""Sample complexity: how many samples SGD needs to reach an overlap, how that grows with d, and theory. [S] §3, §4"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from numerics.runs.machine import HERE, Machine
from numerics.runs.seeds import replica_seed
from numerics.single_index.batches import Plan
from numerics.single_index.censoring import LEAST_REPLICAS, Median, Slope, fit_slope, median
from numerics.single_index.chains import Method, check_start, run_chains
from numerics.single_index.rates import choose_steps, ode_samples, theory_exponent
from numerics.single_index.setting import Setting
from numerics.single_index.starts import PcaStart, Start
from theory.checks import real
from theory.errors import InputError
from theory.latex import decimal, table

BUDGET = 8.0
"""Replicas stop after this many times the samples that the ODE needs from the typical start."""
_MOST_SAMPLES = 10**15


@dataclass(frozen=True)
class Complexity:
    """Samples to reach ``target``, dimension by dimension.

    ``medians`` over the replicas, with censoring; ``steps`` the step size δ/d at each dimension; ``ode`` the samples
    that the ODE needs from the typical start (None where it never arrives); ``slope`` of log N* against log d and
    ``ode_slope`` over the same dimensions; ``theory_exponent`` None where theory expects no power law.
    """

    setting: Setting
    start: Start
    target: float
    dims: tuple[int, ...]
    steps: tuple[float, ...]
    medians: tuple[Median, ...]
    ode: tuple[float | None, ...]
    slope: Slope
    ode_slope: float | None
    theory_exponent: float | None
    method: Method
    seed: int
    interrupted: bool = False

    def to_json(self) -> dict[str, object]:
        """Medians, their errors, the number of censored replicas, and the slopes."""
        return {
            "dims": list(self.dims),
            "n_star": [m.value for m in self.medians],
            "stderr": [m.stderr for m in self.medians],
            "censored": [m.censored for m in self.medians],
            "slope": self.slope.value,
            "slope_stderr": self.slope.stderr,
            "theory_exponent": self.theory_exponent,
            "ode": list(self.ode),
            "ode_slope": self.ode_slope,
            "link": self.setting.link.text,
            "lambda": self.setting.lam,
            "eta1": self.setting.eta1,
            "noise": self.setting.noise,
            "start": self.start.text,
            "target": self.target,
            "steps": list(self.steps),
            "replicas": self.medians[0].count,
            "method": self.method,
            "seed": self.seed,
            "warnings": list(self.warnings),
        }

    def to_text(self) -> str:
        """A table, then the slope beside the exponent, then what was chosen."""
        s, height = self.setting, "|m1|" if self.setting.even else "m1"
        lines = [
            f"f = {s.link}, {s.loss.spike}, Var ε = {s.noise:g}",
            f"start {self.start.text}, {self.method}, seed {self.seed}",
            f"samples N* until {height} ≥ {self.target:g}: median over {self.medians[0].count} replicas",
            f"{'d':>9} {'N*':>12} {'± (1σ)':>10} {'censored':>9} {'ODE':>12} {'step δ/d':>10} {'δ':>9}",
        ]
        for d, step, m, ode in zip(self.dims, self.steps, self.medians, self.ode, strict=True):
            value = f"> {m.bound:.4g}" if m.value is None else f"{m.value:.5g}"
            error = "" if m.stderr is None else f"{m.stderr:.2g}"
            arrives = "never" if ode is None else f"{ode:.5g}"
            lines.append(
                f"{d:>9} {value:>12} {error:>10} {m.censored:>4}/{m.count:<4} "
                f"{arrives:>12} {step:>10.3g} {step * d:>9.3g}"
            )
        if self.slope.value is None:
            lines.append("slope: fewer than two medians were reached")
        else:
            few = f"(no standard error: it takes at least {LEAST_REPLICAS} replicas)"
            error = few if self.slope.stderr is None else f"± {self.slope.stderr:.3f}"
            lines.append(f"slope of log N* against log d: {self.slope.value:.3f} {error}")
        if self.ode_slope is not None:
            lines.append(f"slope of the ODE at the same d: {self.ode_slope:.3f}")
        exponent = self.theory_exponent
        trapped = "no power of d, the start is trapped"
        lines.append(f"theory: {trapped if exponent is None else f'N* ~ d^{exponent:g}, up to logs'}")
        lines += [f"note: {note}" for note in self.notes]
        return "\n".join(lines)

    def to_latex(self) -> str:
        """The table, for a paper."""
        rows = []
        for d, step, m in zip(self.dims, self.steps, self.medians, strict=True):
            value = f"> {decimal(m.bound, 3)}" if m.value is None else decimal(m.value, 4)
            value += "" if m.stderr is None else rf" \pm {decimal(m.stderr, 2)}"
            rows.append((str(d), value, f"{m.censored}/{m.count}", decimal(step, 3)))
        return table("rrrr", [("d", "N^*", r"\text{censored}", r"\delta/d"), *rows])

    @property
    def warnings(self) -> tuple[str, ...]:
        """The notes, under the name that every result has."""
        return self.notes

    @property
    def notes(self) -> tuple[str, ...]:
        """What was chosen for the user, and what a number does not say."""
        notes = []
        unreached = [str(d) for d, m in zip(self.dims, self.medians, strict=True) if m.value is None]
        if unreached:
            notes.append(
                f"at d = {', '.join(unreached)} half the replicas or more did not arrive: only a bound is known, "
                "and the slope leaves these out"
            )
        if any(m.censored for m in self.medians):
            notes.append("replicas that did not arrive count as later than all others, never as a number")
        if isinstance(self.start, PcaStart) and self.start.sign.rule == "oracle":
            notes.append("the component's sign is chosen towards the target by an oracle, as [S] assumes")
        if self.interrupted:
            notes.append("interrupted: the dimensions that were finished are shown")
        return tuple(notes)


def complexity(
    setting: Setting,
    start: Start,
    *,
    dims: Sequence[int],
    target: float,
    replicas: int,
    seed: int = 0,
    steps: Sequence[float] | None = None,
    budget: float = BUDGET,
    method: Method = "reduced",
    machine: Machine = HERE,
    name: str = "single-index complexity",
) -> Complexity:
    """Median samples to reach ``target`` at each dimension, and the slope. ``setting.d`` is not used.

    ``steps`` are the step sizes δ/d, one a dimension; by default ``rates.choose_steps`` takes them as theory says.
    A replica is stopped, and counted as censored, after ``budget`` times the ODE's samples. On Ctrl-C the dimensions
    finished are returned, if there are any.

    >>> from theory.single_index.link import Link
    >>> from numerics.single_index.starts import parse_start
    >>> plain = Setting(Link.parse("x**3-3*x"), lam=0.0, eta1=1.0, d=100)
    >>> result = complexity(plain, parse_start("0.5,0"), dims=[100, 400], target=0.9, replicas=32)
    >>> result.theory_exponent, abs(result.slope.value - 1) < 0.1
    (1.0, True)

    Raises ``InputError`` for dims that do not increase, a target outside (0, 1), or steps that do not fit.
    """
    sizes = _dims(dims)
    check_start(start)
    if real(target) is None or not 0 < target < 1:
        raise InputError("target", given=target, expected="a number between 0 and 1", remedy="use target=0.5")
    if real(budget) is None or not (math.isfinite(budget) and 1 <= budget <= 1e6):
        raise InputError("budget", given=budget, expected="a number from 1 to 1e6", remedy="use budget=8")
    chosen = tuple(steps) if steps is not None else choose_steps(setting, start, sizes, target)
    if len(chosen) != len(sizes):
        raise InputError("steps", given=chosen, expected=f"{len(sizes)} steps", remedy="give one step a dimension")
    if not all(math.isfinite(step) and step > 0 for step in chosen):
        raise InputError("steps", given=chosen, expected="positive steps", remedy="leave steps= out")
    settings = [replace(setting, d=d) for d in sizes]
    ode = [ode_samples(one, start.typical(one), step, target) for one, step in zip(settings, chosen, strict=True)]
    if 0 in ode:
        raise InputError(
            "target",
            given=target,
            expected=f"an overlap above the start's at every d; at d = {sizes[ode.index(0)]} it is there already",
            remedy="raise target=, or give larger dims=",
        )
    bounds = [
        _bound(one, start, step, arrival, budget) for one, step, arrival in zip(settings, chosen, ode, strict=True)
    ]
    total = sum(bounds) * replicas
    medians: list[Median] = []
    times: list[list[int | None]] = []
    interrupted = False
    for one, step, bound in zip(settings, chosen, bounds, strict=True):
        part = machine.part(sum(bounds[: len(medians)]) * replicas, total)
        try:
            runs = run_chains(
                one,
                start,
                Plan(bound, step, target=target, stop=True),
                replicas=replicas,
                seed=seed,
                method=method,
                machine=part,
                name=name,
            )
        except KeyboardInterrupt:
            if machine.whole or not medians:
                raise
            interrupted = True
            break
        times.append([run.hit for run in runs.replicas])
        medians.append(median(times[-1], bound))
    count = len(medians)
    return Complexity(
        setting,
        start,
        target,
        sizes[:count],
        chosen[:count],
        tuple(medians),
        tuple(ode[:count]),
        fit_slope(sizes[:count], times, medians, replica_seed(seed, replicas)),
        _ode_slope(sizes[:count], medians, ode[:count]),
        theory_exponent(replace(setting, d=sizes[-1]), start, target),
        method,
        seed,
        interrupted,
    )


def _dims(dims: Sequence[int]) -> tuple[int, ...]:
    sizes = tuple(dims) if isinstance(dims, Iterable) else ()
    if not sizes or not all(isinstance(d, int) for d in sizes) or any(low >= high for low, high in pairwise(sizes)):
        raise InputError(
            "dims", given=dims, expected="whole dimensions in increasing order", remedy="use dims=[100, 200, 400]"
        )
    return sizes


def _bound(setting: Setting, start: Start, step: float, arrival: float | None, budget: float) -> int:
    """Where replicas stop: a multiple of the ODE's samples or, where it never arrives, of its relaxation time."""
    if arrival is None:
        m1, m2 = start.typical(setting)
        first, second = setting.loss.spherical_gradient(m1, m2)
        rate = math.hypot(float(first), float(second)) / math.hypot(m1, m2)
        arrival = 10 / (step * max(rate, 1e-12))
    return int(min(max(1.0, budget * arrival), _MOST_SAMPLES))


def _ode_slope(dims: Sequence[int], medians: Sequence[Median], ode: Sequence[float | None]) -> float | None:
    points = [
        (math.log(d), math.log(n)) for d, m, n in zip(dims, medians, ode, strict=True) if n and m.value is not None
    ]
    if len(points) < 2:
        return None
    x, y = np.array(points).T
    return float(np.polyfit(x, y, 1)[0])
