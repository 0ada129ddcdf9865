"""Losses over time: simulation as points with bars, theory as lines."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from numerics.figures.style import COLOURS, figure, panels, styled

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from numerics.simulate import Estimate, Simulation

LOSSES = (("train", "blue", "o"), ("population", "vermillion", "s"))
"""Each loss with its colour and its marker."""

BARS = 2.0
"""Bars are so many standard errors long, to either side."""


@styled()
def draw_simulation(simulation: Simulation) -> Figure:
    """Both losses of a simulation over time, with bars of two standard errors."""
    fig = figure(5.0, 3.2)
    (axes,) = panels(fig)
    for name, colour, marker in LOSSES:
        estimate: Estimate = getattr(simulation, name)
        points(axes, simulation.times, estimate, colour, marker, f"{name} loss")
        axes.plot(simulation.times, estimate.mean, color=COLOURS[colour], linewidth=0.7, alpha=0.6)
    finish(axes)
    axes.set_title(f"{simulation.sizes}, {simulation.replicas} replicas", loc="left")
    return fig


def points(axes: Axes, times: tuple[float, ...], estimate: Estimate, colour: str, marker: str, label: str) -> None:
    """Points with bars; no bars where a single replica has no standard error."""
    axes.errorbar(
        times,
        estimate.mean,
        yerr=BARS * np.nan_to_num(estimate.stderr),
        fmt=marker,
        color=COLOURS[colour],
        markerfacecolor="white",
        label=label,
    )


def finish(axes: Axes) -> None:
    """Labels and a legend; both losses start at zero."""
    axes.set_xlabel("time t")
    axes.set_ylabel("loss")
    if axes.get_ylim()[0] > 0 and axes.get_ylim()[0] < 0.5 * axes.get_ylim()[1]:
        axes.set_ylim(bottom=0.0)
    axes.legend()
