"""Model files: every shipped one reads back, every wrong key, name or type is refused with the way out."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest

from theory.engine.model import GaussianMatrix, Loss, MatrixModel, Space, Term
from theory.engine.series import expected_derivatives
from theory.errors import BudgetError, InputError
from theory.latex import WIDTH, broken, printed
from theory.models.catalogue import shipped_names
from theory.models.model import Model
from theory.models.series import model_series

NAMES = [name for name in shipped_names() if ":" not in name]
FAMILIES = ["deep:1", "deep:4", "cp:2", "cp:3", "cp:4:asymmetric"]


@pytest.mark.parametrize("name", NAMES + FAMILIES)
def test_shipped_models_read_back(name: str) -> None:
    model = Model.named(name)
    assert model.name == name
    assert model.descend == "train"
    assert Model.parse(model.to_toml()) == model
    assert hash(Model.parse(model.to_toml())) == hash(model)


def test_the_autoencoder_is_the_one_of_the_paper() -> None:
    """The terms written out by hand, as [P] §2 has them."""
    p, n, m = Space("p"), Space("n"), Space("m")
    per_datum, half = (("p", -1), ("m", -1)), Fraction(1, 2)
    train = Loss(
        "train",
        (
            Term(half, ("U' U U' U X X'",), per_datum),
            Term(-1, ("U' U X X'",), per_datum),
            Term(half, ("X X'",), per_datum),
        ),
    )
    population = Loss(
        "population", (Term(half, ("U' U U' U",), (("p", -1),)), Term(-1, ("U' U",), (("p", -1),)), Term(half))
    )
    matrices = (GaussianMatrix("U", n, p, "sigma2", trained=True), GaussianMatrix("X", p, m))
    by_hand = MatrixModel("by hand", (p, n, m), matrices, (train, population), train_loss="train")
    shipped = Model.named("autoencoder").rings
    assert all(shipped.loss(loss) == by_hand.loss(loss) for loss in ("train", "population"))
    assert shipped.variables == by_hand.variables


INDEXED = {
    "autoencoder": "norm2(X[i,k] - U[h,i] U[h,j] X[j,k]) / (2 p m)",
    "untied": "norm2(X[i,k] - V[i,h] U[h,j] X[j,k]) / (2 p m)",
    "deep:3": "norm2(X[i,k] - W3[i,h] W2[h,g] W1[g,j] X[j,k]) / (2 p m)",
    "teacher": "norm2(A[g,i] A[g,j] X[j,k] - U[h,i] U[h,j] X[j,k]) / (2 p m)",
}


@pytest.mark.parametrize("name", INDEXED)
def test_index_notation_is_the_same_model(name: str) -> None:
    shipped = Model.named(name)
    text = shipped.to_toml().replace(dict(shipped.losses)["train"], INDEXED[name])
    indexed = Model.parse(text)
    assert indexed != shipped
    assert expected_derivatives(indexed.plan, "train", order=1) == expected_derivatives(shipped.plan, "train", order=1)


GOOD = """
name = "two factors with decay"
sizes = ["p", "n", "m"]
parameters = ["decay"]
descend = "train"
[tensors]
U = { indices = ["n", "p"], variance = "sigma2", trained = true }
V = { indices = ["p", "n"], variance = "sigma2", trained = true }
X = { indices = ["p", "m"], variance = "1" }
[losses]
train      = "norm2(X - V U X) / (2 p m) + 1/2 decay (norm2(U) + norm2(V))"
population = "norm2(1 - V U) / (2 p)"
"""


def test_the_example_of_the_design() -> None:
    model = Model.parse(GOOD)
    assert model.variables == ("p", "n", "m", "sigma2", "decay")
    assert model.scales == ("sigma2",)
    zeroth = model_series(model, "train", order=0).coefficients[0]
    assert str(zeroth) == "1/2 p n sigma2^2 + p n sigma2 decay + 1/2"


WRONG = [
    (
        'variance = "sigma2", trained = true }\nV',
        'varience = "sigma2", trained = true }\nV',
        "did you mean 'variance'?",
    ),
    ("descend =", "descent =", "did you mean 'descend'?"),
    ("[losses]", "[loses]", "did you mean 'losses'?"),
    ('descend = "train"', 'descend = "trian"', "did you mean 'train'?"),
    ('["n", "p"]', '["n", "q"]', "sizes p, n, m"),
    ('["n", "p"]', '"np"', "list of names"),
    ("trained = true }\nV", "trained = 1 }\nV", "true or false"),
    ('parameters = ["decay"]', "", "decay is not declared"),
    ('sizes = ["p", "n", "m"]', 'sizes = ["p", "n", "m", "s"]', "reserved"),
    ('sizes = ["p", "n", "m"]', 'sizes = ["p", "n", "m", "decay"]', "that a size has"),
    ('sizes = ["p", "n", "m"]', 'sizes = ["p", "n", "m", "delta"]', "reserved"),
    ('sizes = ["p", "n", "m"]', 'sizes = ["p", "n", "m", "2k"]', "a letter first"),
    ('variance = "1"', "variance = -1", "positive"),
    ('variance = "1"', 'variance = "sigma2 + 1"', "product"),
    ('variance = "1"', 'variance = "eta"', "reserved"),
    ('variance = "1"', 'variance = "1", rate = "1/p"', "trained"),
    ("trained = true }\nV", 'trained = true, rate = "lr/n" }\nV', 'parameters = ["lr"]'),
    ('variance = "1"', 'variance = "1", kind = "reel"', "real"),
    ('variance = "1"', 'variance = "1", fixed = true', "none with fixed"),
    ('variance = "1"', 'variance = "1", average = true, trained = true', "at most one"),
    ('variance = "1"', 'variance = "1", kind = "symmetric"', "symmetric"),
    ("X = {", "X = ", "TOML"),
    ('"norm2(1 - V U) / (2 p)"', "3", "expression"),
    ('"norm2(1 - V U) / (2 p)"', '"norm2(1 - U V) / (2 p"', "close the bracket"),
    ('name = "two factors with decay"', "", "also name"),
]


@pytest.mark.parametrize(("old", "new", "words"), WRONG, ids=[new[:24] for _, new, _ in WRONG])
def test_wrong_declarations_are_refused(old: str, new: str, words: str) -> None:
    assert old in GOOD
    with pytest.raises(InputError) as caught:
        Model.parse(GOOD.replace(old, new, 1))
    assert words in str(caught.value)


def test_declared_in_python_or_read_from_a_file(tmp_path: Path) -> None:
    file = tmp_path / "model.toml"
    file.write_text(GOOD)
    declared = Model.declare(
        "two factors with decay",
        sizes=["p", "n", "m"],
        parameters=["decay"],
        tensors={
            "U": {"indices": ["n", "p"], "variance": "sigma2", "trained": True},
            "V": {"indices": ["p", "n"], "variance": "sigma2", "trained": True},
            "X": {"indices": ["p", "m"], "variance": 1.0},
        },
        losses={
            "train": "norm2(X - V U X) / (2 p m) + 1/2 decay (norm2(U) + norm2(V))",
            "population": "norm2(1 - V U) / (2 p)",
        },
    )
    assert declared == Model.read(file) == Model.of(str(file)) == Model.of(declared)
    with pytest.raises(InputError, match="No such file"):
        Model.read(tmp_path / "absent.toml")
    with pytest.raises(InputError, match=r"did you mean 'untied'\?"):
        Model.named("unitied")
    with pytest.raises(InputError, match="from 1 to 8"):
        Model.named("deep:9")


def test_a_fresh_input_is_averaged_at_declaration() -> None:
    """E over x of (w·x)⁴ is 3|w|⁴ v² for x of variance v."""
    model = Model.declare(
        "fresh",
        sizes=["p"],
        tensors={
            "w": {"indices": ["p"], "trained": True},
            "x": {"indices": ["p"], "variance": "1/2", "average": True},
        },
        losses={"train": "(w[i] x[i])^4", "same": "3/4 (w[i] w[i])^2"},
    )
    assert model.expanded["train"] == model.expanded["same"]
    assert "x" not in str(model.expanded)


def test_latex_lines_fit_a_page() -> None:
    (series,) = (model_series(Model.named("untied"), "train", order=2),)
    lines = broken(series.coefficients[2].to_latex())
    assert len(lines) > 5
    assert all(printed(line) <= WIDTH for line in lines)
    assert all(line[0] in "+-" for line in lines[1:])
    assert r"\sigma_{u}^{2}" in series.to_latex()


def test_averages_of_too_many_pairings_are_refused_before_they_are_begun() -> None:
    tensor = {"indices": ["p"] * 9, "kind": "symmetric", "average": True}
    with pytest.raises(BudgetError, match="pairings"):
        Model.declare("large", sizes=["p"], tensors={"T": tensor}, losses={"train": "norm2(T)^3"})
