"""Published moments, plain pairings, Monte Carlo and the ring engine against the diagram engine."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from theory.autoencoder.model import AUTOENCODER
from theory.engine.diagram_model import DiagramLoss, DiagramModel, DiagramTerm, Entry, product_of
from theory.engine.diagram_pairings import enumerate_pairings
from theory.engine.diagram_rings import ring_form
from theory.engine.diagram_series import diagram_derivatives
from theory.engine.diagram_tensor import Monomial, Tensor
from theory.engine.diagram_terms import derivative_terms, merged_term
from theory.engine.laurent import Laurent
from theory.engine.model import MatrixModel
from theory.engine.series import expected_derivatives
from theory.errors import BudgetError, InputError


def model(tensors: tuple[Tensor, ...], *, train: tuple[DiagramTerm, ...], **losses: DiagramTerm) -> DiagramModel:
    sizes = tuple(dict.fromkeys(leg for tensor in tensors for leg in tensor.legs))
    others = tuple(DiagramLoss(name, (term,)) for name, term in losses.items())
    return DiagramModel("example", sizes, tensors, (DiagramLoss("train", train), *others), "train")


def mean(term: DiagramTerm, *tensors: Tensor) -> Laurent:
    return diagram_derivatives(model(tensors, train=(), it=term), {"it": 0})["it"][0]


def cycle(letters: list[str]) -> tuple[Entry, ...]:
    """The trace of a product; a letter with ' transposed, with * the adjoint."""
    entries = []
    for k, letter in enumerate(letters):
        ends = (f"i{k}", f"i{(k + 1) % len(letters)}")
        turned = letter[-1] in "'*"
        entries.append(Entry(letter.rstrip("'*"), ends[::-1] if turned else ends, letter.endswith("*")))
    return tuple(entries)


def coefficients(value: Laurent) -> list[int]:
    return [int(c) for c in value.terms.values()]


@pytest.mark.parametrize(
    ("power", "expected"),
    [(2, [1, 1]), (4, [2, 5, 5]), (6, [5, 22, 52, 41]), (8, [14, 93, 374, 690, 509])],
)
def test_moments_of_the_goe(power: int, expected: list[int]) -> None:
    # variance 1 off the diagonal, 2 on it; Ledoux, Ann. IHP 45 (2009); 14, 93, 374, 690, 509: Goulden & Jackson
    H = Tensor("H", ("n", "n"), kind="symmetric")
    assert coefficients(mean(DiagramTerm(1, (), cycle(["H"] * power)), H)) == expected


@pytest.mark.parametrize(("power", "expected"), [(2, [1]), (4, [2, 1]), (6, [5, 10]), (8, [14, 70, 21])])
def test_moments_of_the_gue(power: int, expected: list[int]) -> None:
    # Harer & Zagier
    H = Tensor("H", ("n", "n"), kind="hermitian")
    assert coefficients(mean(DiagramTerm(1, (), cycle(["H"] * power)), H)) == expected
    conjugated = tuple(Entry("H", entry.labels[::-1], True) for entry in cycle(["H"] * power))
    assert coefficients(mean(DiagramTerm(1, (), conjugated), H)) == expected


def test_third_moments_of_wishart_matrices() -> None:
    # E Tr (XX*)³, X n×m: complex Haagerup & Thorbjørnsen, real with 3·… twisted terms; Bishop, Del Moral & Niclas
    real, complex_ = Tensor("X", ("n", "m")), Tensor("X", ("n", "m"), kind="complex")
    n, m = (Laurent.variable(x, ("n", "m")) for x in "nm")
    word = lambda letter: DiagramTerm(1, (), cycle(["X", letter] * 3))  # noqa: E731
    assert mean(word("X*"), complex_) == n * m * (n * n + 3 * n * m + m * m + 1)
    assert mean(word("X'"), real) == n * m * (n * n + 3 * n * m + m * m + 3 * n + 3 * m + 4)


def test_letac_massam_third_moment_with_a_covariance() -> None:
    # Letac & Massam, Scand. J. Stat. 31 (2004): for W = XX', X with m columns N(0, C):
    # E W³ = (m³ + 3m² + 4m) C³ + (2m² + 2m) C² Tr C + (m² + m) C Tr C² + m C (Tr C)²
    X = Tensor("X", ("p", "m"), covariance="C")
    found = mean(DiagramTerm(1, (), cycle(["X", "X'"] * 3)), X)
    names = ("p", "m", "c_1", "c_2", "c_3")
    p, m, c1, c2, c3 = (Laurent.variable(x, names) for x in names)
    traces = (m * m * m + 3 * m * m + 4 * m) * p * c3 + (3 * m * m + 3 * m) * p * p * c2 * c1 + m * p**3 * c1**3
    assert found == traces


def test_mixed_words_of_fixed_matrices_keep_their_names() -> None:
    A, B = Tensor("A", ("q", "p"), fixed=True), Tensor("B", ("p", "p"), fixed=True, kind="symmetric")
    X = Tensor("X", ("p", "m"))
    found = mean(DiagramTerm(1, (), cycle(["A", "X", "X'", "A'", "A", "B", "A'"])), A, B, X)
    assert found.to_json() == [{"q": 1, "p": 0, "m": 1, "c_A_A'_A_B_A'": 1, "c": "1"}]
    lone = mean(DiagramTerm(1, (), product_of("B[i,i] B[i,i]")), B)
    assert lone.to_json() == [{"p": 1, "c_B[i,i]B[i,i]": 1, "c": "1"}]


PAIRED = [
    ("S[i,j,k] S[i,j,l] S[k,l,m] S[m,i,i]", (Tensor("S", ("p", "p", "p"), "s2", kind="symmetric"),)),
    (
        "T[i,a] T[i,a] T[i,b] T[j,b] T[j,d] T[k,d] v[b] v[c] v[c] v[b]",
        (Tensor("T", ("p", "q"), 3), Tensor("v", ("q",), "t2")),
    ),
    (
        "Z[i,a] conj(Z[i,b]) Z[j,b] conj(Z[j,a]) Z[k,a] conj(Z[k,a]) H[i,j] conj(H[k,j]) H[k,i] H[k,k]",
        (Tensor("Z", ("p", "q"), "s2", kind="complex"), Tensor("H", ("p", "p"), kind="hermitian")),
    ),
]


@pytest.mark.parametrize(("text", "tensors"), PAIRED)
def test_expectations_are_sums_over_pairings(text: str, tensors: tuple[Tensor, ...]) -> None:
    term = DiagramTerm(Fraction(2, 7), (("p", -1),), product_of(text))
    example = model(tensors, train=(), it=term)
    total = Laurent.constant(0, example.variables)
    for pairing in enumerate_pairings(term, model=example):
        total = total + Laurent.monomial(dict(pairing.weight.powers), example.variables, pairing.weight.coefficient)
    assert total
    assert diagram_derivatives(example, {"it": 0})["it"][0] == total


def cp(order: int, *, symmetric: bool) -> DiagramModel:
    """½‖Σ_h ⊗_a U_a[h,·] − δ‖² for tensors U_a of ranks H and sizes p."""
    names = ["U"] * order if symmetric else [f"U{a + 1}" for a in range(order)]
    tensors = tuple(Tensor(name, ("H", "p"), name.replace("U", "s2"), trained=True) for name in dict.fromkeys(names))
    square = tuple(Entry(name, (h, f"i{a}")) for h in "hg" for a, name in enumerate(names))
    target = tuple(Entry(name, ("h", "i")) for name in names)
    terms = (
        DiagramTerm(Fraction(1, 2), (), square),
        DiagramTerm(-1, (), target),
        DiagramTerm(Fraction(1, 2), (("p", 1),)),
    )
    return DiagramModel(f"CP {order}", ("H", "p"), tensors, (DiagramLoss("train", terms),), "train")


def test_cp_values() -> None:
    H, p, s = (Laurent.variable(x, ("H", "p", "s2")) for x in ("H", "p", "s2"))
    first = diagram_derivatives(cp(2, symmetric=True), {"train": 1})["train"]
    assert first[0] == p / 2 - H * p * s + s**2 * (H * p + H * p**2 + H**2 * p) / 2
    assert first[1] == 4 * H * p * s - 8 * s**2 * (H * p + H * p**2 + H**2 * p) + s**3 * (
        16 * H * p + 12 * H * p**2 + 4 * H * p**3 + 12 * H**2 * p + 12 * H**2 * p**2 + 4 * H**3 * p
    )
    # the mean of the square: H(H−1) pairs give p³ + …; E|u|^6 = p(p+2)(p+4) for h = g, E (u·w)³ = 0 for h ≠ g
    assert diagram_derivatives(cp(3, symmetric=True), {"train": 0})["train"][0] == p / 2 + s**3 * (
        H * p**3 / 2 + 3 * H * p**2 + 4 * H * p
    )
    a = diagram_derivatives(cp(3, symmetric=False), {"train": 0})["train"][0]
    assert a == Laurent(a.variables, {(0, 1, 0, 0, 0): Fraction(1, 2), (1, 3, 1, 1, 1): Fraction(1, 2)})


@pytest.mark.parametrize(("order", "symmetric"), [(2, True), (3, True), (3, False)])
def test_cp_derivative_against_simulation(order: int, symmetric: bool) -> None:
    # E |∇L|² at the start is minus the slope of E L: gradients written out with einsum, 40 000 draws
    H, p, variance = 3, 2, 0.5
    names = dict.fromkeys(cp(order, symmetric=symmetric).variables[2:], Fraction(1, 2))
    rng = np.random.default_rng(14)
    draws = [np.sqrt(variance) * rng.standard_normal((40_000, H, p)) for _ in range(1 if symmetric else order)]
    factors = draws * order if symmetric else draws
    legs = "ijk"[:order]
    operands = ",".join(f"nh{x}" for x in legs)
    delta = np.zeros((p,) * order)
    delta[(np.arange(p),) * order] = 1
    error = np.einsum(f"{operands}->n{legs}", *factors) - delta
    squares = np.zeros(len(error))
    for a in range(len(draws)):
        others = [f for b, f in enumerate(factors) if b != a]
        text = ",".join(f"nh{x}" for b, x in enumerate(legs) if b != a)
        gradient = np.einsum(f"n{legs},{text}->nh{legs[a]}", error, *others) * (order if symmetric else 1)
        squares += (gradient**2).sum(axis=(1, 2))
    exact = diagram_derivatives(cp(order, symmetric=symmetric), {"train": 1})["train"][1]
    predicted = float(exact.evaluate({"H": H, "p": p, **names}))
    stderr = squares.std() / np.sqrt(len(squares))
    assert stderr < 0.05 * predicted
    assert abs(squares.mean() - predicted) < 4 * stderr


def in_index_notation(matrices: MatrixModel) -> DiagramModel:
    """Every trace of a model of matrices written with indices."""
    losses = []
    for loss in matrices.losses:
        terms = []
        for term in loss.terms:
            entries: list[Entry] = []
            for t, trace in enumerate(term.traces):
                entries += [Entry(e.tensor, tuple(f"{x}t{t}" for x in e.labels)) for e in cycle(trace.split())]
            terms.append(DiagramTerm(term.coefficient, term.powers, tuple(entries)))
        losses.append(DiagramLoss(loss.name, tuple(terms)))
    tensors = tuple(Tensor(x.name, (x.rows.name, x.columns.name), x.variance, x.trained) for x in matrices.matrices)
    sizes = tuple(space.name for space in matrices.spaces)
    return DiagramModel("index", sizes, tensors, tuple(losses), matrices.train_loss, matrices.parameters)


def test_ring_models_in_index_notation_give_the_ring_engines_coefficients() -> None:
    example = in_index_notation(AUTOENCODER)
    for loss in ("train", "population"):
        rings = expected_derivatives(AUTOENCODER, loss, order=3)
        assert diagram_derivatives(example, {loss: 3})[loss] == rings
        assert expected_derivatives(example, loss, order=3) == rings
    assert ring_form(example) is not None


def test_what_has_no_ring_form_goes_the_way_of_diagrams() -> None:
    U = Tensor("U", ("n", "p"), "s2", trained=True)
    quartic = DiagramTerm(1, (), product_of("U[h,i] U[h,i] U[h,j] U[h,j]"))
    example = model((U,), train=(quartic,))
    assert ring_form(example) is None
    assert expected_derivatives(example, "train", order=1) == diagram_derivatives(example, {"train": 1})["train"]
    for other in (
        Tensor("U", ("n", "p"), "s2", True, rate="n^-1"),
        Tensor("U", ("n", "p"), "s2", True, covariance="C"),
    ):
        assert ring_form(model((other,), train=(DiagramTerm(1, (), product_of("U[h,i] U[h,i]")),))) is None


def test_averages_are_taken_before_the_gradient() -> None:
    # ½E_x (w·x)² = ½|w|², whose flow is w' = −w; averaging after the gradient would give another second coefficient
    w, x = Tensor("w", ("p",), "s2", trained=True), Tensor("x", ("p",), average=True)
    loss = DiagramTerm(Fraction(1, 2), (), product_of("w[i] x[i] w[j] x[j]"))
    found = diagram_derivatives(model((w, x), train=(loss,)), {"train": 3})["train"]
    p, s = (Laurent.variable(name, ("p", "s2")) for name in ("p", "s2"))
    assert found == (p * s / 2, p * s, 2 * p * s, 4 * p * s)


def test_rates_scale_the_gradient() -> None:
    w = Tensor("w", ("p",), "s2", trained=True, rate=Monomial(Fraction(3), (("p", -1),)))
    found = diagram_derivatives(
        model((w,), train=(DiagramTerm(Fraction(1, 2), (), product_of("w[i] w[i]")),)), {"train": 1}
    )["train"][1]
    assert found == 3 * Laurent.variable("s2", ("p", "s2"))


def test_too_large_a_request_is_refused_with_its_estimate() -> None:
    with pytest.raises(BudgetError, match=r"about .* diagrams"):
        diagram_derivatives(cp(3, symmetric=True), {"train": 12})


@pytest.mark.parametrize(
    ("tensors", "text", "message"),
    [
        ((Tensor("U", ("n", "p")),), "U[h,h]", "index h"),
        ((Tensor("U", ("n", "p")),), "U[h]", "2 indices"),
        ((Tensor("U", ("n", "p")),), "V[h,i]", "one of U"),
    ],
)
def test_bad_declarations_name_what_is_wrong(tensors: tuple[Tensor, ...], text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        model(tensors, train=(DiagramTerm(1, (), product_of(text)),))


def test_bad_tensors_name_what_is_wrong() -> None:
    with pytest.raises(InputError, match="one size for kind hermitian"):
        Tensor("H", ("n", "p"), kind="hermitian")
    with pytest.raises(InputError, match="at most one"):
        Tensor("H", ("n", "p"), trained=True, fixed=True)
    with pytest.raises(InputError, match="positive"):
        Tensor("H", ("n", "p"), variance=-1)


@pytest.mark.parametrize("symmetric", [True, False])
def test_single_merges_add_up_to_the_first_derivative(symmetric: bool) -> None:
    example = cp(3, symmetric=symmetric)
    terms = example.loss("train")
    merged = [
        merged_term(left, right, edges=(i, j), model=example)
        for left in terms
        for right in terms
        for i, first in enumerate(left.entries)
        for j, second in enumerate(right.entries)
        if first.tensor == second.tensor
    ]
    losses = (*example.losses, DiagramLoss("merged", tuple(merged)))
    wider = DiagramModel("wider", example.sizes, example.tensors, losses, "train")
    found = diagram_derivatives(wider, {"train": 1, "merged": 0})
    assert found["merged"][0] == found["train"][1]
    again = DiagramLoss("again", derivative_terms(example, "train", order=1))
    assert (
        diagram_derivatives(
            DiagramModel("again", example.sizes, example.tensors, (*example.losses, again), "train"), {"again": 0}
        )["again"][0]
        == found["train"][1]
    )


def test_a_merge_that_closes_a_node_multiplies_by_its_size() -> None:
    v = Tensor("v", ("p",), "s2", trained=True)
    example = model((v,), train=(DiagramTerm(1, (), product_of("v[i]")),))
    (term,) = example.loss("train")
    assert merged_term(term, term, edges=(0, 0), model=example) == DiagramTerm(1, (("p", 1),))
