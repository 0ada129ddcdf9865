"""Figures of one-pass SGD: simulated statistics on their ODE, and the distance between them against d."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from numerics.figures.sgd_ode import beside_panel
from numerics.figures.style import COLOURS, MARKERS, colours, figure, panels, styled

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from numerics.sgd.simulate import Simulation
    from numerics.sgd.universality import Universality
    from theory.sgd.ode import EffectiveODE

_TITLES = {"M": "overlaps with truths", "Q": "overlaps of parameters", "b": "second layer", "p": "localised entries"}
_MOST_LABELS = 12
_STYLES: tuple[Literal["-", "--", ":"], ...] = ("-", "--", ":")
_LEGEND: Any = {"fontsize": 8.0, "frameon": False}


@styled()
def simulation_figure(runs: Sequence[Simulation], curves: Sequence[EffectiveODE] = ()) -> Figure:
    """Statistics against time, one panel a kind (M, Q, b, p): points ± 2 standard errors for runs, lines for ODEs.

    Each statistic has a colour; each run a marker, each ODE a line style. Runs and ODEs are of one task. A legend
    stands beside its panel, what points and lines are below all panels.
    """
    from matplotlib.lines import Line2D

    names = (runs[0] if runs else curves[0]).names
    kinds = [kind for kind in _TITLES if any(name.startswith(kind) and _moves(name, runs, curves) for name in names)]
    fig = figure(3.8 * len(kinds), 3.4)
    for axes, kind in zip(panels(fig, columns=len(kinds)), kinds, strict=True):
        chosen = [k for k, name in enumerate(names) if name.startswith(kind)]
        for place, (colour, k) in enumerate(zip(colours(len(chosen)), chosen, strict=True)):
            _draw_statistic(axes, k, colour, place // len(COLOURS), runs, curves)
        if len(chosen) <= _MOST_LABELS:
            beside_panel(axes)
        axes.set_title(_TITLES[kind])
        axes.set_xlabel("time nδ/d")
    fill: Any = {"color": "0.4", "fillstyle": "none" if len(runs) > 1 else "full"}
    marks = [Line2D([], [], marker=MARKERS[k % len(MARKERS)], linestyle="none", **fill) for k in range(len(runs))]
    labels = [f"simulation ± 2 s.e., {run.law} inputs, d = {run.d}" for run in runs]
    for style, curve in zip(_STYLES, curves, strict=False):
        marks.append(Line2D([], [], color="0.4", linestyle=style))
        labels.append(f"ODE (d = ∞), {curve.law} inputs")
    fig.legend(marks, labels, loc="outside lower center", ncols=2, **_LEGEND)
    fig.suptitle(_title(runs, curves), fontsize=10.0)
    return fig


def _title(runs: Sequence[Simulation], curves: Sequence[EffectiveODE]) -> str:
    if not runs:
        return f"{curves[0].task.name}, δ = {curves[0].task.step:g}: ODE limit"
    laws, dims = dict.fromkeys(run.law for run in runs), dict.fromkeys(str(run.d) for run in runs)
    return f"{runs[0].task}, {', '.join(laws)} inputs, d = {', '.join(dims)}, δ = {runs[0].delta:g}"


def _draw_statistic(
    axes: Any, k: int, colour: str, turn: int, runs: Sequence[Simulation], curves: Sequence[EffectiveODE]
) -> None:
    """``turn`` counts how often the palette has begun again: another marker then tells the statistics apart."""
    label = _mathematical((runs[0] if runs else curves[0]).names[k])
    for style, curve in zip(_STYLES, curves, strict=False):
        axes.plot(curve.times, curve.values[:, k], style, color=colour, label=None if runs else label)
    for place, run in enumerate(runs):
        bars = 2 * np.nan_to_num(run.stderr[:, k])
        axes.errorbar(
            run.realised_times,
            run.mean[:, k],
            bars,
            fmt=MARKERS[(place + turn * len(runs)) % len(MARKERS)],
            color=colour,
            # Hollow and of growing size, so that runs that agree are all seen.
            fillstyle="none" if len(runs) > 1 else "full",
            markersize=4 + 2 * place,
            label=label if place == 0 else None,
        )


@styled()
def universality_figure(verdict: Universality) -> Figure:
    """Sup-distance from the ODE against d on logarithmic axes, one colour and marker a law, with the power −1/2."""
    from matplotlib.ticker import FormatStrFormatter, LogLocator

    fig = figure(6.0, 3.2)
    (axes,) = panels(fig)
    for place, (colour, law) in enumerate(zip(colours(len(verdict.laws)), verdict.laws, strict=True)):
        axes.errorbar(
            verdict.dims,
            law.sup_error,
            law.stderr,
            fmt=MARKERS[place % len(MARKERS)] + "-",
            color=colour,
            label=f"{law.law}: {law.power(digits=2)}, {law.approach}",
        )
    dims = np.array(verdict.dims, dtype=float)
    # A distance of 0 has no place on a logarithmic axis.
    top = max(law.sup_error[0] for law in verdict.laws) or np.finfo(float).tiny
    axes.plot(dims, 1.3 * top * (dims / dims[0]) ** -0.5, "--", color="0.5", label="power −1/2")
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xticks(verdict.dims, [str(d) for d in verdict.dims])
    axes.minorticks_off()
    axes.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axes.yaxis.set_major_formatter(FormatStrFormatter("%g"))
    axes.set_xlabel("dimension d")
    axes.set_ylabel("sup |simulation − ODE|")
    axes.set_title(f"{verdict.task}: {verdict.verdict}")
    fig.legend(title="law: fitted power of d", loc="outside right upper", **_LEGEND)
    return fig


def _moves(name: str, runs: Sequence[Simulation], curves: Sequence[EffectiveODE]) -> bool:
    """Whether a statistic changes at all: a frozen second layer gets no panel."""
    tracks = [run.mean for run in runs] + [curve.values for curve in curves]
    column = (runs[0] if runs else curves[0]).names.index(name)
    return any(bool((track[:, column] != track[0, column]).any()) for track in tracks)


def _mathematical(name: str) -> str:
    letter, *indices = name.split("_")
    return f"${letter}_{{{','.join(indices)}}}$"
