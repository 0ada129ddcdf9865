"""Closed forms of K(A, B, C) = E f(x) f(y), x and y centred normal with variances A, B and covariance C."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass

import sympy

from theory.single_index.link import Link, X
from theory.single_index.moments import derivative_mean, second_moment

_HIGHEST_POWER = 4

A = sympy.Symbol("A", positive=True)
"""Variance of the prediction field a·X."""
B = sympy.Symbol("B", positive=True)
"""Variance of the target field a·v_0."""
C = sympy.Symbol("C", real=True)
"""Covariance of the two fields."""


@dataclass(frozen=True)
class ClosedForm:
    """K, its derivatives in A and C (written so that they stay finite where C² = AB), and V(A) = K(A, A, A)."""

    family: str
    kernel: sympy.Expr
    slope_variance: sympy.Expr
    slope_covariance: sympy.Expr
    second_moment: sympy.Expr


@functools.lru_cache(maxsize=64)
def closed_form(link: Link) -> ClosedForm | None:
    """The closed form, for the families that have one here; otherwise ``None``.

    Polynomials (Isserlis); γ + α erf(a x); γ + αx + β|x|, which holds ReLU and leaky ReLU (arc-cosine kernel);
    sums of real exponentials, or of sines and cosines.

    >>> closed_form(Link.parse("erf(x)")).kernel
    2*asin(2*C/(sqrt(2*A + 1)*sqrt(2*B + 1)))/pi
    >>> closed_form(Link.parse("tanh(x)")) is None
    True
    """
    for attempt in (_polynomial, _error_function, _absolute_value, _exponentials):
        if form := attempt(link):
            return form
    return None


def _polynomial(link: Link) -> ClosedForm | None:
    """Σ_k F_k(A) F_k(B) C^k / k!; each derivative in A is a half of two derivatives of f: F_k′ = F_{k+2}/2."""
    if not link.is_polynomial:
        return None
    orders = range(link.degree + 1)
    at_A = [derivative_mean(link, k, A) for k in range(link.degree + 3)]
    at_B = [derivative_mean(link, k, B) for k in range(link.degree + 3)]

    def combine(left: int, right: int) -> sympy.Expr:
        return sympy.Add(*(at_A[k + left] * at_B[k + right] * C**k / math.factorial(k) for k in orders))

    return ClosedForm("polynomial", combine(0, 0), combine(2, 0) / 2, combine(1, 1), second_moment(link, A))


def _error_function(link: Link) -> ClosedForm | None:
    parts = _linear_parts(link.expression, sympy.erf)
    if parts is None:
        return None
    shift, linear, weight, scale = parts
    if linear != 0:
        return None
    a = 2 * scale**2
    sine = a * C / (sympy.sqrt(1 + a * A) * sympy.sqrt(1 + a * B))
    kernel = shift**2 + weight**2 * 2 / sympy.pi * sympy.asin(sine)
    moment = shift**2 + weight**2 * 2 / sympy.pi * sympy.asin(a * A / (1 + a * A))
    return ClosedForm("error function", kernel, sympy.diff(kernel, A), sympy.diff(kernel, C), moment)


def _absolute_value(link: Link) -> ClosedForm | None:
    """E|x||y| = (2/π)(√(AB−C²) + C asin ρ), ρ = C/√(AB); E x|y| = 0; E|x| = √(2A/π)."""
    parts = _linear_parts(link.expression, sympy.Abs)
    if parts is None:
        return None
    shift, linear, weight, scale = parts
    beta = weight * sympy.Abs(scale)
    root, angle = sympy.sqrt(A * B - C**2), sympy.asin(C / (sympy.sqrt(A) * sympy.sqrt(B)))
    mean = sympy.sqrt(2 / sympy.pi)
    kernel = (
        linear**2 * C
        + beta**2 * 2 / sympy.pi * (root + C * angle)
        + shift * beta * mean * (sympy.sqrt(A) + sympy.sqrt(B))
        + shift**2
    )
    slope_variance = beta**2 * root / (sympy.pi * A) + shift * beta * mean / (2 * sympy.sqrt(A))
    slope_covariance = linear**2 + beta**2 * 2 / sympy.pi * angle
    moment = (linear**2 + beta**2) * A + 2 * shift * beta * mean * sympy.sqrt(A) + shift**2
    return ClosedForm("absolute value", kernel, slope_variance, slope_covariance, moment)


def _exponentials(link: Link) -> ClosedForm | None:
    """f = Σ c_j e^{α_j x} with all α_j real, or all imaginary: E e^{αx+βy} = e^{(α²A+β²B)/2+αβC}."""
    if not _is_exponential_sum(link.expression):
        return None
    terms = []
    for term in sympy.Add.make_args(sympy.expand(link.expression.rewrite(sympy.exp), power_exp=False)):
        factor, exponential = term.as_independent(X)
        base, power = exponential.as_base_exp()
        exponent = sympy.expand(sympy.log(base) * power)
        alpha = exponent.coeff(X, 1)
        rest = sympy.expand(exponent - alpha * X)
        if rest.has(X):
            return None
        terms.append((factor * sympy.exp(rest), alpha))
    rates = [alpha for _, alpha in terms]
    if not (all(rate.is_real for rate in rates) or all((sympy.I * rate).is_real for rate in rates)):
        return None

    def kernel(left: sympy.Expr, right: sympy.Expr, covariance: sympy.Expr) -> sympy.Expr:
        return sympy.expand(
            sympy.Add(
                *(
                    c * d * sympy.exp((a**2 * left + b**2 * right) / 2 + a * b * covariance)
                    for c, a in terms
                    for d, b in terms
                )
            ),
            power_exp=False,
        )

    form = kernel(A, B, C)
    return ClosedForm("exponentials", form, sympy.diff(form, A), sympy.diff(form, C), kernel(A, A, A))


def _is_exponential_sum(expression: sympy.Expr) -> bool:
    """Whether f is built by +, × and powers up to 4 from exp, sin, cos and constant powers of formulas linear in x."""
    candidates = expression.atoms(sympy.exp, sympy.sin, sympy.cos, sympy.Pow)
    exponentials = {part: sympy.Dummy() for part in candidates if _is_exponential(part)}
    skeleton = expression.xreplace(exponentials)
    powers = (part.exp for part in skeleton.atoms(sympy.Pow) if not part.is_number)
    return (
        bool(exponentials)
        and not skeleton.has(X)
        and bool(skeleton.is_polynomial(*exponentials.values()))
        and all(power <= _HIGHEST_POWER for power in powers)
    )


def _is_exponential(part: sympy.Expr) -> bool:
    base, exponent = part.as_base_exp()
    if isinstance(part, sympy.sin | sympy.cos):
        exponent = part.args[0]
    elif base.has(X):
        return False
    return bool(exponent.has(X) and not exponent.diff(X).has(X))


def _linear_parts(
    expression: sympy.Expr, head: type[sympy.Function]
) -> tuple[sympy.Expr, sympy.Expr, sympy.Expr, sympy.Expr] | None:
    """(γ, α, β, a) where the expression is γ + αx + β head(a x); ``None`` where it does not show that shape."""
    heads = expression.atoms(head)
    if len(heads) != 1:
        return None
    (special,) = heads
    scale = special.args[0].diff(X)
    stand_in = sympy.Dummy()
    flat = expression.xreplace({special: stand_in})
    weight, linear = flat.diff(stand_in), flat.diff(X)
    if any(part.has(X, stand_in) for part in (scale, weight, linear)) or special.args[0].subs(X, 0) != 0:
        return None
    return flat.subs({X: 0, stand_in: 0}), linear, weight, scale
