"""The curves of the nineteen solved faces: against their Taylor series, other formulas, and their asymptotes."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.linalg import eigh_tridiagonal

from theory.autoencoder.limits.large_data import LARGE_DATA, LARGE_DATA_NO_TARGET
from theory.autoencoder.limits.marchenko_pastur import MarchenkoPastur
from theory.autoencoder.limits.narrow_latent import NARROW_LATENT, NARROW_NO_TARGET
from theory.autoencoder.limits.scalar_flows import LOGISTIC, RATIONAL
from theory.autoencoder.limits.small_data import SMALL_DATA, SMALL_NO_TARGET
from theory.autoencoder.limits.solution import LimitSolution, Ratios
from theory.autoencoder.limits.table import SOLVED
from theory.autoencoder.sizes import Sizes
from theory.errors import ReachError

ORDER = 6
SIZES = (
    Sizes(200, 100, 300, Fraction(1, 100)),
    Sizes(100, 200, 50, Fraction(1, 150)),
    Sizes(100, 100, 100, Fraction(1, 60)),
)
GROWING = {"R|m,p", "R|m", "R|p"}


def series(solution: LimitSolution, sizes: Sizes, times: np.ndarray, loss: str) -> tuple[np.ndarray, np.ndarray]:
    """The Taylor polynomial and the size of its last term."""
    point = {"p": sizes.p, "n": sizes.n, "m": sizes.m, "sigma2": sizes.sigma2}
    x = -times / (sizes.p * sizes.m)
    coefficients = [float(c.evaluate(point)) / math.factorial(s) for s, c in enumerate(solution.taylor(loss, ORDER))]  # type: ignore[arg-type]
    terms = np.array([c * x**s for s, c in enumerate(coefficients)])
    return terms.sum(axis=0) + (0.5 if solution.has_target else 0.0), np.abs(terms[-1])


@pytest.mark.parametrize("sizes", SIZES, ids=str)
@pytest.mark.parametrize("face", SOLVED)
def test_curves_start_as_their_taylor_series(face: str, sizes: Sizes) -> None:
    solution = SOLVED[face]
    times = np.array([0.0, 0.25, 0.5, 1.0]) * 0.004 * min(sizes.p, sizes.m)
    curves = solution.curves(Ratios.of(sizes, 1.0), times)
    for loss, values in (("train", curves.train), ("population", curves.population)):
        polynomial, last = series(solution, sizes, times, loss)
        assert np.all(np.abs(values - polynomial) <= last + curves.error + 1e-13), loss
        assert np.all(last <= 1e-3 * np.abs(polynomial) + 1e-9), "the check is sharp"


@pytest.mark.parametrize("eta", [0.25, 3.0])
def test_only_the_product_of_rate_and_time_matters(eta: float) -> None:
    times = np.array([0.0, 3.0, 9.0])
    for solution in SOLVED.values():
        one = solution.curves(Ratios.of(SIZES[0], 1.0), times)
        other = solution.curves(Ratios.of(SIZES[0], eta), times / eta)
        assert np.allclose(one.train, other.train, rtol=1e-8, atol=1e-10)
        assert np.allclose(one.population, other.population, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize(("ratio", "scale"), [(1.0, 1.0), (0.3, 2.0), (3.0, 0.5), (1e-5, 1.0), (1e5, 1e-5)])
def test_large_data_closed_form_equals_quadrature(ratio: float, scale: float) -> None:
    times = np.array([0.0, 1e-7, 1e-3, 0.1, 0.5, 1.0])
    law = MarchenkoPastur(ratio)
    for solution, flow in ((LARGE_DATA, LOGISTIC), (LARGE_DATA_NO_TARGET, RATIONAL)):
        closed = solution.curves(Ratios(scale * ratio, scale, ratio, 1.0, 1.0, 1.0), times)
        integral, error = law.expectation(
            lambda x, flow=flow: np.stack([flow.loss(scale * x, np.asarray(4 * t)) for t in times])  # type: ignore[arg-type, misc]
        )
        assert np.allclose(closed.train, integral, rtol=1e-10, atol=10 * error.max())
        assert error.max() < 1e-6 * closed.train.max()


@pytest.mark.parametrize("ratio", [0.4, 1.0, 2.5])
def test_narrow_latent_equals_the_flow_of_two_functions(ratio: float) -> None:
    """A′ = g_0 − 2, B′ = g_1 integrated as written, S in units of p and time in units of m/η."""
    a_p, share = 0.7, 0.05
    x, vectors = eigh_tridiagonal(*MarchenkoPastur(ratio).jacobi(200))  # the Gauss rule
    w = vectors[0] ** 2

    def moments(A: float, B: float) -> tuple[float, float]:
        density = a_p * w * np.exp(-2 * (A * x + B))
        return float(density.sum()), float(density @ x)

    def slope(_: float, state: np.ndarray) -> list[float]:
        g0, g1 = moments(*state)
        return [g0 - 2, g1]

    times = np.array([0.0, 0.1, 0.5, 1.5])
    run = solve_ivp(slope, (0, times[-1]), [0.0, 0.0], t_eval=times, rtol=1e-11, atol=1e-13, method="DOP853")
    g = np.array([moments(*state) for state in run.y.T])
    curves = NARROW_LATENT.curves(Ratios(share * a_p, a_p, share, ratio, 1.0, 1.0), times)
    assert np.allclose(curves.population, 0.5 + share * (g[:, 0] ** 2 / 2 - g[:, 0]), atol=1e-9)
    assert np.allclose(curves.train, 0.5 + share / ratio * (g[:, 0] * g[:, 1] / 2 - g[:, 1]), atol=1e-9)


@pytest.mark.parametrize(
    ("solution", "ratio", "scale", "rate"),
    [
        (SMALL_DATA, 0.25, 2.0, 2.0),
        (SMALL_DATA, 2.5, 0.6, 2 * (1 + 0.6 * (1 - math.sqrt(2.5)) ** 2)),
        (SMALL_NO_TARGET, 0.25, 2.0, 1.0),
    ],
)
def test_small_data_train_loss_decays_at_the_stated_rate(
    solution: LimitSolution, ratio: float, scale: float, rate: float
) -> None:
    """The logarithmic slope is −rate − c/t: two times give the rate."""
    times = np.array([4.0, 4.01, 8.0, 8.01])
    train = solution.curves(Ratios(scale * ratio, scale, ratio, 0.1, 1.0, 1.0), times).train
    early, late = np.diff(np.log(train))[::2] / 0.01
    assert 2 * late - early == pytest.approx(-rate, abs=0.04)


@pytest.mark.parametrize("late", [1e3, 1e4])
def test_no_target_narrow_latent_powers_at_equal_sizes(late: float) -> None:
    times = np.array([late, late * 1.01])
    curves = NARROW_NO_TARGET.curves(Ratios(0.1, 1.0, 0.1, 1.0, 1.0, 1.0), times)
    slopes = [float(np.diff(np.log(loss))[0] / math.log(1.01)) for loss in (curves.population, curves.train)]
    assert slopes == pytest.approx([-1.0, -1.5], abs=3 / math.sqrt(late))


@pytest.mark.parametrize("sizes", SIZES, ids=str)
@pytest.mark.parametrize("face", SOLVED)
def test_large_times_approach_the_asymptote(face: str, sizes: Sizes) -> None:
    """The distance to the asymptote shrinks against what is left of the loss, where the constant is known."""
    solution, ratios = SOLVED[face], Ratios.of(sizes, 1.0)
    unit = min(sizes.p, sizes.m)
    times = np.array([0.3, 6.0] if solution.has_target else [3.0, 300.0]) * unit
    curves, far = solution.curves(ratios, times), solution.asymptote(ratios, times)
    for values, stated in ((curves.train, far.train), (curves.population, far.population)):
        if stated is None:
            continue
        early, late = np.abs(values - stated) / np.maximum(np.abs(values), 1e-300)
        assert late < 0.12 or abs(values[1] - stated[1]) <= 10 * curves.error[1]
        assert late <= early + 1e-9 or abs(values[1] - stated[1]) <= 10 * curves.error[1]


@pytest.mark.parametrize("face", SOLVED)
@pytest.mark.parametrize(
    "sizes",
    [
        Sizes(1, 1, 1, Fraction(1)),
        Sizes(10**9, 10**9, 10**9, Fraction(1, 10**9)),
        Sizes(10**9, 1, 1, Fraction(2, 10**9)),
    ],
    ids=str,
)
def test_extreme_sizes_give_finite_losses(face: str, sizes: Sizes) -> None:
    times = np.array([0.0, 0.1, 1.0]) * min(sizes.p, sizes.m)
    curves = SOLVED[face].curves(Ratios.of(sizes, 1.0), times)
    for values in curves:
        assert np.all(np.isfinite(values))
    assert np.all(curves.error <= 1e-6 * (1 + np.abs(curves.train) + np.abs(curves.population)))


@pytest.mark.parametrize("face", SOLVED)
def test_very_late_times_are_finite_or_refused(face: str) -> None:
    ratios = Ratios.of(SIZES[2], 1.0)
    times = np.array([0.0, 1.2e5])
    if face in GROWING or face == "R,P|p":
        with pytest.raises(ReachError, match="overflows"):
            SOLVED[face].curves(ratios, times)
        return
    curves = SOLVED[face].curves(ratios, times)
    assert np.all(np.isfinite(curves.train))
    assert np.all(np.isfinite(curves.population))


def test_turning_rate_zero_is_a_removable_singularity() -> None:
    sizes = [Sizes(100, 5, 5, Fraction(1, 50) + Fraction(k, 10**9)) for k in (-1, 0, 1)]
    below, at, above = (SOLVED["R,P|p"].curves(Ratios.of(s, 1.0), np.array([0.0, 5.0])) for s in sizes)
    assert at.population[1] == pytest.approx((below.population[1] + above.population[1]) / 2, abs=1e-12)
    assert at.population[1] < at.population[0] - 0.01


@pytest.mark.parametrize("face", SOLVED)
def test_time_zero_alone_is_answered(face: str) -> None:
    ratios = Ratios.of(Sizes(1000, 10, 1200, Fraction(1, 1000)), 1.0)
    alone = SOLVED[face].curves(ratios, np.array([0.0]))
    with_more = SOLVED[face].curves(ratios, np.array([0.0, 1.0]))
    assert alone.train[0] == pytest.approx(with_more.train[0], rel=1e-9)
    assert alone.population[0] == pytest.approx(with_more.population[0], rel=1e-9)
