"""A moving picture: simulations of growing size settle onto the limit of their face."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from numerics.figures.style import colours, figure, panels, styled
from numerics.files import whole_file
from theory.errors import InputError

if TYPE_CHECKING:
    from numerics.gradient_flow.simulate import Simulation
    from regimes.limit import LimitCurves

_DPI = 110


@styled()
def animate_settling(curves: LimitCurves, runs: Sequence[Simulation], path: str | Path, *, fps: int = 1) -> Path:
    """Write a GIF: the limit stays, and each of ``runs`` is one picture, its times divided by its p.

    ``curves`` and all ``runs`` have their sizes in the same ratios, and times in proportion to p. Bars show two
    standard errors.

    Raises ``InputError`` for a name that does not end in .gif, or no runs.
    """
    from matplotlib.animation import FuncAnimation, PillowWriter

    target = Path(path)
    if target.suffix.lower() != ".gif":
        raise InputError("path", given=str(path), expected="a name ending in .gif", remedy="rename it")
    if not runs:
        raise InputError("runs", given="none", expected="one simulation or more", remedy="simulate some sizes first")
    fig = figure(5.6, 3.4)
    (axes,) = panels(fig)
    unit = np.array(curves.times) / curves.sizes.p
    highest = max(float(np.max(run.train.mean)) for run in runs)

    def picture(k: int) -> list[object]:
        axes.clear()
        run = runs[k]
        for name, colour, marker, line in zip(("train", "population"), colours(2), "os", ("-", "--"), strict=True):
            estimate = getattr(run, name)
            axes.plot(unit, getattr(curves, name), line, color=colour, label=f"{name}, limit")
            axes.errorbar(
                np.array(run.times) / run.sizes.p,
                estimate.mean,
                yerr=2 * np.nan_to_num(estimate.stderr),
                fmt=marker,
                color=colour,
                markerfacecolor="white",
                label=f"{name}, simulated",
            )
        axes.set_ylim(0, 1.05 * highest)
        axes.set_xlabel("time t/p")
        axes.set_ylabel("loss")
        axes.set_title(f"{curves.face.name}: {run.sizes}, {run.replicas} replicas", loc="left")
        axes.legend(loc="upper right")
        return []

    moving = FuncAnimation(fig, picture, frames=len(runs), blit=False)  # type: ignore[arg-type]
    with whole_file(target, what="animation") as scratch:
        moving.save(scratch, writer=PillowWriter(fps=fps), dpi=_DPI)
    return target
