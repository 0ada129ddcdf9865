"""Fluctuations of SGD: predicted mean and spread of each rescaled statistic, sample paths, and what was measured."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from numerics.figures.style import colours, figure, panels, styled

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from numerics.sgd.fluctuate import FluctuationStudy

_MOST = 4


@styled()
def fluctuation_figure(study: FluctuationStudy) -> Figure:
    """One panel a statistic (the first four): mean ± a standard deviation, paths thin, measurements as points."""
    shown = range(min(len(study.names), _MOST))
    fig = figure(3.6 * len(shown) + 1.2, 3.2)
    times = np.array(study.times)
    for axes, k in zip(panels(fig, columns=len(shown)), shown, strict=True):
        for colour, law in zip(colours(len(study.laws)), study.laws, strict=True):
            deviation = np.sqrt(np.clip(law.variance[:, k], 0.0, None))
            axes.plot(times, law.mean[:, k], "-", color=colour, label=f"{law.law}: theory ± 1 s.d.")
            axes.fill_between(times, law.mean[:, k] - deviation, law.mean[:, k] + deviation, color=colour, alpha=0.15)
            for path in law.paths:
                axes.plot(law.fine, path[:, k], "-", color=colour, linewidth=0.5, alpha=0.7)
            if law.measured is not None:
                run = law.measured
                bars = np.sqrt(np.clip(run.variance[:, k], 0.0, None))
                axes.errorbar(times, run.mean[:, k], bars, fmt="o", color=colour, label=f"d = {run.d}: mean ± 1 s.d.")
        letter, *indices = study.names[k].split("_")
        axes.set_title(f"$\\sqrt{{d}}\\,({letter}_{{{','.join(indices)}}} - \\mathrm{{ODE}})$")
        axes.set_xlabel("time nδ/d")
    handles, labels = axes.get_legend_handles_labels()
    fig.legend(handles, labels, loc="outside lower center", ncols=2, fontsize=8.0, frameon=False)
    fig.suptitle(f"{study.task}, {study.spread} vectors: fluctuations ({study.kind})", fontsize=10.0)
    return fig
