"""Leading series of a face of any model, resummed: against closed forms, refusals, what is neglected."""

from __future__ import annotations

import math

import pytest

from regimes.any_limit import limit
from regimes.model_limit import ModelLimit, model_limit
from theory.errors import InputError, ReachError
from theory.models.model import Model

RENAMED = Model.parse(Model.named("autoencoder").to_toml().replace('"autoencoder"', '"renamed"'))
SIZES = "p=20,n=4000,m=40000,sigma2=1/8000"


def test_the_logistic_face_of_the_autoencoder() -> None:
    """{R,N}×m, whose solution is ½(1 − μ)² with μ = μ0 e^(rt)/(1 + μ0(e^(rt) − 1)), r = 4η/p, μ0 = σ²n. [P]"""
    found = model_limit(RENAMED, "1/p,sigma2*n/p", SIZES, [0, 1, 3, 6], eta=0.5, order=7)
    for k, t in enumerate([0, 1, 3, 6]):
        growth = math.exp(4 * 0.5 * t / 20)
        mu = 0.5 * growth / (1 + 0.5 * (growth - 1))
        for loss in ("train", "population"):
            gap = abs(found.losses[loss][k] - 0.5 * (1 - mu) ** 2)
            assert gap <= found.errors[loss][k] + 1e-12
            assert found.errors[loss][k] < 5e-3
    by_scaling = model_limit(RENAMED, None, SIZES, [0, 1], eta=0.5, scaling="p=1,n=2,m=3,sigma2=-2", order=7)
    assert by_scaling.face.name == found.face.name
    assert by_scaling.losses["train"][1] == pytest.approx(found.losses["train"][1], rel=1e-5)


def test_only_the_drive_keeps_the_half() -> None:
    """{R}×m: L − ½ = −σ²n e^(4ηt/p), of which the ½ is larger than the change, and stays. [P]"""
    sizes = "p=20,n=2,m=40000,sigma2=1/40000"
    found = limit("1/p", sizes, [0, 1], model=RENAMED, order=7)
    assert isinstance(found, ModelLimit)
    assert found.losses["train"][1] - 0.5 == pytest.approx(-2 / 40000 * math.exp(4 / 20), rel=1e-4)


def test_refusals() -> None:
    with pytest.raises(ReachError, match=r"good up to t = .* orders"):
        model_limit(RENAMED, "1/p,sigma2*n/p", SIZES, [0, 1e6], order=6)
    with pytest.raises(InputError, match="rates that win"):
        model_limit(RENAMED, "1/q", SIZES, [0, 1], order=6)
    with pytest.raises(InputError, match="a face or a scaling"):
        model_limit(RENAMED, None, SIZES, [0, 1], order=6)
    with pytest.raises(InputError, match="also sigma2"):
        model_limit(RENAMED, "1/p", "p=20,n=2,m=3", [0, 1], order=6)
    near = model_limit(RENAMED, "1/p", "p=20,n=10,m=40,sigma2=1/20", [0, 0.1], order=6)
    assert any("sigma2*n/p" in warning for warning in near.warnings)
