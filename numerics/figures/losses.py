"""The losses of any simulated model over time: one curve a loss, with bars."""

from __future__ import annotations

from typing import TYPE_CHECKING

from numerics.figures.style import COLOURS, figure, panels, styled
from numerics.figures.validation import SPREAD, finish, points

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from numerics.gradient_flow.model_simulate import ModelSimulation

_MARKERS = "osD^vP*X"


@styled()
def draw_losses(simulation: ModelSimulation) -> Figure:
    """Mean losses with their standard errors."""
    fig = figure()
    (axes,) = panels(fig)
    colours = list(COLOURS)
    for k, (name, estimate) in enumerate(simulation.losses.items()):
        colour, marker = colours[k % len(colours)], _MARKERS[k % len(_MARKERS)]
        points(axes, simulation.times, estimate.mean, estimate.stderr, colour, marker, f"{name}{SPREAD}")
    finish(axes)
    axes.set_ylabel("loss")
    axes.set_title(simulation.model, loc="left")
    return fig
