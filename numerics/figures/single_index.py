"""Figures of the single-index model: the phase portrait of the population flow, and the loss. [S] Figures 1–3."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from numerics.figures.style import COLOURS, figure, panels, styled
from theory.single_index.basin import reaches_target, separatrices
from theory.single_index.fixed_points import FixedPoint, fixed_points
from theory.single_index.flow import Flow
from theory.single_index.loss import PopulationLoss
from theory.single_index.regions import bounding_lines, trapping_wedge, wedge_traps
from theory.single_index.trap import trap

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.patches import Patch

    from numerics.runs.clock import Progress

Floats = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]
_FINENESS = 61
_FINER = 3
_EDGE = ("nearest", "wrap")
"""How images over radius and angle go on beyond their edges."""
_PALE, _DEEPER = "#DCEBF5", "#B5D5EA"
_SHAPES = {"stable": ("o", "black"), "unstable": ("o", "white"), "saddle": ("D", "white"), "half-stable": ("s", "grey")}


def draw_portrait(
    loss: PopulationLoss,
    *,
    paths: Sequence[Flow] = (),
    points: Sequence[FixedPoint] | None = None,
    fineness: int = _FINENESS,
    progress: Progress | None = None,
) -> Figure:
    """The flow in the (m_1, m_2) disc, with the fixed points, the basin of m = (1, 0), and the sets of the proofs.

    Shaded: the starts that end at the target, darker where m_1 grows all the way. Hatched: the wedge {s̄ ≥ 0, C ≤ 0},
    where no path leaves it. ``points``: the fixed points, found anew where not given. ``fineness``: starts across the
    disc that are followed for the shading, and three times as many at its borders. ``progress`` counts starts.
    """
    loss = replace(loss, quick=True)
    fig = figure(5.6, 5.2)
    (axes,) = panels(fig)
    found = fixed_points(loss) if points is None else points
    _shade(axes, loss, fineness, progress)
    _stream(axes, loss)
    _lines(axes, loss)
    for curve in separatrices(loss, found):
        axes.plot(*curve.T, color=COLOURS["vermillion"], lw=1.6, zorder=4)
    for path in paths:
        axes.plot(path.m1, path.m2, color=COLOURS["black"], lw=2.0, zorder=5)
        axes.plot(*path.start, marker="^", ms=7, color=COLOURS["black"], zorder=6)
    for point in found:
        shape, face = _SHAPES[point.stability]
        axes.plot(point.m1, point.m2, shape, ms=7, mfc=face, mec="black", mew=1.1, zorder=7, clip_on=False)
    _frame(axes)
    axes.set_title(_title(loss), fontsize=9)
    axes.legend(
        handles=_legend(loss, with_paths=bool(paths)),
        loc="upper center",
        bbox_to_anchor=(0.5, -0.1),
        ncols=4,
        fontsize=7,
        frameon=False,
    )
    return fig


@styled()
def draw_loss(loss: PopulationLoss, *, point: tuple[float, float] | None = None) -> Figure:
    """Φ over the disc, and its sections along v_0, along v and along s̄ = 0; at η_1 = 1, Φ(m) with its trap."""
    loss = replace(loss, quick=True)
    if loss.eta1 == 1:
        return _draw_aligned(loss)
    fig = figure(7.6, 3.4)
    left, right = panels(fig, columns=2)
    x, y = _polar(60, 240)
    contours = left.contourf(x, y, loss.value(x, y), levels=24, cmap="cividis")
    fig.colorbar(contours, ax=left, label="Φ", shrink=0.85)
    _frame(left)
    if point is not None:
        left.plot(*point, "*", ms=10, mfc="white", mec="black")
    r = np.linspace(-1, 1, 401)
    sections = (
        ("along v₀", (1.0, 0.0), COLOURS["blue"], "-"),
        ("along v", (loss.eta1, loss.eta2), COLOURS["vermillion"], "--"),
        ("s̄ = 0", (loss.eta2, -loss.eta1), COLOURS["green"], "-."),
    )
    for label, (a, b), colour, style in sections:
        right.plot(r, loss.value(r * a, r * b), style, color=colour, label=label)
    right.set_xlabel("distance from m = 0")
    right.set_ylabel("Φ")
    right.legend(frameon=False)
    left.set_title(_title(loss), fontsize=9)
    return fig


def _draw_aligned(loss: PopulationLoss) -> Figure:
    fig = figure(7.6, 3.2)
    left, right = panels(fig, columns=2)
    found = trap(loss.link, lam=loss.lam)
    reach = 2.2 * found.radius if found.radius else 0.3
    for axes, m in ((left, np.linspace(-1, 1, 801)), (right, np.linspace(-reach, min(reach, 1.0), 801))):
        axes.plot(m, loss.value(m, 0.0) - float(loss.value(0.0, 0.0)), color=COLOURS["blue"])
        axes.axhline(0, color="0.7", lw=0.6)
        axes.set_xlabel("m₁")
        axes.set_ylabel("Φ(m₁) − Φ(0)")
    if found.radius is not None and found.barrier is not None:
        right.plot(found.radius, found.barrier, "D", mfc="white", mec="black")
        right.annotate(
            f"r* = {found.radius:.4g}", (found.radius, found.barrier), (0, 6), textcoords="offset points", ha="center"
        )
        low, high = right.get_ylim()
        right.set_ylim(max(low, -2.5 * found.barrier), min(high, 4 * found.barrier))
    left.set_title(_title(loss), fontsize=9)
    right.set_title("zero overlap: a trap" if found.trapped else "zero overlap: no trap", fontsize=9)
    return fig


def _shade(axes: Axes, loss: PopulationLoss, fineness: int, progress: Progress | None) -> None:
    """The two regions, each bounded by the half-way line of its indicator, blurred by a step of the fine grid."""
    from scipy.ndimage import gaussian_filter

    x, y, reaches, monotone = _regions(loss, fineness // 2, 2 * fineness, progress)
    for region, colour in ((reaches, _PALE), (monotone, _DEEPER)):
        blurred = gaussian_filter(region.astype(float), 1.0, mode=_EDGE)
        axes.contourf(x, y, blurred, levels=[0.5, 1.5], colors=[colour], zorder=0)


def _regions(
    loss: PopulationLoss, radii: int, angles: int, progress: Progress | None
) -> tuple[Floats, Floats, Mask, Mask]:
    """A polar grid and the starts on it that end at the target, and with m_1 growing.

    All starts of a coarse grid are followed and, of one ``_FINER`` times as fine, those where the answer changes.
    """
    from scipy.ndimage import maximum_filter, minimum_filter

    x, y = _polar(radii, angles)
    coarse = np.sum(reaches_target(loss, x, y, progress=progress), axis=0)
    changes = maximum_filter(coarse, 3, mode=_EDGE) != minimum_filter(coarse, 3, mode=_EDGE)
    x, y = _polar(_FINER * radii, _FINER * angles)
    row, column = (np.rint(np.arange(size) / _FINER).astype(int) for size in x.shape)
    fine, near = (grid[np.ix_(row, column)] for grid in (coarse, changes))

    def advance(done: int, total: int) -> None:
        if progress:
            progress(coarse.size + done, coarse.size + total)

    fine[near] = np.sum(reaches_target(loss, x[near], y[near], progress=advance), axis=0)
    return x, y, fine >= 1, fine > 1


def _stream(axes: Axes, loss: PopulationLoss) -> None:
    x, y, inside = _disc(61)
    u, v = np.full(x.shape, np.nan), np.full(x.shape, np.nan)
    first, second = loss.spherical_gradient(x[inside], y[inside])
    u[inside], v[inside] = -first, -second
    axes.streamplot(x[0], y[:, 0], u, v, color="0.45", linewidth=0.6, density=1.3, arrowsize=0.7, zorder=2)


def _lines(axes: Axes, loss: PopulationLoss) -> None:
    axes.axhline(0, color="0.8", lw=0.5, zorder=1)
    axes.axvline(0, color="0.8", lw=0.5, zorder=1)
    for name, (x, y) in (("Q1", (0.62, 0.86)), ("Q2", (-0.86, 0.7)), ("Q3", (-0.86, -0.7)), ("Q4", (0.86, -0.7))):
        axes.annotate(name, (x * 1.12, y * 1.12), ha="center", va="center", fontsize=8, color="0.35")
    if loss.planar:
        return
    for name, style in (("spike", "--"), ("covariance", ":")):
        a, b = bounding_lines(loss)[name]
        axes.plot([-a, a], [-b, b], style, color=COLOURS["purple"], lw=1.3, zorder=3)
    if wedge_traps(loss):
        p, q, inside = _disc(401)
        wedge = (trapping_wedge(loss).contains(p, q) & inside).astype(float)
        hatched = axes.contourf(p, q, wedge, levels=[0.5, 1.5], colors="none", hatches=["////"], zorder=1)
        hatched.set_edgecolor(COLOURS["purple"])
        hatched.set_linewidth(0.0)
        hatched.set_clip_path(_circle(axes))


def _legend(loss: PopulationLoss, *, with_paths: bool) -> list[Artist]:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    handles: list[Artist] = [
        Line2D([], [], ls="", marker=shape, mfc=face, mec="black", label=name)
        for name, (shape, face) in _SHAPES.items()
    ]
    if with_paths:
        handles.append(Line2D([], [], color="black", lw=2.0, marker="^", ms=6, label="path, from its start ▲"))
    handles += [Patch(color=_PALE, label="ends at v₀"), Patch(color=_DEEPER, label="… with m₁ growing")]
    handles.append(Line2D([], [], color=COLOURS["vermillion"], label="separatrix"))
    if not loss.planar:
        handles.append(Line2D([], [], color=COLOURS["purple"], ls="--", label="X·v = 0"))
        handles.append(Line2D([], [], color=COLOURS["purple"], ls=":", label="C = 0"))
        if wedge_traps(loss):
            handles.append(Patch(fc="none", ec=COLOURS["purple"], hatch="////", label="trapping wedge"))
    handles.append(Line2D([], [], ls="", label="Q1–Q4: the quadrants"))
    return handles


def _frame(axes: Axes) -> None:
    angle = np.linspace(0, 2 * np.pi, 361)
    axes.plot(np.cos(angle), np.sin(angle), color="black", lw=0.8, zorder=3)
    axes.set_aspect("equal")
    axes.set_xlim(-1.08, 1.08)
    axes.set_ylim(-1.08, 1.08)
    axes.set_xlabel("m₁ = X·v₀")
    axes.set_ylabel("m₂ = X·v⊥")


def _circle(axes: Axes) -> Patch:
    from matplotlib.patches import Circle

    return axes.add_patch(Circle((0, 0), 1.0, fc="none", ec="none"))


def _disc(count: int) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64], npt.NDArray[np.bool_]]:
    axis = np.linspace(-1, 1, count)
    x, y = np.meshgrid(axis, axis)
    return x, y, np.hypot(x, y) <= 1


def _polar(radii: int, angles: int) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    r, angle = np.meshgrid(np.linspace(0, 1, radii + 1), np.linspace(0, 2 * np.pi, angles + 1), indexing="ij")
    return r * np.cos(angle), r * np.sin(angle)


def _title(loss: PopulationLoss) -> str:
    text = loss.link.text
    link = text if len(text) <= 40 else f"{text[:39]}…"
    return f"f(x) = {link},  {loss.spike}".replace("η1", "η₁")
