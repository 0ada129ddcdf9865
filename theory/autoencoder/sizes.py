"""The sizes of one autoencoder: p, n, m and the initial variance σ²."""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction

from theory.errors import InputError

LARGEST_SIZE = 10**9
_NAMES = ("p", "n", "m", "sigma2")
_NUMBER = re.compile(r"\+?(\d{1,40}(\.\d{0,40})?|\.\d{1,40})([eE][+-]?\d{1,3})?|\+?\d{1,40}/\d{1,40}")


@dataclass(frozen=True)
class Sizes:
    """Input dimension ``p``, latent dimension ``n``, number of data points ``m``, weight variance ``sigma2``. [P] §2.

    The model is f(x) = UᵀUx with U ∈ R^{n×p}, U(0) iid N(0, sigma2), and data X ∈ R^{p×m} iid N(0, 1). ``sigma2``
    is kept as the exact rational it was written as.

    >>> Sizes.parse("p=200,n=100,m=400,sigma2=0.005")
    Sizes(p=200, n=100, m=400, sigma2=Fraction(1, 200))

    Raises ``InputError`` for a size that is not a whole number from 1 to 10⁹, or a variance that is not positive.
    """

    p: int
    n: int
    m: int
    sigma2: Fraction

    def __post_init__(self) -> None:
        for name in ("p", "n", "m"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= LARGEST_SIZE:
                raise InputError(
                    f"size {name}",
                    given=value,
                    expected=f"a whole number from 1 to {LARGEST_SIZE:.0e}",
                    remedy=f"give for example {name}=200",
                )
        object.__setattr__(self, "sigma2", _variance(self.sigma2))

    @classmethod
    def parse(cls, text: str) -> Sizes:
        """Read ``p=…,n=…,m=…,sigma2=…`` in any order; ``sigma2`` may be a decimal or a ratio such as ``1/200``."""
        example = "give for example p=200,n=100,m=400,sigma2=1/200"
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
        counts = {name: _whole(name, given[name]) for name in ("p", "n", "m")}
        return cls(**counts, sigma2=_exact(given["sigma2"]))

    def to_json(self) -> dict[str, int | str]:
        """The four sizes, ``sigma2`` as an exact ratio in a string."""
        return {"p": self.p, "n": self.n, "m": self.m, "sigma2": str(self.sigma2)}

    def __str__(self) -> str:
        return f"p={self.p}, n={self.n}, m={self.m}, σ²={self.sigma2}"


def _whole(name: str, text: str) -> int:
    if not re.fullmatch(r"\+?\d{1,20}", text):
        raise InputError(
            f"size {name}",
            given=text,
            expected=f"a whole number from 1 to {LARGEST_SIZE:.0e}",
            remedy=f"give for example {name}=200",
        )
    return int(text)


def _exact(text: str) -> Fraction:
    if not _NUMBER.fullmatch(text):
        raise InputError(
            "size sigma2", given=text, expected="a positive decimal or ratio", remedy="give for example sigma2=1/200"
        )
    try:
        return Fraction(text)
    except ZeroDivisionError as error:
        raise InputError(
            "size sigma2", given=text, expected="a ratio with a non-zero denominator", remedy="give sigma2=1/200"
        ) from error


def _variance(value: Fraction | int | float) -> Fraction:
    try:
        exact = Fraction(repr(float(value))) if isinstance(value, float) else Fraction(value)
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError(
            "size sigma2", given=value, expected="a positive finite number", remedy="give for example sigma2=1/200"
        ) from error
    if not 0 < exact <= 10**12:
        raise InputError(
            "size sigma2", given=f"{float(exact):g}", expected="above 0 and up to 1e12", remedy="give sigma2=1/200"
        )
    return exact
