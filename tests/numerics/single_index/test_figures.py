"""What the single-index figures say: legends, titles, ticks; and the progress of the slow one."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from numerics.figures.single_index import draw_portrait
from numerics.figures.single_index_train import complexity_figure, training_figure
from numerics.single_index.complexity import complexity
from numerics.single_index.setting import Setting
from numerics.single_index.starts import parse_start
from numerics.single_index.train import train
from theory.single_index.flow import flow
from theory.single_index.link import Link

if TYPE_CHECKING:
    from matplotlib.figure import Figure

CUBIC = Setting(Link.parse("x**3-3*x"), lam=1.0, eta1=0.45, d=40)


def legend(fig: Figure) -> str:
    return " | ".join(text.get_text() for box in fig.legends for text in box.get_texts())


def test_training_figure_is_explained_and_its_ticks_keep_apart() -> None:
    result = train(CUBIC, parse_start("0.3,0.5"), steps=150_000, step=1e-7, replicas=2, every=15_000)
    fig = training_figure([result])
    fig.canvas.draw()
    right = fig.axes[1]
    for name in ("start", "end", "target", "success: m₁ ≥ 0.9"):
        assert name in legend(fig)
    assert "d = 40" in fig.get_suptitle()
    boxes = [label.get_window_extent() for label in right.get_xticklabels()]
    assert len(boxes) >= 3
    assert all(a.x1 < b.x0 for a, b in pairwise(boxes))


def test_complexity_figure_is_explained_and_has_more_than_one_tick() -> None:
    result = complexity(CUBIC, parse_start("0.3,0.5"), dims=[20, 25], target=0.5, replicas=8)
    fig = complexity_figure([result])
    fig.canvas.draw()
    (axes,) = fig.axes
    assert "ODE" in legend(fig)
    assert "theory: d^1" in legend(fig)
    assert "λ = 1" in axes.get_title()
    low, high = axes.get_ylim()
    labels = zip(axes.get_yticks(minor=True), axes.get_yticklabels(minor=True), strict=True)
    ticks = [*axes.get_yticks(), *(at for at, label in labels if label.get_text())]
    assert sum(low <= tick <= high for tick in ticks) >= 2


def test_portrait_counts_the_starts_it_follows() -> None:
    seen: list[tuple[int, int]] = []
    path = flow(CUBIC.loss, (0.3, 0.5), np.linspace(0, 1, 5))
    fig = draw_portrait(CUBIC.loss, paths=[path], fineness=21, progress=lambda done, total: seen.append((done, total)))
    done, total = np.array(seen).T
    assert np.all(np.diff(done) >= 0)
    assert done[-1] == total[-1]
    box = fig.axes[0].get_legend()
    assert box is not None
    labels = " | ".join(text.get_text() for text in box.get_texts())
    assert "path, from its start" in labels
    assert "quadrants" in labels
