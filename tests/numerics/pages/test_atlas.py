"""The atlas page: complete, self-contained, with a working anchor for each face."""

from __future__ import annotations

import re

import pytest

from numerics.gradient_flow import survey as survey_module
from numerics.gradient_flow.atlas_sizes import SETTINGS
from numerics.gradient_flow.loss_replicas import loss_replicas
from numerics.gradient_flow.survey import Survey
from numerics.pages.atlas import atlas_html
from numerics.runs.machine import Machine
from regimes.atlas import ATLAS
from regimes.limit import limit


@pytest.fixture(scope="module")
def html() -> str:
    surveys = []
    for name in ("large-data", "R,P|p", "N|m"):
        setting = SETTINGS[name]
        times = setting.times(3)
        simulation = loss_replicas("atlas", setting.sizes, times, replicas=2, seed=0)
        surveys.append(Survey(setting, limit(name, setting.sizes, times), simulation, times))
    return atlas_html(surveys)


def test_nothing_is_fetched(html: str) -> None:
    assert "<script" not in html
    assert not re.findall(r'(?:src|href)="(?!#)', re.sub(r'xmlns(?::\w+)?="[^"]*"', "", html))


def test_links_lead_to_sections_and_ids_are_unique(html: str) -> None:
    ids = re.findall(r'\bid="([^"]+)"', html)
    assert len(ids) == len(set(ids))
    targets = re.findall(r'<a href="#([^"]+)"', html)
    assert targets
    assert set(targets) <= set(ids)


def test_pictures_have_descriptions_and_formulas_are_mathml(html: str) -> None:
    assert html.count("<svg ") == html.count('role="img" aria-label=') == 1 + 2 * 3
    assert html.count("<math") > 30
    assert "leaves the constant ½ out" in html


def test_every_face_has_a_setting_inside_its_cone() -> None:
    assert set(SETTINGS) == set(ATLAS)
    for setting in SETTINGS.values():
        assert max(setting.sizes.p, setting.sizes.n, setting.sizes.m) <= 1000
        assert setting.smallness <= 0.15
        assert setting.times(5)[-1] == pytest.approx(setting.end * setting.unit)


def test_survey_reports_progress(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(survey_module, "SETTINGS", {"N|m": SETTINGS["N|m"]})
    seen: list[tuple[int, int]] = []
    (survey,) = survey_module.survey_faces(
        replicas=2, seed=0, machine=Machine(progress=lambda *counts: seen.append(counts))
    )
    assert seen == [(1, 1)]
    assert survey.entry.face.name == "N|m"
