"""Losses over time: simulation as points with bars, theory as lines."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from numerics.figures.style import COLOURS, figure, panels, styled
from regimes.limit import limit

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from numerics.gradient_flow.control_variate import Change
    from numerics.gradient_flow.simulate import Estimate, Simulation
    from numerics.gradient_flow.validate import LossName, Validation

LOSSES: tuple[tuple[LossName, str, str], ...] = (("train", "blue", "o"), ("population", "vermillion", "s"))
"""Each loss with its colour and its marker."""

BARS = 2.0
"""Bars are so many standard errors long, to either side."""

SPREAD = f", ±{BARS:g} s.e."


@styled()
def draw_validation(validation: Validation) -> Figure:
    """Changes since t = 0, the numbers of the table: theory as lines, simulation as points, the allowance as a band."""
    fig = figure(7.0, 3.4)
    simulation, curves = validation.simulation, validation.curves
    for axes, (name, colour, marker) in zip(panels(fig, columns=2), LOSSES, strict=True):
        times, levels = _between(validation, name)
        predicted = levels - levels[0]
        allowed = validation.quantities[name][-1].allowance
        axes.fill_between(
            times,
            predicted - allowed,
            predicted + allowed,
            color=COLOURS[colour],
            alpha=0.15,
            linewidth=0,
            label="allowed",
        )
        axes.plot(times, predicted, color=COLOURS[colour], label=f"limit, {curves.face.name}")
        measured: Change = getattr(simulation, f"{name}_change")
        label = f"{simulation.replicas} replicas{SPREAD}"
        points(axes, simulation.times[1:], measured.mean[1:], measured.stderr[1:], colour, marker, label)
        finish(axes)
        axes.set_ylabel("change since t = 0")
        axes.set_title(f"{name} loss {validation.loss_verdict(name)}", loc="left")
    fig.suptitle(str(simulation.sizes), x=0.02, horizontalalignment="left", fontsize=9)
    return fig


def _between(validation: Validation, name: LossName) -> tuple[np.ndarray, np.ndarray]:
    """A smooth line through the limit, at more times than were simulated where that is cheap."""
    curves = validation.curves
    if curves.solution.is_free_pair:
        return np.array(curves.times), np.array(getattr(curves, name))
    fine = np.linspace(curves.times[0], curves.times[-1], 101)
    return fine, np.array(getattr(limit(curves.face, curves.sizes, fine, eta=curves.eta), name))


@styled()
def draw_simulation(simulation: Simulation) -> Figure:
    """Both losses of a simulation over time, with bars of two standard errors."""
    fig = figure(5.0, 3.2)
    (axes,) = panels(fig)
    for name, colour, marker in LOSSES:
        estimate: Estimate = getattr(simulation, name)
        spread = SPREAD if simulation.replicas > 1 else ""
        points(axes, simulation.times, estimate.mean, estimate.stderr, colour, marker, f"{name} loss{spread}")
        axes.plot(simulation.times, estimate.mean, color=COLOURS[colour], linewidth=0.7, alpha=0.6)
    finish(axes)
    axes.set_title(f"{simulation.sizes}, {simulation.replicas} replicas", loc="left")
    return fig


def points(
    axes: Axes,
    times: Sequence[float],
    mean: np.ndarray,
    stderr: np.ndarray,
    colour: str,
    marker: str,
    label: str,
) -> None:
    """Points with bars; no bars where a single replica has no standard error."""
    axes.errorbar(
        times,
        mean,
        yerr=BARS * np.nan_to_num(stderr),
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
