"""The first 1/N correction: its coefficients, and its resummation."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from regimes.limit import limit
from theory.autoencoder.limits import correction
from theory.autoencoder.limits.correction import first_correction, resum
from theory.autoencoder.series import loss_series
from theory.autoencoder.sizes import Sizes

WEIGHTS = {name: Fraction(k) for name, k in (("p", 1), ("n", 1), ("m", 1), ("sigma2", -1))}


def test_the_interior_s_correction_is_one_twist() -> None:
    """[P]'s Y_1 by hand: of 4nσ² − 8σ⁴(pn + n² + n) + σ⁶(4p²n + 12pn² + 12pn + 4n³ + 12n² + 16n), times m."""
    p, n, m, sigma2 = 3, 5, 7, Fraction(1, 2)
    point = {"p": p, "n": n, "m": m, "sigma2": sigma2}
    first = first_correction("population", WEIGHTS, order=1)[1]
    assert first.evaluate(point) == m * (-8 * sigma2**2 * n + sigma2**3 * (12 * p * n + 12 * n**2))


def test_leading_and_first_terms_are_all_but_order_one_over_n_squared() -> None:
    """At N and 2N what is left of a coefficient falls fourfold."""
    exact = loss_series("train", order=3).coefficients[3]
    rest = exact - exact.leading(WEIGHTS) - first_correction("train", WEIGHTS, order=3)[3]
    sizes = [{"p": k, "n": 2 * k, "m": k, "sigma2": Fraction(1, k)} for k in (1000, 2000)]
    relative = [float(rest.evaluate(point) / exact.evaluate(point)) for point in sizes]  # type: ignore[arg-type]
    assert relative[0] / relative[1] == pytest.approx(4, abs=0.02)


@pytest.mark.parametrize("name", ["logistic", "rational", "root"])
def test_resummation_of_known_functions_is_within_its_estimate(name: str) -> None:
    y = np.array([0.0, 0.5, 1.0, 2.0])
    truth, series = {
        "logistic": (np.exp(-y) / (1 + np.exp(-y)) ** 2, _taylor(lambda u: math.exp(-u) / (1 + math.exp(-u)) ** 2)),
        "rational": (1 / (1 + 2 * y) ** 3, [Fraction((k + 1) * (k + 2), 2) * (-2) ** k for k in range(8)]),
        "root": ((1 + 3 * y) ** -0.5, [Fraction(math.comb(2 * k, k)) * Fraction(-3, 4) ** k for k in range(8)]),
    }[name]
    value, error = resum(series, [Fraction(1), *[Fraction(0)] * 7], np.ones_like(y), y)
    assert np.all(np.abs(value - truth) <= error + 1e-9)
    assert np.all(error[:3] <= 0.05 * np.abs(truth[:3]) + 1e-9)


def _taylor(function: object) -> list[Fraction]:
    """Coefficients to order 7 by interpolation at Chebyshev points, good to 1e−9 for what is tested here."""
    from numpy.polynomial import chebyshev

    fit = chebyshev.Chebyshev.interpolate(np.vectorize(function), 40, domain=[-1.5, 1.5])
    derivative, found = fit, []
    for k in range(8):
        found.append(Fraction(float(derivative(0.0))) / math.factorial(k))
        derivative = derivative.deriv()
    return found


def test_a_corrected_limit_starts_at_the_exact_finite_size_series() -> None:
    """Near t = 0 it is off by 1/N², where the bare limit is off by 1/N."""
    for face, ratio in (("interior", 1), ("free", 100)):
        for size in (100, 200):
            sizes = Sizes(size, size, size, Fraction(ratio, size))
            times = [0.01 * size / ratio]
            series = loss_series("train", order=6).taylor(sizes)
            truth = sum(c * times[0] ** k for k, c in enumerate(series))
            corrected = limit(face, sizes, times, corrected=True, degree=7).train[0]
            bare = limit(face, sizes, times, degree=7).train[0]
            assert abs(corrected - truth) < 0.05 * abs(bare - truth)


def test_faces_without_target_get_their_half_back() -> None:
    sizes = Sizes(60, 60, 900, Fraction(1))
    corrected = limit("N,P|m", sizes, [0.0], corrected=True)
    exact = loss_series("population", order=0).taylor(sizes)[0]
    assert corrected.population[0] == pytest.approx(exact, rel=1e-12)


def test_beyond_the_series_nothing_is_added_and_it_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes, times = Sizes(50, 50, 100, Fraction(1, 50)), [0.0, 1.0, 6.0]
    sure = limit("large-data", sizes, times, corrected=True)
    monkeypatch.setattr(correction, "_MOST_SPREAD", 1e-9)
    doubtful, bare = limit("large-data", sizes, times, corrected=True), limit("interior", sizes, times)
    assert any("vouch" in warning for warning in doubtful.warnings)
    assert doubtful.train[2] == pytest.approx(bare.train[2], rel=3e-3)
    assert abs(sure.train[2] - doubtful.train[2]) <= doubtful.train_error[2]


def test_faces_of_each_kind_can_be_corrected_at_early_times() -> None:
    """Among them those whose correction is a rational or an entire function of t, where the Padé table has blocks."""
    for name in ("small-data", "narrow-latent", "R,N|p", "R,P|p", "N|m", "R|m", "P|p"):
        sizes = Sizes(200, 100, 300, Fraction(1, 150))
        curves = limit(name, sizes, [0.0, 2.0], corrected=True)
        assert all(math.isfinite(value) for value in (*curves.train, *curves.population, *curves.error_estimate))
