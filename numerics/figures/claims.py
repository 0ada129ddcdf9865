"""The plot of a claim: theory as lines, measurement as points with bars."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import numpy as np

from numerics.claims.ledger import Plot
from numerics.figures.style import MARKERS, colours, figure, panels, styled

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_LINES = ("-", "--", "-.", ":")


@styled()
def draw_plot(plot: Plot) -> Figure:
    """A figure of the curves of ``plot``; where a line and points share a label they share a colour, and say which."""
    fig = figure(5.6, 3.4)
    (axes,) = panels(fig)
    labels = list(dict.fromkeys(curve.label for curve in plot.curves))
    colour = dict(zip(labels, colours(len(labels)), strict=True))
    shared = Counter(curve.label for curve in plot.curves)
    for curve in plot.curves:
        k = labels.index(curve.label)
        kind = "theory" if curve.kind == "line" else "measured"
        label = f"{curve.label}: {kind}" if shared[curve.label] > 1 else curve.label
        if curve.kind == "line":
            axes.plot(curve.x, curve.y, _LINES[k % len(_LINES)], color=colour[curve.label], label=label)
        else:
            bars = None if curve.yerr is None else np.asarray(curve.yerr, dtype=float)
            axes.errorbar(
                curve.x,
                curve.y,
                yerr=bars,
                fmt=MARKERS[k % len(MARKERS)],
                color=colour[curve.label],
                label=label,
                linestyle="none",
            )
    axes.set_xscale(plot.xscale)
    axes.set_yscale(plot.yscale)
    axes.set_xlabel(plot.xlabel)
    axes.set_ylabel(plot.ylabel)
    axes.legend()
    return fig
