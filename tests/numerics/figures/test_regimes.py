"""Pictures of rings and of the prism: what must be on them is on them, and they can be written."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure
from matplotlib.text import Text

from numerics.figures.limit import draw_limit
from numerics.figures.prism import barycentre, draw_face, draw_face_lattice, draw_prism
from numerics.figures.rings import contracted_names, draw_merge, draw_pairing, draw_ring
from numerics.figures.style import save
from regimes.faces import FACES
from regimes.limit import limit, refine
from regimes.prism import VERTICES
from regimes.scaling import Scaling, representative
from theory.autoencoder.model import AUTOENCODER
from theory.autoencoder.sizes import Sizes
from theory.engine.pairings import pairings
from theory.errors import InputError

WORD = AUTOENCODER.word("U' U U' U X X'")
RING = AUTOENCODER.word("U' U X X'")


def texts(fig: Figure) -> list[str]:
    return [text.get_text() for text in fig.findobj(Text) if text.get_text()]


def test_the_lattice_shows_every_face() -> None:
    shown = "\n".join(texts(draw_face_lattice()))
    assert all(face.name in shown for face in FACES)
    lines = [line for axes in draw_face_lattice().axes for line in axes.lines]
    assert len(lines) == 41


@pytest.mark.parametrize("face", FACES, ids=lambda face: face.name)
def test_the_prism_marks_the_face_of_a_scaling(face: object) -> None:
    fig = draw_prism(representative(face))  # type: ignore[arg-type]
    (axes,) = fig.axes
    assert str(face) in axes.get_title()
    bold = {text.split("  ")[0] for text in (t.get_text() for t in axes.texts if t.get_fontweight() == "bold")}
    assert bold == set(face.vertices)  # type: ignore[attr-defined]


def test_the_path_of_a_scaling_is_long_enough_to_see_and_powers_are_superscripts() -> None:
    for face in FACES:
        if face.dimension == 3:
            continue
        (axes,) = draw_prism(representative(face)).axes
        (path,) = (line for line in axes.lines if len(np.array(line.get_xdata())) > 50)
        x, y = np.array(path.get_xdata()), np.array(path.get_ydata())
        assert np.hypot(x[-1] - x[0], y[-1] - y[0]) > 0.3
        assert "N^{" in axes.get_title()
        assert axes.get_title().count("$") == 8


def test_a_face_alone_is_drawn_with_its_vertices_named_and_nothing_else() -> None:
    for face in FACES:
        assert sorted(texts(draw_face(face))) == sorted(vertex.name for vertex in VERTICES)


def test_every_vertex_and_rate_is_labelled() -> None:
    shown = "\n".join(texts(draw_prism()))
    assert all(vertex.name in shown for vertex in VERTICES)


def test_extreme_exponents_do_not_overflow(tmp_path: Path) -> None:
    save(draw_prism(Scaling(10**6, 1, "-999999/7", 10**9)), tmp_path / "far.png")
    assert np.isclose(sum(barycentre({"R|m": 1e-300, "P|p": 3e-300}).values()), 1.0)


def test_a_limit_is_drawn_smoothly_with_marks_at_the_times_asked_for() -> None:
    sizes = Sizes.parse("p=80,n=8000,m=120,sigma2=1/40000")
    curves = limit("mean-field", sizes, [0.0, 20.0, 80.0])
    (axes,) = draw_limit(curves, refine(curves)).axes
    for line, name in zip(axes.lines, ("train", "population"), strict=True):
        x, y = np.array(line.get_xdata()), np.array(line.get_ydata())
        assert x.size > 200
        marked = line.get_markevery()
        assert x[marked].tolist() == [0, 20, 80]  # type: ignore[index]
        assert y[marked] == pytest.approx(getattr(curves, name), rel=1e-9)  # type: ignore[index]
    dear = limit("free", Sizes.parse("p=9,n=9,m=9,sigma2=1"), [0.0, 0.1], degree=4)
    assert refine(dear) is dear


def test_rings_merges_and_pairings_are_written(tmp_path: Path) -> None:
    pairing = list(pairings((WORD,), model=AUTOENCODER))[1]
    figures = {
        "ring.svg": draw_ring(WORD, model=AUTOENCODER),
        "merge.pdf": draw_merge(WORD, RING, edges=(1, 1), model=AUTOENCODER),
        "pairing.png": draw_pairing((WORD,), pairing, model=AUTOENCODER),
        "two.png": draw_pairing((RING, RING), next(pairings((RING, RING), model=AUTOENCODER)), model=AUTOENCODER),
    }
    for name, fig in figures.items():
        assert save(fig, tmp_path / name).stat().st_size > 5000
    assert "1 crosscap: 1 node lost" in texts(figures["pairing.png"])
    assert texts(figures["ring.svg"]).count("n") == 2


def test_contracted_nodes_share_their_name() -> None:
    for pairing in pairings((WORD,), model=AUTOENCODER):
        names = contracted_names(pairing)
        assert len(set(names.values())) == len(pairing.nodes)
        assert all(names[node][0] == kind for kind, members in pairing.nodes for node in members)


def test_a_ring_too_long_to_read_is_refused() -> None:
    with pytest.raises(InputError, match="1 to 40 edges"):
        draw_ring(WORD * 7, model=AUTOENCODER)
