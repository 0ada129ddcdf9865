"""Validating any model: the exact series against simulation, blind beyond its reach, false theories rejected."""

from __future__ import annotations

import json

import pytest

from numerics.gradient_flow.model_validate import validate_model
from theory.errors import InputError
from theory.models.model import Model

SIZES = "p=24,n=12,m=30,sigma2=1/24,decay=1/24"


def test_holds_within_the_reach_and_is_blind_beyond() -> None:
    found = validate_model(Model.named("weight-decay"), None, SIZES, [0.5, 1, 200], replicas=60, seed=2, order=7)
    assert found.verdicts == {"train": "holds", "data": "holds", "population": "holds"}
    assert found.holds
    late = [row for row in found.rows if row.time == 200]
    assert {row.verdict for row in late} == {"blind"}
    assert all("beyond the reach of" in row.reason for row in late)
    data = json.loads(json.dumps(found.to_json(), allow_nan=False))
    assert set(data["verdict"]) == {"train", "data", "population"}
    assert data["reference"].startswith("exact finite-size series")


def test_another_model_is_rejected() -> None:
    """The series of one model against the simulation of another: the decay written with the wrong weight."""
    model = Model.named("weight-decay")
    wrong = Model.parse(model.to_toml().replace("1/2 decay", "8 decay"))
    right = validate_model(model, None, SIZES, [1], replicas=40, seed=2, order=6)
    other = validate_model(wrong, None, SIZES, [1], replicas=40, seed=2, order=6)
    for ours, theirs in zip(right.rows, other.rows, strict=True):
        assert abs(ours.predicted - theirs.measured) > ours.error + 6 * theirs.stderr


def test_a_face_far_from_the_sizes_fails() -> None:
    found = validate_model(Model.named("weight-decay"), "1/p,sigma2*n/p", SIZES, [0.5, 1], replicas=4, seed=2, order=6)
    assert found.face == "1/p,sigma2*n/p"
    assert set(found.face_verdict.values()) == {"fails"}
    assert not found.holds
    with pytest.raises(InputError, match="at least 2"):
        validate_model(Model.named("untied"), None, "p=2,n=2,m=2,sigma2_u=1,sigma2_v=1", [1], replicas=1, seed=0)
