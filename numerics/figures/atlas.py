"""One face of the atlas: its limit as lines, simulation as points."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from numerics.figures.style import colours, figure, panels, styled

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from numerics.gradient_flow.survey import Survey


@styled()
def draw_survey(survey: Survey) -> Figure:
    """Both losses: lines from the face's limit, points with bars (two standard errors) from simulation.

    A point is the limit's initial value plus the mean change since, estimated with the exact E L(0): what draws of U(0)
    and X differ by at t = 0, often more than the loss moves, is left out.
    """
    fig = figure(5.6, 3.0)
    left, right = panels(fig, columns=2)
    setting, simulation = survey.setting, survey.simulation
    for axes, name, colour, marker in zip((left, right), ("train", "population"), colours(2), ("o", "s"), strict=True):
        change, stderr = simulation.change(name)
        axes.plot(np.array(survey.limit.times) / setting.unit, getattr(survey.limit, name), color=colour, label="limit")
        axes.errorbar(
            np.array(survey.times) / setting.unit,
            getattr(survey.limit, name)[0] + change,
            yerr=2 * stderr,
            color=colour,
            marker=marker,
            linestyle="none",
            label="simulation, ±2 s.e.",
        )
        axes.set_title(f"{name} loss")
        axes.set_xlabel("time / time scale")
        axes.legend()
    return fig
