"""Gaussian moments of a link: F_k(A) = E f^(k)(√A G) and V(A) = E f(√A G)², G standard normal. [S] §3, [O] §1.

Exact and symbolic for polynomials; for any link the **normalised moments** φ_k(A) = A^{k/2} F_k(A)/√k!
= E f(√A G) he_k(G), where he_k = He_k/√k!, so that Σ_k φ_k(A)² = V(A).
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import sympy

from theory.single_index.link import Link, X
from theory.single_index.panels import field_means
from theory.single_index.quadrature import Estimate

Floats = npt.NDArray[np.float64]


def derivative_mean(link: Link, k: int, variance: sympy.Expr) -> sympy.Expr:
    """F_k(A) of a polynomial link, exact: Σ_j c_{k+2j} (k+2j)! A^j / (2^j j!).

    >>> A = sympy.Symbol("A", positive=True)
    >>> [derivative_mean(Link.parse("x**3-3*x"), k, A) for k in range(4)]
    [0, 3*A - 3, 0, 6]
    """
    return mean_of_derivative(link.coefficients, k, variance)


def mean_of_derivative(coefficients: Sequence[sympy.Expr], k: int, variance: sympy.Expr) -> sympy.Expr:
    """The same for a polynomial given by its coefficients, from the constant term up.

    >>> mean_of_derivative((0, 0, 1), 2, sympy.Integer(1))
    2
    """
    return sympy.Add(
        *(
            coefficients[k + 2 * j] * sympy.Rational(math.factorial(k + 2 * j), 2**j * math.factorial(j)) * variance**j
            for j in range((len(coefficients) - 1 - k) // 2 + 1)
        )
    )


def second_moment(link: Link, variance: sympy.Expr) -> sympy.Expr:
    """V(A) of a polynomial link, exact, by E G^{2j} = (2j−1)!!.

    >>> second_moment(Link.parse("x**3-3*x"), sympy.Symbol("A", positive=True))
    15*A**3 - 18*A**2 + 9*A
    """
    square = (sympy.Poly(link.expression, X) ** 2).all_coeffs()[::-1]
    return sympy.Add(*(c * sympy.factorial2(2 * j - 1) * variance**j for j, c in enumerate(square[::2])))


def hermite_coefficient(link: Link, k: int, *, variance: float = 1.0) -> Estimate:
    """F_k(A) as a number with its error; at variance 1, k! times the coefficient of He_k in f.

    >>> hermite_coefficient(Link.parse("x**3-3*x"), 3)
    Estimate(value=6.0, error=0.0)
    >>> round(hermite_coefficient(Link.parse("erf(x)"), 1).value, 12) == round(2 / math.sqrt(3 * math.pi), 12)
    True
    """
    if link.is_polynomial:
        exact = sympy.Rational(variance) if float(variance).is_integer() else sympy.Float(variance, 40)
        return Estimate(float(derivative_mean(link, k, exact)), 0.0)
    values, errors = quadrature_moments(link, variance, k + 1)
    scale = math.sqrt(math.factorial(k)) * variance ** (-k / 2)
    return Estimate(float(values[k]) * scale, float(errors[k]) * scale)


def quadrature_moments(link: Link, variance: float, count: int) -> tuple[Floats, Floats]:
    """φ_0(A), …, φ_{count−1}(A) by quadrature, with errors."""
    root = math.sqrt(variance)

    def rows(g: Floats) -> Floats:
        return link.value(root * g) * hermite_functions(g, count)

    return field_means(link, variance, rows)


def hermite_functions(g: Floats, count: int) -> Floats:
    """he_0(g), …, he_{count−1}(g), orthonormal under the standard normal law; shape (count, N)."""
    rows = np.empty((count, *g.shape))
    rows[0] = 1.0
    if count > 1:
        rows[1] = g
    for k in range(2, count):
        rows[k] = (g * rows[k - 1] - math.sqrt(k - 1) * rows[k - 2]) / math.sqrt(k)
    return rows


@functools.lru_cache(maxsize=64)
def hermite_basis(link: Link) -> tuple[float, ...]:
    """F_0(1), F_1(1), … of a polynomial link as floats, each computed exactly first.

    F_k(A) = Σ_j F_{k+2j}(1) (A−1)^j / (2^j j!): written around variance 1 the sum does not cancel for A ≥ 1.
    """
    return tuple(float(derivative_mean(link, k, sympy.Integer(1))) for k in range(link.degree + 1))


def polynomial_moments(link: Link, variance: Floats, count: int) -> Floats:
    """φ_0(A), …, φ_{count−1}(A) of a polynomial link, at an array of variances; shape (count, …)."""
    basis = hermite_basis(link)
    A = np.asarray(variance, dtype=np.float64)
    rows = np.zeros((count, *A.shape))
    for k in range(min(count, len(basis))):
        terms = [basis[n] / (2 ** ((n - k) // 2) * math.factorial((n - k) // 2)) for n in range(k, len(basis), 2)]
        rows[k] = np.polynomial.polynomial.polyval(A - 1, terms) * A ** (k / 2) / math.sqrt(math.factorial(k))
    return rows
