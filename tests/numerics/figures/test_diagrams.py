"""Pictures of diagrams, and the verb that draws them."""

from __future__ import annotations

from pathlib import Path

import pytest

from numerics.figures.diagrams import draw_diagram_merge, draw_diagram_pairing, draw_diagrams, layout
from numerics.figures.style import save
from ringprism.cli import main
from theory.engine.diagram_model import DiagramTerm, product_of
from theory.engine.diagram_pairings import enumerate_pairings
from theory.engine.diagram_terms import derivative_terms
from theory.errors import InputError
from theory.models.model import Model

CP = Model.named("cp:3").diagrams


def test_diagrams_merges_and_pairings_are_written(tmp_path: Path) -> None:
    first, second = (term for term in CP.loss("train") if term.entries)
    pairing = next(enumerate_pairings(first, model=CP))
    figures = {
        "terms.svg": draw_diagrams(derivative_terms(CP, "train", order=1), model=CP),
        "merge.pdf": draw_diagram_merge(first, second, edges=(0, 1), model=CP),
        "pairing.png": draw_diagram_pairing(first, pairing, model=CP),
    }
    for name, fig in figures.items():
        assert save(fig, tmp_path / name).stat().st_size > 5000
    terms = figures["terms.svg"].axes
    assert [axes.get_title() for axes in terms] == ["$9$", "$-18$", "$9$"]
    assert sum(text.get_text() == "U" for text in terms[0].texts) == 10
    numbers = [text.get_text() for text in figures["pairing.png"].axes[0].texts if text.get_text() != "U"]
    assert len(set(numbers)) == len(pairing.classes)


def test_every_node_and_hub_has_its_place() -> None:
    term = DiagramTerm(1, (), product_of("T[i,j,k] v[i] U[j,j] w[l]"))
    places = layout(term)
    assert set(places) == {"i", "j", "k", "l", "#0", "#1", "#3"}
    assert len({tuple(place) for place in places.values()}) == 7


def test_what_would_not_be_legible_is_refused() -> None:
    term = next(term for term in CP.loss("train") if term.entries)
    with pytest.raises(InputError, match="1 to 30"):
        draw_diagrams([term] * 31, model=CP)
    with pytest.raises(InputError, match="at most 60"):
        draw_diagrams([DiagramTerm(1, (), term.entries * 11)], model=CP)


@pytest.mark.parametrize("arguments", ["--model cp:3 --order 1", "--model quadratic", "--pairing 2"])
def test_draw(arguments: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = tmp_path / "picture.svg"
    with pytest.raises(SystemExit) as exit_info:
        main(["draw", *arguments.split(), "--out", str(target)])
    assert exit_info.value.code == 0
    assert "picture.svg" in capsys.readouterr().out
    assert target.stat().st_size > 5000


def test_draw_names_what_is_wrong(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as exit_info:
        main(["draw", "--model", "cp:2", "--pairing", "99", "--out", str(tmp_path / "picture.svg")])
    assert exit_info.value.code == 2
    assert "pairings" in capsys.readouterr().err
