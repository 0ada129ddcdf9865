"""Losses over time: simulation as points with bars, theory as lines."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from numerics.figures.style import COLOURS, figure, panels, styled

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from numerics.gradient_flow.ladder import LossName
    from numerics.gradient_flow.simulate import Estimate, Simulation
    from numerics.gradient_flow.validate import Validation

LOSSES: tuple[tuple[LossName, str, str], ...] = (("train", "blue", "o"), ("population", "vermillion", "s"))
"""Each loss with its colour and its marker."""

BARS = 2.0
"""Bars are so many standard errors long, to either side."""

SPREAD = f", ±{BARS:g} s.e."


@styled()
def draw_validation(validation: Validation) -> Figure:
    """The numbers of the table: changes since t = 0 above, what is left of them after the prediction beneath.

    A solid line is the theory (the interior and its terms in 1/N), a dashed one the face, a dotted one the rival. The
    band of the residuals is the numerical error; bars are two standard errors.
    """
    fig = figure(7.4, 5.0)
    grid = fig.subplots(2, 2, sharex="col", gridspec_kw={"height_ratios": (2.4, 1.0)})
    for column, (name, colour, marker) in enumerate(LOSSES):
        _changes(grid[0][column], validation, name, colour, marker)
        _residuals(grid[1][column], validation, name, colour, marker)
    fig.suptitle(str(validation.sizes), x=0.02, horizontalalignment="left", fontsize=9)
    return fig


def _changes(axes: Axes, validation: Validation, name: LossName, colour: str, marker: str) -> None:
    times, quantities = validation.simulation.times, validation.quantities[name][1:]
    axes.plot(times, [0.0, *(q.predicted for q in quantities)], color=COLOURS[colour], label="theory: interior and 1/N")
    axes.plot(times, [0.0, *(q.rival for q in quantities)], ":", color="0.45", label="rival: 0.8 of the speed")
    if validation.curves is not None:
        level = np.array(getattr(validation.curves, name))
        axes.plot(times, level - level[0], "--", color="black", label=f"face {validation.face.name}")
    points(
        axes,
        times[1:],
        np.array([q.measured for q in quantities]),
        np.array([q.stderr for q in quantities]),
        colour,
        marker,
        f"{validation.simulation.replicas} replicas{SPREAD}",
    )
    axes.set_ylabel("change since t = 0")
    axes.set_title(
        f"{name}: theory {validation.verdict[name]}, face {validation.face_verdict[name]}", loc="left", fontsize=8
    )
    axes.legend(fontsize=7)


def _residuals(axes: Axes, validation: Validation, name: LossName, colour: str, marker: str) -> None:
    times, quantities = validation.simulation.times[1:], validation.quantities[name][1:]
    allowed = np.array([q.allowance for q in quantities])
    axes.fill_between(times, -allowed, allowed, color=COLOURS[colour], alpha=0.2, linewidth=0, label="numerical error")
    axes.axhline(0.0, color=COLOURS[colour], linewidth=0.8)
    residuals = np.array([q.measured - q.predicted for q in quantities])
    points(axes, times, residuals, np.array([q.stderr for q in quantities]), colour, marker, "")
    axes.set_xlabel("time t")
    axes.set_ylabel("measured − theory")


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
