"""The model language: what it reads means what numpy makes of it, all else is refused with its place."""

from __future__ import annotations

import ast
import math
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import theory.models
from tests.theory.models.numpy_meaning import Evaluator
from theory.engine.diagram_tensor import Tensor
from theory.errors import BudgetError, InputError
from theory.models.complaint import one_line
from theory.models.expand import expand
from theory.models.parser import parse
from theory.models.terms import Terms

SIZES = {"p": 3, "n": 2, "m": 4}
SCALARS = (*SIZES, "decay")
TENSORS = {
    "U": Tensor("U", ("n", "p"), "sigma2", trained=True),
    "V": Tensor("V", ("p", "n"), trained=True),
    "X": Tensor("X", ("p", "m")),
    "A": Tensor("A", ("p", "p")),
    "B": Tensor("B", ("p", "p"), kind="symmetric"),
    "H": Tensor("H", ("p", "p"), kind="hermitian"),
    "Z": Tensor("Z", ("n", "p"), kind="complex"),
    "a": Tensor("a", ("n",)),
    "b": Tensor("b", ("p",)),
    "y": Tensor("y", ("m",)),
    "T": Tensor("T", ("n", "p", "p")),
}


def drawn() -> dict[str, np.ndarray]:
    generator = np.random.default_rng(7)
    arrays = {name: generator.standard_normal([SIZES[leg] for leg in t.legs]) for name, t in TENSORS.items()}
    arrays["B"] = arrays["B"] + arrays["B"].T
    noise = generator.standard_normal((3, 3))
    arrays["H"] = arrays["H"] + arrays["H"].T + 1j * (noise - noise.T)
    arrays["Z"] = arrays["Z"] + 1j * generator.standard_normal((2, 3))
    return arrays


ARRAYS = drawn()
NUMBERS = {**{name: float(size) for name, size in SIZES.items()}, "decay": 0.75}
DIMENSIONS = {"h": 2, "g": 2, "i": 3, "j": 3, "l": 3, "k": 4}


def value(terms: Terms) -> complex:
    """The expanded form at the arrays drawn, by einsum over each term."""
    total: complex = 0
    for term in terms:
        scale = float(term.coefficient) * math.prod(NUMBERS[name] ** power for name, power in term.powers)
        if term.factors:
            arrays = [ARRAYS[f.tensor].conj() if f.conjugate else ARRAYS[f.tensor] for f in term.factors]
            operands = [item for x, f in zip(arrays, term.factors, strict=True) for item in (x, list(f.indices))]
            scale = scale * np.einsum(*operands, [], optimize=True)
        total += scale
    return total


READ = [
    "norm2(X - V U X) / (2 p m) + 1/2 decay (norm2(U) + norm2(V))",
    "norm2(1 - V U) / (2 p)",
    "norm2(X - U' U X)/2",
    "tr(A)^2 - tr(A^2) + tr(A' A)",
    "norm2((V U)^2 - decay) + norm2(2 A - 1/2)",
    "tr((A - A')^3) - 0.125 tr(A) + 1e-3 p^2 m",
    "norm2(U[h,i] U[h,j] U[h,l] - delta[i,j,l]) / 2",
    "norm2(a[h] (U[h,i] X[i,k])^2 - (b[i] X[i,k])^2) / (2 m)",
    "norm2(a[h] (U[h,i] X[i,k])^2 - y[k])",
    "norm2(a' U X - y') / (2 m)",
    "norm2(a b' - U) - a' U b",
    "norm2(a) norm2(b) - tr(a b' b a')",
    "A[i,i] - A[i,j] B[j,i] + T[h,i,i] a[h]",
    "norm2(free[h](a[h] U[h,i]))",
    "norm2(sum[h](a[h] U[h,i]) - b[i])",
    "sum[i](b[i]^3) + sum[h,i](U[h,i])",
    "sum[h](a[h] + 1)",
    "norm2(b[i] - 2)",
    "norm2(T) - norm2(T[h,i,j])",
    "norm2(T[h,i,j] - a[h] delta[i,j] - U[h,i] b[j])",
    "norm2(T[h,i,j] - T[h,j,i])",
    "(a[h] U[h,i] b[i] - 1)^2",
    "norm2(a[h] U[h,i] b[i] - decay)",
    "norm2(U[h,i]^2 - 3 U[h,i] + 1)",
    "norm2(U[h,i]^2 V'[h,i])",
    "-A[i,i]^2 + (A[i,j] A[i,j])^2",
    "norm2(Z) + norm2(Z Z' - 1) - tr(Z' Z)",
    "norm2(Z[h,i] Z[h,j]) + Z[h,i] Z[h,i]'",
    "tr(H^3) + norm2(H - 1) + H[i,j] H[j,i]",
    "norm2(Z H) - tr((Z H)' (Z H)) + Z'[i,h] Z[h,i]",
    "norm2(B) - tr(B' B)",
    "2 * -3 tr(A) - (-1) p",
    "(p m)^-2 tr(A) + p^-1 tr(B)",
    "1/2/2 tr(A) + 3/4 p tr(A) / (3 p)",
    "((tr((A))))",
    "norm2((a[h] U[h,i])^2 b[i])",
    "a[h] (b[i] b[i]) a[h]",
    "norm2(delta[i,j] - A[j,i])",
    "norm2(delta[i,j] b[j] - b[i])",
    "sum[i,j](delta[i,j] b[i] b[j])",
    "tr((U' U)^2) / 2 - (tr(U U'))^2",
    "norm2(U'' - V')",
]


@pytest.mark.parametrize("text", READ)
def test_means_what_numpy_makes_of_it(text: str) -> None:
    expected = Evaluator(ARRAYS, NUMBERS, DIMENSIONS)(parse(text)).array.reshape(-1)
    assert expected.size == 1
    assert value(expand(text, list(TENSORS.values()), SCALARS)) == pytest.approx(
        complex(expected.item()), rel=1e-10, abs=1e-10
    )


REFUSED = [
    ("norm2(U U)", 9, ("n×p", "p meets n", "U' U", "U U'")),
    ("norm2(X - V X)", 13, ("p×n", "p×m", "n meets p")),
    ("norm2(X V)", 9, ("p×m", "p×n", "X' V")),
    ("norm2(U + V)", 11, ("V is p×n", "U is n×p", "did you mean V'?")),
    ("norm2(X - 1)", 11, ("p×m", "square")),
    ("tr(1)", 4, ("no size",)),
    ("tr(2 decay)", 4, ("no size",)),
    ("norm2(1)", 7, ("no size",)),
    ("tr(U)", 4, ("n×p", "tr(U' U)")),
    ("tr(A[i,j])", 4, ("matrix",)),
    ("U^2", 1, ("n×p", "U[h,i]^2")),
    ("(V U X)^2", 1, ("p×m",)),
    ("U", 1, ("n×p", "norm2")),
    ("U[h,i]", 1, ("h, i", "norm2")),
    ("norm2(a[h] - b[i])", 14, ("i", "h", "same free indices")),
    ("norm2(U[h,i] - V[h,i])", 16, ("index h", "p", "n")),
    ("U[h,i] V[h,i]", 8, ("index h", "n", "p")),
    ("norm2(delta[i,j])", 1, ("delta",)),
    ("delta[i,i]", 1, ("delta",)),
    ("norm2(delta[h,i] - U[h,i])", 7, ("delta",)),
    ("norm2(U[h])", 7, ("2 indices", "U[h,i]")),
    ("norm2(T a)", 7, ("3 indices", "T[i,j,k]")),
    ("norm2(U a[h])", 9, ("indices",)),
    ("norm2(U + a[h])", 11, ("indices",)),
    ("sum[h](b[i])", 1, ("index h", "i")),
    ("tr(A)/p m", 9, ("/ (p m)",)),
    ("1/p m", 5, ("/ (p m)",)),
    ("tr(A)/2 p", 9, ("/ (2 p)",)),
    ("tr(A)/(p + m)", 7, ("divide",)),
    ("tr(A)/tr(A)", 7, ("divide",)),
    ("tr(A)/0", 7, ("zero",)),
    ("tr(A)/(p - p)", 7, ("zero",)),
    ("A^-1", 1, ("divide",)),
    ("tr(A^1.5)", 6, ("whole number",)),
    ("tr(A^p)", 6, ("whole number",)),
    ("tr(A^2')", 7, ("(A^2)'",)),
    ("tr(A^2^2)", 7, ("(A^2)^",)),
    ("Tr(A)", 1, ("tr",)),
    ("exp(p)", 1, ("exp",)),
    ("norm2 X", 7, ("'('",)),
    ("tr", 3, ("'('",)),
    ("Y", 1, ("not declared",)),
    ("norm2(UU)", 7, ("did you mean 'U'?",)),
    ("Decay", 1, ("did you mean 'decay'?",)),
    ("p[i]", 1, ("number",)),
    ("(V U)[i,j]", 6, ("entries",)),
    ("U[1,2]", 3, ("name",)),
    ("U[h,i", 6, ("','",)),
    ("(p", 3, ("')'",)),
    ("p)", 2, ("brackets",)),
    ("p +", 4, ("complete",)),
    ("", 1, ("empty",)),
    ("p ** 2", 4, ("expected",)),
    ("p @ m", 3, ("'@'",)),
    ("norm2(Xᵀ)", 8, ("write '",)),
    ("σ", 1, ("means nothing",)),
    ("__import__('os')", 1, ("means nothing",)),
    ("p.real", 2, ("means nothing",)),
    ("lambda: 0", 7, ("means nothing",)),
    ("'a'", 1, ("expected",)),
    ("1" * 400, 1, ("digits",)),
    ("1e9999 p", 1, ("digits",)),
    ("(" * 100 + "p" + ")" * 100, 41, ("40 levels",)),
]


@pytest.mark.parametrize(("text", "place", "words"), REFUSED, ids=[text[:24] for text, _, _ in REFUSED])
def test_refuses_with_a_caret_at_the_place(text: str, place: int, words: tuple[str, ...]) -> None:
    with pytest.raises(InputError) as caught:
        expand(text, list(TENSORS.values()), SCALARS, what="loss train")
    message = str(caught.value)
    head, shown, caret = message.split("\n")
    assert head.startswith(f"loss train, character {place}: "), head
    assert all(word in head for word in words), head
    assert caret.strip() == "^"
    assert shown[len(caret) - 1 :][:1] == text[place - 1 : place]
    assert one_line(message).count("[^]") == 1
    assert len(one_line(message)) < 500


HUGE = [
    "norm2((A + B)^9)",
    "tr((A + B + 1)^9)^9",
    "norm2((a[h] + 1)^700)",
    "(p + n + m + decay)^800",
    "p^999999999999",
    "tr(A)^1000",
    "norm2(norm2(norm2((U[h,i] + a[h] b[i])^4) - tr(A))^3 - tr(B))",
]


@pytest.mark.parametrize("text", HUGE)
def test_refuses_huge_expansions_with_the_estimate(text: str) -> None:
    with pytest.raises(BudgetError, match=r"character \d+: the expansion here would need .*, the limit is "):
        expand(text, list(TENSORS.values()), SCALARS)


def test_exact_numbers() -> None:
    (term,) = expand("0.125 tr(A) + 1e-3 tr(A)", list(TENSORS.values()), SCALARS)
    assert term.coefficient == Fraction(126, 1000)


def test_no_text_reaches_an_evaluator() -> None:
    for file in Path(theory.models.__path__[0]).glob("*.py"):
        called = {node.func for node in ast.walk(ast.parse(file.read_text())) if isinstance(node, ast.Call)}
        names = {f.id for f in called if isinstance(f, ast.Name)} | {
            f.attr for f in called if isinstance(f, ast.Attribute)
        }
        assert not names & {"eval", "exec", "sympify", "parse_expr", "literal_eval", "__import__"}


@settings(max_examples=150, deadline=None)
@given(
    st.text(alphabet="UVXABaby[]hi,j'()+-*/^ 123.e tr norm2sumfreedelta", max_size=40)
    | st.lists(
        st.sampled_from(
            [
                "norm2(",
                "tr(",
                ")",
                "(",
                "U",
                "V",
                "A",
                "'",
                "a[h]",
                "U[h,i]",
                "sum[h](",
                "free[h](",
                "delta[i,j]",
                "+",
                "-",
                "/",
                "^2",
                "2",
                "p",
                "^",
            ]
        ),
        max_size=12,
    ).map("".join)
    | st.text(max_size=30)
)
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        terms = expand(text, list(TENSORS.values()), SCALARS)
    except (InputError, BudgetError) as error:
        assert str(error).split("\n")[-1].strip() == "^"  # noqa: PT017
        return
    expected = Evaluator(ARRAYS, NUMBERS, DIMENSIONS)(parse(text)).array.reshape(-1)
    assert value(terms) == pytest.approx(complex(expected.item()), rel=1e-8, abs=1e-8)


def squares() -> st.SearchStrategy[str]:
    """Expressions for p × p matrices."""
    leaves = st.sampled_from(["A", "B", "V U", "A'", "(X X')", "(b b')", "2", "1/3", "decay", "tr(A)", "norm2(U)"])
    return st.recursive(
        leaves,
        lambda inner: st.one_of(
            st.tuples(inner, inner).map(lambda pair: f"({pair[0]}) ({pair[1]})"),
            st.tuples(inner, st.sampled_from("+-"), inner).map(lambda t: f"({t[0]} {t[1]} {t[2]})"),
            inner.map(lambda text: f"({text})'"),
            inner.map(lambda text: f"({text})^2"),
            inner.map(lambda text: f"({text}) / (2 p)"),
        ),
        max_leaves=3,
    )


def entries() -> st.SearchStrategy[str]:
    """Expressions with the free index i."""
    leaves = st.sampled_from(["b[i]", "A[i,j] b[j]", "a[h] U[h,i]", "T[h,i,j] U[h,j]", "A[i,j]^2 b[j]", "2", "B[i,i]"])
    return st.recursive(
        leaves.filter(lambda text: text != "B[i,i]"),
        lambda inner: st.one_of(
            st.tuples(inner, st.sampled_from("+-"), inner).map(lambda t: f"({t[0]} {t[1]} {t[2]})"),
            st.tuples(inner, inner).map(lambda pair: f"free[i](({pair[0]}) ({pair[1]}))"),
            inner.map(lambda text: f"({text})^2"),
            inner.map(lambda text: f"({text}) / (3 p m)"),
            st.tuples(inner, inner).map(lambda pair: f"({pair[0]} + b[i]) * norm2({pair[1]} - b[i])"),
        ),
        max_leaves=3,
    )


@settings(max_examples=30, deadline=None)
@given(squares())
def test_matrices_mean_what_numpy_makes_of_them(text: str) -> None:
    check(f"norm2({text} - A) + tr(A {text})")


@settings(max_examples=15, deadline=None)
@given(entries())
def test_entries_mean_what_numpy_makes_of_them(text: str) -> None:
    check(f"norm2({text} - b[i])")


def check(text: str) -> None:
    try:
        terms = expand(text, list(TENSORS.values()), SCALARS)
    except BudgetError:
        return
    except InputError as error:  # free[i] of numbers alone
        assert "no index i is left" in str(error)  # noqa: PT017
        return
    expected = complex(Evaluator(ARRAYS, NUMBERS, DIMENSIONS)(parse(text)).array.item())
    assert value(terms) == pytest.approx(expected, rel=1e-7, abs=1e-7)
