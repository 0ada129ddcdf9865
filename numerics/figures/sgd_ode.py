"""The ODE limit of SGD as curves: one panel for each kind of statistic that moves."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from numerics.figures.style import colours, figure, panels, styled

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from theory.effective.ode import EffectiveODE

_KINDS = {"M": "overlap with truths", "Q": "Gram of parameters", "b": "second layer", "p": "localised entries"}
_LINES = ("-", "--", "-.", ":")
_READABLE = 12


@styled()
def draw_ode(curve: EffectiveODE) -> Figure:
    """Each statistic against time nδ/d; statistics that never move (a frozen second layer) are left out.

    >>> from theory.effective.ode import effective_ode
    >>> from theory.effective.tasks import logistic
    >>> [axes.get_ylabel() for axes in draw_ode(effective_ode(logistic(), [0, 1, 2])).axes]
    ['overlap with truths M', 'Gram of parameters Q']
    """
    moving = [k for k in range(len(curve.names)) if np.ptp(curve.values[:, k]) > 0] or [0]
    kinds = [kind for kind in _KINDS if any(curve.names[k].startswith(kind) for k in moving)]
    fig = figure(3.4 * len(kinds) + 0.4, 3.0)
    for axes, kind in zip(panels(fig, columns=len(kinds)), kinds, strict=True):
        shown = [k for k in moving if curve.names[k].startswith(kind)]
        palette = colours(min(len(shown), 8))
        for place, k in enumerate(shown):
            colour, dash = palette[place % len(palette)], _LINES[place // len(palette) % len(_LINES)]
            axes.plot(curve.times, curve.values[:, k], dash, color=colour, label=_label(curve.names[k]))
        axes.set_xlabel("time nδ/d")
        axes.set_ylabel(f"{_KINDS[kind]} {kind}")
        if len(shown) <= _READABLE:
            axes.legend(ncols=1 + (len(shown) > 4), frameon=False)
    return fig


def _label(name: str) -> str:
    kind, *indices = name.split("_")
    return f"${kind}_{{{','.join(indices)}}}$"
