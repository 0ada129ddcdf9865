"""The flow in every set of coordinates against the plain one, dU/dt = −(η/pm) U(MS + SM − 2S)."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from numerics.gradient_flow.draw import Draw, draw
from numerics.gradient_flow.formulation import choose, follow
from numerics.gradient_flow.integrate import gradient_descent, gradient_flow, moves_gram
from numerics.gradient_flow.problem import Problem
from numerics.gradient_flow.reduce import few_data, full, thin_latent
from theory.autoencoder.sizes import Sizes

ETA = 0.7


def plain_losses(drawn: Draw, weights: np.ndarray) -> tuple[float, float]:
    """[P] §2's definitions, with R^p's coordinates outside the drawn ones as they are: untouched."""
    q = weights.shape[1]
    residual = np.eye(q) - weights.T @ weights
    train = np.linalg.norm(residual @ drawn.data) ** 2 / (2 * drawn.p * drawn.m)
    return train, (np.linalg.norm(residual) ** 2 + drawn.p - q) / (2 * drawn.p)


def plain_flow(drawn: Draw, times: list[float]) -> np.ndarray:
    """The flow of U written down as it stands, by another solver of scipy's."""
    gram_of_data = drawn.data @ drawn.data.T
    shape = drawn.weights.shape

    def derivative(_: float, state: np.ndarray) -> np.ndarray:
        weights = state.reshape(shape)
        gram = weights.T @ weights
        inner = gram @ gram_of_data + gram_of_data @ gram - 2 * gram_of_data
        return -ETA / (drawn.p * drawn.m) * (weights @ inner).ravel()

    solved = solve_ivp(
        derivative, (0.0, times[-1]), drawn.weights.ravel(), method="LSODA", t_eval=times, rtol=1e-10, atol=1e-12
    )
    return np.array([plain_losses(drawn, solved.y[:, k].reshape(shape)) for k in range(len(times))]).T


def drawn_at(text: str) -> Draw:
    return draw(Sizes.parse(text), np.random.default_rng(3))


@pytest.mark.parametrize(
    "text",
    [
        "p=12,n=5,m=20,sigma2=1/12",  # U moves
        "p=12,n=30,m=20,sigma2=1/30",  # M moves
        "p=12,n=10,m=4,sigma2=1/12",  # S has a kernel
        "p=40,n=3,m=5,sigma2=1/10",  # R^p is compressed
        "p=6,n=6,m=6,sigma2=100",  # far from the target
        "p=1,n=1,m=1,sigma2=1/2",
    ],
)
def test_full_coordinates_give_the_plain_flow(text: str) -> None:
    drawn = drawn_at(text)
    scale = drawn.p * drawn.m / ETA / max(1.0, float(np.linalg.norm(drawn.data, 2) ** 2))
    times = [0.0, 0.1 * scale, 0.5 * scale, 2 * scale]
    expected = plain_flow(drawn, times)
    found = gradient_flow(full(drawn), times, eta=ETA, tolerance=1e-9)
    np.testing.assert_allclose(found, expected, rtol=2e-7, atol=1e-11)
    loose = gradient_flow(full(drawn), times, eta=ETA, tolerance=1e-4)  # local tolerance: ten times it, over the run
    np.testing.assert_allclose(loose, expected, rtol=1e-3, atol=1e-6)


def test_all_velocities_are_exercised() -> None:
    shapes = [full(drawn_at(f"p=12,n={n},m=20,sigma2=1/12")).factor.shape for n in (5, 8, 30)]
    assert [moves_gram(shape) for shape in shapes] == [False, False, True]
    assert [2 * rows > columns for rows, columns in shapes] == [False, True, True]


@pytest.mark.parametrize(("n", "rank"), [(5, 5), (8, 8), (11, 11), (12, 12), (30, 12)])
@pytest.mark.parametrize("tolerance", [1e-1, 1e-2, 1e-4])
def test_at_long_times_the_rank_of_the_start_stays(n: int, rank: int, tolerance: float) -> None:
    problem = full(drawn_at(f"p=12,n={n},m=40,sigma2=1/12"))
    train, population = gradient_flow(problem, [0.0, 2000.0], eta=ETA, tolerance=tolerance)
    assert population[1] == pytest.approx((12 - rank) / 24, abs=2 * tolerance)
    # The best rank-r projection loses the least eigenvalues of S. Baldi and Hornik (1989)
    least = np.sort(problem.spectrum)[: 12 - rank].sum() / (2 * 12 * 40)
    assert train[1] == pytest.approx(least, abs=2 * tolerance)


@pytest.mark.parametrize(
    ("text", "end"),
    [
        ("p=20,n=60,m=30,sigma2=1/60", 400.0),  # M moves, and stops moving
        ("p=20,n=12,m=30,sigma2=1/20", 400.0),  # U
        ("p=11,n=3,m=2,sigma2=1/600", 800.0),
        ("p=12,n=12,m=4,sigma2=10", 2.0),  # M stays large on the kernel of S
    ],
)
@pytest.mark.parametrize("count", [4, 60])
@pytest.mark.parametrize("tolerance", [1e-3, 1e-4, 1e-6])
def test_a_time_between_others_is_as_accurate_as_the_last(text: str, end: float, count: int, tolerance: float) -> None:
    """A step at the limit of stability leaves noise between its ends, above all in a loss that has all but gone."""
    problem = full(drawn_at(text))
    times = np.linspace(0.0, end, count + 1).tolist()
    found = gradient_flow(problem, times, eta=1.0, tolerance=tolerance)
    exact = gradient_flow(problem, times, eta=1.0, tolerance=1e-11)
    largest = exact.max(axis=1, keepdims=True)
    np.testing.assert_array_less(np.abs(found - exact) / largest, 3 * tolerance)
    assert (np.diff(found[0]) <= 3 * tolerance * largest[0]).all()


@pytest.mark.parametrize(
    ("text", "end"),
    [
        ("p=47,n=48,m=1,sigma2=1e-11", 12.0),  # one direction grows out of almost nothing
        ("p=59,n=61,m=1,sigma2=1e-8", 3.0),
        ("p=60,n=60,m=60,sigma2=1e-10", 300.0),
        ("p=60,n=80,m=5,sigma2=1e-10", 20.0),
    ],
)
def test_a_small_start_is_followed_as_accurately_as_asked(text: str, end: float) -> None:
    problem = full(drawn_at(text))
    times = np.linspace(0.0, end, 6).tolist()
    for tolerance in (1e-3, 1e-4, 1e-5):
        found = gradient_flow(problem, times, eta=1.0, tolerance=tolerance)
        exact = gradient_flow(problem, times, eta=1.0, tolerance=1e-11)
        assert np.abs(found - exact).max() < tolerance


@pytest.mark.parametrize("text", ["p=150,n=150,m=1,sigma2=1/10", "p=120,n=130,m=2,sigma2=1/5"])
def test_a_krylov_space_is_enough_for_the_least_of_the_losses(text: str) -> None:
    sizes = Sizes.parse(text)
    drawn = draw(sizes, np.random.default_rng(0))
    times = [0.0, 0.5, 1.0, 2.0]
    formulation = choose(sizes, end=2.0, eta=1.0, tolerance=1e-4)
    assert formulation.name == "few-data"
    losses, _ = follow(
        formulation, drawn, lambda problem: gradient_flow(problem, times, eta=1.0, tolerance=1e-4), tolerance=1e-4
    )
    np.testing.assert_allclose(losses, gradient_flow(full(drawn), times, eta=1.0, tolerance=1e-10), rtol=2e-3)


@pytest.mark.parametrize(
    ("text", "reduction"),
    [
        ("p=60,n=2,m=70,sigma2=1/30", thin_latent),
        ("p=60,n=3,m=61,sigma2=1/60", thin_latent),
        ("p=60,n=50,m=2,sigma2=1/60", few_data),
        ("p=60,n=61,m=3,sigma2=1/120", few_data),
    ],
)
def test_krylov_coordinates_converge_to_the_flow(text: str, reduction: object) -> None:
    drawn = drawn_at(text)
    times = [0.0, 0.2 * drawn.m, 0.5 * drawn.m, 1.0 * drawn.m]
    expected = gradient_flow(full(drawn), times, eta=ETA, tolerance=1e-10)
    assert callable(reduction)
    errors = [
        float(np.abs(gradient_flow(problem, times, eta=ETA, tolerance=1e-10) - expected).max())
        for problem in reduction(drawn, [2, 4, 6, 8, 10, 12])
    ]
    assert errors[0] > 1e-4
    assert errors[-1] < 1e-8
    assert all(later < earlier / 2 for earlier, later in itertools.pairwise(errors) if earlier > 1e-8)


def test_a_krylov_space_that_is_invariant_is_exact() -> None:
    drawn = drawn_at("p=8,n=2,m=9,sigma2=1/8")
    problems = list(thin_latent(drawn, [2, 3, 4, 5, 6]))
    assert [problem.exact for problem in problems] == [False, False, True]
    times = [1.0, 30.0]
    np.testing.assert_allclose(
        gradient_flow(problems[-1], times, eta=ETA, tolerance=1e-9), plain_flow(drawn, times), rtol=1e-7
    )


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("p=150,n=2,m=160,sigma2=1/150", "thin-latent"),
        ("p=150,n=160,m=2,sigma2=1/150", "few-data"),
        ("p=30,n=30,m=30,sigma2=1/30", "full"),
    ],
)
def test_follow_is_as_accurate_as_asked(text: str, name: str) -> None:
    sizes = Sizes.parse(text)
    drawn = draw(sizes, np.random.default_rng(4))
    times = [0.0, 0.3 * sizes.m, 1.0 * sizes.m]
    formulation = choose(sizes, end=times[-1], eta=1.0, tolerance=1e-6)
    assert formulation.name == name

    def solver(problem: Problem) -> np.ndarray:
        return gradient_flow(problem, times, eta=1.0, tolerance=1e-6)

    losses, coordinates = follow(formulation, drawn, solver, tolerance=1e-6)
    expected = gradient_flow(full(drawn), times, eta=1.0, tolerance=1e-10)
    np.testing.assert_allclose(losses, expected, atol=1e-6)
    assert coordinates <= drawn.data.shape[0]


def test_descent_tends_to_the_flow_linearly_in_its_step() -> None:
    drawn = drawn_at("p=20,n=15,m=25,sigma2=1/20")
    times = [0.0, 4.0, 16.0]
    expected = gradient_flow(full(drawn), times, eta=ETA, tolerance=1e-10)
    errors = [
        np.abs(gradient_descent(full(drawn), times, eta=ETA, step=step) - expected).max() for step in (0.4, 0.2, 0.1)
    ]
    np.testing.assert_allclose([errors[0] / errors[1], errors[1] / errors[2]], 2.0, atol=0.2)


def test_descent_is_the_plain_recursion() -> None:
    drawn = drawn_at("p=9,n=4,m=7,sigma2=1/9")
    weights, gram_of_data, step = drawn.weights, drawn.data @ drawn.data.T, 0.5
    for _ in range(6):
        gram = weights.T @ weights
        inner = gram @ gram_of_data + gram_of_data @ gram - 2 * gram_of_data
        weights = weights - step * ETA / (drawn.p * drawn.m) * weights @ inner
    found = gradient_descent(full(drawn), [3.0], eta=ETA, step=step)
    np.testing.assert_allclose(found[:, 0], plain_losses(drawn, weights), rtol=1e-12)


def test_too_long_a_step_diverges_with_its_reason() -> None:
    drawn = drawn_at("p=9,n=4,m=7,sigma2=100")
    with pytest.raises(FloatingPointError, match="step 5 diverged"):
        gradient_descent(full(drawn), [500.0], eta=ETA, step=5.0)
