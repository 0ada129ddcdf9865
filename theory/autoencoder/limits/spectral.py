"""Limit solutions for data with a spectrum: all faces of the prism. THEORY H.

Little data (p) are in ``spectral_small``, and what needs words in M(0) and S in ``spectral_free``. All others are read
off two measures on the eigenvalues x of S/m: their law F, and δ dF, which weighs the population loss. With much data
(m) S is mC, so that x = δ = λ; else F is the generalised Marchenko–Pastur law of ``spectral_law``.

Wide: M is a function of S, L̂ = ∫ ½(1−μ)² x dF, L = ∫ ½(1−μ)² δ dF, μ = Logistic(σ²n, 4ηx/p).
Narrow: U(t) = U(0) exp(−(η/pm)(A S + B)). With ⟨·⟩ the mean under F tilted by e^{τx}, in T = ηt/p,

    g_0′ = 4⟨x⟩ g_0 (1 − g_0),  τ′ = 2(2 − g_0)        without the target  g_0′ = −4⟨x⟩ g_0²,  τ′ = −2g_0,

and L̂ − Tr C/2p = (n/p)⟨x⟩(½g_0² − g_0), L − Tr C/2p = (n/p)⟨δ⟩(½g_0² − g_0).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from theory.autoencoder.limits.free import extrapolate
from theory.autoencoder.limits.integration import integrate
from theory.autoencoder.limits.scalar_flows import EXPONENTIAL, LOGISTIC, RATIONAL, ScalarFlow
from theory.autoencoder.limits.solution import Curves, FloatArray, Formula, Ratios, check_exponent, refuse_where
from theory.autoencoder.limits.spectral_free import DataLetter
from theory.autoencoder.limits.spectral_law import Rule, SpectralLaw
from theory.autoencoder.limits.spectral_small import little_data, little_data_formula
from theory.autoencoder.limits.table import SOLVED
from theory.autoencoder.sizes import Sizes
from theory.errors import ReachError
from theory.spectrum import Spectrum

_WIDE = {"R,N": LOGISTIC, "N": RATIONAL, "R": EXPONENTIAL}
_NARROW = ("R,P", "P")
_FREE = ("R,N,P", "N,P")
_TOLERANCES = (1e-10, 1e-12)
_LARGEST = 700.0
_FEW = 10.0
"""Fewer eigenvectors than this times n do not make USUᵀ a multiple of the identity: the solution errs by about n over
their number, 7 to 30 % where simulations reached this many."""


@dataclass(frozen=True)
class SpectralCurves:
    """Both losses, how they were found, and what is doubtful."""

    curves: Curves
    method: str
    warnings: tuple[str, ...]


def spectral_curves(
    face: str,
    sizes: Sizes,
    spectrum: Spectrum,
    times: FloatArray,
    *,
    eta: float,
    degree: int | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> SpectralCurves:
    """The losses of the face with this vertex set, for data of a covariance with this ``spectrum`` of p eigenvalues.

    >>> from theory.spectrum import read_spectrum
    >>> sizes = Sizes.parse("p=100,n=1000,m=10000,sigma2=1/2000")
    >>> found = spectral_curves("R,N|m", sizes, read_spectrum("values:1.5*1,0.5*1", 100), np.array([0, 25.0]), eta=1)
    >>> found.curves.train.round(4).tolist()
    [0.125, 0.0303]

    ``degree`` is that of the words of the free product, for the faces with both R, N, P or N, P and not little data; it
    grows by itself when not given, and reports to ``progress``.

    Raises ``BudgetError`` for too many distinct eigenvalues, ``ReachError`` for times beyond a formula's reach.
    """
    triangle, square = face.split("|")
    with np.errstate(over="ignore", invalid="ignore", divide="ignore", under="ignore"):
        if square == "p":
            curves, said = little_data(SOLVED[face], sizes, spectrum, times, eta=eta)
            found = SpectralCurves(curves, f"{SOLVED[face].method}; κ = Tr C²/Tr C along the data", said)
        elif triangle in _FREE:
            return _free(face, square, sizes, spectrum, times, eta=eta, degree=degree, progress=progress)
        elif triangle in _NARROW:
            found = _narrow(face, square, sizes, spectrum, times, eta=eta)
        else:
            found = _wide(_WIDE[triangle], face, square, sizes, spectrum, times, eta=eta)
    refuse_where(~np.all(np.isfinite(found.curves), axis=0), face, times, "after which it leaves float64")
    return found


def spectral_formula(face: str) -> Formula:
    """The solution in LaTeX."""
    triangle, square = face.split("|")
    if square == "p":
        return little_data_formula(SOLVED[face])
    law = {
        "m": (r"F = \text{law of the eigenvalues } \lambda \text{ of } C,\quad \delta(\lambda) = \lambda",),
        "m,p": (
            r"x = w + \frac{1}{m}\sum_j \frac{\lambda_j w}{w - \lambda_j},\quad \operatorname{Im} w(x) \geq 0",
            r"dF(x) = \frac{m}{\pi p}\frac{\operatorname{Im} w(x)}{|w(x)|^2}\,dx,\quad "
            r"\delta(x) = \frac{|w(x)|^2}{x}\quad (x > 0)",
            r"x = 0:\ \delta\,dF = -\frac{m}{p}\, w(0)\ \text{where } w(0) < 0,\text{ else } 0",
        ),
    }[square]
    if triangle in _FREE:
        distance, drift = ("(1-M)", " - 2MS - 2SM") if triangle == "R,N,P" else ("M", "")
        return Formula(
            train=rf"\frac{{1}}{{2}}\left\langle {distance}\,x\,{distance}\right\rangle",
            population=rf"\frac{{1}}{{2}}\left\langle {distance}\,\delta(x)\,{distance}\right\rangle",
            where=(
                rf"\dot{{M}} = -\frac{{\eta}}{{pm}}\left(SM^2 + M^2S + 2MSM{drift}\right),\quad x = \frac{{S}}{{m}}",
                r"M(0) \text{ free from } x,\quad M(0) \text{ of law } \sigma^2 p \cdot \mathrm{MP}(n/p)",
                *law,
            ),
            large_time=r"\text{no formula is known}",
        )
    if triangle in _WIDE:
        loss = {"R,N": r"\frac{1}{2}(1-\mu)^2", "N": r"\frac{1}{2}\mu^2", "R": r"\left(\frac{1}{2}-\mu\right)"}[
            triangle
        ]
        slope = {"R,N": r"-r(\mu^2-\mu)", "N": r"-r\mu^2", "R": r"r\mu"}[triangle]
        return Formula(
            train=rf"\int {loss}\, x\, dF(x)",
            population=rf"\int {loss}\, \delta(x)\, dF(x)",
            where=(rf"\mu' = {slope},\quad r = \frac{{4\eta x}}{{p}},\quad \mu(0) = \sigma^2 n", *law),
            large_time=r"\text{decided by the lowest eigenvalues}",
        )
    half, loss = (
        (r"\frac{\operatorname{Tr} C}{2p} + ", r"\left(\frac{1}{2}g_0^2 - g_0\right)")
        if triangle == "R,P"
        else ("", r"\frac{1}{2}g_0^2")
    )
    first, second = (
        (r"4\langle x\rangle g_0(1-g_0)", r"2(2-g_0)") if triangle == "R,P" else (r"-4\langle x\rangle g_0^2", r"-2g_0")
    )
    return Formula(
        train=rf"{half}\frac{{n}}{{p}}\langle x\rangle{loss}",
        population=rf"{half}\frac{{n}}{{p}}\langle\delta\rangle{loss}",
        where=(
            rf"g_0' = \frac{{\eta}}{{p}}\,{first},\quad \tau' = \frac{{\eta}}{{p}}\,{second}",
            r"\langle f\rangle = \int f e^{\tau x}dF \Big/ \int e^{\tau x}dF,\quad g_0(0) = \sigma^2 p,\ \tau(0) = 0",
            *law,
        ),
        large_time=r"\text{decided by the highest eigenvalues}",
    )


def _free(
    face: str,
    square: str,
    sizes: Sizes,
    spectrum: Spectrum,
    times: FloatArray,
    *,
    eta: float,
    degree: int | None,
    progress: Callable[[int, int], None] | None,
) -> SpectralCurves:
    ratios = Ratios.of(sizes, eta)
    data = DataLetter.of_law(SpectralLaw(spectrum, sizes.m)) if square == "m,p" else DataLetter.of(_much_data(spectrum))
    found = extrapolate(ratios, times, target="R" in face, degree=degree, data=data, progress=progress)
    error = np.maximum(found.train_error, found.population_error)
    beyond = ~(np.isfinite(found.train) & np.isfinite(found.population) & np.isfinite(error))
    if np.any(beyond):
        first = int(np.argmax(beyond))
        raise ReachError(
            f"limit {face}",
            given=float(times[first]),
            reach=f"words of degree {found.degree}, which lose the flow with this spectrum before that",
            remedy="ask for earlier times, or simulate with this spectrum",
        )
    method = f"free product of M(0) and the law of S, words up to degree {found.degree}, extrapolated"
    return SpectralCurves(Curves(found.train, found.population, error), method, ())


def _much_data(spectrum: Spectrum) -> Rule:
    """The measures where S = mC."""
    shares = spectrum.fractions
    return Rule(spectrum.values, shares, shares * spectrum.values)


def _wide(
    flow: ScalarFlow, face: str, square: str, sizes: Sizes, spectrum: Spectrum, times: FloatArray, *, eta: float
) -> SpectralCurves:
    ratios = Ratios.of(sizes, eta)
    y = 4 * ratios.per_p * times

    def loss(x: FloatArray) -> FloatArray:
        return flow.loss(ratios.a_n, np.outer(y, x))

    def both(x: FloatArray) -> FloatArray:
        found = loss(x)
        return np.stack([found, x * found])

    if square == "m,p":
        law = SpectralLaw(spectrum, sizes.m)
        if flow.grows:
            check_exponent(y * law.support[-1][1], face, times)
        rule, errors = law.rule(both)
        error = errors.max(axis=0)
        method = "adaptive Gauss quadrature over the generalised Marchenko–Pastur law of C"
    else:
        rule = _much_data(spectrum)
        if flow.grows:
            check_exponent(y * float(rule.x.max()), face, times)
        nudged = np.abs(both(rule.x * (1 + 1e-15)) - both(rule.x)) + 1e-15 * np.abs(both(rule.x))
        error = np.maximum(nudged[1] @ rule.weights, nudged[0] @ np.abs(rule.population)) + np.finfo(float).tiny
        method = "elementary functions of the eigenvalues of C"
    offset = flow.offset * float(spectrum.fractions @ spectrum.values)
    values = loss(rule.x)
    train, population = offset + values @ (rule.weights * rule.x), offset + values @ rule.population
    return SpectralCurves(Curves(train, population, error + 1e-15 * offset), method, ())


def _narrow(
    face: str, square: str, sizes: Sizes, spectrum: Spectrum, times: FloatArray, *, eta: float
) -> SpectralCurves:
    ratios, target = Ratios.of(sizes, eta), face.startswith("R")
    T = ratios.per_p * times
    if square == "m":
        rule, error = _much_data(spectrum), 1e-15
        method = "ODE in g_0 and the tilt of the eigenvalues of C, at two tolerances"
    else:
        law = SpectralLaw(spectrum, sizes.m)
        rule, error = _tilting_rule(law, 2 * float(T[-1]) * max(2.0, ratios.a_p))
        method = "ODE in g_0 and the tilt of the generalised Marchenko–Pastur law of C, at two tolerances"
    offset = float(spectrum.fractions @ spectrum.values) / 2 if target else 0.0
    found = []
    for tolerance in _TOLERANCES:
        g, tilts = _follow(rule, ratios, T, times, face=face, target=target, tolerance=tolerance)
        loss = ratios.weights * (g**2 / 2 - (g if target else 0.0))
        means = np.array([_means(rule, tilt) for tilt in tilts])
        found.append((offset + loss * means[:, 0], offset + loss * means[:, 1]))
    rough, fine = found
    size = np.maximum(np.abs(fine[0] - offset), np.abs(fine[1] - offset))
    unsure = np.maximum(np.abs(fine[0] - rough[0]), np.abs(fine[1] - rough[1]))
    unsure = unsure + (error + 1e-15 * (1 + abs(math.log(ratios.a_p)))) * size + 1e-15 * offset
    said = _sequential(rule, sizes, times, tilts, target=target)
    return SpectralCurves(Curves(fine[0], fine[1], unsure), method, said)


def _tilting_rule(law: SpectralLaw, steepest: float) -> tuple[Rule, float]:
    """A quadrature for e^{τx} with every |τ| up to ``steepest``, and its relative error."""
    bottom, top = law.support[0][0], law.support[-1][1]
    scales = [steepest]
    while scales[-1] * (top - bottom) > 1:
        scales.append(scales[-1] / 4)
    tilts = np.array(scales)[:, None]

    def tests(x: FloatArray) -> FloatArray:
        falling, rising = np.exp(-tilts * np.maximum(x - bottom, 0)), np.exp(-tilts * np.maximum(top - x, 0))
        return np.concatenate([falling, rising, x * falling, x * rising])

    rule, errors = law.rule(tests)
    return rule, float(np.max(errors / (tests(rule.x) @ np.maximum(rule.weights, rule.population))))


def _tilted(rule: Rule, tilt: float) -> FloatArray:
    """e^{τx}, divided by its largest value."""
    exponents = tilt * rule.x
    return np.asarray(np.exp(exponents - exponents.max()))


def _means(rule: Rule, tilt: float) -> tuple[float, float]:
    """⟨x⟩ and ⟨δ⟩."""
    tilted = _tilted(rule, tilt)
    total = float(tilted @ rule.weights)
    return float(tilted @ (rule.weights * rule.x)) / total, float(tilted @ rule.population) / total


def _follow(
    rule: Rule, ratios: Ratios, T: FloatArray, times: FloatArray, *, face: str, target: bool, tolerance: float
) -> tuple[FloatArray, FloatArray]:
    """g_0 and the tilt at the times; the logarithm of g_0 is integrated."""

    def slope(state: FloatArray) -> FloatArray:
        log_g, tilt = min(state[0], _LARGEST), float(state[1])
        g, mean = math.exp(log_g), _means(rule, tilt)[0]
        if target:
            return np.array([-4 * mean * math.expm1(log_g), 2 * (2 - g)])
        return np.array([-4 * mean * g, -2 * g])

    log_g, tilts = integrate(
        slope,
        np.array([math.log(ratios.a_p), 0.0]),
        T,
        face=face,
        times=times,
        method="LSODA",
        rtol=tolerance,
        atol=tolerance * 1e-4,
    )
    return np.exp(log_g), tilts


def _sequential(rule: Rule, sizes: Sizes, times: FloatArray, tilts: FloatArray, *, target: bool) -> tuple[str, ...]:
    """Say from when on so few eigenvectors carry U that its rows no longer move alike."""
    if not target:
        return ()
    for t, tilt in zip(times, tilts, strict=True):
        tilted = _tilted(rule, float(tilt)) * rule.x
        carried = sizes.p * float(tilted @ rule.weights) ** 2 / float(tilted**2 @ rule.weights)
        if carried < _FEW * sizes.n:
            return (
                f"from t = {t:g} on about {carried:.2g} eigenvectors of S carry USUᵀ, and n = {sizes.n}: this solution "
                "wants them to be many more than n; where they are not, directions are learned one after the other, "
                "later than it says",
            )
    return ()
