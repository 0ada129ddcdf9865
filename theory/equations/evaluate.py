"""Numbers from a solution that a machine found: in high precision, at two precisions, at any time."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any

import mpmath as mp
import sympy as sp

from theory.equations.closed_form import ClosedForm
from theory.equations.factor import LAMBDA
from theory.errors import ReachError

_PIECES = 400
_RATIO = 4


@dataclass(frozen=True)
class Curve:
    """Values of the loss (G and its constant) at times x, and how much two precisions differ, as floats."""

    values: tuple[float, ...]
    errors: tuple[float, ...]


def evaluate(
    solution: ClosedForm, times: Sequence[Fraction | float], values: Mapping[str, Fraction | float], *, digits: int = 25
) -> Curve:
    """G and the loss's constant at times x and given values of the drives and ratios.

    An integral is taken over the law's density, found from its moments' generating function by Stieltjes' inversion;
    what mass the density lacks sits at λ = 0. The first two moments are checked.

    Raises ``ReachError`` where the law is not of that kind.
    """
    rough, fine = (_evaluate(solution, times, values, d) for d in (digits, digits + 10))
    return Curve(
        tuple(float(v) for v in fine),
        tuple(float(abs(a - b) + abs(b) * mp.mpf(2) ** -52) for a, b in zip(rough, fine, strict=True)),
    )


def _evaluate(
    solution: ClosedForm, times: Sequence[Fraction | float], values: Mapping[str, Fraction | float], digits: int
) -> list[Any]:
    with mp.workdps(digits):
        point = {sp.Symbol(name, positive=True): _exact(value) for name, value in values.items()}
        x, scale = sp.Symbol("x", positive=True), sp.Symbol(LAMBDA, positive=True)
        kernel = sp.lambdify((x, scale), solution.kernel.subs(point), "mpmath")
        moments = [_number(t) for t in times]
        if solution.moments is None:
            constant = _number(solution.constant)
            return [kernel(t, mp.mpf(1)) + constant for t in moments]
        law = _law(solution.moments.subs(point), digits)
        return [law.mean(partial(kernel, t)) for t in moments]


@dataclass(frozen=True)
class _Law:
    """A density on [low, high] in the angle φ, λ = low + (high − low) sin²(φ/2), and an atom at 0."""

    low: Any
    high: Any
    density: Callable[[Any], Any]
    atom: Any

    def mean(self, function: Callable[[Any], Any]) -> Any:
        """∫ f dμ: geometric pieces towards both edges, until they add nothing."""
        total = self.atom * function(mp.mpf(0)) if self.atom else mp.mpf(0)
        for upper in (False, True):
            total += self._half(upper, function, total)
        return total

    def _half(self, upper: bool, function: Callable[[Any], Any], rest: Any) -> Any:
        """The half of the interval next to one edge."""
        total, end = mp.mpf(0), mp.pi / 2
        for _ in range(_PIECES):
            start = end / _RATIO
            part = mp.quad(partial(self._integrand, upper, function), [start, end], method="gauss-legendre")
            total += part
            end = start
            size = abs(total + rest)
            edge = abs(self._integrand(upper, function, end / 10**6)) * end
            if abs(part) < size * mp.eps / 8 and edge < size * mp.eps:
                break
        return total

    def _integrand(self, upper: bool, function: Callable[[Any], Any], angle: Any) -> Any:
        sine = mp.sin(angle / 2) ** 2
        width = self.high - self.low
        lam = self.high - width * sine if upper else self.low + width * sine
        return function(lam) * self.density(lam) * width * mp.sin(angle) / 2


def _law(moments: sp.Expr, digits: int) -> _Law:
    z, scale = sp.Symbol("z", positive=True), sp.Symbol(LAMBDA, positive=True)
    roots = [p for p in moments.atoms(sp.Pow) if p.exp == sp.Rational(1, 2) and p.has(z)]
    if len(roots) != 1:
        raise ReachError("law", given=str(moments), reach="one square root", remedy="evaluate the series instead")
    (root,) = roots
    bare = sp.Symbol("root")
    slope = sp.cancel(sp.diff(moments.subs(root, bare), bare))
    inside = sp.Poly(sp.expand(root.base), z)
    if inside.degree() > 2:
        raise ReachError("law", given=str(root), reach="one interval", remedy="evaluate the series instead")
    under = sp.Poly([inside.coeff_monomial(z**k) for k in range(3)], scale)
    factor = sp.lambdify(scale, sp.cancel(slope.subs(z, 1 / scale) / scale), "mpmath")
    low, high = _edges(under)
    lead = _number_of(under.LC())

    def density(lam: Any) -> Any:
        return abs(factor(lam)) * mp.sqrt(abs(lead * (lam - low) * (high - lam))) / lam / mp.pi

    law = _Law(low, high, density, mp.mpf(0))
    mass = law.mean(lambda _: mp.mpf(1))
    first, second = law.mean(lambda lam: lam), law.mean(lambda lam: lam**2)
    expected = sp.series(moments, z, 0, 3).removeO()
    known = [_number_of(expected.coeff(z, k)) for k in range(3)]
    if max(abs(first - known[1]), abs(second - known[2])) > mp.mpf(10) ** (8 - digits) * (1 + abs(known[2])):
        raise ReachError(
            "law", given="moments that differ", reach="laws with a density and an atom at 0", remedy="none"
        )
    atom = known[0] - mass
    return _Law(low, high, density, atom if abs(atom) > mp.mpf(10) ** (6 - digits) else mp.mpf(0))


def _edges(under: sp.Poly) -> tuple[Any, Any]:
    roots = sorted(_number_of(r) for r in sp.roots(under, multiple=True) if r.is_real)
    if under.degree() != 2 or len(roots) != 2:
        raise ReachError("law", given=str(under), reach="one interval", remedy="evaluate the series instead")
    return roots[0], roots[1]


def _exact(value: Fraction | float) -> sp.Rational:
    exact = Fraction(value)
    return sp.Rational(exact.numerator, exact.denominator)


def _number(value: Fraction | float) -> Any:
    exact = Fraction(value)
    return mp.mpf(exact.numerator) / exact.denominator


def _number_of(value: sp.Expr) -> Any:
    return mp.mpf(str(sp.N(value, mp.mp.dps + 10)))
