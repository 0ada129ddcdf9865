"""Fluctuations of SGD's statistics: the limiting diffusion at a fixed point or along the ODE, beside simulations.

What finite d adds is of order d^{−1/2} where κ_3 ≠ 0: in a softplus single-index task (label noise 0.3, ridge 0.1,
δ = 0.8, exponential inputs, flat truth) the variances of M and Q at time 3 are above the limit's by 37 and 55 % at
d = 75, 14 and 21 % at 300, 7 and 8 % (± 4) at 1200; Gaussian inputs have no excess at d = 300 (−2 ± 2 %).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from numerics.judge import as_rare
from numerics.runs.machine import HERE, Machine
from numerics.sgd.simulate import choice, simulate_sgd
from numerics.sgd.vectors import Spread, vectors
from theory.checks import whole
from theory.errors import InputError
from theory.sgd.diffusion import Diffusion, diffusion_along
from theory.sgd.fluctuations import Fluctuations, fixed_point, fluctuations
from theory.sgd.laws import LAWS, Law
from theory.sgd.state import State, as_state
from theory.sgd.task import Task
from theory.sgd.third_order import Shape
from theory.times import time_grid

Array = NDArray[np.float64]
Kind = Literal["stable", "saddle", "degenerate", "path"]
Agreement = Literal["holds", "fails", "undecided"]

_STILL = 1e-6
_SHARP = 0.25
_SMALLER = 4
_LEFT = 0.5
RULE = (
    "rule: finite d adds terms of order d^(-1/2): moments measured at d and d/4 are extrapolated to d = ∞; these agree "
    "with the theory within four standard errors and half of what the extrapolation moved. Undecided where a standard "
    "error is above a quarter of a standard deviation (of the mean) or of the variance"
)


@dataclass(frozen=True, eq=False)
class Measured:
    """x = √d (statistics − ODE) over replicas: ``mean`` and ``variance`` with standard errors, times × statistics.

    ``smaller`` is the same at d/4, to extrapolate with.
    """

    d: int
    replicas: int
    mean: Array
    mean_stderr: Array
    variance: Array
    variance_stderr: Array
    covariance: Array
    warnings: tuple[str, ...]
    smaller: Measured | None = None

    def extrapolated(self) -> tuple[Array, Array, Array, Array]:
        """Mean and variance at d = ∞, along d^{−1/2}, each with its standard error."""
        if self.smaller is None:
            return self.mean, self.mean_stderr, self.variance, self.variance_stderr
        near, far = (x.d**-0.5 for x in (self, self.smaller))
        a, b = far / (far - near), -near / (far - near)
        return (
            a * self.mean + b * self.smaller.mean,
            np.hypot(a * self.mean_stderr, b * self.smaller.mean_stderr),
            a * self.variance + b * self.smaller.variance,
            np.hypot(a * self.variance_stderr, b * self.smaller.variance_stderr),
        )


@dataclass(frozen=True, eq=False)
class LawFluctuations:
    """For one input law: the diffusion dx = (J x + shift) dt + dB at the point (or at each time), and a measurement.

    ``drift`` is J, ``volatility`` the covariance of B per unit of time, ``covariance`` the stationary one (``None``
    unless the point is stable; along a path, that at the last time). ``mean`` and ``variance`` are predicted on the
    grid of times, from x = 0. ``paths`` (paths × times × statistics) are samples of the diffusion on ``fine``.
    """

    law: str
    drift: Array
    volatility: Array
    shift: Array
    covariance: Array | None
    mean: Array
    variance: Array
    fine: Array
    paths: Array
    measured: Measured | None

    @property
    def verdict(self) -> Agreement | None:
        """Whether the measurement is as predicted; ``None`` without one. See ``RULE``."""
        if self.measured is None:
            return None
        run, deviation = self.measured, np.sqrt(self.variance[1:])
        errors = as_rare(4.0, run.replicas - 1)
        mean, mean_bar, variance, variance_bar = (x[1:] for x in run.extrapolated())
        blind = (mean_bar > _SHARP * deviation) | (variance_bar > _SHARP * self.variance[1:])
        off = np.abs(mean - self.mean[1:]) > errors * mean_bar + _LEFT * np.abs(mean - run.mean[1:])
        left = _LEFT * np.abs(variance - run.variance[1:])
        off |= np.abs(variance - self.variance[1:]) > errors * variance_bar + left
        if off.any():
            return "fails"
        return "undecided" if blind.any() else "holds"

    def to_json(self) -> dict[str, object]:
        """Drift, volatility, shift, covariance, moments on the grid, the measurement and its verdict."""
        run = self.measured
        simulated = run and {
            "d": run.d,
            "replicas": run.replicas,
            "mean": run.mean.tolist(),
            "mean_stderr": run.mean_stderr.tolist(),
            "variance": run.variance.tolist(),
            "variance_stderr": run.variance_stderr.tolist(),
            "covariance": run.covariance.tolist(),
            "extrapolated": dict(
                zip(
                    ("mean", "mean_stderr", "variance", "variance_stderr"),
                    (x.tolist() for x in run.extrapolated()),
                    strict=True,
                )
            ),
            "verdict": self.verdict,
        }
        return {
            "drift": self.drift.tolist(),
            "volatility": self.volatility.tolist(),
            "shift": self.shift.tolist(),
            "covariance": None if self.covariance is None else self.covariance.tolist(),
            "mean": self.mean.tolist(),
            "variance": self.variance.tolist(),
            "paths": {"times": self.fine.tolist(), "values": self.paths.tolist()},
            "simulated": simulated,
        }


@dataclass(frozen=True, eq=False)
class FluctuationStudy:
    """Fluctuations about one point, or along one path, under one law or more."""

    task: str
    spread: Spread
    kind: Kind
    names: tuple[str, ...]
    at: Mapping[str, float]
    rates: tuple[complex, ...]
    times: tuple[float, ...]
    laws: tuple[LawFluctuations, ...]
    warnings: tuple[str, ...]

    def to_json(self) -> dict[str, object]:
        """The first law's results at the top, and every law's under ``laws``."""
        return {
            "task": self.task,
            "at": dict(self.at),
            "kind": self.kind,
            "names": list(self.names),
            "rates": [[rate.real, rate.imag] for rate in self.rates],
            "spread": self.spread,
            "times": list(self.times),
            "law": self.laws[0].law,
            **self.laws[0].to_json(),
            "laws": {law.law: law.to_json() for law in self.laws},
            "warnings": list(self.warnings),
        }

    def to_text(self) -> str:
        """The point, its rates, and for each law a table of predicted and measured moments, with a verdict."""
        place = {"path": "along the ODE from", "stable": "stable fixed point", "saddle": "saddle"}
        where = place.get(self.kind, "degenerate fixed point")
        lines = [
            f"{self.task}: x = √d (statistics − ODE) obeys dx = (J x + shift) dt + dB; {self.spread} vectors",
            f"{where} {', '.join(f'{name} = {value:.5g}' for name, value in self.at.items())}",
        ]
        if self.rates:
            lines.append("rates: " + ", ".join(f"{rate.real:.4g}" for rate in self.rates))
        for law in self.laws:
            lines += ["", f"{law.law} inputs", *_table(self.names, self.times, law)]
        if len(self.laws) > 1:
            first, other = self.laws[0], self.laws[-1]
            k = int(np.abs(other.mean[-1] - first.mean[-1]).argmax())
            lines += [
                "",
                f"the laws differ most in the mean of {self.names[k]} at time {self.times[-1]:g}: "
                f"{first.mean[-1, k]:.4g} ({first.law}), {other.mean[-1, k]:.4g} ({other.law})",
            ]
        if any(law.measured for law in self.laws):
            lines += ["", RULE]
        return "\n".join(lines)


def _table(names: Sequence[str], times: Sequence[float], law: LawFluctuations) -> list[str]:
    head = ["statistic", "time", "mean", "variance", "shift", "volatility"]
    rows = [head + (["measured mean", "measured variance", "variance at d = ∞"] if law.measured else [])]
    for k, name in enumerate(names):
        for row, time in enumerate(times):
            if row == 0 and time == 0:
                continue
            cells = [name, f"{time:g}", f"{law.mean[row, k]:.4f}", f"{law.variance[row, k]:.4f}"]
            cells += [f"{law.shift[k]:.4f}", f"{law.volatility[k, k]:.4f}"]
            if law.measured:
                run = law.measured
                cells.append(f"{run.mean[row, k]:.4f} ± {run.mean_stderr[row, k]:.4f}")
                cells.append(f"{run.variance[row, k]:.4f} ± {run.variance_stderr[row, k]:.4f}")
                _, _, variance, bar = run.extrapolated()
                cells.append(f"{variance[row, k]:.4f} ± {bar[row, k]:.4f}")
            rows.append(cells)
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ["  ".join(c.ljust(w) for c, w in zip(row, widths, strict=True)).rstrip() for row in rows]
    return lines + ([f"verdict: {law.verdict}"] if law.measured else [])


def study_fluctuations(
    task: Task,
    *,
    laws: Sequence[Law] = (LAWS["gaussian"],),
    start: State | Mapping[str, float] | None = None,
    along: bool = False,
    times: Iterable[float] = (0.0, 0.5, 1.0, 2.0, 3.0),
    spread: Spread = "random",
    d: int = 400,
    replicas: int = 0,
    seed: int = 0,
    paths: int = 3,
    machine: Machine = HERE,
) -> FluctuationStudy:
    """The limiting diffusion about the fixed point that the ODE comes to from ``start``, or ``along`` the ODE. [U] [E]

    A start on an invariant set stays there, so one on a saddle is about the saddle. ``spread`` says how the truths lie
    (see ``vectors.Spread``): flat ones have the sums that let the third cumulant in. With ``replicas`` > 1 the same is
    measured by full simulation at ``d``, started at the point (or at the start).

    Raises ``InputError`` and ``ReachError`` as ``fixed_point`` and ``fluctuations`` do.

    >>> from theory.sgd.tasks import single_index
    >>> from theory.sgd.laws import law
    >>> task = single_index(loss="correlation", ridge=1.0, step=0.3)  # [U]: dx = (κ_3 − x) dt + √(10δ) dB
    >>> study = study_fluctuations(task, laws=[law("exponential")], spread="flat")
    >>> study.kind, study.names[0], round(float(study.laws[0].shift[0]), 4)
    ('stable', 'M_1_1', 2.0)
    """
    grid = time_grid(times)
    choice("spread", spread, ("random", "flat"))
    whole("replicas", replicas, least=0, remedy="use 400, or 0 for theory alone")
    whole("d", d, least=1, remedy="use 400")
    whole("paths", paths, least=0, most=1000, remedy="use 3")
    if not laws or not all(isinstance(law, Law) for law in laws):
        raise InputError("laws", given=laws, expected="one Law or more", remedy='read one: law("exponential")')
    if replicas == 1 or grid[-1] == 0:
        raise InputError(
            "replicas and times",
            given=[replicas, list(grid)],
            expected="a time after 0, and no replicas or two and more",
            remedy="use times 0,1,2 and 400 replicas",
        )
    if task.schedule is not None:
        raise InputError(
            f"task {task.name}: schedule",
            given=str(task.schedule),
            expected="a constant step, about which statistics can fluctuate for long",
            remedy="leave the schedule out",
        )
    grid = grid if grid[0] == 0 else (0.0, *grid)
    results: list[LawFluctuations] = []
    warnings: list[str] = []
    rates: tuple[complex, ...] = ()
    begun = as_state(task, start)
    kind: Kind = "path"
    for place, law in enumerate(laws):
        at = begun if along else fixed_point(task, start=begun, laws=law)
        shape = _shape(task, at, spread, d)
        limit: Diffusion | Fluctuations
        if along:
            limit = diffusion_along(task, at, grid, laws=law, truths=shape)
            names, drift = limit.names, limit.jacobian
            covariance: Array | None = limit.covariance(grid[-1])
        else:
            limit = fluctuations(task, at, laws=law, truths=shape)
            eigenvalues = np.linalg.eigvals(limit.jacobian).astype(complex)
            rates, kind = tuple(complex(x) for x in sorted(eigenvalues, key=lambda x: -x.real)), _kind(eigenvalues)
            names, drift = limit.names, limit.jacobian
            covariance = limit.stationary_covariance() if kind == "stable" else None
        mean = np.array([limit.mean(time) for time in grid])
        variance = np.array([np.diag(limit.covariance(time)) for time in grid])
        fine = np.linspace(0.0, grid[-1], 61)
        measured = None
        if replicas:
            columns = [at.names.index(name) for name in names]
            work = replicas * len(grid)
            small = max(d // _SMALLER, at.localised + len(task.z) + len(task.u))
            runs = []
            for turn, size in enumerate((d, small) if small < d else (d,)):
                part = machine.part((2 * place + turn) * work, 2 * len(laws) * work)
                runs.append(_measure(task, at, law, grid, limit, columns, spread, size, replicas, seed, part))
            measured = replace(runs[0], smaller=runs[1]) if len(runs) > 1 else runs[0]
            warnings += list(measured.warnings)
        sampled = _paths(limit, fine, paths, seed) if isinstance(limit, Fluctuations) else np.zeros((0, 61, len(names)))
        results.append(
            LawFluctuations(
                law.name, drift, limit.volatility, limit.shift, covariance, mean, variance, fine, sampled, measured
            )
        )
    if kind in ("saddle", "degenerate"):
        warnings.append(
            f"the fixed point is {'a saddle' if kind == 'saddle' else 'degenerate'}: there is no stationary law, and "
            "moments on the grid hold while x stays small against √d"
        )
    if any(law.kappa3 != 0 for law in laws) and not task.is_smooth:
        warnings.append(
            "labels jump: the shift of lattice laws has a further part of the same order, which is left out"
        )
    return FluctuationStudy(
        task.name, spread, kind, names, at.named(), rates, grid, tuple(results), tuple(dict.fromkeys(warnings))
    )


def _shape(task: Task, at: State, spread: Spread, d: int) -> Shape:
    if spread == "random":
        return Shape.generic(len(task.truths))
    room = max(d, at.localised + len(task.z) + len(task.u))
    V = vectors(task, at, room, spread="flat", generator=np.random.default_rng(0))[1]
    return Shape.of(V[:, at.localised :].T)


def _kind(eigenvalues: NDArray[np.complex128]) -> Kind:
    top = float(eigenvalues.real.max())
    if top > _STILL:
        return "saddle"
    return "stable" if top < -_STILL else "degenerate"


def _measure(
    task: Task,
    at: State,
    law: Law,
    grid: tuple[float, ...],
    limit: Diffusion | Fluctuations,
    columns: list[int],
    spread: Spread,
    d: int,
    replicas: int,
    seed: int,
    machine: Machine,
) -> Measured:
    run = simulate_sgd(
        task,
        grid,
        d=d,
        replicas=replicas,
        seed=seed,
        laws=law,
        start=at,
        spread=spread,
        method="full",
        machine=machine,
        name="sgd fluctuations",
    )
    centre = limit.centre(grid)[:, columns] if isinstance(limit, Diffusion) else at.flat()[columns]
    x = math.sqrt(d) * (run.values[:, :, columns] - centre)
    x = x[np.isfinite(x).all(axis=(1, 2))]
    spreads = (x - x.mean(axis=0)) ** 2
    root = math.sqrt(len(x))
    return Measured(
        d,
        len(x),
        x.mean(axis=0),
        x.std(axis=0, ddof=1) / root,
        x.var(axis=0, ddof=1),
        spreads.std(axis=0, ddof=1) / root,
        np.cov(x[:, -1].T, ddof=1).reshape(len(columns), len(columns)),
        run.warnings,
    )


def _paths(limit: Fluctuations, times: Array, count: int, seed: int) -> Array:
    """Samples of the diffusion, exact in law on the grid: x(t + h) is E[x(t + h)|x(t)] plus a Gaussian of C(h)."""
    generator = np.random.default_rng(np.random.SeedSequence([seed, 17]))
    h, n = float(times[1] - times[0]), len(limit.names)
    steady = replace(limit, shift=np.zeros(n))
    propagator = np.array([steady.mean(h, unit) for unit in np.eye(n)]).T
    pull, (sizes, vectors_) = limit.mean(h), np.linalg.eigh(limit.covariance(h))
    root = vectors_ * np.sqrt(np.clip(sizes, 0.0, None))
    found = np.zeros((count, len(times), n))
    for k in range(1, len(times)):
        found[:, k] = found[:, k - 1] @ propagator.T + pull + generator.standard_normal((count, n)) @ root.T
    return found
