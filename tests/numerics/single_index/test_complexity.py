"""Training and sample complexity as a user asks for them."""

from __future__ import annotations

import numpy as np
import pytest

from numerics.runs.machine import Machine
from numerics.single_index.complexity import Complexity, complexity
from numerics.single_index.setting import Setting
from numerics.single_index.starts import parse_start
from numerics.single_index.train import train
from theory.errors import InputError
from theory.single_index.link import Link

CUBIC = Link.parse("x**3 - 3*x")


def ask(link: str, lam: float, eta1: float, start: str, dims: tuple[int, ...], **options: object) -> Complexity:
    setting = Setting(Link.parse(link), lam=lam, eta1=eta1, d=dims[0])
    given = {"target": 0.5, "replicas": 64} | options
    return complexity(setting, parse_start(start), dims=dims, **given)  # type: ignore[arg-type]


def test_a_warm_start_is_linear_and_a_random_one_is_not() -> None:
    warm = ask("x**3 - 3*x", 1.0, 0.45, "pca-limit:4d", (100, 400))
    cold = ask("x**3 - 3*x", 0.0, 1.0, "random", (25, 100))
    for result, exponent in ((warm, 1.0), (cold, 2.0)):
        assert result.theory_exponent == exponent
        assert result.slope.value is not None
        assert result.slope.stderr is not None
        assert result.slope.stderr < 0.25
        assert abs(result.slope.value - exponent) < 4 * result.slope.stderr + 0.1


def test_a_trap_is_censored_and_no_number() -> None:
    result = ask("x**3 - 3*x", 1.0, 1.0, "0.03,0", (500, 1000), replicas=16, steps=(2e-7, 1e-7), budget=1.0)
    record = result.to_json()
    assert record["n_star"] == [None, None]
    assert record["censored"] == [16, 16]
    assert record["slope"] is None
    assert record["theory_exponent"] is None
    assert "trapped" in result.to_text()
    assert "only a bound is known" in result.to_text()


def test_the_record_has_the_agreed_keys_and_the_text_the_choices() -> None:
    result = ask("He(2, x)", 0.0, 1.0, "pca-law:4d", (20, 40), replicas=8)
    keys = ["dims", "n_star", "stderr", "censored", "slope", "slope_stderr", "theory_exponent"]
    record = result.to_json()
    assert list(record)[:7] == keys
    asked = {
        "link": "He(2, x)",
        "lambda": 0.0,
        "eta1": 1.0,
        "target": 0.5,
        "replicas": 8,
        "method": "reduced",
        "seed": 0,
    }
    assert asked.items() <= record.items()
    assert record["steps"] == list(result.steps)
    assert "η1 is idle" in result.to_text()
    assert "step δ/d" in result.to_text()
    assert "|m1|" in result.to_text()
    assert "oracle" in result.to_text()
    assert result.to_latex().count("\\\\") == 2


def test_an_interruption_keeps_finished_dimensions() -> None:
    def progress(done: int, total: int) -> None:
        if done > 0.5 * total:
            raise KeyboardInterrupt

    result = ask("x**3 - 3*x", 0.0, 1.0, "0.4,0", (20, 2000), replicas=4, machine=Machine(progress=progress))
    assert result.interrupted
    assert result.dims == (20,)
    assert result.slope.value is None


def test_training_reports_starts_ends_and_success() -> None:
    setting = Setting(CUBIC, lam=1.0, eta1=0.8, d=40)
    result = train(setting, parse_start("pca:200"), steps=4000, step=1e-4, replicas=20, every=1000)
    record = result.to_json()
    assert list(record)[:5] == ["m1", "m2", "success_fraction", "start", "method"]
    asked = {"link": "x**3 - 3*x", "lambda": 1.0, "eta1": 0.8, "d": 40, "steps": 4000, "step": 1e-4, "seed": 0}
    assert asked.items() <= record.items()
    assert record["hits"] == list(result.hits)
    assert record["start"] == "pca:200 (sign: oracle)"
    assert record["success_fraction"] == np.mean(np.array(record["m1"]) >= 0.9)
    assert result.paths.shape == (20, 4, 2)
    np.testing.assert_array_equal(result.paths[:, -1], result.ends)
    assert "by an oracle" in result.to_text()
    assert 0 < result.success_stderr < 0.15
    deviation = result.ends[:, 0].std(ddof=1)
    text = result.to_text()
    assert f"end: m1 = {result.ends[:, 0].mean():.4g} ± {deviation / 20**0.5:.2g} (s.d. {deviation:.2g})" in text
    assert f"{result.success_fraction:.3g} ± {result.success_stderr:.2g}" in text
    assert "± is one standard error" in text


def test_one_replica_has_no_error() -> None:
    setting = Setting(CUBIC, lam=0.0, eta1=0.8, d=40)
    text = train(setting, parse_start("0.5,0.1"), steps=10, step=1e-4, replicas=1).to_text()
    assert "end: m1 = " in text
    assert "s.d. " not in text.split("end:")[1].splitlines()[0]
    assert "more than 10 samples (median; 0 of 1" in text
    assert "η1 is idle" in text


def test_bad_requests_are_refused() -> None:
    for options in ({"target": 1.0}, {"budget": 0.1}, {"steps": (1e-3,)}):
        with pytest.raises(InputError):
            ask("x**3", 0.0, 1.0, "0.5,0", (20, 40), **options)
    with pytest.raises(InputError, match="increasing"):
        ask("x**3", 0.0, 1.0, "0.5,0", (40, 20))
