"""A face's limit as a figure: both losses against time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from numerics.figures.style import colours, figure, panels, styled

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from regimes.limit import LimitCurves


@styled()
def draw_limit(curves: LimitCurves, fine: LimitCurves | None = None) -> Figure:
    """Train and population loss as lines, with marks at the times of ``curves``, η as given.

    ``fine`` holds the same curves on a finer grid (``regimes.limit.refine``), which the lines follow.
    """
    lines = curves if fine is None else fine
    fig = figure()
    (axes,) = panels(fig)
    train, population = colours(2)
    for name, colour, marker, style in (("train", train, "o", "-"), ("population", population, "s", "--")):
        marks = np.searchsorted(lines.times, curves.times).tolist()
        axes.plot(
            lines.times,
            getattr(lines, name),
            color=colour,
            marker=marker,
            markevery=marks,
            linestyle=style,
            label=name,
        )
    axes.set_xlabel("time t")
    axes.set_ylabel("loss")
    axes.set_title(f"{curves.face.name}: {curves.sizes}, η={curves.eta:g}")
    axes.legend()
    return fig
