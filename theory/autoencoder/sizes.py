"""The sizes of one autoencoder: p, n, m and the initial variance σ²."""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction

from theory.checks import rational, whole
from theory.errors import InputError

LARGEST_SIZE = 10**9
SMALLEST_VARIANCE = Fraction(1, 10**300)
LARGEST_VARIANCE = Fraction(10**12)
_NAMES = ("p", "n", "m", "sigma2")
_EXAMPLE = "p=200,n=100,m=400,sigma2=1/200"


@dataclass(frozen=True)
class Sizes:
    """Input dimension ``p``, latent dimension ``n``, number of data points ``m``, weight variance ``sigma2``. [P] §2.

    The model is f(x) = UᵀUx with U ∈ R^{n×p}, U(0) iid N(0, sigma2), and data X ∈ R^{p×m} iid N(0, 1). ``sigma2``
    is kept as the exact rational it was written as.

    >>> Sizes.parse("p=200,n=100,m=400,sigma2=0.005")
    Sizes(p=200, n=100, m=400, sigma2=Fraction(1, 200))

    Raises ``InputError`` for a size that is not a whole number from 1 to 10⁹, or a variance that is not a number from
    10⁻³⁰⁰ to 10¹². A variance given as a float is read as it prints, so that 0.1 is 1/10.
    """

    p: int
    n: int
    m: int
    sigma2: Fraction

    def __post_init__(self) -> None:
        for name in ("p", "n", "m"):
            object.__setattr__(self, name, _whole(name, getattr(self, name)))
        object.__setattr__(self, "sigma2", _variance(self.sigma2))

    @classmethod
    def parse(cls, text: str) -> Sizes:
        """Read ``p=…,n=…,m=…,sigma2=…`` in any order; ``sigma2`` may be a decimal or a ratio such as ``1/200``."""
        example = f"give for example {_EXAMPLE}"
        if not isinstance(text, str):
            raise InputError("sizes", given=text, expected="text", remedy=example)
        given: dict[str, str] = {}
        for item in text.split(","):
            name, equals, value = (part.strip() for part in item.partition("="))
            if not equals or name not in _NAMES or name in given:
                raise InputError("sizes", given=text, expected="p, n, m and sigma2, each once", remedy=example)
            given[name] = value
        missing = [name for name in _NAMES if name not in given]
        if missing:
            raise InputError("sizes", given=text, expected=f"also {', '.join(missing)}", remedy=example)
        counts = {name: _whole(name, _count(given[name])) for name in ("p", "n", "m")}
        return cls(**counts, sigma2=_variance(given["sigma2"]))

    def to_json(self) -> dict[str, int | str]:
        """The four sizes, ``sigma2`` as an exact ratio in a string."""
        return {"p": self.p, "n": self.n, "m": self.m, "sigma2": str(self.sigma2)}

    def __str__(self) -> str:
        return f"p={self.p}, n={self.n}, m={self.m}, σ²={self.sigma2}"


def check_sizes(sizes: object) -> None:
    """Raise ``InputError`` unless ``sizes`` is a ``Sizes``.

    >>> check_sizes(Sizes(200, 100, 400, Fraction(1, 200)))
    """
    if not isinstance(sizes, Sizes):
        raise InputError("sizes", given=sizes, expected="a Sizes", remedy=f"give for example Sizes.parse('{_EXAMPLE}')")


def _count(text: str) -> int | str:
    """A whole number, also one written 1e3 or 1000.0; other text as it is."""
    if not re.fullmatch(r"\+?\d{1,20}(\.\d{0,20})?([eE]\+?\d{1,2})?", text, re.ASCII):
        return text
    exact = Fraction(text)
    return exact.numerator if exact.denominator == 1 else text


def _whole(name: str, value: object) -> int:
    return whole(f"size {name}", value, least=1, most=LARGEST_SIZE, remedy=f"give for example {name}=200")


def _variance(value: object) -> Fraction:
    exact = rational("size sigma2", value, remedy="give for example sigma2=1/200")
    if not SMALLEST_VARIANCE <= exact <= LARGEST_VARIANCE:
        raise InputError(
            "size sigma2", given=value, expected="a number from 1e-300 to 1e12", remedy="give sigma2=1/200"
        )
    return exact
