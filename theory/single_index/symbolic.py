"""The population loss as a formula in λ, η_1, m_1, m_2. [S] §2, by Isserlis' theorem."""

from __future__ import annotations

import functools
from dataclasses import dataclass

import sympy

from theory.single_index import closed_forms
from theory.single_index.closed_forms import A, B, C, closed_form
from theory.single_index.link import Link

LAMBDA = sympy.Symbol("lamda", nonnegative=True)
"""λ; SymPy's own spelling, since ``lambda`` is a Python keyword."""
ETA1 = sympy.Symbol("eta1", nonnegative=True)
ETA2 = sympy.sqrt(1 - ETA1**2)
M1, M2 = sympy.symbols("m1 m2", real=True)
NOISE = sympy.Symbol("noise", nonnegative=True)
"""Var ε."""
SPIKE_OVERLAP = ETA1 * M1 + ETA2 * M2
"""s̄ = X·v."""
FIELDS = {A: 1 + LAMBDA * SPIKE_OVERLAP**2, B: 1 + LAMBDA * ETA1**2, C: M1 + LAMBDA * ETA1 * SPIKE_OVERLAP}
"""A, B, C in terms of λ, η_1, m_1, m_2."""

F = sympy.Function("F")
"""F(k, A) = E f^(k)(√A G) where it has no closed form."""
V = sympy.Function("V")
"""V(A) = E f(√A G)² where it has no closed form."""


@dataclass(frozen=True)
class SymbolicLoss:
    """Φ = variance + alignment + constant, in the symbols A, B, C and ``noise``.

    ``family`` is ``None`` where the link has no closed form here; the terms then hold F(k, A) and V(A) by name.
    """

    link: Link
    family: str | None
    variance: sympy.Expr
    alignment: sympy.Expr
    constant: sympy.Expr

    @property
    def in_fields(self) -> sympy.Expr:
        """Φ in A, B, C."""
        return self.variance + self.alignment + self.constant

    @property
    def in_overlaps(self) -> sympy.Expr:
        """Φ in λ, η_1, m_1, m_2."""
        return self.in_fields.xreplace(FIELDS)

    @property
    def gradient(self) -> tuple[sympy.Expr, sympy.Expr]:
        """∂Φ/∂m_1, ∂Φ/∂m_2 in λ, η_1, m_1, m_2."""
        return sympy.diff(self.in_overlaps, M1), sympy.diff(self.in_overlaps, M2)

    @property
    def spherical_gradient(self) -> tuple[sympy.Expr, sympy.Expr]:
        """Overlaps of (1 − XXᵀ)∇Φ with v_0, v_⊥."""
        first, second = self.gradient
        radial = M1 * first + M2 * second
        return first - M1 * radial, second - M2 * radial


@functools.lru_cache(maxsize=64)
def symbolic_loss(link: Link) -> SymbolicLoss:
    """Φ of the link, exact where it has a closed form.

    >>> loss = symbolic_loss(Link.parse("x**3-3*x"))
    >>> sympy.expand(loss.variance), sympy.factor(loss.alignment)
    (15*A**3 - 18*A**2 + 9*A, -6*C*(3*A*B - 3*A - 3*B + 2*C**2 + 3))
    >>> symbolic_loss(Link.parse("tanh(x)")).variance
    V(A)
    """
    form = closed_form(link)
    if form is None:
        k = sympy.Symbol("k", integer=True, nonnegative=True)
        series = sympy.Sum(F(k, A) * F(k, B) * C**k / sympy.factorial(k), (k, 0, sympy.oo))
        return SymbolicLoss(link, None, V(A), -2 * series, V(B) + NOISE)
    moment = form.second_moment
    return SymbolicLoss(link, form.family, moment, -2 * form.kernel, moment.subs(closed_forms.A, B) + NOISE)
