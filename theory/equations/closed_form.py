"""From the equation to the solution: closed forms and integrals, verified against the series exactly."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import product

import sympy as sp
from flint import ctx, fmpq, fmpq_series

from theory.equations.algebraic import solve_algebraic
from theory.equations.factor import LAMBDA, factorisations
from theory.equations.first_order import solve_series, symbols_of
from theory.equations.reduced import ReducedSeries


@dataclass(frozen=True)
class ClosedForm:
    """G as an elementary function of the variables, or as ∫ kernel dμ(λ).

    ``moments`` is Σ_k z^k ∫ λ^k dμ, which fixes the law μ: where it has a square root, μ has a density where that is
    imaginary at z = 1/λ, and atoms at its poles; where it is rational, atoms alone. ``constant`` is the loss's,
    by which it exceeds G: an integral's kernel includes it.
    """

    kernel: sp.Expr
    moments: sp.Expr | None = None
    constant: Fraction = Fraction(0)

    @property
    def kind(self) -> str:
        """``closed form`` or ``integral``."""
        return "closed form" if self.moments is None else "integral"

    def __str__(self) -> str:
        text: str = str(self.kernel).replace("**", "^")
        if self.moments is None:
            return text
        moments = str(self.moments).replace("**", "^")
        return f"∫ [{text}] dμ({LAMBDA}){self._less()}, where Σ_k z^k ∫ {LAMBDA}^k dμ = {moments}"

    def to_latex(self) -> tuple[str, ...]:
        """LaTeX of the same, in rows of a display: G, and the law's moments where there is one."""
        names = {sp.Symbol(LAMBDA, positive=True): r"\lambda"}
        text = str(sp.latex(self.kernel, symbol_names=names))
        if self.moments is None:
            return (text,)
        return (
            rf"\int \left[{text}\right] d\mu(\lambda){self._less()}",
            rf"\sum_k z^k \int \lambda^k d\mu = {sp.latex(self.moments)}",
        )

    def _less(self) -> str:
        return f" - {self.constant}" if self.constant else ""


def close(series: ReducedSeries) -> ClosedForm | None:
    """Solve for G: by characteristics, by separation into a kernel and a law, or not at all (``None``).

    What is returned reproduces every known coefficient of the series, exactly.
    """
    direct = solve_series(series)
    shift = sp.Rational(series.constant.numerator, series.constant.denominator)
    if direct is not None:
        whole = ClosedForm(_shortest(direct + shift) - shift, constant=series.constant)
        return whole if holds(direct, series) else None
    for factors in factorisations(series):
        kernel = solve_series(factors.kernel)
        if kernel is None or not holds(kernel, factors.kernel):
            continue
        moments = solve_algebraic(factors.moments)
        if moments is None or not holds(moments, factors.moments):
            continue
        scale = sp.Symbol(LAMBDA, positive=True)
        if factors.rescales_time:
            x = symbols_of(series.names)[0]
            kernel = kernel.subs(x, x * scale)
        atoms = _atoms(moments)
        if atoms is not None:
            whole = sp.Add(*(weight * (kernel + shift).subs(scale, place) for place, weight in atoms))
            if holds(whole - shift, series):
                return ClosedForm(_shortest(whole) - shift, constant=series.constant)
        return ClosedForm(_shortest(kernel + shift), moments, series.constant)
    return None


def _atoms(moments: sp.Expr) -> list[tuple[sp.Expr, sp.Expr]] | None:
    """Places and weights of a law whose moments have a rational generating function with simple poles."""
    z = sp.Symbol("z", positive=True)
    if not moments.is_rational_function(z):
        return None
    found: list[tuple[sp.Expr, sp.Expr]] = []
    for term in sp.Add.make_args(sp.apart(sp.cancel(moments), z)):
        below = sp.Poly(sp.denom(sp.together(term)), z)
        if below.degree() > 1:
            return None
        at_zero = term.subs(z, 0)
        if below.degree() == 0 and term.has(z):
            return None
        place = -below.coeff_monomial(z) / below.coeff_monomial(1) if below.degree() else sp.Integer(0)
        found.append((sp.cancel(place), sp.cancel(at_zero)))
    return found


def _shortest(expression: sp.Expr) -> sp.Expr:
    """The shortest of a few ways of writing it."""
    return min((expression, sp.factor(expression), sp.simplify(expression)), key=sp.count_ops)


def holds(expression: sp.Expr, series: ReducedSeries) -> bool:
    """Whether the Taylor coefficients of an expression in the time are those of the series, exactly.

    They are compared at more rational values of each drive than the coefficients' degree in it, which proves that
    the polynomials agree.
    """
    symbols = symbols_of(series.names)
    length = series.order + 1
    degrees = [max(p[k] for p in series.coefficients) for k in range(1, len(symbols))]
    grids = [[Fraction(3 * i + 2, 2 * i + 5) for i in range(degree + 2)] for degree in degrees]
    for point in product(*grids):
        values = dict(zip(symbols[1:], point, strict=True))
        try:
            found = taylor(expression, symbols[0], values, length)
        except (ValueError, ZeroDivisionError, TypeError):
            return False
        known = series.at({name: values[symbol] for name, symbol in zip(series.names[1:], symbols[1:], strict=True)})
        for s in range(length):
            expected = known.coefficients.get((s,), Fraction(0))
            if found[s] != fmpq(expected.numerator, expected.denominator):
                return False
    return True


def taylor(expression: sp.Expr, x: sp.Symbol, values: dict[sp.Symbol, Fraction], length: int) -> list[fmpq]:
    """The exact power series in x of an expression of sums, products, powers and exponentials.

    Poles at x = 0 are allowed where they cancel.
    """
    spare = 6
    old = ctx.cap
    ctx.cap = length + spare
    try:
        low, high = _laurent(expression, x, values, length + spare)
    finally:
        ctx.cap = old
    if low < 0:
        if any(high[k] != 0 for k in range(-low)):
            raise ValueError("a pole at time 0")
        return [high[k - low] for k in range(length)]
    return [high[k - low] if k >= low else fmpq(0) for k in range(length)]


def _laurent(e: sp.Expr, x: sp.Symbol, values: dict[sp.Symbol, Fraction], length: int) -> tuple[int, fmpq_series]:
    """(valuation, unit part): x^valuation times a power series."""
    if e == x:
        return 1, fmpq_series([1])
    if e in values:
        return 0, fmpq_series([fmpq(values[e].numerator, values[e].denominator)])
    if e.is_Rational:
        return 0, fmpq_series([fmpq(int(e.p), int(e.q))])
    if e.is_Add:
        parts = [_laurent(a, x, values, length) for a in e.args]
        low = min(v for v, _ in parts)
        total = fmpq_series([0])
        for v, series in parts:
            total = total + (fmpq_series([0] * (v - low) + [1]) * series)
        return low, total
    if e.is_Mul:
        low, total = 0, fmpq_series([1])
        for a in e.args:
            v, series = _laurent(a, x, values, length)
            low, total = low + v, total * series
        return low, total
    if e.is_Pow and e.exp.is_Rational:
        low, base = _laurent(e.base, x, values, length)
        k = 0
        while k < length and base[k] == 0:
            k += 1
        if k == length:
            if e.exp < 0:
                raise ZeroDivisionError
            return 0, fmpq_series([0])
        low, base = low + k, fmpq_series(base.coeffs()[k:])
        if e.exp.q == 2:
            if low % 2:
                raise ValueError("a square root of an odd power")
            base, low = base.sqrt(), low // 2
        elif e.exp.q != 1:
            raise ValueError("a root")
        n = int(e.exp.p)
        power = base ** abs(n)
        return low * n, (1 / power if n < 0 else power)
    if isinstance(e, sp.exp):
        low, inner = _laurent(e.args[0], x, values, length)
        if low < 0:
            raise ValueError("an essential singularity")
        return 0, (fmpq_series([0] * low + [1]) * inner).exp()
    raise TypeError(str(e))
