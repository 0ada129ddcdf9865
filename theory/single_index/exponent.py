"""The information exponent: the first Hermite coefficient that carries a signal. [O] Def. 1.1, [S] §3.

Small is not zero. A coefficient is zero only if that is known: by a closed form (polynomials, exp, sin, cos, Gaussians
and their products: ``gaussian_sums``), or because the even or the odd part of the link is such a sum. Other links are
integrated in double precision and, where that cannot tell, with 40 digits; what even these cannot tell is unresolved.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from fractions import Fraction

import mpmath
import sympy

from theory.errors import ReachError
from theory.single_index.gaussian_sums import Mean, derivative_mean_exact, log10, summands
from theory.single_index.link import Link, X
from theory.single_index.moments import derivative_mean, hermite_coefficient
from theory.single_index.panels import breaks, field_means, spread_needed
from theory.single_index.quadrature import Estimate
from theory.softplus import Softplus

_LAST = 32
_LAST_EXACT = 64
_NOISE = 1e-11
_DIGITS = 40
_SURE = 1e3
_MOST_PIECES = 60
_FORMAL = 1e-8


@dataclass(frozen=True)
class Coefficient:
    """F_k(A): ``value`` with ``error``, log₁₀ of its size, and whether it is zero; ``zero`` None: nobody can tell."""

    value: float
    error: float
    zero: bool | None
    log10: float

    @property
    def estimate(self) -> Estimate:
        """Value and error alone."""
        return Estimate(self.value, self.error)


@dataclass(frozen=True)
class InformationExponent:
    """``exponent`` k, and F_0, …, F_k at the variance looked through, with errors.

    ``unresolved``: the orders below k at which the coefficient may or may not be zero; k is the first that is known
    not to be.
    """

    exponent: int
    variance: float
    coefficients: tuple[Estimate, ...]
    unresolved: tuple[int, ...] = ()


@dataclass(frozen=True)
class SignalExponent:
    """The first k with F_k(1)·F_k(B) ≠ 0, which is what a start feels: C^k has the coefficient −2F_k(1)F_k(B)/k!.

    ``strength`` is |F_k(1)F_k(B)|/(k! √(V(1)V(B))), the signal's part of the loss, as log₁₀.
    """

    exponent: int
    strength_log10: float
    unresolved: tuple[int, ...] = ()

    @property
    def warnings(self) -> tuple[str, ...]:
        """What the exponent does not say."""
        said = []
        k = self.exponent
        if self.unresolved:
            orders, told = ", ".join(map(str, self.unresolved)), f"{_DIGITS} digits cannot tell it from 0"
            said.append(f"whether order k = {orders} carries a signal is unresolved: {told}")
        if self.strength_log10 < math.log10(_FORMAL):
            part = f"10^{self.strength_log10:.1f} of the loss"
            said.append(f"the signal of order k = {k} is {part}: the exponent holds formally, no run shows it")
        return tuple(said)


def information_exponent(link: Link, *, variance: float = 1.0) -> InformationExponent:
    """The least k ≥ 1 with F_k(A) = E f^(k)(√A G) ≠ 0.

    At variance 1 this is the exponent of the link: a field a·X without overlap with the spike sees it. A field
    with more variance (the label's, B = 1 + λη_1²) can see a lower one. ``signal_exponent`` joins the two.

    >>> cubic = Link.parse("x**3-3*x")
    >>> information_exponent(cubic).exponent, information_exponent(cubic, variance=1.2).exponent
    (3, 1)
    >>> information_exponent(Link.parse("sin(8*x)")).exponent
    1

    Raises ``ReachError`` where no coefficient up to order 32 (64 in closed form) is known not to vanish.
    """
    found = [coefficient(link, 0, variance=variance)]
    unresolved: list[int] = []
    for k in range(1, _last(link) + 1):
        found.append(coefficient(link, k, variance=variance))
        if found[-1].zero is False:
            return InformationExponent(k, variance, tuple(c.estimate for c in found), tuple(unresolved))
        if found[-1].zero is None:
            unresolved.append(k)
    raise _beyond("information exponent", link, unresolved)


def signal_exponent(link: Link, *, variance: float) -> SignalExponent:
    """The first k at which the prediction, of variance 1, and the label, of this variance, both have a part.

    >>> signal_exponent(Link.parse("x**3-6*x"), variance=2.0).exponent    # F_1(2) = 0
    3

    Raises ``ReachError`` as ``information_exponent`` does.
    """
    unresolved: list[int] = []
    for k in range(1, _last(link) + 1):
        parts = [coefficient(link, k, variance=v) for v in (1.0, variance)]
        if any(part.zero for part in parts):
            continue
        if any(part.zero is None for part in parts):
            unresolved.append(k)
            continue
        scale = link_scale(link, 1.0) * link_scale(link, variance) * math.factorial(k)
        return SignalExponent(k, sum(part.log10 for part in parts) - math.log10(scale), tuple(unresolved))
    raise _beyond("information exponent", link, unresolved)


@functools.lru_cache(maxsize=1024)
def coefficient(link: Link, k: int, *, variance: float = 1.0) -> Coefficient:
    """F_k(A), by the means that can tell it from zero; a variance counts as the decimal number it prints as.

    >>> coefficient(Link.parse("sin(30*x)"), 1).log10 < -190
    True
    >>> [coefficient(Link.parse(text), 2).zero for text in ("tanh(x)", "softplus(x)", "relu(x)")]
    [True, False, False]
    """
    exact = _exactly(link, k, variance)
    if exact is not None:
        return exact
    rough = hermite_coefficient(link, k, variance=variance)
    largest = math.sqrt(math.factorial(k)) * link_scale(link, variance)
    if abs(rough.value) > 10 * rough.error + _NOISE * largest:
        return Coefficient(rough.value, rough.error, False, math.log10(abs(rough.value)))
    value, error = _with_many_digits(link, k, variance)
    known = abs(value) > _SURE * error + mpmath.mpf(10) ** (5 - _DIGITS) * largest
    size = log10(value) if known else -math.inf
    return Coefficient(float(value), float(error), False if known else None, size)


def vanishes(link: Link, k: int, *, variance: float = 1.0) -> bool:
    """Whether F_k counts as zero: known to be, or not to be told from it."""
    return coefficient(link, k, variance=variance).zero is not False


def link_scale(link: Link, variance: float) -> float:
    """√V(A): the root mean square of f(√A G)."""
    root = math.sqrt(variance)
    return math.sqrt(field_means(link, variance, lambda g: link.value(root * g) ** 2)[0])


def _last(link: Link) -> int:
    return _LAST_EXACT if summands(link.expression) is not None else _LAST


def _exactly(link: Link, k: int, variance: float) -> Coefficient | None:
    """By a closed form of the link, or of its part of k's parity."""
    A = Fraction(repr(float(variance)))
    if link.is_polynomial:
        value = derivative_mean(link, k, sympy.Rational(A.numerator, A.denominator))
        if value.is_Rational:
            size = _log10_of(value)
            return Coefficient(float(value), 0.0, bool(value == 0), size)
    try:
        mean = derivative_mean_exact(link.expression, k, A)
        if mean is None:
            part = _parity(link.expression)[k % 2]
            mean = None if part is None else derivative_mean_exact(part, k, A)
    except ValueError:
        return None
    return None if mean is None else _of_mean(mean)


def _of_mean(mean: Mean) -> Coefficient:
    if mean.vanishes:
        return Coefficient(0.0, 0.0, True, -math.inf)
    value = float(mean.value)
    return Coefficient(value, abs(value) * 2.0**-52, False, log10(mean.value))


def _log10_of(value: sympy.Expr) -> float:
    return log10(mpmath.mpmathify(sympy.N(value, 30))) if value != 0 else -math.inf


@functools.lru_cache(maxsize=128)
def _parity(expression: sympy.Expr) -> tuple[sympy.Expr | None, sympy.Expr | None]:
    """The even and the odd part of the formula, as far as SymPy sees that they are short sums; else ``None``."""
    hidden = sympy.Function("H", real=True)  # softplus(u) = u/2 + H(u²)
    plain = expression.replace(Softplus, lambda u: u / 2 + hidden(sympy.expand(u**2)))
    mirrored = plain.subs(X, -X)
    parts = [sympy.expand((plain + sign * mirrored) / 2) for sign in (1, -1)]
    even, odd = (None if part.has(hidden) or summands(part) is None else part for part in parts)
    return even, odd


def _with_many_digits(link: Link, k: int, variance: float) -> tuple[mpmath.mpf, mpmath.mpf]:
    """F_k(A) = A^{−k/2} E f(√A G) He_k(G) and its error, by Gauss–Legendre rules with 40 digits between the breaks."""
    root = math.sqrt(variance)
    reach = spread_needed(link, variance)
    cuts = [b / root for b in breaks(link, root, reach=reach * root)]
    corners = sorted({-reach - 4, *range(-int(reach), int(reach) + 1, 2), *cuts, reach + 4})
    largest = mpmath.mpf(math.sqrt(math.factorial(k)) * link_scale(link, variance))
    if len(corners) > _MOST_PIECES:
        return mpmath.mpf(0), largest
    with mpmath.workdps(_DIGITS + 10):
        function = sympy.lambdify(X, link.expression, modules=[{"Softplus": _softplus}, "mpmath"])
        scale = mpmath.sqrt(mpmath.mpf(repr(float(variance))))

        def integrand(g: mpmath.mpf) -> mpmath.mpf:
            before, now = mpmath.mpf(0), mpmath.mpf(1)
            for j in range(k):
                before, now = now, g * now - j * before
            return function(scale * g) * now * mpmath.npdf(g)

        value, error = mpmath.quad(integrand, [mpmath.mpf(c) for c in corners], method="gauss-legendre", error=True)
        return value / scale**k, error / scale**k


def _softplus(u: mpmath.mpf) -> mpmath.mpf:
    return mpmath.log1p(mpmath.exp(-abs(u))) + (u + abs(u)) / 2


def _beyond(what: str, link: Link, unresolved: list[int]) -> ReachError:
    last = _last(link)
    orders = f"; orders k = {', '.join(map(str, unresolved))} are unresolved" if unresolved else ""
    return ReachError(
        what, given=link.text, reach=f"k = {last}{orders}", remedy="take a link with a lower coefficient that is larger"
    )
