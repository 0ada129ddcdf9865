"""Φ around zero correlation, order by order: which terms there are, which vanish, and why. [S] §3 and its proofs.

With F_k′ = F_{k+2}/2 and V^{(j)}(1) = E f(G)² He_{2j}(G)/2^j, the part of Φ of degree n in (m_1, m_2) is

    [n = 2j]  V^{(j)}(1) (λs̄²)^j / j!   −   2 F_n(1) Σ_{k+2j=n} F_k(B) C^k (λs̄²)^j / (k! j! 2^j):

every alignment term of order n carries the one factor F_n(1), so all of them vanish below the information exponent,
while the variance terms do not ask for it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import sympy
from sympy.core.function import AppliedUndef

from theory.errors import InputError
from theory.single_index.closed_forms import A, B, C, closed_form
from theory.single_index.exponent import coefficient, link_scale
from theory.single_index.link import Link, X
from theory.single_index.moments import derivative_mean, hermite_functions, mean_of_derivative
from theory.single_index.panels import field_means
from theory.single_index.symbolic import ETA1, ETA2, FIELDS, LAMBDA, SPIKE_OVERLAP, F

LONGEST_TAYLOR = 24
_NOISE = 1e-11


@dataclass(frozen=True)
class TaylorTerm:
    """One term, ``coefficient`` · s̄^``spike_power`` · C^``signal_power``, of degree ``order`` in (m_1, m_2).

    ``kind`` is ``"variance"`` or ``"alignment"``; ``why`` says what makes it vanish, or what it is made of.
    """

    order: int
    kind: str
    spike_power: int
    signal_power: int
    coefficient: sympy.Expr
    vanishes: bool
    why: str

    @property
    def in_overlaps(self) -> sympy.Expr:
        """The term in λ, η_1, m_1, m_2."""
        return self.coefficient * SPIKE_OVERLAP**self.spike_power * FIELDS[C] ** self.signal_power

    @property
    def gradient(self) -> tuple[sympy.Expr, sympy.Expr]:
        """Overlaps of the term's gradient with v_0 and v_⊥: along v from s̄, along v_0 + λη_1v from C."""
        s, c, c_power, s_power = SPIKE_OVERLAP, FIELDS[C], self.signal_power, self.spike_power
        along_spike = s_power * s ** (s_power - 1) * c**c_power if s_power else sympy.Integer(0)
        along_signal = c_power * s**s_power * c ** (c_power - 1) if c_power else sympy.Integer(0)
        spike = along_spike + LAMBDA * ETA1 * along_signal
        return self.coefficient * (ETA1 * spike + along_signal), self.coefficient * ETA2 * spike

    def to_json(self) -> dict[str, int | str | bool]:
        """Flat record; the coefficient as a formula in lamda and eta1."""
        return {
            "order": self.order,
            "kind": self.kind,
            "spike_power": self.spike_power,
            "signal_power": self.signal_power,
            "coefficient": str(self.coefficient),
            "vanishes": self.vanishes,
            "why": self.why,
        }


def taylor_terms(link: Link, *, order: int) -> tuple[TaylorTerm, ...]:
    """The terms of Φ of degree 1 … ``order`` around m = 0, for symbolic λ and η_1.

    Coefficients are exact for polynomials. For other links F_n(1) and V^{(j)}(1) are numbers had by quadrature
    and F_k(B) stays as ``F(k, 1 + λη_1²)``.

    >>> for term in taylor_terms(Link.parse("x**3-3*x"), order=3):
    ...     if not term.vanishes:
    ...         print(term.order, term.kind, term.coefficient, term.spike_power, term.signal_power)
    2 variance 18*lamda 2 0
    3 alignment -18*eta1**2*lamda**2 2 1
    3 alignment -12 0 3
    """
    if isinstance(order, bool) or not isinstance(order, int) or not 1 <= order <= LONGEST_TAYLOR:
        raise InputError(
            "order", given=order, expected=f"a whole number from 1 to {LONGEST_TAYLOR}", remedy="use order=4"
        )
    terms: list[TaylorTerm] = []
    for n in range(1, order + 1):
        if n % 2 == 0:
            terms.append(_variance_term(link, n // 2))
        common = _hermite_number(link, n)
        terms += [_alignment_term(link, n, n - 2 * j, common) for j in reversed(range(n // 2 + 1))]
    return tuple(terms)


def variance_slope(link: Link, j: int = 1) -> sympy.Expr:
    """V^{(j)}(1) = E f(G)² He_{2j}(G) / 2^j; exact where V is known, a float otherwise (0 where within its error).

    j = 1 gives V′(1) = ½E[(G²−1) f(G)²], whose sign decides the trap at η_1 = 1.

    >>> variance_slope(Link.parse("x**3-3*x")), variance_slope(Link.parse("sin(x)"))
    (18, exp(-2))
    """
    if link.is_polynomial:
        square = sympy.Poly(link.expression, X) ** 2
        return mean_of_derivative(square.all_coeffs()[::-1], 2 * j, sympy.Integer(1)) / 2**j
    if form := closed_form(link):
        return sympy.simplify(sympy.diff(form.second_moment, A, j).subs(A, 1))
    scale = math.sqrt(math.factorial(2 * j)) / 2**j
    mean, error = field_means(link, 1.0, lambda g: link.value(g) ** 2 * hermite_functions(g, 2 * j + 1)[2 * j])
    negligible = abs(mean) <= 10 * error + _NOISE * link_scale(link, 1.0) ** 2
    return sympy.Integer(0) if negligible else sympy.Float(scale * float(mean))


def _variance_term(link: Link, j: int) -> TaylorTerm:
    slope = variance_slope(link, j)
    gone = slope == 0
    name = "V′(1)" if j == 1 else f"V^({j})(1)"
    why = f"{name} = {show(slope)}" + (": f(G)² is uncorrelated with " + f"He_{2 * j}" if gone else "")
    return TaylorTerm(2 * j, "variance", 2 * j, 0, slope * LAMBDA**j / math.factorial(j), gone, why)


def _alignment_term(link: Link, n: int, k: int, common: sympy.Expr) -> TaylorTerm:
    j = (n - k) // 2
    label = derivative_mean(link, k, FIELDS[B]) if link.is_polynomial else F(k, FIELDS[B])
    label = sympy.expand(label) if link.is_polynomial else label
    factor = sympy.Rational(-2, math.factorial(k) * math.factorial(j) * 2**j)
    coefficient = sympy.expand(factor * common * label * LAMBDA**j)
    if common == 0:
        why = f"F_{n}(1) = 0: order {n} is invisible to the prediction"
    elif label == 0:
        why = f"F_{k}(B) = 0: the label carries nothing of order {k}"
    else:
        why = f"F_{n}(1) = {show(common)}, F_{k}(B) = {label if link.is_polynomial else 'by quadrature'}"
    return TaylorTerm(n, "alignment", 2 * j, k, coefficient, bool(coefficient == 0), why)


def _hermite_number(link: Link, n: int) -> sympy.Expr:
    if link.is_polynomial:
        return derivative_mean(link, n, sympy.Integer(1))
    found = coefficient(link, n)
    return sympy.Integer(0) if found.zero is not False else sympy.Float(found.value)


def coefficient_value(term: TaylorTerm, link: Link, *, lam: float, eta1: float) -> float:
    """The term's coefficient as a number at given λ and η_1, F(k, B) by quadrature where it has no formula.

    >>> link = Link.parse("tanh(x)")
    >>> round(coefficient_value(taylor_terms(link, order=1)[0], link, lam=1.0, eta1=0.6), 6)
    -0.665748
    """
    variance = 1 + lam * eta1**2
    numbers = {
        call: coefficient(link, int(call.args[0]), variance=variance).value
        for call in term.coefficient.atoms(AppliedUndef)
    }
    return float(term.coefficient.xreplace(numbers).subs({LAMBDA: lam, ETA1: eta1}))


def show(expression: sympy.Expr) -> str:
    """A formula as text, floats in it to six digits."""
    return str(expression.xreplace({number: sympy.Float(number, 6) for number in expression.atoms(sympy.Float)}))
