"""Figures of SGD on single-index models: paths over the loss, overlaps in time, sample complexity. [S] Fig. 1, 4"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from numerics.figures.style import MARKERS, colours, figure, panels, styled

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

    from numerics.single_index.complexity import Complexity
    from numerics.single_index.setting import Setting
    from numerics.single_index.train import Training

_MOST_PATHS = 24
_LEVELS = 18
_LONGEST = 40


@styled()
def training_figure(runs: Sequence[Training]) -> Figure:
    """Left, the paths of (m_1, m_2) over the population loss; right, m_1 against samples. One colour a run.

    Starts are triangles, ends discs. The loss and the target are those of the first run; paths must have been kept.
    """
    from matplotlib.ticker import EngFormatter, MaxNLocator

    fig = figure(8.2, 4.4)
    left, right = panels(fig, columns=2)
    _landscape(left, fig, runs[0])
    for colour, run in zip(colours(len(runs)), runs, strict=True):
        _paths(left, right, run, colour)
    target = runs[0].plan.target
    height = "|m₁|" if runs[0].setting.even else "m₁"
    right.axhline(target, color="0.4", lw=0.9, ls=":", label=f"success: {height} ≥ {target:g} at the end")
    if runs[0].setting.even:
        right.axhline(-target, color="0.4", lw=0.9, ls=":")
    right.set_ylim(min(-0.05, 1.1 * min(_lowest(run) for run in runs)), 1.05)
    right.xaxis.set_major_locator(MaxNLocator(5))
    right.xaxis.set_major_formatter(EngFormatter(sep=""))
    right.set_xlabel("samples")
    right.set_ylabel("overlap with the target, m₁")
    fig.suptitle(_title(runs[0]), fontsize=9)
    handles, _ = right.get_legend_handles_labels()
    fig.legend(handles=[*handles, *_marks()], loc="outside lower center", ncols=3)
    return fig


@styled()
def complexity_figure(results: Sequence[Complexity]) -> Figure:
    """Median samples to the target against d, on logarithmic axes: one colour and marker a result.

    Points carry standard errors, open triangles are bounds where too few replicas arrived; dashed lines are the ODE
    from the typical start, dotted ones the power that theory gives, drawn through the first point.
    """
    from matplotlib.ticker import LogFormatterSciNotation, LogLocator, NullLocator

    fig = figure(5.2, 4.4)
    (axes,) = panels(fig)
    for k, (colour, result) in enumerate(zip(colours(len(results)), results, strict=True)):
        _medians(axes, result, colour, MARKERS[k % len(MARKERS)])
    axes.set_xscale("log")
    axes.set_yscale("log")
    dims = sorted({d for result in results for d in result.dims})
    axes.set_xticks(dims, [str(d) for d in dims])
    axes.xaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_minor_locator(LogLocator(subs=(2.0, 5.0)))
    axes.yaxis.set_minor_formatter(LogFormatterSciNotation(labelOnlyBase=False, minor_thresholds=(2.5, 2.5)))
    axes.tick_params(axis="y", which="minor", labelsize=7)
    axes.set_xlabel("dimension d")
    height = "|m₁|" if results[0].setting.even else "m₁"
    axes.set_ylabel(f"samples until {height} ≥ {results[0].target:g}")
    axes.set_title(_link_and_spike(results[0].setting), fontsize=9)
    handles, _ = axes.get_legend_handles_labels()
    fig.legend(handles=[*handles, *_curves(results)], loc="outside lower center", ncols=2, fontsize=7)
    return fig


def _landscape(axes: Axes, fig: Figure, run: Training) -> None:
    radius, angle = np.linspace(0, 1, 61), np.linspace(0, 2 * np.pi, 121)
    x, y = np.outer(radius, np.cos(angle)), np.outer(radius, np.sin(angle))
    loss = run.setting.loss
    heights = np.asarray(loss.value(x.ravel(), y.ravel())).reshape(x.shape)
    filled = axes.contourf(x, y, heights, levels=_LEVELS, cmap="Greys_r", alpha=0.55)
    fig.colorbar(filled, ax=axes, label="population loss Φ", shrink=0.85)
    axes.plot(np.cos(angle), np.sin(angle), color="0.3", lw=0.8)
    axes.annotate(
        "v", (loss.eta1, loss.eta2), (1.06 * loss.eta1, 1.06 * loss.eta2), ha="center", va="center", fontweight="bold"
    )
    axes.plot(1, 0, marker="*", ms=11, mfc="white", mec="black", zorder=8, clip_on=False)
    axes.set_aspect("equal")
    axes.set_xticks([-1, -0.5, 0, 0.5, 1])
    axes.set_xlim(-1.08, 1.12)
    axes.set_ylim(-1.08, 1.12)
    axes.set_xlabel("m₁")
    axes.set_ylabel("m₂")


def _paths(left: Axes, right: Axes, run: Training, colour: str) -> None:
    samples = run.plan.every * np.arange(run.paths.shape[1] + 1)
    name = run.start.text.split(" (")[0]
    label = f"{name}: {int(run.successes.sum())} of {len(run.ends)} succeed"
    for k in range(min(_MOST_PATHS, len(run.ends))):
        path = np.vstack([run.starts[k], run.paths[k]])
        left.plot(*path.T, color=colour, lw=0.8, alpha=0.8)
        left.plot(*path[0], "^", ms=4, color=colour, mec="white", mew=0.4, zorder=6)
        left.plot(*path[-1], "o", ms=4, color=colour, mec="white", mew=0.4, zorder=7)
        right.plot(samples, path[:, 0], color=colour, lw=0.8, alpha=0.8, label=label if k == 0 else None)


def _marks() -> list[Line2D]:
    """Legend entries for what the left panel marks."""
    from matplotlib.lines import Line2D

    marks = (("^", "0.3", "start"), ("o", "0.3", "end"), ("*", "white", "target v₀"))
    return [
        Line2D([], [], ls="", marker=marker, ms=8 if marker == "*" else 5, mfc=face, mec="black", mew=0.6, label=name)
        for marker, face, name in marks
    ]


def _curves(results: Sequence[Complexity]) -> list[Line2D]:
    """Legend entries for the lines and bounds that are there."""
    from matplotlib.lines import Line2D

    entries = []
    if any(samples is not None for result in results for samples in result.ode):
        entries.append(Line2D([], [], color="0.3", ls="--", lw=0.9, label="ODE from the typical start"))
    powers = sorted({result.theory_exponent for result in results if result.theory_exponent is not None})
    if powers:
        shown = ", ".join(f"d^{power:g}" for power in powers)
        entries.append(Line2D([], [], color="0.3", ls=":", lw=1.1, label=f"theory: {shown}"))
    if any(m.value is None for result in results for m in result.medians):
        entries.append(Line2D([], [], ls="", marker="^", mfc="none", mec="0.3", label="bound: too few arrived"))
    return entries


def _lowest(run: Training) -> float:
    return min(float(run.starts[:, 0].min()), float(run.paths[:, :, 0].min(initial=1.0)))


def _link_and_spike(setting: Setting) -> str:
    text = setting.link.text
    return f"f(x) = {text if len(text) <= _LONGEST else f'{text[:_LONGEST]}…'},  {setting.loss.spike}".replace(
        "η1", "η₁"
    )


def _title(run: Training) -> str:
    delta = run.plan.step * run.setting.d
    return f"{_link_and_spike(run.setting)},  d = {run.setting.d},  step {run.plan.step:g} (δ = {delta:.3g})"


def _medians(axes: Axes, result: Complexity, colour: str, marker: str) -> None:
    d = np.array(result.dims, dtype=float)
    reached = np.array([m.value is not None for m in result.medians])
    values = np.array([float(m.value if m.value is not None else m.bound) for m in result.medians])
    errors = np.array([m.stderr or 0.0 for m in result.medians])
    slope = "" if result.slope.value is None else f", slope {result.slope.value:.2f}"
    slope += "" if result.slope.stderr is None else f" ± {result.slope.stderr:.2f}"
    label = f"{result.start.text.split(' (')[0]}{slope}"
    axes.errorbar(d[reached], values[reached], errors[reached], fmt=marker, color=colour, label=label)
    axes.plot(d[~reached], values[~reached], "^", mfc="none", mec=colour, ms=6)
    ode = np.array([np.nan if n is None else n for n in result.ode])
    axes.plot(d, ode, "--", color=colour, lw=0.9)
    if result.theory_exponent is not None and reached.any():
        first = int(np.flatnonzero(reached)[0])
        axes.plot(d, values[first] * (d / d[first]) ** result.theory_exponent, ":", color=colour, lw=1.1)
