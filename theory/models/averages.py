"""Tensors with ``average = true``: a fresh input, whose pairings are summed at declaration."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import permutations
from math import factorial

from theory.engine.diagram_tensor import Tensor
from theory.errors import BudgetError
from theory.models.terms import Factor, Term, Terms, collect, contract, identify

MOST_PAIRINGS = 20_000


def average(terms: Terms, tensors: Mapping[str, Tensor], *, what: str = "loss") -> Terms:
    """The mean of a sum of closed terms over all tensors declared with ``average``, exactly.

    The entries of such a tensor are paired in all ways; a pair gives its variance and identifies its indices leg by
    leg (a symmetric tensor in every order of its legs, a hermitian one crosswise, a complex one with its conjugate
    only, one with a covariance C through an entry of C).

    >>> from fractions import Fraction
    >>> x = Tensor("x", ("p",), Fraction(1, 2), average=True)
    >>> term = Term(Fraction(1), (), (Factor("x", (0,)), Factor("x", (0,))), ("p",))
    >>> [(str(t.coefficient), t.powers, t.factors) for t in average((term,), {"x": x})]
    [('1/2', (('p', 1),), ())]

    Raises ``BudgetError`` where there are more than 20000 pairings.
    """
    result = terms
    for tensor in tensors.values():
        if tensor.average:
            check_pairings(result, tensor, what)
            result = collect(paired for term in result for paired in _paired(term, tensor))
    return result


def check_pairings(terms: Terms, tensor: Tensor, what: str) -> None:
    """Refuse what has too many pairings, before the first is made."""
    total = 0
    orders = factorial(len(tensor.legs)) if tensor.kind == "symmetric" else 1
    for term in terms:
        count = sum(factor.tensor == tensor.name for factor in term.factors)
        pairings = orders ** (count // 2)
        for k in range(count - 1, 0, -2):
            pairings *= k
        total += pairings if count % 2 == 0 else 0
    if total > MOST_PAIRINGS:
        raise BudgetError(
            f"{what}, average over {tensor.name}",
            estimate=f"{float(min(total, 10**300)):.3g} pairings",
            limit=f"{MOST_PAIRINGS}",
            remedy="lower the power in which it occurs",
        )


def _paired(term: Term, tensor: Tensor) -> Iterator[Term]:
    """The first entry of the tensor paired with each other one, and so on until none is left."""
    places = [k for k, factor in enumerate(term.factors) if factor.tensor == tensor.name]
    if not places:
        yield contract(term, (), ())
        return
    first = term.factors[places[0]]
    for k in places[1:]:
        other = term.factors[k]
        if tensor.kind == "complex" and first.conjugate == other.conjugate:
            continue
        rest = tuple(f for j, f in enumerate(term.factors) if j not in (places[0], k))
        scaled = replace(term, factors=rest).scaled(tensor.variance.coefficient, tensor.variance.powers)
        for order in _orders(tensor):
            legs = tuple(other.indices[i] for i in order)
            pairs = list(zip(first.indices, legs, strict=True))
            if tensor.covariance is not None:
                link = Factor(tensor.covariance, pairs.pop(0))
                yield from _paired(identify(replace(scaled, factors=(*rest, link)), pairs), tensor)
            else:
                yield from _paired(identify(scaled, pairs), tensor)


def _orders(tensor: Tensor) -> list[tuple[int, ...]]:
    straight = tuple(range(len(tensor.legs)))
    if tensor.kind == "symmetric":
        return list(permutations(straight))
    return [straight[::-1]] if tensor.kind == "hermitian" else [straight]
