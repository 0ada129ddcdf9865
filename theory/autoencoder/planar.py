"""Planar (leading-order) loss series of the autoencoder: exact polynomials, and exact numbers to high order. [P] §4."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from math import comb, factorial, gcd

import numpy as np

from theory.autoencoder.model import AUTOENCODER
from theory.autoencoder.series import LossName, LossSeries, check_loss, from_expected
from theory.autoencoder.sizes import Sizes
from theory.engine.derivatives import check_order
from theory.engine.fock import Array, Element, FreeLetters, adjoint
from theory.engine.planar import planar_derivatives
from theory.errors import BudgetError

HIGHEST_ORDER = 20
_PRIME_BITS = 17
_PRIMES_AT_ONCE = 4
_LEAST_VARIANCE = Fraction(1, 2**20)


def planar_series(
    loss: LossName, *, order: int, force: bool = False, progress: Callable[[int, int], None] | None = None
) -> LossSeries:
    """The part of Y_s or Ŷ_s that planar pairings give: what is left when p, n, m → ∞ together. [P] §4.

    >>> print(planar_series("population", order=0).coefficients[0])
    1/2 p n sigma2^2 + 1/2 n^2 sigma2^2 - n sigma2
    """
    check_loss(loss)
    check_order(order)
    return from_expected(loss, planar_derivatives(AUTOENCODER, loss, order=order, force=force, progress=progress))


def planar_taylor(
    loss: LossName,
    *,
    order: int,
    sizes: Sizes,
    target: bool = True,
    progress: Callable[[int, int], None] | None = None,
) -> tuple[Fraction, ...]:
    """Exact planar coefficients of (ηt)^0 … (ηt)^order in E L or E L̂ at given sizes, the constant included.

    They depend on n/p, m/p, σ²p and, through the unit of time, p only. Without ``target`` the terms linear in M are
    dropped from loss and flow, as in the free regime. M(0) and S act as free elements on words up to the degree that
    can return to the vacuum; the flow's derivatives follow from one another by Leibniz' rule, modulo several primes
    whose number comes from a bound on the result.

    >>> planar_taylor("population", order=1, sizes=Sizes(100, 100, 100, Fraction(1, 100)))
    (Fraction(1, 2), Fraction(-2, 25))

    Raises ``BudgetError`` beyond order 20.
    """
    check_loss(loss)
    check_order(order)
    if order > HIGHEST_ORDER:
        raise BudgetError(
            "planar coefficients",
            estimate=f"words of degree {order + 1}: 2^{order + 2} numbers for each of {order} operators",
            limit=f"order {HIGHEST_ORDER}",
            remedy="ask for a lower order",
        )
    unit = gcd(gcd(sizes.p, sizes.n), sizes.m)
    small = _Reduced(sizes.p // unit, sizes.n // unit, sizes.m // unit, sizes.sigma2 * unit)
    integers = _integer_coefficients(loss, order, small, target, progress)
    result = []
    for s, integer in enumerate(integers):
        rate = Fraction(-1, small.p * small.m * unit) ** s
        result.append(integer / Fraction(small.denominator(s)) * rate / factorial(s))
    if target:
        result[0] += Fraction(1, 2)
    return tuple(result)


@dataclass(frozen=True)
class _Reduced:
    """Sizes without their common factor, which the planar limit does not see but for the unit of time."""

    p: int
    n: int
    m: int
    sigma2: Fraction

    def denominator(self, s: int) -> int:
        """What makes the s-th derivative an integer: ½ in the loss, 1/m in L̂, and σ² to its highest power."""
        return 2 * self.m * int(self.sigma2.denominator ** (s + 2))


def _integer_coefficients(
    loss: LossName, order: int, sizes: _Reduced, target: bool, progress: Callable[[int, int], None] | None
) -> list[int]:
    primes = _primes(
        _bits(loss, order, sizes, target) // _PRIME_BITS + 1, avoiding=2 * sizes.m * sizes.sigma2.denominator
    )
    residues: list[list[int]] = [[] for _ in range(order + 1)]
    for start in range(0, len(primes), _PRIMES_AT_ONCE):
        batch = primes[start : start + _PRIMES_AT_ONCE]
        values = _derivatives_mod(loss, order, sizes, target, batch)
        for s in range(order + 1):
            for k, prime in enumerate(batch):
                residues[s].append(int(values[s, k]) * sizes.denominator(s) % prime)
        if progress:
            progress(start + len(batch), len(primes))
    return [_remainder(rows, primes) for rows in residues]


def _bits(loss: LossName, order: int, sizes: _Reduced, target: bool) -> int:
    """Bits that every one of the integers, and its sign, is proven to fit.

    With all signs turned the derivatives grow with σ²; so a variance that floats would lose is replaced by 2^-20.
    """
    larger = replace(sizes, sigma2=max(sizes.sigma2, _LEAST_VARIANCE))
    bound = _derivatives_mod(loss, order, larger, target, None)[:, 0]
    if not np.isfinite(bound).all():
        raise BudgetError(
            "planar coefficients",
            estimate="integers beyond 10^308",
            limit="floats, which bound them first",
            remedy="give sizes with a larger common factor, or a lower order",
        )
    return max(math.frexp(b)[1] + 1 + sizes.denominator(s).bit_length() + 2 for s, b in enumerate(bound.tolist()))


def _derivatives_mod(loss: LossName, order: int, sizes: _Reduced, target: bool, primes: list[int] | None) -> Array:
    """D^0 … D^order of the loss without its constant, shape (order + 1, primes).

    Without primes: plain floats, with all minus signs turned, which bounds the absolute values.
    """
    flow = _Flow.at(sizes, primes)
    sign = -1 if primes else 1
    M: list[Element] = [flow.start]
    MS: list[Element] = []
    for k in range(order + 1):
        reach = min(2 * k + 1, 2 * (order - k) + 2)
        M[k] = M[k][: reach + 1]
        MS.append(flow.letters.product(M[k], flow.data, degree=reach + 1))
        if k < order:
            M.append(flow.derivative(M, MS, min(2 * k + 3, 2 * (order - k)), sign if target else 0))
    result = []
    half = flow.number(Fraction(1, 2))
    other = M if loss == "population" else MS
    for s in range(order + 1):
        total = np.zeros(len(half))
        for i in range(s + 1):
            pair = flow.letters.pairing(M[i], other[s - i])
            total = total + flow.letters.reduce(flow.letters.reduce(pair * half) * flow.number(Fraction(comb(s, i))))
        if target:
            total = total + sign * other[s][0][:, 0]
        if loss == "train":
            total = flow.letters.reduce(total) * flow.number(Fraction(1, sizes.m))
        result.append(flow.letters.reduce(total))
    return np.array(result)


@dataclass(frozen=True, eq=False)
class _Flow:
    """dM/dt = −(η/pm)(S(M² − 2M) + (M² − 2M)S + 2MSM) in the free algebra."""

    letters: FreeLetters
    start: Element
    data: Element
    primes: list[int] | None

    @classmethod
    def at(cls, sizes: _Reduced, primes: list[int] | None) -> _Flow:
        def number(value: Fraction) -> Array:
            return _number(value, primes)

        v = sizes.sigma2
        contraction = np.stack([number(v * v * sizes.n * sizes.p), number(Fraction(sizes.m * sizes.p))], axis=1)
        merging = np.stack([number(v * sizes.p), number(Fraction(sizes.p))], axis=1)
        letters = FreeLetters(contraction, merging, None if primes is None else np.array(primes, dtype=float))
        one = np.ones(len(merging))
        first, second = np.stack([one, 0 * one], axis=1), np.stack([0 * one, one], axis=1)
        return cls(letters, (number(v * sizes.n)[:, None], first), (number(Fraction(sizes.m))[:, None], second), primes)

    def number(self, value: Fraction) -> Array:
        """A rational as residues."""
        return _number(value, self.primes)

    def derivative(self, M: list[Element], MS: list[Element], degree: int, sign: int) -> Element:
        """The next derivative of M from the lower ones, to a degree; ``sign`` is the sign of the target's terms."""
        k = len(M) - 1
        squares: list[tuple[int | Array, Element]] = [(2 * sign, M[k])]
        sandwiches: list[tuple[int | Array, Element]] = []
        for i in range(k // 2 + 1):
            factor = self.number(Fraction(comb(k, i)))
            square = self.letters.product(M[i], M[k - i], degree=degree + 1)
            sandwich = self.letters.product(M[i], MS[k - i], degree=degree)
            for product, terms, multiple in ((square, squares, 1), (sandwich, sandwiches, 2)):
                terms.append((multiple * factor, product))
                if 2 * i < k:
                    terms.append((multiple * factor, adjoint(product)))
        inner = self.letters.combine(squares, degree=degree + 1)
        side = self.letters.product(inner, self.data, degree=degree)
        return self.letters.combine([(1, side), (1, adjoint(side)), *sandwiches], degree=degree)


def _number(value: Fraction, primes: list[int] | None) -> Array:
    if primes is None:
        return np.array([float(value)])
    return np.array([float(value.numerator * pow(value.denominator, -1, p) % p) for p in primes])


def _primes(count: int, *, avoiding: int) -> list[int]:
    """The largest ``count`` primes between 2^17 and 2^18 that do not divide a number: every residue has 17 bits."""
    found: list[int] = []
    for candidate in range(2**18 - 1, 2**_PRIME_BITS, -2):
        if len(found) == count:
            return found
        if all(candidate % d for d in range(3, 512, 2)) and avoiding % candidate:
            found.append(candidate)
    raise BudgetError(
        "planar coefficients",
        estimate=f"residues modulo {count} primes",
        limit=f"the {len(found)} primes of 18 bits",
        remedy="give a variance of fewer digits, or a lower order",
    )


def _remainder(residues: list[int], primes: list[int]) -> int:
    """The integer of least absolute value with these residues (Garner's algorithm)."""
    value, modulus = 0, 1
    for residue, prime in zip(residues, primes, strict=True):
        value += modulus * ((residue - value) * pow(modulus, -1, prime) % prime)
        modulus *= prime
    return value - modulus if 2 * value > modulus else value
