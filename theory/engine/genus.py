"""The genus expansion: an exact expectation split by the number of nodes its pairings lost. [P] §3, [D].

Where every space has dimension of order N and the variances scale so that all planar terms are of one order, each lost
node, a twist or half a handle, costs a factor 1/N; so the degree of a monomial tells how many nodes were lost.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from theory.engine.laurent import Exponents, Laurent
from theory.errors import InputError


def by_genus(
    polynomial: Laurent, *, weights: Mapping[str, Fraction | int], planar_degree: Fraction | int | None = None
) -> dict[int, Laurent]:
    """Parts of a polynomial by the number of lost nodes; their sum is the polynomial.

    ``weights`` are the exponents of N of the variables. ``planar_degree`` is the degree of the planar terms; by
    default the largest degree there is.

    >>> p, n = (Laurent.variable(name, ("p", "n")) for name in ("p", "n"))
    >>> {lost: str(part) for lost, part in by_genus(p * n + n * n + n, weights={"p": 1, "n": 1}).items()}
    {0: 'p n + n^2', 1: 'n'}

    Raises ``InputError`` where degrees do not differ by whole numbers, or exceed the planar one: then the weights do
    not make all planar terms of one order.
    """
    if not polynomial:
        return {}
    top = polynomial.degree(weights) if planar_degree is None else Fraction(planar_degree)
    parts: dict[int, dict[Exponents, Fraction]] = {}
    for exponents, coefficient in polynomial.terms.items():
        degree = sum(
            (e * Fraction(weights[v]) for v, e in zip(polynomial.variables, exponents, strict=True)), Fraction()
        )
        lost = top - degree
        if lost.denominator != 1 or lost < 0:
            raise InputError(
                "weights",
                given={name: str(weight) for name, weight in weights.items()},
                expected=f"planar terms of one degree, {top}, and the others a whole number below",
                remedy="use sizes of weight 1, and for each variance what makes the planar terms equal",
            )
        parts.setdefault(int(lost), {})[exponents] = coefficient
    return {lost: Laurent(polynomial.variables, parts[lost]) for lost in sorted(parts)}
