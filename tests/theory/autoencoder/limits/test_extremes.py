"""Late times, hard edges and small starts, where a solver or a quadrature may go wrong without a sign: other routes."""

from __future__ import annotations

import math
from fractions import Fraction

import mpmath as mp
import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.linalg import eigh_tridiagonal

from regimes.limit import limit
from theory.autoencoder.limits import free
from theory.autoencoder.limits.integration import integrate
from theory.autoencoder.limits.large_data import LARGE_DATA
from theory.autoencoder.limits.marchenko_pastur import MarchenkoPastur
from theory.autoencoder.limits.mean_field import MEAN_FIELD, WIDE_NO_TARGET
from theory.autoencoder.limits.narrow_latent import NARROW_LATENT, NARROW_NO_TARGET
from theory.autoencoder.limits.small_data import SMALL_DATA, SMALL_NO_TARGET
from theory.autoencoder.limits.solution import LimitSolution, Ratios
from theory.autoencoder.limits.table import SOLUTIONS
from theory.autoencoder.sizes import Sizes
from theory.errors import ReachError, RingprismError


def gauss(ratio: float, nodes: int) -> tuple[np.ndarray, np.ndarray]:
    x, vectors = eigh_tridiagonal(*MarchenkoPastur(ratio).jacobi(nodes))
    return np.maximum(x, 0.0), vectors[0] ** 2


def rows_of_u(ratio: float, a_p: float, ends: np.ndarray, *, target: bool) -> tuple[np.ndarray, np.ndarray]:
    """Train loss and ∫ dL of one data vector v, U itself integrated in the eigenbasis of M(0)."""
    x, w = gauss(ratio, 40)
    v, size = np.sqrt(w), x.size
    pull = 2.0 if target else 0.0

    def slope(_: float, state: np.ndarray) -> np.ndarray:
        U = state[:-1].reshape(size, size)
        Uv = U @ v
        Mv = a_p * U.T @ Uv
        UMv = U @ Mv
        h1, h2, h3 = v @ Mv, Mv @ Mv, a_p * UMv @ UMv
        change = -np.outer(Uv, Mv) - np.outer(UMv - pull * Uv, v)
        return np.append(change.ravel(), -4 * (h3 - pull * h2 + (h1 if target else 0.0)))

    start = np.append(np.diag(np.sqrt(x)).ravel(), 0.0)
    run = solve_ivp(slope, (0, ends[-1]), start, t_eval=ends, method="DOP853", rtol=1e-10, atol=1e-13)
    assert run.success
    train = []
    for state in run.y.T:
        U = state[:-1].reshape(size, size)
        left = a_p * U.T @ (U @ v) - (v if target else 0.0)
        train.append(left @ left / 2)
    return np.array(train), run.y[-1]


@pytest.mark.parametrize(
    ("solution", "ratio", "a_p", "latest"),
    [
        (SMALL_DATA, 0.1, 10.0, 11.5),
        (SMALL_DATA, 0.001, 2.0, 19.0),
        (SMALL_DATA, 0.01, 4.0, 15.0),
        (SMALL_DATA, 1.0, 10.0, 3.0),
        (SMALL_DATA, 0.1, 1e-23, 30.0),
        (SMALL_NO_TARGET, 0.1, 10.0, 11.5),
        (SMALL_NO_TARGET, 0.1, 1e-27, 1e28),
    ],
)
def test_small_data_is_the_flow_of_u_for_as_long(
    solution: LimitSolution, ratio: float, a_p: float, latest: float
) -> None:
    """A flow of M would run away by rounding, or not see a start below its absolute tolerance."""
    times = latest * np.array([0.0, 0.3, 0.45, 1.0])
    curves = solution.curves(Ratios(a_p * ratio, a_p, ratio, 0.01, 0.01, 1.0), times)
    train, change = rows_of_u(ratio, a_p, times, target=solution.has_target)
    assert np.all(np.abs(curves.train - train) <= curves.error + 1e-9 * train + 1e-13 * train[0])
    moved = curves.population - curves.population[0]
    assert np.all(np.abs(moved - 0.01 * change) <= curves.error + 1e-9 * np.abs(0.01 * change))
    assert np.all(curves.error <= 1e-6 * curves.train[0])


def test_every_time_has_its_value() -> None:
    curves = limit("small-data", Sizes(1000, 100, 10, Fraction(1, 100)), [0, 38, 115])
    assert len(curves.train) == len(curves.population) == len(curves.error_estimate) == 3


@pytest.mark.parametrize("data", [0.5, 0.9, 0.99, 1.0, 1.001, 1.5])
@pytest.mark.parametrize("late", [1e3, 1e7, 1e12])
@pytest.mark.parametrize("a_n", [0.5, 1e6])
def test_wide_losses_are_right_at_any_late_time(data: float, late: float, a_n: float) -> None:
    """Without the target the population loss is algebraic, and with it an integral that mpmath can do."""
    ratios, times = Ratios(a_n, a_n, 1.0, data, 1.0, 1.0), np.array([0.0, late])
    found = WIDE_NO_TARGET.curves(ratios, times)
    with mp.workdps(60):
        r, w = mp.mpf(data), 1 / (4 * mp.mpf(late) * mp.mpf(a_n))
        root = mp.sqrt((w + 1 + r) ** 2 - 4 * r)
        twice = (root - w + 1 - r) / 2 - w * ((w + 1 + r) / root - 1) / 2
        exact = float(mp.mpf(a_n) ** 2 / 2 * twice)
    assert abs(found.population[1] - exact) <= found.error[1] + 1e-13 * exact
    assert found.error[1] <= 1e-11 * exact
    found = MEAN_FIELD.curves(ratios, times)
    exact = float(mean_field_population(a_n, data, late))
    assert abs(found.population[1] - exact) <= found.error[1] + 1e-13 * exact
    assert found.error[1] <= 1e-10 * exact + 1e-300


def mean_field_population(a: float, data: float, late: float) -> mp.mpf:
    with mp.workdps(30):
        r, y = mp.mpf(data), 4 * mp.mpf(late)
        atom = max(mp.mpf(0), 1 - r) * (1 - mp.mpf(a)) ** 2 / 2

        edge = (1 - mp.sqrt(r)) ** 2

        def density(u: mp.mpf) -> mp.mpf:  # in the logarithm of the angle from the lower edge, in units of e^{−2y·edge}
            angle = mp.exp(u)
            above = 4 * mp.sqrt(r) * mp.sin(angle / 2) ** 2
            if y * above > 2000:
                return mp.mpf(0)
            left = (1 - a) * mp.exp(y * edge) / (1 + a * mp.expm1(y * (edge + above)))
            return left**2 / 2 * 2 * r * mp.sin(angle) ** 2 / (mp.pi * (edge + above)) * angle

        return atom + mp.quad(density, [*range(-80, 1, 2), mp.log(mp.pi)]) * mp.exp(-2 * y * edge)


@pytest.mark.parametrize(("data", "late"), [(0.9, 1e10 / 900), (0.99, 4e8), (1.0, 1.6e5), (1.0, 1e9)])
def test_mean_field_keeps_the_atom_and_the_hard_edge(data: float, late: float) -> None:
    """½(1 − a_n)²(1 − m/p) is never learned; at m = p both losses follow their powers of t."""
    ratios, times = Ratios(0.5, 0.005, 100.0, data, 1.0, 1.0), np.array([0.0, late])
    found, far = MEAN_FIELD.curves(ratios, times), MEAN_FIELD.asymptote(ratios, times[1:])
    assert far.population is not None
    assert far.train is not None
    if data < 1:
        assert far.population[0] == pytest.approx(0.125 * (1 - data), rel=1e-12)
    assert found.population[1] == pytest.approx(far.population[0], rel=1e-5)
    assert found.train[1] == pytest.approx(far.train[0], rel=1e-4, abs=1e-15)


@pytest.mark.parametrize("a_p", [1e-12, 1e-15])
@pytest.mark.parametrize("fraction", [0.9, 1.0])
def test_interior_follows_a_small_start(a_p: float, fraction: float) -> None:
    """With much data it is the large-data face, whose closed form has no tolerance."""
    data, y = 1e9, math.log(1 / a_p) / 4
    ratios = Ratios(a_p, a_p, 1.0, data, 1.0, 1 / data)
    times = np.array([0.0, fraction * y])
    found, solved = free.algebra_curves(ratios, times, target=True), LARGE_DATA.curves(ratios, times)
    assert np.all(np.abs(found.train - solved.train) <= 2 * found.error + 1e-4 * y**2 / 1e4)
    assert np.all(found.error <= 0.01)
    assert solved.train[1] < 0.48, "the loss has moved"


def test_the_free_algebra_s_estimate_sees_the_integration_s_error(monkeypatch: pytest.MonkeyPatch) -> None:
    ratios, times = Ratios(1e-6, 1e-6, 1.0, 1.0, 1.0, 1.0), np.array([0.5, 1.0])
    good = free.extrapolate(ratios, times, target=True, degree=8)
    monkeypatch.setattr(free, "_TOLERANCE", 1e-2)
    monkeypatch.setattr(free.truncate, "__kwdefaults__", {"tolerance": 1e-2, "most_steps": 1000})
    rough = free.extrapolate(ratios, times, target=True, degree=8)
    difference = np.abs(rough.population - good.population)
    assert difference[1] > 5 * good.population_error[1], "the rough one is rough"
    assert np.all(difference <= rough.population_error)


@pytest.mark.parametrize("a_p", [1e-9, 1e-25])
@pytest.mark.parametrize("data", [0.5, 1.0])
def test_narrow_latent_follows_a_small_start(a_p: float, data: float) -> None:
    """A′ = g_0 − 2, B′ = g_1, whose A and B are of order one whatever the start."""
    x, w = gauss(data, 300)
    top = MarchenkoPastur(data).upper_edge

    def moments(state: np.ndarray) -> tuple[float, float]:
        A, B = state
        density = w * np.exp(np.minimum(math.log(a_p) - 2 * (A * x + B), 300.0))  # in a step that is refused
        return float(density.sum()), float(density @ x)

    times = np.array([0.0, 1.0, 1.3, 2.0]) * math.log(1 / a_p) / (4 * top)
    run = solve_ivp(
        lambda _, state: [moments(state)[0] - 2, moments(state)[1]],
        (0, times[-1]),
        [0.0, 0.0],
        t_eval=times,
        method="DOP853",
        rtol=1e-10,
        atol=1e-11,
    )
    g = np.array([moments(state) for state in run.y.T])
    curves = NARROW_LATENT.curves(Ratios(0.1 * a_p, a_p, 0.1, data, 1.0, 1.0), times)
    population = 0.5 + 0.1 * (g[:, 0] ** 2 / 2 - g[:, 0])
    train = 0.5 + 0.1 / data * (g[:, 0] * g[:, 1] / 2 - g[:, 1])
    assert np.allclose(curves.population, population, rtol=0, atol=1e-7)
    assert np.allclose(curves.train, train, rtol=0, atol=1e-7)
    assert population[-1] < 0.46, "the loss has moved"
    assert curves.error.max() < 1e-7


@pytest.mark.parametrize("tilt", [1.0, 1e2, 1e4, 1e6])
@pytest.mark.parametrize("a_p", [1.0, 1e6])
def test_narrow_latent_without_target_at_the_hard_edge(tilt: float, a_p: float) -> None:
    """At m = p: g_0 = a_p Z², T = ∫ dλ/(2 a_p Z²), Z = ∫ e^{−λx} dMP = ₁F₁(½; 2; −4λ)."""

    def z(x: mp.mpf) -> mp.mpf:
        return mp.hyp1f1(0.5, 2, -4 * x)

    time = mp.quad(lambda x: 1 / (2 * a_p * z(x) ** 2), [0, *(10.0**k for k in range(int(math.log10(tilt)) + 1))])
    g, mean = a_p * z(tilt) ** 2, -mp.diff(z, tilt, h=tilt * 1e-5) / z(tilt)
    curves = NARROW_NO_TARGET.curves(Ratios(0.1 * a_p, a_p, 0.1, 1.0, 1.0, 1.0), np.array([0.0, float(time)]))
    assert curves.population[1] == pytest.approx(float(0.05 * g**2), rel=1e-8)
    assert curves.train[1] == pytest.approx(float(0.05 * g**2 * mean), rel=1e-7)
    assert curves.error[1] < 1e-7 * float(0.05 * g**2)


@pytest.mark.parametrize(
    "sizes",
    [
        Sizes(50, 60, 70, Fraction(1, 60)),
        Sizes(50, 60, 50, Fraction(1, 60)),
        Sizes(50, 60, 40, Fraction(100)),
        Sizes(10**9, 1, 10**9 - 1, Fraction(1, 10**300)),
    ],
    ids=["m>p", "m=p", "m<p", "smallest"],
)
@pytest.mark.parametrize("face", SOLUTIONS)
def test_any_time_a_float_holds_is_answered_or_refused(face: str, sizes: Sizes) -> None:
    if face in ("R,N,P|m,p", "N,P|m,p") and sizes.n == 1:
        pytest.skip("the free pair takes minutes at p = m = 10⁹, n = 1")
    ratios = Ratios.of(sizes, 1.0)
    for late in (5e-324, 1e-300, 1e20, 1e308):
        times = np.array([0.0, late])
        try:
            curves = SOLUTIONS[face].curves(ratios, times)
        except RingprismError:
            if late > 1:
                continue
            raise
        assert all(values.shape == times.shape for values in curves)
        assert np.all(np.isfinite(curves))
    with pytest.raises(ReachError, match="good up to"):
        SOLUTIONS[face].curves(Ratios.of(sizes, 1e300), np.array([0.0, 1e300]))


def test_a_solver_that_stops_early_is_a_refusal() -> None:
    times = np.array([0.0, 0.5, 2.0])
    with pytest.raises(ReachError, match=r"limit …: got 2\.0, good up to t = 0\.5 among these"):
        integrate(lambda y: y**2, np.ones(1), times, face="…", times=times, method="DOP853", rtol=1e-9, atol=1e-9)
