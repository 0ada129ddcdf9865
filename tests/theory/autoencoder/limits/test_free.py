"""The free-product algebra, and what it gives for the free regime and the interior."""

from __future__ import annotations

import math

import numpy as np
import pytest

from theory.autoencoder.limits.free import FREE, INTERIOR, algebra_curves, extrapolate, truncate
from theory.autoencoder.limits.free_product import FreeProduct, Letter
from theory.autoencoder.limits.large_data import LARGE_DATA
from theory.autoencoder.limits.marchenko_pastur import MarchenkoPastur
from theory.autoencoder.limits.mean_field import MEAN_FIELD
from theory.autoencoder.limits.solution import LimitSolution, Ratios
from theory.errors import BudgetError, InputError, ReachError

EQUAL = Ratios(1.0, 1.0, 1.0, 1.0, 1.0, 1.0)
DEGREE = 6


def algebra(degree: int = DEGREE) -> FreeProduct:
    first = Letter.marchenko_pastur(0.7, 1.3, degree + 1)
    return FreeProduct.of(first, Letter.marchenko_pastur(1.9, 1.0, degree + 1), degree)


def element(generator: np.random.Generator, degree: int) -> np.ndarray:
    values = generator.normal(size=2 << degree)
    values[0] = 0
    return values


def second_letter(product: FreeProduct) -> np.ndarray:
    unit = np.zeros(2)
    unit[1] = 1
    return product.times_second(unit, 1)


def test_the_product_is_associative_and_the_trace_cyclic() -> None:
    product, generator = algebra(), np.random.default_rng(0)
    a, b, c = (element(generator, 2) for _ in range(3))
    left = product.product(product.product(a, b, 4), c, 6)
    right = product.product(a, product.product(b, c, 4), 6)
    assert np.allclose(left, right, atol=1e-12)
    assert product.product(a, b, 4)[1] == pytest.approx(product.product(b, a, 4)[1])
    assert product.product(product.adjoint(a), a, 4)[1] == pytest.approx(float(a @ a))


def test_the_letters_have_their_laws_and_are_free() -> None:
    """⟨ABAB⟩ = ⟨A²⟩⟨B⟩² + ⟨A⟩²⟨B²⟩ − ⟨A⟩²⟨B⟩² for free A and B."""
    product = algebra()
    a = np.zeros(4)
    a[1], a[2] = product.first.diagonal[0], product.first.off_diagonal[0]
    b = second_letter(product)
    m, s = MarchenkoPastur(0.7), MarchenkoPastur(1.9)
    power = a
    for k in range(2, 6):
        power = product.product(power, a, k)
        assert power[1] == pytest.approx(1.3**k * m.moment(k))
    ab = product.product(a, b, 2)
    a1, a2, b1, b2 = 1.3 * m.moment(1), 1.69 * m.moment(2), s.moment(1), s.moment(2)
    assert product.product(ab, ab, 4)[1] == pytest.approx(a2 * b1**2 + a1**2 * b2 - a1**2 * b1**2)


def test_multiplying_by_a_letter_is_the_product() -> None:
    product, generator = algebra(), np.random.default_rng(1)
    x = element(generator, 4)
    assert np.allclose(product.product(second_letter(product), x, 5), product.times_second(x, 5), atol=1e-12)


def test_free_matrices_have_the_algebra_s_moments() -> None:
    """A mixed moment of large Wishart matrices, within what their size allows."""
    size, generator = 400, np.random.default_rng(2)
    g, x = generator.normal(size=(280, size)), generator.normal(size=(size, 760))
    M, S = 1.3 * g.T @ g / size, x @ x.T / size
    product = algebra()
    a = product.letter()[:4]
    b = second_letter(product)
    word, matrix = a, M
    for letter, factor in ((b, S), (a, M), (a, M), (b, S)):
        word = product.product(word, letter, DEGREE)
        matrix = matrix @ factor
    assert word[1] == pytest.approx(float(np.trace(matrix)) / size, rel=0.03)


@pytest.mark.parametrize(("solution", "target"), [(FREE, False), (INTERIOR, True)], ids=["free", "interior"])
@pytest.mark.parametrize(("weights", "data"), [(1.0, 1.0), (0.5, 2.0), (2.0, 0.5)])
def test_it_agrees_with_the_planar_series_by_pade(
    solution: LimitSolution, target: bool, weights: float, data: float
) -> None:
    """Two routes: words of degree 7, and the exact series' leading part to order 6 by the [3/3] approximant."""
    size = 1000.0
    point = {"p": size, "n": size * weights, "m": size * data, "sigma2": 1 / size}
    ratios = Ratios(weights, 1.0, weights, data, 1 / size, 1 / (size * data))
    times = np.array([0.0, 0.015, 0.03]) * size * min(1.0, data)
    found = truncate(ratios, times, target=target, degree=7)
    for loss, values in (("train", found.train), ("population", found.population)):
        leading = solution.taylor(loss, 6)  # type: ignore[arg-type]
        c = [float(y.evaluate(point)) * (-1 / (size**2 * data)) ** s / math.factorial(s) for s, y in enumerate(leading)]
        c[0] += 0.5 if target else 0.0
        best, shorter = pade(c, 3, 3, times), pade(c, 2, 3, times)
        assert np.all(np.abs(values - best) <= 5 * np.abs(best - shorter) + 1e-6)
        assert np.all(np.abs(best - shorter) < 1e-4 * values), "the series is good here"


def pade(c: list[float], top: int, bottom: int, x: np.ndarray) -> np.ndarray:
    """Solved in units of the last time, where it is well conditioned."""
    unit = float(x[-1])
    scaled = [value * unit**k for k, value in enumerate(c)]
    matrix = [
        [scaled[top + i - j] if top + i - j >= 0 else 0.0 for j in range(1, bottom + 1)] for i in range(1, bottom + 1)
    ]
    q = np.array([1.0, *np.linalg.solve(matrix, [-scaled[top + i] for i in range(1, bottom + 1)])])
    p = [sum(q[j] * scaled[k - j] for j in range(min(k, bottom) + 1)) for k in range(top + 1)]
    return np.polyval(p[::-1], x / unit) / np.polyval(q[::-1], x / unit)


def test_the_interior_becomes_large_data_and_mean_field() -> None:
    """At extreme ratios the interior is one of the solved faces, up to the ratio neglected."""
    times = np.array([0.0, 0.1, 0.3])
    much = truncate(Ratios(0.6, 1.0, 0.6, 1000.0, 1.0, 1 / 1000), times, target=True, degree=7)
    solved = LARGE_DATA.curves(Ratios(0.6, 1.0, 0.6, 1000.0, 1.0, 1 / 1000), times)
    assert np.allclose(much.population, solved.population, rtol=6e-3)
    wide = truncate(Ratios(0.4, 0.0004, 1000.0, 0.8, 1.0, 1.0), times, target=True, degree=7)
    solved = MEAN_FIELD.curves(Ratios(0.4, 0.0004, 1000.0, 0.8, 1.0, 1.0), times)
    assert np.allclose(wide.train, solved.train, rtol=6e-3)
    assert np.allclose(wide.population, solved.population, rtol=6e-3)


def test_growing_degrees_close_in_and_the_estimate_holds() -> None:
    times = np.array([0.1, 0.4])
    for target in (False, True):
        rough, fine = (extrapolate(EQUAL, times, target=target, degree=degree) for degree in (7, 9))
        for loss in ("train", "population"):
            error = np.abs(getattr(rough, loss) - getattr(fine, loss))
            assert np.all(error <= getattr(rough, f"{loss}_error"))
            assert np.all(getattr(fine, f"{loss}_error") < getattr(rough, f"{loss}_error") + 1e-6)


@pytest.mark.parametrize("target", [False, True], ids=["free", "interior"])
@pytest.mark.parametrize("case", range(8))
def test_any_grid_gives_finite_losses_or_says_how_far_it_reaches(case: int, target: bool) -> None:
    """Whatever the times, the truncations that run away before the last of them included."""
    generator = np.random.default_rng(case)
    a_p, weights, data = 4.0 ** generator.uniform(-1, 1, 3)
    ratios = Ratios(a_p * weights, a_p, weights, data, 1.0, 1 / data)
    times = np.sort(10.0 ** generator.uniform(-2, 0.5, int(generator.integers(1, 6))))
    times[0] *= generator.integers(2)
    degree = int(generator.integers(2, 8))
    try:
        curves = algebra_curves(ratios, times, target=target, degree=degree)
    except ReachError:
        return
    assert all(values.shape == times.shape for values in curves)
    assert np.all(np.isfinite(curves))


def test_truncations_that_run_away_at_different_times_are_refused() -> None:
    """What is left of one degree's times is not as long as what is left of another's."""
    ratios, times = Ratios(0.4, 6.2, 0.4 / 6.2, 0.47, 1.0, 1 / 0.47), np.array([0.007, 0.07, 0.29, 0.86])
    reached = {int(np.isfinite(truncate(ratios, times, target=True, degree=k).train).sum()) for k in (2, 3, 4, 5)}
    assert len(reached) > 1
    with pytest.raises(ReachError, match="good up to"):
        algebra_curves(ratios, times, target=True, degree=7)


def test_reach_is_stated_and_kept() -> None:
    with pytest.raises(ReachError, match=r"good up to about t = 0\.\d+ with words of degree 7"):
        algebra_curves(EQUAL, np.array([0.2, 5.0]), target=True, degree=7)


@pytest.mark.parametrize("degree", [1, 0, -3, True, 4.5])
def test_unusable_degrees_are_refused(degree: int) -> None:
    with pytest.raises(InputError, match="degree"):
        truncate(EQUAL, np.array([0.0]), target=True, degree=degree)


def test_a_run_that_would_not_fit_is_refused_with_its_estimate() -> None:
    with pytest.raises(BudgetError, match="MB and"):
        truncate(EQUAL, np.array([0.0, 1.0]), target=True, degree=25)
