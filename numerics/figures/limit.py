"""A face's limit as a figure: both losses against time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from numerics.figures.style import colours, figure, panels, styled

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from regimes.limit import LimitCurves


@styled()
def draw_limit(curves: LimitCurves) -> Figure:
    """Train and population loss as lines, the time in units of the learning rate as given."""
    fig = figure()
    (axes,) = panels(fig)
    train, population = colours(2)
    axes.plot(curves.times, curves.train, color=train, marker="o", label="train")
    axes.plot(curves.times, curves.population, color=population, marker="s", linestyle="--", label="population")
    axes.set_xlabel("time t")
    axes.set_ylabel("loss")
    axes.set_title(f"{curves.face.name}: {curves.sizes}, η={curves.eta:g}")
    axes.legend()
    return fig
