"""Regimes of any model: the autoencoder's own through the general route, and models of which the answer is known."""

from __future__ import annotations

from fractions import Fraction

import pytest

from regimes.classify import Classification, classify
from regimes.faces import FACES
from regimes.model_regime import Regime, model_regime, read_scaling
from regimes.polytope_atlas import polytope_atlas
from regimes.prism import VERTICES
from regimes.rates import parse_rate, rate_name
from regimes.scaling import Scaling, representative
from theory.autoencoder.model import AUTOENCODER
from theory.errors import InputError, ReachError
from theory.models.model import Model

RATES = {"R|m": "1/p", "R|p": "1/m", "N|m": "sigma2*n/p", "N|p": "sigma2*n/m", "P|m": "sigma2", "P|p": "sigma2*p/m"}


@pytest.mark.parametrize("face", FACES, ids=str)
def test_the_autoencoder_through_the_general_route(face: object) -> None:
    """Faces, rates and scales of all 21 against [P]'s closed rules, at a scaling inside and at a skewed one."""
    for scaling in (representative(face), Scaling(2, 3, 4, Fraction(-7, 2)), Scaling(3, 1, 2, -1)):  # type: ignore[arg-type]
        known, found = classify(scaling), model_regime("autoencoder", scaling.weights)
        assert set(found.face.vertices) == {RATES[name] for name in known.face.vertices}
        assert found.face.dimension == known.face.dimension
        assert found.rate_exponent == known.rate_exponent
        assert {RATES[name]: deficit for name, deficit in known.deficits} == dict(found.margins)
        assert dict(found.scales) == {"train": known.train_scale, "population": known.population_scale}


def test_names_and_faces_of_the_atlas() -> None:
    atlas = polytope_atlas(AUTOENCODER)
    assert set(atlas.rates) == set(RATES.values())
    assert len(atlas.faces) == 21
    for face in atlas.faces:
        assert atlas.face(face.name) == face
        assert atlas.face(", ".join(reversed(face.vertices)).replace("*", " ")) == face
        assert atlas.face_at(atlas.representative(face)) == face
    edge = atlas.face("1/p,sigma2 n/p")
    assert [str(c) for c in atlas.leading(edge, "train")[:2]] == [
        "1/2 n^2 sigma2^2 - n sigma2 + 1/2", "4 p^-1 n^3 sigma2^3 - 8 p^-1 n^2 sigma2^2 + 4 p^-1 n sigma2"
    ]  # fmt: skip
    assert "\\gg" in atlas.cone(edge)[0]
    for wrong in ("1/p,sigma2*p/m", "1/n", "sigma2^2", "mean-field", "", "1/p;1/m", "q"):
        with pytest.raises(InputError, match="face"):
            atlas.face(wrong)


def test_weight_decay_has_a_regime_in_which_decay_alone_counts() -> None:
    """With decay ≫ all rates U shrinks: bare losses lose their part in U, and train ½ decay σ²np at rate 2 decay."""
    regime = classify("p=1,n=1,m=1,sigma2=-1,decay=1", model="weight-decay")
    assert isinstance(regime, Regime)
    assert regime.face.vertices == ("decay",)
    assert regime.rate_exponent == 1
    assert dict(regime.scales) == {"train": 2, "data": 0, "population": 0}
    train = dict(regime.leading)["train"]
    assert [str(c) for c in train[:3]] == ["1/2 p n sigma2 decay", "p n sigma2 decay^2", "2 p n sigma2 decay^3"]
    tied = classify("p=1,n=1,m=2,sigma2=-1,decay=-1", model="weight-decay")
    assert isinstance(tied, Regime)
    assert tied.face.vertices == ("1/p", "sigma2*n/p", "decay", "sigma2")


def test_equal_variances_take_untied_factors_to_the_prism_s_faces() -> None:
    for vertex in VERTICES[::2]:
        face = next(face for face in FACES if face.vertices == (vertex.name,))
        weights = representative(face).weights
        variance = weights.pop("sigma2")
        regime = model_regime("untied", {**weights, "sigma2_u": variance, "sigma2_v": variance})
        assert regime.rate_exponent == vertex.rate_exponent((*weights.values(), variance))


def test_a_model_of_one_s_own_with_two_parameters() -> None:
    """Two factors of the identity, seen with noise, each with its own decay: every decay is a rate of its own."""
    model = Model.declare(
        "noisy",
        sizes=["p", "n"],
        parameters=["first", "second"],
        tensors={
            "U": {"indices": ["n", "p"], "variance": "sigma2", "trained": True},
            "V": {"indices": ["p", "n"], "variance": "sigma2", "trained": True},
            "E": {"indices": ["p", "p"], "variance": "noise"},
        },
        losses={"train": "norm2(1 + E - V U) / (2 p) + 1/2 first norm2(U) + 1/2 second norm2(V)"},
    )
    assert {"first", "second", "1/p", "noise^(1/2)/p^(1/2)"} <= set(polytope_atlas(model.plan).rates)
    big = {"p": 1, "n": 1, "sigma2": -1, "noise": -1}
    assert model_regime(model, {**big, "first": 1, "second": 0}).face.vertices == ("first",)
    assert set(model_regime(model, {**big, "first": 1, "second": 1}).face.vertices) == {"first", "second"}


def test_forms_and_refusals() -> None:
    regime = model_regime("weight-decay", "p=1,n=1,m=2,sigma2=-1,decay=0.5")
    record = regime.to_json()
    assert record["face"] == "decay"
    assert {"vertices", "dimension", "rate_exponent", "scales", "solution", "warnings", "version"} <= record.keys()
    assert "decay" in regime.to_text()
    assert regime.to_latex().startswith(r"\begin{align*}")
    assert any("does not grow" in line for line in model_regime("untied", "p=1,n=0,m=1,sigma2_u=0,sigma2_v=0").warnings)
    for wrong in ("p=1", "p=1,p=1", "p=1,n=1,m=1,sigma2=1,lambda=1", "p=nan,n=1,m=1,sigma2=1,decay=1", ""):
        with pytest.raises(InputError):
            model_regime("weight-decay", wrong)
    with pytest.raises(InputError):
        read_scaling(3, ("p",))
    with pytest.raises(ReachError, match="not settled to order 3"):
        polytope_atlas(Model.named("teacher").plan, patience=0.01)
    huge = classify({"p": 10**30, "n": "1", "m": 1, "sigma2": -1})
    assert isinstance(huge, Classification)
    assert huge.face.name == "P|p"


@pytest.mark.parametrize("text", ["1/p", "sigma2*n/p", "p^(1/2)/(n*m^(3/2))", "sigma2^2/n"])
def test_rates_are_read_as_they_are_printed(text: str) -> None:
    names = ("p", "n", "m", "sigma2")
    powers = parse_rate(text, names)
    assert rate_name({name: powers.get(name, Fraction(0)) for name in names}, sizes=names[:3]) == text
