"""The law of S for a covariance, and the limit solutions over it. THEORY H."""

from __future__ import annotations

import numpy as np
import pytest

from theory.autoencoder.limits.free import extrapolate
from theory.autoencoder.limits.solution import Ratios
from theory.autoencoder.limits.spectral import spectral_curves
from theory.autoencoder.limits.spectral_law import SpectralLaw
from theory.autoencoder.limits.table import SOLUTIONS
from theory.autoencoder.sizes import Sizes
from theory.spectrum import Spectrum, read_spectrum

FORMULAS = [face for face in SOLUTIONS if not face.startswith(("R,N,P|m", "N,P|m"))]


def identity(p: int) -> Spectrum:
    """The identity, past the reader's short cut."""
    return Spectrum("values:1*1", np.array([1.0]), np.array([p]))


@pytest.mark.parametrize(("p", "m"), [(100, 150), (100, 100), (150, 100)])
def test_the_identity_gives_the_isotropic_formulas_to_ten_digits(p: int, m: int) -> None:
    sizes = Sizes.parse(f"p={p},n=60,m={m},sigma2=1/80")
    for face in FORMULAS:
        times = np.array([0.0, 5.0, 50.0] if face.startswith("R|") else [0.0, 5.0, 50.0, 1000.0])
        found = spectral_curves(face, sizes, identity(p), times, eta=2.0).curves
        known = SOLUTIONS[face].curves(Ratios.of(sizes, 2.0), times)
        np.testing.assert_allclose(found.train, known.train, rtol=1e-10, atol=1e-300)
        np.testing.assert_allclose(found.population, known.population, rtol=1e-10, atol=1e-16)
        assert np.all(np.abs(found.train - known.train) <= found.error + known.error)


@pytest.mark.parametrize(
    ("text", "p", "m"),
    [
        ("values:4*1,0.25*1", 200, 4000),
        ("values:4*1,0.25*1", 200, 100),
        ("values:0*1,1*1,3*2", 400, 200),
        ("values:0*1,1*1,3*2", 400, 300),
        ("power:0.7", 150, 225),
        ("power:1.2", 100, 100),
    ],
)
def test_moments_are_the_planar_traces(text: str, p: int, m: int) -> None:
    spectrum = read_spectrum(text, p)
    law = SpectralLaw(spectrum, m)
    rule, error = law.rule(lambda x: np.stack([x, x**2, x**3]))
    t0, t1, t2, t3 = (float(np.mean(spectrum.eigenvalues() ** k)) for k in range(4))
    gamma = p / m
    moments = [t0, t1, t2 + gamma * t1**2, t3 + 3 * gamma * t1 * t2 + gamma**2 * t1**3]
    seen = [t1, t2, t3 + gamma * t1 * t2]  # Tr CSᵏ/p: planar pairings of CS, CS²
    for k, moment in enumerate(moments):
        assert rule.weights @ rule.x**k == pytest.approx(moment, rel=1e-12)
    for k, moment in enumerate(seen):
        assert rule.population @ rule.x**k == pytest.approx(moment, rel=1e-12)
    assert np.all(error < 1e-9)


def test_the_density_is_the_root_of_a_cubic() -> None:
    # z = −1/m̲ + 4/(1 + 4m̲) + ¼/(1 + m̲/4): two values, each as often as m
    law = SpectralLaw(read_spectrum("values:4*1,0.25*1", 200), 100)
    one = np.polynomial.Polynomial([1, 4.0]) * np.polynomial.Polynomial([1, 0.25])
    variable = np.polynomial.Polynomial([0, 1])
    sums = np.polynomial.Polynomial([4.25, 2.0])  # 4(1 + m̲/4) + ¼(1 + 4m̲)
    for x in (0.35, 1.0, 3.0, 8.0):
        cubic = variable * sums - one - x * variable * one
        expected = cubic.roots().imag.max() / np.pi / law.gamma
        assert law.density(np.array([x]))[0] == pytest.approx(expected, rel=1e-10)


def test_the_kernel_weighs_what_no_data_point_has_seen() -> None:
    generator = np.random.default_rng(3)
    spectrum = read_spectrum("power:0.7", 150)
    eigenvalues = spectrum.eigenvalues()
    law = SpectralLaw(spectrum, 50)
    seen = []
    for _ in range(4):
        span, _ = np.linalg.qr(np.sqrt(eigenvalues)[:, None] * generator.standard_normal((150, 50)))
        seen.append(1 - float(np.einsum("ij,i,ij->", span, eigenvalues, span)) / 150)
    known = SpectralLaw(read_spectrum("power:0.7", 300), 120)  # THEORY H: .7102, simulated .7103
    assert known.atom_population / known.atom == pytest.approx(0.7102, abs=1e-4)
    stderr = np.std(seen, ddof=1) / np.sqrt(4)
    assert stderr < 0.004
    assert law.atom == pytest.approx(2 / 3)
    assert abs(np.mean(seen) - law.atom_population) < 4 * stderr + 1e-3


def test_the_identity_gives_the_words_of_isotropic_data() -> None:
    sizes, times = Sizes.parse("p=100,n=80,m=120,sigma2=1/100"), np.array([0.0, 5.0, 15.0])
    for face in ("R,N,P|m", "N,P|m"):  # whose isotropic solution is a quadrature
        found = spectral_curves(face, sizes, identity(100), times, eta=2.0).curves
        known = SOLUTIONS[face].curves(Ratios.of(sizes, 2.0), times)
        np.testing.assert_allclose(found.train, known.train, rtol=2e-3)
        np.testing.assert_allclose(found.population, known.population, rtol=2e-3)
        assert np.all(np.abs(found.train - known.train) <= found.error)
    interior = spectral_curves("R,N,P|m,p", sizes, identity(100), times, eta=2.0, degree=8).curves
    words = extrapolate(Ratios.of(sizes, 2.0), times, target=True, degree=8)
    np.testing.assert_allclose(interior.train, words.train, rtol=1e-9)
    np.testing.assert_allclose(interior.population, words.population, rtol=1e-9)


def test_few_eigenvectors_of_a_power_law_are_warned_of() -> None:
    sizes, times = Sizes.parse("p=200,n=5,m=300,sigma2=1/400"), np.array([0.0, 100.0])
    steep = spectral_curves("R,P|m,p", sizes, read_spectrum("power:0.6", 200), times, eta=1.0)
    flat = spectral_curves("R,P|m,p", sizes, read_spectrum("values:1.2*1,0.8*1", 200), times / 10, eta=1.0)
    assert any("one after the other" in warning for warning in steep.warnings)
    assert not flat.warnings
