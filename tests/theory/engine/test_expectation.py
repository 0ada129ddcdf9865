"""Every expectation engine against plain enumeration of pairings."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from theory.autoencoder.model import AUTOENCODER
from theory.engine import pairings, planar, recursion
from theory.engine.composite import composite_plan, packed_derivatives
from theory.engine.derivatives import derivatives
from theory.engine.gram import expectations
from theory.engine.laurent import Laurent
from theory.engine.model import GaussianMatrix, Loss, MatrixModel, Space, Term
from theory.engine.pairings import count_pairings
from theory.engine.ring import Word, product
from theory.engine.series import expected_derivatives
from theory.errors import BudgetError

P, N, M = Space("p"), Space("n"), Space("m")
MIXED = MatrixModel(
    "mixed",
    (P, N, M),
    (
        GaussianMatrix("U", N, P, variance="v"),
        GaussianMatrix("X", P, M),
        GaussianMatrix("Q", P, P, variance=Fraction(2, 3)),
    ),
    (Loss("norm", (Term(1, ("X X'",)),)),),
    train_loss="norm",
)
"""Rectangular and square matrices, a symbolic, a unit and a rational variance."""

ONE = Laurent.constant(1, MIXED.variables)
MOST_PAIRINGS = 3000


@st.composite
def closed_words(draw: st.DrawFn) -> Word:
    """A closed word of up to 5 pairs of each matrix: a random walk on the spaces, closed by the way it came."""
    letters = [letter for matrix in range(len(MIXED.matrices)) for letter in (2 * matrix, 2 * matrix + 1)]
    walk: list[int] = []
    space = start = draw(st.sampled_from([P, N, M]))
    for _ in range(draw(st.integers(1, 10))):
        possible = [letter for letter in letters if MIXED.left_space(letter) == space]
        walk.append(draw(st.sampled_from(possible)))
        space = MIXED.right_space(walk[-1])
    if space != start:
        walk += [letter ^ 1 for letter in reversed(walk)]
    return tuple(walk)


def small(rings: list[Word]) -> bool:
    return all(count <= 10 for count in pairings.count_letters(rings).values()) and (
        count_pairings(product(rings)) <= MOST_PAIRINGS
    )


@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.lists(closed_words(), min_size=1, max_size=3).filter(small))
def test_recursion_is_enumeration(rings: list[Word]) -> None:
    combination = {product(rings): ONE}
    assert recursion.expectation(combination, model=MIXED) == pairings.expectation(combination, model=MIXED)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(closed_words().filter(lambda word: small([word])))
def test_planar_recursion_is_enumeration_of_planar_pairings(word: Word) -> None:
    rings = product([word])
    expected = Laurent.constant(0, MIXED.variables)
    for pairing in pairings.pairings(rings, model=MIXED):
        if pairing.planar:
            expected = expected + pairing.weight
    assert planar.expectation({rings: ONE}, model=MIXED) == expected


@st.composite
def longest_words(draw: st.DrawFn) -> Word:
    """A closed word over U and X with 5 pairs of each: a walk with 5 of each, there and back, with turns in between."""
    blocks = draw(st.permutations(["U' U", "X X'"] * 5))
    word = AUTOENCODER.word(" ".join(blocks))
    if draw(st.booleans()):  # a ring no Gram letters tile: there and back with different halves
        half = word[:10]
        word = half + tuple(letter ^ 1 for letter in reversed(half))
    return word


def enumerate_fast(word: Word) -> Laurent:
    """Every pairing of a word in U and X, on arrays. A pair makes the p nodes at its two edges one, and their others.

    Nodes are labels; the n nodes depend on the pairs of U alone, the m nodes on those of X, the p nodes on both.
    """
    kinds = AUTOENCODER.nodes(word)
    beside = [(k, (k + 1) % len(word)) for k in range(len(word))]
    outer = np.array([a if kinds[a] == "p" else b for a, b in beside])
    inner = np.array([b if kinds[a] == "p" else a for a, b in beside])
    nodes = {kind: np.array([k for k, found in enumerate(kinds) if found == kind]) for kind in "pnm"}
    start = np.arange(len(word), dtype=np.int8)[None, :]
    pairs_u, pairs_x = matchings(word, 0), matchings(word, 1)
    n_nodes = (glue(start, pairs_u, inner) == start)[:, nodes["n"]].sum(axis=1)
    m_nodes = (glue(start, pairs_x, inner) == start)[:, nodes["m"]].sum(axis=1)
    counts = np.zeros(16**3, dtype=np.int64)
    for labels, n in zip(glue(start, pairs_u, outer), n_nodes, strict=True):
        p_nodes = (glue(labels[None, :], pairs_x, outer) == start)[:, nodes["p"]].sum(axis=1)
        counts += np.bincount(p_nodes * 256 + n * 16 + m_nodes, minlength=16**3)
    weight = sum(letter < 2 for letter in word) // 2
    found = np.nonzero(counts)[0].tolist()
    return Laurent(
        AUTOENCODER.variables, {(k >> 8, k >> 4 & 15, k & 15, weight): Fraction(int(counts[k])) for k in found}
    )


def matchings(word: Word, matrix: int) -> npt.NDArray[np.int64]:
    """All perfect matchings of the places of a matrix, shape (matchings, pairs, 2)."""
    places = [k for k, letter in enumerate(word) if letter >> 1 == matrix]
    found: list[list[tuple[int, int]]] = [[]]
    for _ in range(len(places) // 2):
        grown = []
        for pairs in found:
            free = [k for k in places if all(k not in pair for pair in pairs)]
            grown += [[*pairs, (free[0], other)] for other in free[1:]]
        found = grown
    return np.array(found)


def glue(
    labels: npt.NDArray[np.int8], pairs: npt.NDArray[np.int64], place: npt.NDArray[np.int64]
) -> npt.NDArray[np.int8]:
    """The labels after each matching of letters, whose nodes ``place`` become one: the smaller label replaces both."""
    labels = np.repeat(labels, len(pairs), axis=0)
    everyone = np.arange(len(pairs))
    for i, j in pairs.transpose(1, 2, 0):
        a, b = labels[everyone, place[i]], labels[everyone, place[j]]
        labels = np.where(labels == np.maximum(a, b)[:, None], np.minimum(a, b)[:, None], labels)
    return labels


@settings(max_examples=6, deadline=None, derandomize=True)
@given(longest_words().filter(lambda word: count_pairings((word,)) <= 945**2))
def test_recursion_is_enumeration_at_five_pairs_of_each(word: Word) -> None:
    one = Laurent.constant(1, AUTOENCODER.variables)
    assert recursion.expectation({product([word]): one}, model=AUTOENCODER) == enumerate_fast(word)


@pytest.mark.parametrize("pairs", [1, 2, 3, 4, 5])
def test_words_of_five_pairs_of_each_kind_at_once(pairs: int) -> None:
    """Tr (M S)^k up to k = 3 by enumeration, and of k pairs of one kind up to 5."""
    one = Laurent.constant(1, AUTOENCODER.variables)
    texts = ["U' U " * pairs, "X X' " * pairs, *(["U' U X X' " * pairs] if pairs <= 3 else [])]
    for text in texts:
        combination = {product([AUTOENCODER.word(text)]): one}
        by_recursion = recursion.expectation(combination, model=AUTOENCODER)
        assert by_recursion == pairings.expectation(combination, model=AUTOENCODER)


def test_number_of_pairings_is_the_value_at_unit_sizes() -> None:
    """At p = n = m = σ² = 1 every pairing counts 1, so E Tr (MS)^5 is (9!!)²: a check beyond enumeration."""
    word = AUTOENCODER.word("U' U X X' " * 5)
    one = Laurent.constant(1, AUTOENCODER.variables)
    value = recursion.expectation({product([word]): one}, model=AUTOENCODER)
    assert value.evaluate(dict.fromkeys(AUTOENCODER.variables, 1)) == 945**2 == count_pairings((word,))


@pytest.mark.parametrize("loss", ["train", "population"])
def test_series_is_enumeration_to_order_two(loss: str) -> None:
    expected = tuple(
        pairings.expectation(combination, model=AUTOENCODER)
        for combination in derivatives(AUTOENCODER, loss, order=2 if loss == "population" else 1)
    )
    assert expected_derivatives(AUTOENCODER, loss, order=len(expected) - 1) == expected


@pytest.mark.parametrize("loss", ["train", "population"])
def test_sweep_over_gram_letters_is_recursion_over_letters(loss: str) -> None:
    plan = composite_plan(AUTOENCODER)
    assert plan is not None
    swept = expectations(plan, packed_derivatives(plan, loss, order=5))
    assert swept == tuple(
        recursion.expectation(combination, model=AUTOENCODER) for combination in derivatives(AUTOENCODER, loss, order=5)
    )


def test_workers_and_losses_together_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    plan = composite_plan(AUTOENCODER)
    assert plan is not None
    both = packed_derivatives(plan, "train", order=4) + packed_derivatives(plan, "population", order=5)
    seen: list[tuple[int, int]] = []
    together = expectations(plan, both, progress=lambda finished, total: seen.append((finished, total)))
    assert together[:5] == expected_derivatives(AUTOENCODER, "train", order=4)
    assert together[5:] == expected_derivatives(AUTOENCODER, "population", order=5)
    assert seen[-1][0] == seen[-1][1] == sum(len(codes) for c in both for codes, _ in c.parts.values())
    monkeypatch.setattr("theory.engine.gram._FEW_WORDS", 0)
    assert expectations(plan, both, workers=2) == together


def test_three_gram_letters_on_one_space() -> None:
    """A plan is made for any number of Gram letters, with parameters and rational variances."""
    q = Space("q")
    model = MatrixModel(
        "three",
        (P, N, M, q),
        (
            GaussianMatrix("U", N, P, variance="v", trained=True),
            GaussianMatrix("W", q, P, variance=Fraction(1, 3), trained=True),
            GaussianMatrix("X", P, M),
        ),
        (
            Loss(
                "train", (Term(1, ("U' U W' W X X'",), (("p", -1),)), Term(Fraction(1, 2), ("U' U",), (("decay", 1),)))
            ),
            Loss("norm", (Term(1, ("U' U W' W",)),)),
        ),
        train_loss="train",
        parameters=("decay",),
    )
    plan = composite_plan(model)
    assert plan is not None
    assert len(plan.letters) == 3
    swept = expectations(plan, packed_derivatives(plan, "norm", order=3))
    assert swept == tuple(
        recursion.expectation(combination, model=model) for combination in derivatives(model, "norm", order=3)
    )


def test_no_plan_where_a_matrix_is_not_in_a_gram_letter() -> None:
    assert composite_plan(MIXED) is not None
    model = MatrixModel(
        "untied",
        (P, N),
        (GaussianMatrix("U", N, P, trained=True), GaussianMatrix("V", P, N, trained=True)),
        (Loss("train", (Term(1, ("V U",)),)),),
        train_loss="train",
    )
    assert composite_plan(model) is None


def test_lost_nodes_are_what_the_weight_lacks() -> None:
    word = AUTOENCODER.word("U' U X X' U' U X X'")
    weights = {"p": 1, "n": 1, "m": 1, "sigma2": 0}
    for pairing in pairings.pairings((word,), model=AUTOENCODER):
        assert pairing.lost == 5 - pairing.weight.degree(weights) == 5 - len(pairing.nodes)
        assert sorted(node for _, members in pairing.nodes for node in members) == [(0, k) for k in range(8)]
    # E Tr MSMS = (m² + m) E Tr M² + m E (Tr M)², with E Tr M² = pn(p + n + 1)σ⁴ and E (Tr M)² = (n²p² + 2np)σ⁴
    lost = [pairing.lost for pairing in pairings.pairings((word,), model=AUTOENCODER)]
    assert [lost.count(g) for g in range(4)] == [3, 3, 3, 0]


def test_odd_words_vanish_and_long_ones_are_refused() -> None:
    word = MIXED.word("Q Q Q")
    assert not recursion.expectation({(word,): ONE}, model=MIXED)
    assert not pairings.expectation({(word,): ONE}, model=MIXED)
    with pytest.raises(BudgetError, match="use the recursion"):
        pairings.expectation({(MIXED.word("Q Q' " * 10),): ONE}, model=MIXED)


def test_limbs_carry_both_signs() -> None:
    from theory.engine.sweep import from_integers, normalise, to_integers

    values = [0, -1, 2**40, -(2**90) + 5, 3**80]
    limbs = from_integers(values)[:, None, :]
    doubled = normalise(normalise(limbs + limbs))
    assert to_integers(doubled) == [[2 * value] for value in values]
    assert np.all((doubled[:, :, :-1] >= 0) & (doubled[:, :, :-1] < 2**40))


def test_coefficients_beyond_machine_integers(monkeypatch: pytest.MonkeyPatch) -> None:
    """High orders pass to Python integers on the way; the switch changes no value."""
    plan = composite_plan(AUTOENCODER)
    assert plan is not None
    expected = expectations(plan, packed_derivatives(plan, "train", order=4))
    monkeypatch.setattr("theory.engine.packed._MACHINE_LIMIT", 100)
    packed = packed_derivatives(plan, "train", order=4)
    assert any(coefficients.dtype == object for c in packed for _, coefficients in c.parts.values())
    assert expectations(plan, packed) == expected
    assert planar.planar_derivatives(AUTOENCODER, "train", order=4)[4] == expected[4].leading(
        {"p": 1, "n": 1, "m": 1, "sigma2": -1}
    )
