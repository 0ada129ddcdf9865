"""Laurent polynomials with rational coefficients: what every expectation of a Gaussian matrix model is."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from operator import add
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from theory.errors import InputError, ReachError

if TYPE_CHECKING:
    import sympy

Exponents = tuple[int, ...]
_TINY = 1e-290

_GREEK = ("alpha", "beta", "gamma", "kappa", "lambda", "sigma", "tau")
_NAME = re.compile(r"([A-Za-z]+)(\d*)(?:_(.+))?")


@dataclass(frozen=True, eq=False)
class Laurent:
    """A sum of c · Π variableᵏ with integer k of either sign and exact rational c.

    ``variables`` names the variables in order; ``terms`` maps exponent tuples to coefficients. Zero coefficients are
    dropped, so that equal polynomials compare and hash equal. Arithmetic asks for the same variables on both sides.

    >>> p, n = (Laurent.variable(name, ("p", "n")) for name in ("p", "n"))
    >>> print(p * n - 2 * n + 1)
    p n - 2 n + 1
    >>> (p * n - n).leading({"p": Fraction(1), "n": Fraction(1)}) == p * n
    True
    """

    variables: tuple[str, ...]
    terms: Mapping[Exponents, Fraction]

    def __post_init__(self) -> None:
        kept: dict[Exponents, Fraction] = {}
        for exponents, coefficient in self.terms.items():
            if len(exponents) != len(self.variables):
                raise InputError(
                    "exponents",
                    given=exponents,
                    expected=f"one for each of {', '.join(self.variables)}",
                    remedy="give a tuple of that length",
                )
            if coefficient:
                kept[exponents] = coefficient if type(coefficient) is Fraction else Fraction(coefficient)
        ordered = dict(sorted(kept.items(), reverse=True))
        object.__setattr__(self, "terms", MappingProxyType(ordered))

    def __reduce__(self) -> tuple[Any, ...]:
        return (Laurent, (self.variables, dict(self.terms)))

    @classmethod
    def constant(cls, value: Fraction | int, variables: tuple[str, ...]) -> Laurent:
        """The constant polynomial ``value``."""
        return cls(variables, {(0,) * len(variables): Fraction(value)})

    @classmethod
    def variable(cls, name: str, variables: tuple[str, ...]) -> Laurent:
        """The polynomial that is one variable."""
        return cls.monomial({name: 1}, variables)

    @classmethod
    def monomial(
        cls, powers: Mapping[str, int], variables: tuple[str, ...], coefficient: Fraction | int = 1
    ) -> Laurent:
        """``coefficient`` times a product of powers; variables not named have exponent 0."""
        unknown = [name for name in powers if name not in variables]
        if unknown:
            raise InputError(
                "variable",
                given=unknown[0],
                expected=f"one of {', '.join(variables)}",
                remedy="declare it as a space, a variance or a parameter",
            )
        return cls(variables, {tuple(powers.get(name, 0) for name in variables): Fraction(coefficient)})

    @classmethod
    def from_json(cls, variables: tuple[str, ...], terms: Iterable[Mapping[str, Any]]) -> Laurent:
        """Read what ``to_json`` wrote.

        >>> Laurent.from_json(("p",), [{"p": -1, "c": "3/2"}]).to_json()
        [{'p': -1, 'c': '3/2'}]
        """
        try:
            read = {tuple(int(term[name]) for name in variables): Fraction(term["c"]) for term in terms}
        except (KeyError, TypeError, ValueError, ZeroDivisionError) as error:
            raise InputError(
                "Laurent terms", given=repr(error), expected="dictionaries of exponents and c", remedy="derive again"
            ) from error
        return cls(variables, read)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Laurent):
            return NotImplemented
        return self.variables == other.variables and self.terms == other.terms

    def __hash__(self) -> int:
        return hash((self.variables, tuple(self.terms.items())))

    def __bool__(self) -> bool:
        return bool(self.terms)

    def __add__(self, other: Laurent | Fraction | int) -> Laurent:
        return self._sum(other, 1)

    def __sub__(self, other: Laurent | Fraction | int) -> Laurent:
        return self._sum(other, -1)

    def __radd__(self, other: Fraction | int) -> Laurent:
        return self + other

    def __rsub__(self, other: Fraction | int) -> Laurent:
        return -self + other

    def __neg__(self) -> Laurent:
        return self * -1

    def __mul__(self, other: Laurent | Fraction | int) -> Laurent:
        if not isinstance(other, Laurent):
            return Laurent(self.variables, {e: c * other for e, c in self.terms.items()})
        self._check(other)
        few, many = sorted((self, other), key=lambda factor: len(factor.terms))
        if len(few.terms) == 1:
            ((shift, factor),) = few.terms.items()
            moved = {tuple(map(add, e, shift)): c if factor == 1 else c * factor for e, c in many.terms.items()}
            return Laurent(self.variables, moved)
        product: dict[Exponents, Fraction] = {}
        for left, a in self.terms.items():
            for right, b in other.terms.items():
                key = tuple(i + j for i, j in zip(left, right, strict=True))
                product[key] = product.get(key, Fraction(0)) + a * b
        return Laurent(self.variables, product)

    def __rmul__(self, other: Fraction | int) -> Laurent:
        return self * other

    def __truediv__(self, other: Fraction | int) -> Laurent:
        return self * (1 / Fraction(other))

    def __pow__(self, power: int) -> Laurent:
        """A non-negative power; a monomial also takes negative ones."""
        if power < 0 and len(self.terms) == 1:
            ((exponents, coefficient),) = self.terms.items()
            return Laurent(self.variables, {tuple(-e for e in exponents): 1 / coefficient}) ** -power
        if power < 0:
            raise InputError("power", given=power, expected="a whole number from 0", remedy="only monomials invert")
        result = Laurent.constant(1, self.variables)
        for _ in range(power):
            result = result * self
        return result

    def evaluate(self, values: Mapping[str, Fraction | int | float]) -> Fraction | float:
        """The value at a point: a ``Fraction`` when every value is exact, else the float nearest to it.

        Floats are taken for the binary fractions they are, and the sum is exact until its last rounding: neither large
        powers nor cancellation lose digits.

        >>> Laurent.variable("p", ("p",)).evaluate({"p": Fraction(1, 3)})
        Fraction(1, 3)
        >>> p = Laurent.variable("p", ("p",))
        >>> (p**9 - p**9 + p).evaluate({"p": 1e60})
        1e+60

        Raises ``InputError`` for values that are missing or not finite, and ``ReachError`` for a value beyond floats.
        """
        missing = [name for name in self.variables if name not in values]
        if missing:
            raise InputError(
                "values", given=sorted(values), expected=f"also {', '.join(missing)}", remedy="give every variable"
            )
        point = [values[name] for name in self.variables]
        for name, value in zip(self.variables, point, strict=True):
            if isinstance(value, float) and not math.isfinite(value):
                raise InputError(f"value of {name}", given=value, expected="a finite number", remedy="give another")
        exact = self._exact([Fraction(value) for value in point])
        return nearest_float("value of a polynomial", exact) if any(isinstance(x, float) for x in point) else exact

    def _exact(self, point: list[Fraction]) -> Fraction:
        """The sum over one common denominator: powers of each value are computed once, and no fraction is reduced."""
        if not self.terms:
            return Fraction(0)
        tops: list[dict[int, int]] = []
        below = math.lcm(*(c.denominator for c in self.terms.values()))
        denominator = below
        for i, (name, value) in enumerate(zip(self.variables, point, strict=True)):
            powers = {exponents[i] for exponents in self.terms}
            least, most = min(0, *powers), max(0, *powers)
            if least < 0 and value == 0:
                raise InputError(f"value of {name}", given=0, expected="a non-zero number", remedy="it is divided by")
            a, b = value.numerator, value.denominator
            tops.append({k: a ** (k - least) * b ** (most - k) for k in powers})
            denominator *= a**-least * b**most
        total = sum(
            c.numerator * (below // c.denominator) * math.prod(top[k] for top, k in zip(tops, exponents, strict=True))
            for exponents, c in self.terms.items()
        )
        return Fraction(total, denominator)

    def degree(self, weights: Mapping[str, Fraction | int]) -> Fraction:
        """The largest weighted degree among the terms; ``InputError`` for the zero polynomial."""
        if not self.terms:
            raise InputError("degree", given="0", expected="a non-zero polynomial", remedy="check for zero first")
        degrees, unit = self._degrees(weights)
        return Fraction(max(degrees), unit)

    def leading(self, weights: Mapping[str, Fraction | int]) -> Laurent:
        """The terms of largest weighted degree: what is left when variable = N^weight and N → ∞."""
        if not self.terms:
            return self
        degrees, _ = self._degrees(weights)
        top = max(degrees)
        kept = {e: c for (e, c), degree in zip(self.terms.items(), degrees, strict=True) if degree == top}
        return Laurent(self.variables, kept)

    def substitute(self, powers: Mapping[str, Mapping[str, int]], variables: tuple[str, ...]) -> Laurent:
        """Replace variables by monomials in ``variables``; a variable not named stays itself.

        >>> p = Laurent.variable("p", ("p",))
        >>> print(p.substitute({"p": {"N": 2}}, ("N",)))
        N^2
        """
        images = {name: Laurent.monomial(powers.get(name, {name: 1}), variables) for name in self.variables}
        columns = [next(iter(images[name].terms)) for name in self.variables]
        total: dict[Exponents, Fraction] = {}
        for exponents, coefficient in self.terms.items():
            key = tuple(
                sum(e * column[i] for e, column in zip(exponents, columns, strict=True)) for i in range(len(variables))
            )
            total[key] = total.get(key, Fraction(0)) + coefficient
        return Laurent(variables, total)

    def compile(self) -> Callable[..., Any]:
        """A numeric function of the variables, in order; NumPy arrays broadcast.

        Where powers leave the range of floats on the way, the value is computed exactly (see ``evaluate``, also for the
        errors).

        >>> f = Laurent.monomial({"p": 2, "n": -1}, ("p", "n"), 3).compile()
        >>> float(f(2.0, 4.0))
        3.0
        """
        powers = np.array(list(self.terms), dtype=np.int64).reshape(len(self.terms), len(self.variables))
        try:
            coefficients = np.array([float(c) for c in self.terms.values()])
        except OverflowError:
            coefficients = np.full(len(self.terms), np.inf)

        def value(*point: Any) -> Any:
            arrays = [np.asarray(x, dtype=float)[..., None] for x in point]
            product = coefficients
            risky = np.zeros((), dtype=bool)
            with np.errstate(all="ignore"):
                for i, array in enumerate(arrays):
                    product = product * array ** powers[:, i]
                    risky = risky | ((np.abs(product) < _TINY) & (array != 0)).any(axis=-1)
                total = np.asarray(product.sum(axis=-1))
            again = np.broadcast_to(risky | ~np.isfinite(total), total.shape)
            if not again.any():
                return total[()]
            places = np.broadcast_arrays(*(array[..., 0] for array in arrays), total)[:-1]
            total = total.copy()
            for index in zip(*np.nonzero(again), strict=True) if total.ndim else [()]:
                total[index] = self.evaluate({v: float(x[index]) for v, x in zip(self.variables, places, strict=True)})
            return total[()]

        return value

    def to_sympy(self) -> sympy.Expr:
        """The same polynomial in positive SymPy symbols."""
        import sympy

        symbols = [sympy.Symbol(name, positive=True) for name in self.variables]
        return sympy.Add(
            *(
                sympy.Rational(c.numerator, c.denominator)
                * sympy.Mul(*(x**k for x, k in zip(symbols, exponents, strict=True)))
                for exponents, c in self.terms.items()
            )
        )

    def to_latex(self) -> str:
        r"""LaTeX; ``sigma2`` prints as powers of :math:`\sigma`."""
        return _join((c, _latex_number(c), self._latex_monomial(e)) for e, c in self.terms.items())

    def to_json(self) -> list[dict[str, int | str]]:
        """One dictionary a term: the exponents by name, and the exact coefficient ``c`` as a string."""
        return [
            {**dict(zip(self.variables, exponents, strict=True)), "c": str(c)} for exponents, c in self.terms.items()
        ]

    def __str__(self) -> str:
        return _join((c, str(abs(c)), self._text_monomial(e)) for e, c in self.terms.items())

    def _sum(self, other: Laurent | Fraction | int, sign: int) -> Laurent:
        right = other if isinstance(other, Laurent) else Laurent.constant(other, self.variables)
        self._check(right)
        total = dict(self.terms)
        for exponents, coefficient in right.terms.items():
            total[exponents] = total.get(exponents, Fraction(0)) + sign * coefficient
        return Laurent(self.variables, total)

    def _check(self, other: Laurent) -> None:
        if self.variables != other.variables:
            raise InputError(
                "Laurent variables",
                given=other.variables,
                expected=str(self.variables),
                remedy="use substitute to change variables",
            )

    def _degrees(self, weights: Mapping[str, Fraction | int]) -> tuple[list[int], int]:
        """The weighted degree of each term, in units of one over the integer returned with them."""
        missing = [name for name in self.variables if name not in weights]
        if missing:
            raise InputError(
                "weights", given=sorted(weights), expected=f"also {', '.join(missing)}", remedy="weigh every variable"
            )
        exact = [Fraction(weights[name]) for name in self.variables]
        unit = math.lcm(*(weight.denominator for weight in exact))
        whole = [int(weight * unit) for weight in exact]
        return [sum(e * w for e, w in zip(exponents, whole, strict=True)) for exponents in self.terms], unit

    def _text_monomial(self, exponents: Exponents) -> str:
        return " ".join(
            name if k == 1 else f"{name}^{k}" for name, k in zip(self.variables, exponents, strict=True) if k
        )

    def _latex_monomial(self, exponents: Exponents) -> str:
        parts = []
        for name, k in zip(self.variables, exponents, strict=True):
            symbol, multiple = latex_symbol(name)
            if k:
                parts.append(symbol if k * multiple == 1 else f"{symbol}^{{{k * multiple}}}")
        return " ".join(parts)


def latex_symbol(name: str) -> tuple[str, int]:
    r"""A variable's symbol, and the power of it that the name stands for.

    >>> latex_symbol("sigma2"), latex_symbol("sigma2_u"), latex_symbol("n1"), latex_symbol("decay")
    (('\\sigma', 2), ('\\sigma_{u}', 2), ('n_{1}', 1), ('\\mathrm{decay}', 1))
    """
    match = _NAME.fullmatch(name)
    if not match:
        return rf"\mathrm{{{name.replace('_', chr(92) + '_')}}}", 1
    word, digits, index = match.groups()
    squared = digits == "2" and word in _GREEK
    below = ",".join(part for part in ("" if squared else digits, (index or "").replace("_", ",")) if part)
    letter = rf"\{word}" if word in _GREEK else word if len(word) == 1 else rf"\mathrm{{{word}}}"
    return (f"{letter}_{{{below}}}" if below else letter), 2 if squared else 1


def nearest_float(what: str, exact: Fraction) -> float:
    """The nearest float; ``ReachError`` where there is none but infinity.

    >>> nearest_float("value", Fraction(1, 3))
    0.3333333333333333
    """
    try:
        return float(exact)
    except OverflowError:
        size = exact.numerator.bit_length() - exact.denominator.bit_length()
        raise ReachError(
            what, given=f"about 10^{round(size * math.log10(2))}", reach="1.8e308, the largest float",
            remedy="give every value exactly, as a whole number or Fraction",
        ) from None  # fmt: skip


def _latex_number(value: Fraction) -> str:
    size = abs(value)
    return str(size) if size.denominator == 1 else rf"\tfrac{{{size.numerator}}}{{{size.denominator}}}"


def _join(parts: Iterable[tuple[Fraction, str, str]]) -> str:
    text = ""
    for coefficient, size, monomial in parts:
        body = monomial if monomial and abs(coefficient) == 1 else f"{size} {monomial}".strip()
        sign = "-" if coefficient < 0 else "+"
        text += f" {sign} {body}" if text else ("-" if sign == "-" else "") + body
    return text or "0"
