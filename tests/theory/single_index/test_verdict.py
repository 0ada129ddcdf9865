"""Easy, hard, or trapped; where a flow ends; and zero overlap at high exponents."""

from __future__ import annotations

import math

import numpy as np
import pytest

from theory.single_index.fixed_points import fixed_points, indices_complete
from theory.single_index.flow_report import describe_flow
from theory.single_index.link import Link
from theory.single_index.loss import PopulationLoss
from theory.single_index.verdict import verdict


def loss(text: str, lam: float, eta1: float) -> PopulationLoss:
    return PopulationLoss(Link.parse(text), lam=lam, eta1=eta1)


@pytest.mark.parametrize(
    ("setting", "answer", "exponent", "words"),
    [
        (("x**3-3*x", 1.0, 0.45), "hard", 2, "wait in the wedge"),
        (("x**3-3*x", 1.0, 1.0), "trapped", None, "r* = 0.0933"),
        (("x**3-3*x", 0.0, 0.45), "hard", 2, "half of the starts"),
        (("x**2", 1.0, 0.45), "easy", 1, "exponent 2"),
        (("x**2+x**3-3*x", 1.0, 0.45), "easy", 1, "half of the starts end in another minimum"),
        (("He(4,x)", 1.0, 0.45), "hard", 3, "X·v = 0"),
        (("He(4,x)", 1.0, 1.0), "trapped", None, "|m1| > r*"),
        (("(x-x**3)*exp(-x**2)", 1.0, 1.0), "easy", 1, "V′(1) < 0"),
        (("x**3-3.5*x", 1.0, 0.5), "trapped", None, "every random start"),
    ],
)
def test_verdicts(setting: tuple[str, float, float], answer: str, exponent: int | None, words: str) -> None:
    found = verdict(loss(*setting))
    assert (found.answer, found.exponent) == (answer, exponent)
    assert words in found.reason
    assert "\n" not in found.to_text()
    assert found.to_json()["verdict"] == answer


def test_trapped_by_the_labels_although_the_exponent_is_one() -> None:
    """F_1(1) = −½ and F_1(B) = ¼ at B = 1.25: Φ rises along C at zero overlap, so starts turn away from the target."""
    anticorrelated = loss("x**3-3.5*x", 1.0, 0.5)
    first, second = anticorrelated.gradient(0.0, 0.0)
    assert first == pytest.approx(-2 * -0.5 * 0.25 * (1 + 0.25))
    assert second == pytest.approx(-2 * -0.5 * 0.25 * 0.5 * math.sqrt(0.75))
    assert not verdict(anticorrelated).share


@pytest.mark.parametrize(
    ("setting", "start", "kind", "solves"),
    [
        (("x**2", 1.0, 0.45), (0.4, 0.1), "target", True),
        (("x**2", 1.0, 0.45), (-0.4, 0.1), "minus target", True),
        (("x**2", 0.0, 0.45), (-0.4, 0.1), "minus target", True),
        (("x**3-3*x", 1.0, 0.45), (-0.1, 0.2), "half-stable", False),
        (("x**3-3*x", 1.0, 1.0), (0.05, 0.2), "other minimum", False),
        (("(x-x**3)*exp(-x**2)", 1.0, 0.45), (-0.1, -0.2), "other minimum", False),
    ],
)
def test_where_the_flow_ends(
    setting: tuple[str, float, float], start: tuple[float, float], kind: str, solves: bool
) -> None:
    report = describe_flow(loss(*setting), start=start, times=[0, 1])
    assert (report.end.kind, report.end.solves) == (kind, solves)
    assert report.reaches_target is (kind == "target")
    assert f"ends at (m1, m2) = {report.end.to_text()}" in report.to_text()
    ends = report.to_json()["end"]
    assert isinstance(ends, dict)
    assert ends["kind"] == kind


@pytest.mark.parametrize(("k", "stability"), [(3, "half-stable"), (4, "saddle"), (5, "half-stable"), (6, "saddle")])
def test_zero_overlap_at_high_exponents(k: int, stability: str) -> None:
    """On the line s̄ = 0 the variance term is silent and Φ falls like −C^k: on one side for odd k, on both for even."""
    hermite = loss(f"He({k},x)", 1.0, 0.45)
    points = fixed_points(hermite)
    (zero,) = [p for p in points if math.hypot(p.m1, p.m2) < 1e-6]
    assert zero.stability == stability
    assert indices_complete(hermite, points)
    along = 0.05 * np.array([hermite.eta2, -hermite.eta1])
    lower = [float(hermite.value(*(sign * along))) < zero.value for sign in (1, -1)]
    assert lower == [True, k % 2 == 0]
