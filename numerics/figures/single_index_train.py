"""Figures of SGD on single-index models: paths over the loss, overlaps in time, sample complexity. [S] Fig. 1, 4"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from numerics.figures.style import MARKERS, colours, figure, panels, styled

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from numerics.single_index.complexity import Complexity
    from numerics.single_index.train import Training

_MOST_PATHS = 24
_LEVELS = 18


@styled()
def training_figure(runs: Sequence[Training]) -> Figure:
    """Left, the paths of (m_1, m_2) over the population loss; right, m_1 against samples. One colour a run.

    Starts are triangles, ends discs. The loss and the target are those of the first run; paths must have been kept.
    """
    fig = figure(8.2, 3.7)
    left, right = panels(fig, columns=2)
    _landscape(left, fig, runs[0])
    for colour, run in zip(colours(len(runs)), runs, strict=True):
        _paths(left, right, run, colour)
    right.axhline(runs[0].plan.target, color="0.6", lw=0.8, ls=":")
    right.set_ylim(-1.05 if any((run.ends[:, 0] < -0.5).any() for run in runs) else -0.45, 1.05)
    right.set_xlabel("samples")
    right.set_ylabel("overlap with the target, m₁")
    right.legend(loc="lower right")
    return fig


@styled()
def complexity_figure(results: Sequence[Complexity]) -> Figure:
    """Median samples to the target against d, on logarithmic axes: one colour and marker a result.

    Points carry standard errors, open triangles are bounds where too few replicas arrived; dashed lines are the ODE
    from the typical start, dotted ones the power that theory gives, drawn through the first point.
    """
    fig = figure(5.2, 3.8)
    (axes,) = panels(fig)
    for k, (colour, result) in enumerate(zip(colours(len(results)), results, strict=True)):
        _medians(axes, result, colour, MARKERS[k % len(MARKERS)])
    axes.set_xscale("log")
    axes.set_yscale("log")
    dims = sorted({d for result in results for d in result.dims})
    axes.set_xticks(dims, [str(d) for d in dims])
    axes.minorticks_off()
    axes.set_xlabel("dimension d")
    axes.set_ylabel(f"samples until m₁ ≥ {results[0].target:g}")
    axes.legend(fontsize=7)
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


def _medians(axes: Axes, result: Complexity, colour: str, marker: str) -> None:
    d = np.array(result.dims, dtype=float)
    reached = np.array([m.value is not None for m in result.medians])
    values = np.array([float(m.value if m.value is not None else m.bound) for m in result.medians])
    errors = np.array([m.stderr or 0.0 for m in result.medians])
    slope = "" if result.slope.value is None else f", slope {result.slope.value:.2f} ± {result.slope.stderr:.2f}"
    label = f"{result.start.text.split(' (')[0]}{slope}"
    axes.errorbar(d[reached], values[reached], errors[reached], fmt=marker, color=colour, label=label)
    axes.plot(d[~reached], values[~reached], "^", mfc="none", mec=colour, ms=6)
    ode = np.array([np.nan if n is None else n for n in result.ode])
    axes.plot(d, ode, "--", color=colour, lw=0.9)
    if result.theory_exponent is not None and reached.any():
        first = int(np.flatnonzero(reached)[0])
        axes.plot(d, values[first] * (d / d[first]) ** result.theory_exponent, ":", color=colour, lw=1.1)
