"""The one rule of the ledger, the runner, and the report."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

import numerics.claims
from numerics.claims import run as runner
from numerics.claims.ledger import Claim, Conditions, Curve, Evidence, Plot, run_claim, select
from numerics.claims.records import result_from_json, result_to_json
from numerics.judge import STANDARD_ERRORS, Quantity
from numerics.pages.claims import report_html
from numerics.runs.machine import Machine
from theory.errors import InputError

QUANTITY = Quantity(
    "slope", predicted=-1.0, measured=-0.98, stderr=0.01, stderr_bound=0.05, rival=-0.5, rival_name="d^(-1/2)"
)
CALLS: list[str] = []


def gather(conditions: Conditions) -> Evidence:
    CALLS.append(conditions.effort)
    plot = Plot(
        (Curve("law", [1, 2], [1, 2]), Curve("law", [1, 2], [1, 2], [0.1, 0.1], "points")), "d", "n", "A <line>."
    )
    return Evidence((QUANTITY,), (plot,), ("A remark & more.",))


def broken(_: Conditions) -> Evidence:
    raise ArithmeticError("a replica overflowed")


def claim(claim_id: str = "AE-0", how: object = gather) -> Claim:
    return Claim(claim_id, "x < y", "[P]", "p", "e", "r", "w", how)  # type: ignore[arg-type]


@pytest.fixture
def small_ledger(monkeypatch: pytest.MonkeyPatch) -> None:
    claims = (claim("AE-0"), claim("AE-1", broken))
    monkeypatch.setattr(runner, "all_claims", lambda: claims)
    CALLS.clear()


@pytest.mark.parametrize(
    ("change", "verdict"),
    [
        ({}, "holds"),
        ({"measured": -0.9}, "fails"),
        ({"measured": math.nan}, "fails"),
        ({"stderr": 0.06}, "fails"),
        ({"stderr": math.nan}, "fails"),
        ({"allowance": 0.5}, "blind"),
        ({"rival": -1.0}, "blind"),
        ({"relation": "<=", "measured": -3.0}, "holds"),
        ({"relation": "<=", "rival": 0.0, "measured": -1.5}, "blind"),
        ({"relation": ">=", "rival": 0.0}, "holds"),
        ({"relation": ">=", "measured": -1.2}, "fails"),
    ],
)
def test_the_rule(change: dict[str, object], verdict: str) -> None:
    quantity = replace(QUANTITY, **change)  # type: ignore[arg-type]
    if change.get("relation") == "<=" and verdict == "holds":
        quantity = replace(quantity, rival=-5.0)
    assert quantity.verdict == verdict


def test_a_claim_without_quantities_is_blind_and_one_that_raises_fails() -> None:
    assert run_claim(claim(how=lambda _: Evidence(())), Conditions()).verdict == "blind"
    result = run_claim(claim(how=broken), Conditions())
    assert (result.verdict, result.error) == ("fails", "ArithmeticError: a replica overflowed")


def test_a_result_survives_json() -> None:
    result = run_claim(claim(), Conditions())
    record = json.loads(json.dumps(result_to_json(result, Conditions()), allow_nan=False))
    again = result_from_json(record, claim(), Conditions())
    assert again is not None
    assert again.evidence.quantities == result.evidence.quantities
    assert result_from_json(record, claim(), Conditions(seed=1)) is None
    assert result_from_json(record, claim(), Conditions(effort="full")) is None


@pytest.mark.usefixtures("small_ledger")
def test_finished_claims_are_taken_up_again_and_failed_ones_run_anew(tmp_path: Path) -> None:
    first = runner.run_claims(keep=tmp_path)
    assert [result.verdict for result in first] == ["holds", "fails"]
    assert len(CALLS) == 1
    runner.run_claims(keep=tmp_path)
    assert len(CALLS) == 1
    (tmp_path / "AE-0.json").write_text("{ damaged")
    runner.run_claims(keep=tmp_path)
    assert len(CALLS) == 2


@pytest.mark.usefixtures("small_ledger")
def test_a_verdict_of_other_code_is_refused_or_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    runner.run_claims(keep=tmp_path)
    monkeypatch.setattr("numerics.claims.records.code_version", lambda _: "0.1.0+other")
    with pytest.raises(InputError, match=r"AE-0 by other code.*reuse=True"):
        runner.run_claims(keep=tmp_path)
    result = runner.run_claims(["AE-0"], keep=tmp_path, machine=Machine(reuse=True))[0]
    assert result.reused
    assert "other code" in result.warnings[0]
    assert result_to_json(result, Conditions())["warnings"] == list(result.warnings)
    assert "reused" in result.to_text()
    assert "reused" in report_html([result], Conditions())


@pytest.mark.usefixtures("small_ledger")
def test_an_edited_record_is_run_again(tmp_path: Path) -> None:
    runner.run_claims(["AE-0"], keep=tmp_path)
    record = tmp_path / "AE-0.json"
    record.write_text(record.read_text().replace("-0.98", "-0.99"))
    calls = len(CALLS)
    (result,) = runner.run_claims(["AE-0"], keep=tmp_path)
    assert len(CALLS) == calls + 1
    assert "changed by hand" in result.warnings[0]
    assert runner.run_claims(["AE-0"], keep=tmp_path)[0].reused


def test_an_unknown_claim_is_refused() -> None:
    with pytest.raises(InputError, match="AE-9"):
        select((claim(),), ["AE-9"])


class _Outline(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.ids: list[str] = []
        self.loads: list[str] = []
        self.headings: list[str] = []
        self.unnamed_images = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if "id" in given:
            self.ids.append(str(given["id"]))
        self.loads += [str(given[key]) for key in ("src", "href", "xlink:href") if key in given]
        if tag in ("h1", "h2", "h3"):
            self.headings.append(tag)
        self.unnamed_images += tag == "svg" and not given.get("aria-label")


def test_the_report_is_whole_and_accessible() -> None:
    results = [run_claim(claim("AE-0"), Conditions()), run_claim(claim("AE-1", broken), Conditions())]
    text = report_html(results, Conditions())
    outline = _Outline()
    outline.feed(text)
    assert len(outline.ids) == len(set(outline.ids))
    assert all(target.startswith("#") and target[1:] in outline.ids for target in outline.loads), "loads nothing"
    assert outline.headings[:2] == ["h1", "h2"]
    assert outline.unnamed_images == 0
    assert "A &lt;line&gt;." in text
    assert "A remark &amp; more." in text
    assert "ringprism claims AE-0 --quick --seed 0" in text
    assert "a replica overflowed" in text


def test_ids_are_unique_and_every_claim_is_spoken_for() -> None:
    for each in numerics.claims.all_claims():
        assert all((each.statement, each.source, each.prediction, each.experiment, each.rule, each.power)), each.id
        assert each.id[:3] in ("AE-", "SI-", "UN-", "DI-"), each.id


@pytest.mark.parametrize("count", [2, 3, 4, 8, 30])
def test_few_replicas_fail_a_true_prediction_as_seldom_as_many(count: int) -> None:
    """With the standard error of a few replicas four of them are exceeded often; their share of t's quantile is not."""
    sample = np.random.default_rng(count).standard_normal((20_000, count))
    mean, stderr = sample.mean(axis=1), sample.std(axis=1, ddof=1) / np.sqrt(count)
    verdicts = [
        replace(
            QUANTITY, predicted=0.0, rival=math.inf, measured=m, stderr=s, stderr_bound=math.inf, replicas=count
        ).verdict
        for m, s in zip(mean.tolist(), stderr.tolist(), strict=True)
    ]
    assert verdicts.count("fails") <= 6  # 1.3 are expected
    if count <= 4:
        plain = int((np.abs(mean) > STANDARD_ERRORS * stderr).sum())
        assert plain > 100
