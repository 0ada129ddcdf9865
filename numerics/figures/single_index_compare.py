"""Figure of ``single-index compare``: the share of replicas that have arrived, against samples. [S] §3, §4"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from numerics.figures.style import MARKERS, colours, figure, panels, styled
from numerics.single_index.compare import survival

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from numerics.single_index.compare import Comparison


@styled()
def comparison_figure(result: Comparison) -> Figure:
    """One curve a start; a dotted line where its ODE arrives, and the budget where runs were given up."""
    fig = figure(6.4, 4.2)
    (axes,) = panels(fig)
    for colour, marker, route in zip(colours(len(result.routes)), MARKERS, result.routes, strict=False):
        times, shares = survival(route)
        x = np.concatenate([times[:1], times, [route.budget]])
        y = np.concatenate([[0.0], shares, shares[-1:] if len(shares) else [0.0]])
        axes.step(x, y, where="post", color=colour, label=f"{route.name}: {route.arrived} of {route.replicas}")
        if len(times):
            axes.plot(times[-1:], shares[-1:], marker, color=colour, ms=5)
        if route.theory.samples:
            axes.axvline(route.theory.samples, color=colour, lw=0.9, ls=":")
    axes.axvline(result.routes[0].budget, color="0.5", lw=0.9, ls="--", label="budget")
    axes.set_xscale("log")
    axes.set_ylim(-0.02, 1.04)
    axes.set_xlabel("samples")
    axes.set_ylabel(f"share with {'|m₁|' if result.setting.even else 'm₁'} ≥ {result.target:g} reached")
    axes.set_title(result.setting.describe(), fontsize=8)
    fig.legend(loc="outside lower center", ncols=3)
    return fig
