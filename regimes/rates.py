"""Rates as users read and write them: monomials with rational powers, such as ``1/p`` or ``sigma2*n^(1/2)/p``."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction

from theory.errors import InputError

_POWER = re.compile(
    r"\s*([*/]?)\s*(?:(1)|([A-Za-z][A-Za-z0-9_]*)(?:\s*\^\s*(-?\d{1,6}|\(\s*-?\d{1,6}(?:\s*/\s*\d{1,6})?\s*\)))?)",
    re.ASCII,
)
_DIVISOR = re.compile(r"/\s*\(((?:[^()/]|\([^()]*\))*)\)")
_LONGEST = 500


def rate_name(powers: Mapping[str, Fraction], *, sizes: Sequence[str]) -> str:
    """The text of a rate: variances and parameters first, then sizes, then what is divided by.

    >>> rate_name({"p": Fraction(-1), "n": Fraction(1), "sigma2": Fraction(1)}, sizes=("p", "n"))
    'sigma2*n/p'
    >>> rate_name({"p": Fraction(1, 2), "n": Fraction(-1), "m": Fraction(-1, 2)}, sizes=("p", "n", "m"))
    'p^(1/2)/(n*m^(1/2))'
    """
    ordered = sorted(powers, key=lambda name: name in sizes)
    above = "*".join(_factor(name, powers[name]) for name in ordered if powers[name] > 0)
    below = [_factor(name, -powers[name]) for name in ordered if powers[name] < 0]
    divisor = below[0] if len(below) == 1 else f"({'*'.join(below)})"
    return (above or "1") + (f"/{divisor}" if below else "")


def rate_latex(powers: Mapping[str, Fraction], symbols: Mapping[str, str], *, sizes: Sequence[str]) -> str:
    r"""The rate in LaTeX; ``symbols`` gives each name's.

    >>> rate_latex({"p": Fraction(-1), "n": Fraction(1)}, {"p": "p", "n": "n"}, sizes=("p", "n"))
    '\\frac{n}{p}'
    """

    def side(sign: int) -> str:
        chosen = [name for name in sorted(powers, key=lambda name: name in sizes) if powers[name] * sign > 0]
        return " ".join(
            symbols[name] if abs(powers[name]) == 1 else f"{{{symbols[name]}}}^{{{abs(powers[name])}}}"
            for name in chosen
        )

    above, below = side(1) or "1", side(-1)
    return rf"\frac{{{above}}}{{{below}}}" if below else above


def parse_rate(text: str, variables: Iterable[str]) -> dict[str, Fraction]:
    """The powers in a rate, those that are not 0; factors in any order.

    >>> parse_rate("n sigma2 / p", ("p", "n", "sigma2"))
    {'n': Fraction(1, 1), 'sigma2': Fraction(1, 1), 'p': Fraction(-1, 1)}
    >>> parse_rate("1/(p*n^(1/2))", ("p", "n"))
    {'p': Fraction(-1, 1), 'n': Fraction(-1, 2)}

    Raises ``InputError`` for anything but a product of powers of the variables.
    """
    known = tuple(variables)
    error = InputError(
        "rate", given=text, expected=f"powers of {', '.join(known)}", remedy="give for example 1/p or sigma2*n/p"
    )
    found: dict[str, Fraction] = {}
    if not text.strip() or len(text) > _LONGEST:
        raise error
    text = _DIVISOR.sub(lambda found: "/" + re.sub(r"[*\s]+(?![^(]*\))", "/", found[1].strip()), text)
    at, end = 0, len(text.rstrip())
    while at < end:
        match = _POWER.match(text, at)
        if not match or (at == 0 and match[1]):
            raise error
        at = match.end()
        if match[2]:
            continue
        if match[3] not in known:
            raise error
        try:
            power = Fraction("".join((match[4] or "1").strip("()").split()))
        except ZeroDivisionError:
            raise error from None
        found[match[3]] = found.get(match[3], Fraction(0)) + (-power if match[1] == "/" else power)
    return {name: power for name, power in found.items() if power}


def _factor(name: str, power: Fraction) -> str:
    if power == 1:
        return name
    return f"{name}^{power}" if power.denominator == 1 else f"{name}^({power})"
