"""Rings, declarations, merging, Laurent polynomials: canonical forms and what goes wrong."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from theory.autoencoder.model import AUTOENCODER
from theory.engine.laurent import Laurent
from theory.engine.merge import merge, merge_rings
from theory.engine.model import GaussianMatrix, Loss, MatrixModel, Space, Term
from theory.engine.packed import PackedWords, add_up
from theory.engine.ring import canonical, symmetries, transpose
from theory.engine.series import expected_derivatives
from theory.errors import BudgetError, InputError

P, N = Space("p"), Space("n")
words = st.lists(st.integers(0, 5), min_size=1, max_size=9).map(tuple)
polynomials = st.dictionaries(
    st.tuples(st.integers(-3, 3), st.integers(-3, 3)), st.fractions(-9, 9, max_denominator=9), max_size=5
).map(lambda terms: Laurent(("p", "n"), terms))


@settings(max_examples=100, deadline=None, derandomize=True)
@given(words, st.integers(0, 8), st.booleans())
def test_canonical_form_is_shared_by_the_whole_ring(word: tuple[int, ...], turn: int, reverse: bool) -> None:
    other = word[turn % len(word) :] + word[: turn % len(word)]
    other = transpose(other) if reverse else other
    assert canonical(other) == canonical(word)
    assert canonical(canonical(word)) == canonical(word)
    rotations = {word[i:] + word[:i] for i in range(len(word))}
    ring = rotations | {transpose(w) for w in rotations}
    assert canonical(word) == min(ring)
    assert symmetries(word) * len(ring) == 2 * len(word)


@settings(max_examples=100, deadline=None, derandomize=True)
@given(st.integers(1, 5), st.lists(st.integers(0, 4), min_size=0, max_size=12))
def test_packed_words_are_words(letters: int, digits: list[int]) -> None:
    packed = PackedWords(letters)
    word = [digit % letters for digit in digits]
    code = packed.pack(word)
    assert packed.unpack(code) == word
    rings = [word[i:] + word[:i] for i in range(len(word))] or [word]
    largest = max(packed.pack(w) for ring in rings for w in (ring, ring[::-1]))
    assert int(packed.canonical(np.array([code]))[0]) == largest == packed.canonical_one(code)
    assert packed.unpack(int(packed.reverse(np.array([code]))[0])) == word[::-1]
    index, rest = packed.cut(np.array([code]), 0)
    opened = [word[i + 1 :] + word[:i] for i, digit in enumerate(word) if digit == 0]
    assert sorted(packed.unpack(int(c)) for c in rest) == sorted(opened)
    _, before, after = packed.split(np.array([code]), 0)
    pieces = sorted((packed.unpack(int(b)), packed.unpack(int(a))) for b, a in zip(before, after, strict=True))
    assert pieces == sorted((word[:i], word[i + 1 :]) for i, digit in enumerate(word) if digit == 0)
    assert list(index) == [0] * len(opened)


def test_words_too_long_for_a_machine_word_are_refused() -> None:
    packed = PackedWords(2)
    with pytest.raises(BudgetError):
        packed.pack([1] * 63)
    with pytest.raises(BudgetError):
        packed.append(np.array([packed.pack([1] * 40)]), packed.pack([1] * 40))


def test_adding_up_keeps_integers_of_any_size() -> None:
    codes, totals = add_up(np.array([5, 3, 5, 3]), np.array([2**80, 1, 2**80, -1], dtype=object))
    assert (codes.tolist(), totals.tolist()) == ([5], [2**81])


@settings(max_examples=60, deadline=None, derandomize=True)
@given(polynomials, polynomials, polynomials)
def test_laurent_polynomials_form_a_ring(a: Laurent, b: Laurent, c: Laurent) -> None:
    assert a * (b + c) == a * b + a * c
    assert (a - b) + b == a
    assert a * b == b * a
    point = {"p": Fraction(2, 3), "n": Fraction(-5)}
    assert (a * b).evaluate(point) == a.evaluate(point) * b.evaluate(point)
    assert float((a + b).evaluate({"p": 0.5, "n": 2})) == pytest.approx(float((a + b).compile()(0.5, 2.0)), abs=1e-9)
    assert pickle.loads(pickle.dumps(a)) == a
    assert hash(a + b) == hash(b + a)
    assert Laurent.from_json(("p", "n"), a.to_json()) == a


def test_leading_part_and_forms() -> None:
    p, n = (Laurent.variable(name, ("p", "n")) for name in ("p", "n"))
    polynomial = p**2 * n**-1 - Fraction(3, 2) * p + n
    assert polynomial.leading({"p": 1, "n": 1}) == polynomial
    assert polynomial.leading({"p": Fraction(1, 2), "n": 1}) == n
    assert polynomial.degree({"p": 2, "n": 1}) == 3
    assert polynomial.to_latex() == r"p^{2} n^{-1} - \tfrac{3}{2} p + n"
    assert str(polynomial) == "p^2 n^-1 - 3/2 p + n"
    assert str(polynomial.to_sympy().subs({"p": 1, "n": 1})) != ""
    assert str(polynomial - polynomial) == "0"
    assert Laurent.monomial({"sigma2": 3}, ("sigma2",)).to_latex() == r"\sigma^{6}"


@pytest.mark.parametrize(
    ("action", "message"),
    [
        (lambda p: p.evaluate({}), "also p"),
        (lambda p: (p**-1).evaluate({"p": 0}), "divided by"),
        (lambda p: (p + 1) ** -1, "only monomials invert"),
        (lambda p: p.degree({}), "also p"),
        (lambda p: (p - p).degree({"p": 1}), "non-zero"),
        (lambda p: p + Laurent.variable("q", ("q",)), "use substitute"),
        (lambda _: Laurent(("p",), {(1, 2): Fraction(1)}), "one for each of p"),
        (lambda _: Laurent.variable("q", ("p",)), "one of p"),
        (lambda _: Laurent.from_json(("p",), [{"p": 1}]), "exponents and c"),
    ],
)
def test_laurent_errors_name_the_way_out(action: object, message: str) -> None:
    with pytest.raises(InputError, match=message):
        action(Laurent.variable("p", ("p",)))  # type: ignore[operator]


def _model(**changes: object) -> MatrixModel:
    arguments: dict[str, object] = {
        "name": "small",
        "spaces": (P, N),
        "matrices": (GaussianMatrix("U", N, P, variance="v", trained=True),),
        "losses": (Loss("train", (Term(1, ("U U'",)),)),),
        "train_loss": "train",
    }
    return MatrixModel(**{**arguments, **changes})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"train_loss": "loss"}, "expected one of train"),
        ({"spaces": (P,)}, "add it to the model's spaces"),
        ({"matrices": (GaussianMatrix("p", N, P),)}, "rename"),
        ({"matrices": (GaussianMatrix("U-1", N, P),)}, "letters and digits"),
        ({"losses": (Loss("train", (Term(1, ("U U",)),)),)}, "columns and rows to match: U ends in p, U begins with n"),
        ({"losses": (Loss("train", (Term(1, ("U W'",)),)),)}, "matrices U"),
        ({"losses": (Loss("train", (Term(1, ("U;U'",)),)),)}, "separate them by spaces"),
        ({"losses": (Loss("train", (Term(1, (), (("q", 1),)),)),)}, "expected one of p, n, v"),
        ({"losses": (Loss("train", ()), Loss("train", ()))}, "each declared once"),
        ({"losses": (Loss("train", (Term(1, ("",)),)),)}, "trace: got '', expected at least one matrix.* Tr 1"),
        (
            {"losses": (Loss("train", (Term(1, (" ", "U U'")),)),)},
            "trace: got ' ', expected at least one matrix.* Tr 1",
        ),
        ({"spaces": P}, "spaces of model 'small': got .*comma"),
        ({"matrices": (P,)}, "matrices of model 'small': got .*a tuple of GaussianMatrix"),
        ({"losses": Loss("train", ())}, "losses of model 'small': got .*comma"),
        ({"parameters": "ab"}, "parameters of model 'small': got 'ab'.*comma"),
        ({"matrices": (GaussianMatrix("U", "n", P),)}, "space of matrix 'U': got 'n'"),  # type: ignore[arg-type]
        ({"matrices": (GaussianMatrix(5, N, P),)}, "letters and digits"),
        ({"matrices": (GaussianMatrix("U", N, P, variance="U"),)}, "each name used once"),
    ],
)
def test_bad_declarations_name_the_way_out(changes: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        _model(**changes)


NO_NUMBERS = [None, "x", True, 1j, [1], float("nan"), float("inf"), Fraction(1, 10**5000)]


@pytest.mark.parametrize(
    ("declare", "message"),
    [
        *((lambda c=c: Term(c), "coefficient of a term: got .* expected .* give") for c in NO_NUMBERS),
        *((lambda k=k: Term(1, (), (("p", k),)), "power of p: got ") for k in (0.5, 1.0, None, True, "1", 10**5000)),
        (lambda: Term(1, ("U U'",), {"p": -1}), "powers of a term: got {'p': -1}"),  # type: ignore[arg-type]
        (lambda: Term(1, ("U U'",), ("p", -1)), "powers of a term: got .*pairs"),  # type: ignore[arg-type]
        (lambda: Term(1, (), ((5, -1),)), "powers of a term: got .*pairs"),  # type: ignore[arg-type]
        (lambda: Term(1, "U U'"), 'traces of a term: got "U U\'", .*comma'),  # type: ignore[arg-type]
        (lambda: Term(1, (5,)), "traces of a term: got .*texts"),  # type: ignore[arg-type]
        (lambda: Term(1, None), "traces of a term: got None"),  # type: ignore[arg-type]
        (lambda: Loss("train", Term(1)), "terms of loss 'train': got .*comma"),  # type: ignore[arg-type]
        (lambda: Loss("train", (1,)), "terms of loss 'train': got "),  # type: ignore[arg-type]
        *(
            (lambda v=v: GaussianMatrix("U", N, P, variance=v), "variance of matrix 'U': got .* expected .* give")
            for v in (0, -1, Fraction(-1, 2), *(wrong for wrong in NO_NUMBERS if wrong != "x"))
        ),
    ],
)
def test_a_declaration_is_refused_where_it_is_written(declare: Callable[[], object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        declare()


def test_powers_that_repeat_a_variable_add_up() -> None:
    once = Term(2, ("U U'",), (("p", -2), ("n", 1)))
    assert Term(2, ("U U'",), (("p", -1), ("n", 1), ("p", -1))) == once
    model = _model(losses=(Loss("train", (Term(1, ("U U'",), (("p", -1), ("p", -1))),)),))
    assert str(expected_derivatives(model, "train", order=0)[0]) == "p^-1 n v"


def test_floats_are_read_as_they_are_written() -> None:
    assert Term(0.1).coefficient == Fraction(1, 10)
    assert GaussianMatrix("U", N, P, variance=0.1).variance == Fraction(1, 10)
    model = _model(
        matrices=(GaussianMatrix("U", N, P, variance=0.1, trained=True),),
        losses=(Loss("train", (Term(0.25, ("U U'",)),)),),
    )
    assert str(expected_derivatives(model, "train", order=0)[0]) == "1/40 p n"


def test_exact_numbers_stay_as_they_are_written() -> None:
    """Files of derived series are known by what their declaration prints."""
    assert repr(Term(-1, (), (("p", -1),))) == "Term(coefficient=-1, traces=(), powers=(('p', -1),))"
    assert repr(GaussianMatrix("U", N, P).variance) == "1"


def test_numpy_integers_do_not_overflow() -> None:
    assert Term(np.int64(2**62)).coefficient * 4 == 2**64


def test_merging_counts_pairs_of_edges() -> None:
    """⟨∇R̂, ∇D̂⟩ has 2 · 4 pairs of U edges. [P] §3."""
    left, right = AUTOENCODER.word("U' U X X'"), AUTOENCODER.word("U' U U' U X X'")
    rings = merge_rings(left, right, model=AUTOENCODER)
    assert sum(rings.values()) == 8
    assert {AUTOENCODER.spell(word).count("U") for word in rings} == {4}


def test_merging_single_letters_and_products() -> None:
    square = GaussianMatrix("Q", P, P, trained=True)
    model = MatrixModel(
        "square", (P,), (square,), (Loss("train", (Term(1, ("Q",)), Term(1, ("Q", "Q Q'")))),), train_loss="train"
    )
    trace = {(model.word("Q"),): Laurent.constant(1, model.variables)}
    p = Laurent.variable("p", ("p",))
    assert merge(trace, trace, model=model) == {(): p}
    product = {tuple(sorted((model.word("Q"), canonical(model.word("Q Q'"))))): Laurent.constant(1, ("p",))}
    # ⟨I, ∇(Tr Q · Tr QQᵀ)⟩ = p Tr QQᵀ + 2 (Tr Q)²
    assert merge(trace, product, model=model) == {
        (canonical(model.word("Q Q'")),): p,
        (model.word("Q"), model.word("Q")): Laurent.constant(2, ("p",)),
    }
