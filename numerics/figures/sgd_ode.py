"""The ODE limit of SGD as curves: one panel for each kind of statistic that moves."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from numerics.figures.style import MARKERS, colours, figure, panels, styled

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from theory.sgd.ode import EffectiveODE

_KINDS = {"M": "overlap with truths", "Q": "Gram of parameters", "b": "second layer", "p": "localised entries"}
_LINES = ("-", "--", "-.", ":")
_READABLE = 12


@styled()
def draw_ode(curve: EffectiveODE, smooth: EffectiveODE | None = None) -> Figure:
    """Each statistic against time nδ/d; statistics that never move (a frozen second layer) are left out.

    ``smooth`` is the same ODE on a fine grid of times: the line, on which ``curve`` puts its marks. Without it
    ``curve`` is the line as well.

    >>> from theory.sgd.ode import effective_ode
    >>> from theory.sgd.tasks import logistic
    >>> [axes.get_ylabel() for axes in draw_ode(effective_ode(logistic(), [0, 1, 2])).axes]
    ['overlap with truths M', 'Gram of parameters Q']
    """
    line = smooth or curve
    moving = [k for k in range(len(curve.names)) if np.ptp(line.values[:, k]) > 0] or [0]
    kinds = [kind for kind in _KINDS if any(curve.names[k].startswith(kind) for k in moving)]
    fig = figure(3.8 * len(kinds) + 0.4, 3.2)
    for axes, kind in zip(panels(fig, columns=len(kinds)), kinds, strict=True):
        shown = [k for k in moving if curve.names[k].startswith(kind)]
        palette = colours(min(len(shown), 8))
        for place, k in enumerate(shown):
            colour, turn = palette[place % len(palette)], place // len(palette)
            dash, mark = _LINES[turn % len(_LINES)], MARKERS[turn % len(MARKERS)]
            axes.plot(line.times, line.values[:, k], dash, color=colour, label=_label(curve.names[k]))
            if smooth is not None:
                axes.plot(curve.times, curve.values[:, k], mark, color=colour)
        axes.set_xlabel("time nδ/d")
        axes.set_ylabel(f"{_KINDS[kind]} {kind}")
        if len(shown) <= _READABLE:
            beside_panel(axes)
    fig.suptitle(f"{curve.task.name}, {curve.law} inputs, δ = {curve.task.step:g}: ODE limit", fontsize=10.0)
    return fig


def beside_panel(axes: Axes) -> None:
    """A legend to the right of its panel, where no curve runs."""
    axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), borderaxespad=0.2, handlelength=1.4, frameon=False)


def _label(name: str) -> str:
    kind, *indices = name.split("_")
    return f"${kind}_{{{','.join(indices)}}}$"
