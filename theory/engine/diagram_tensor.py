"""Declarations of Gaussian and fixed tensors of any order, and of the monomials that scale them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal, get_args

from theory.checks import rational, whole
from theory.engine.model import MOST_POWER
from theory.errors import InputError

NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
Kind = Literal["real", "symmetric", "complex", "hermitian"]
Powers = tuple[tuple[str, int], ...]

_SPELLED = re.compile(r"([A-Za-z][A-Za-z0-9_]*)(?:\^(-?\d{1,6}))?")


@dataclass(frozen=True)
class Monomial:
    """``coefficient`` · Π name^power; names that come twice add up their powers, and power 0 is dropped.

    >>> print(Monomial(Fraction(1, 2), (("sigma2", 1), ("n", -1))))
    1/2 sigma2 n^-1
    """

    coefficient: Fraction = Fraction(1)
    powers: Powers = ()

    def __post_init__(self) -> None:
        total: dict[str, int] = {}
        for pair in self.powers:
            if not isinstance(pair, tuple) or len(pair) != 2 or not isinstance(pair[0], str):
                raise InputError(
                    "powers", given=pair, expected="pairs of a name and a whole number", remedy='give ("p", -1)'
                )
            power = whole(f"power of {pair[0]}", pair[1], least=-MOST_POWER, most=MOST_POWER, remedy='give ("p", -1)')
            total[pair[0]] = total.get(pair[0], 0) + power
        exact = rational("coefficient", self.coefficient, remedy="give for example Fraction(1, 2)")
        object.__setattr__(self, "coefficient", exact)
        object.__setattr__(self, "powers", tuple((name, power) for name, power in total.items() if power))

    @property
    def names(self) -> tuple[str, ...]:
        """The names that occur, in order."""
        return tuple(name for name, _ in self.powers)

    def __mul__(self, other: Monomial) -> Monomial:
        return Monomial(self.coefficient * other.coefficient, (*self.powers, *other.powers))

    def __str__(self) -> str:
        factors = [name if power == 1 else f"{name}^{power}" for name, power in self.powers]
        number = [] if self.coefficient == 1 and factors else [str(self.coefficient)]
        return " ".join([*number, *factors])


Scale = Monomial | str | Fraction | int | float
"""A monomial, a name, or a number."""


def monomial(what: str, given: Scale | Mapping[str, int]) -> Monomial:
    """A positive monomial from a number, a name or a monomial; a float is read as the decimal it prints as.

    A text is a product of names with powers, for example ``"sigma2 n^-1"``.

    >>> print(monomial("variance", 0.5), "|", monomial("variance", "sigma2"), "|", monomial("rate", "n^-1"))
    1/2 | sigma2 | n^-1

    Raises ``InputError`` for anything else, and for what is not positive.
    """
    result: Monomial | None = None
    if isinstance(given, Monomial):
        result = given
    elif isinstance(given, Mapping):
        result = Monomial(Fraction(1), tuple(given.items()))
    elif isinstance(given, str) and not given[:1].isdigit() and given.split():
        matches = [_SPELLED.fullmatch(item) for item in given.split()]
        if all(matches):
            result = Monomial(Fraction(1), tuple((m[1], int(m[2] or 1)) for m in matches if m))
    else:
        result = Monomial(rational(what, given, remedy="give for example Fraction(1, 2), or a name"))
    if result is None or result.coefficient <= 0:
        raise InputError(
            what,
            given=given,
            expected="a positive number, a name, or a product of names",
            remedy='give for example 1/2, "sigma2" or "sigma2 n^-1"',
        )
    return result


@dataclass(frozen=True)
class Tensor:
    """A tensor whose legs run over the index spaces named in ``legs``; entries are centred Gaussian unless ``fixed``.

    * ``kind`` real: iid entries of the given ``variance`` v. symmetric (GOE): equal under every permutation of its
      legs, E T_a T_b = v · (number of permutations that map a to b), so that a matrix has variance v off its diagonal
      and 2v on it. complex (Ginibre): E T_a T̄_b = v δ_ab, E T_a T_b = 0. hermitian (GUE, two legs):
      E H_ij H_kl = v δ_il δ_jk.
    * ``trained``: follows dT/dt = −η · rate · (gradient of the loss descended); the Gaussian law is that at time zero.
      The metric is the Frobenius one, Σ over *all* entries |dT|², real and imaginary parts each a coordinate: for a
      symmetric tensor the gradient is symmetrised (mean over the orders of the legs), for a complex one it is
      ∂/∂Re T + i ∂/∂Im T = 2 ∂/∂T̄, for a hermitian one the hermitian matrix G with dF = Tr(G dH).
    * ``average``: a fresh draw, averaged inside every loss before anything is differentiated.
    * ``fixed``: not random; its closed words stay symbols (``theory.engine.diagram_fixed``).
    * ``covariance``: the name of a fixed positive matrix C on the first leg; the tensor is C^½Z with Z as above.

    ``variance`` and ``rate`` are numbers, names or monomials of names.

    >>> Tensor("X", ("p", "m"), variance=0.5).variance
    Monomial(coefficient=Fraction(1, 2), powers=())

    Raises ``InputError`` for declarations that do not fit together.
    """

    name: str
    legs: tuple[str, ...]
    variance: Monomial = Monomial()
    trained: bool = False
    average: bool = False
    fixed: bool = False
    kind: Kind = "real"
    rate: Monomial = Monomial()
    covariance: str | None = None

    def __init__(
        self,
        name: str,
        legs: tuple[str, ...],
        variance: Scale = 1,
        trained: bool = False,
        average: bool = False,
        fixed: bool = False,
        kind: Kind = "real",
        rate: Scale = 1,
        covariance: str | None = None,
    ) -> None:
        values = {
            "name": name,
            "legs": legs,
            "variance": monomial(f"variance of tensor {name!r}", variance),
            "trained": trained,
            "average": average,
            "fixed": fixed,
            "kind": kind,
            "rate": monomial(f"rate of tensor {name!r}", rate),
            "covariance": covariance,
        }
        for key, value in values.items():
            object.__setattr__(self, key, value)
        self._check()

    @property
    def order(self) -> int:
        """How many legs."""
        return len(self.legs)

    @property
    def law(self) -> str:
        """What its pairings are, or ``fixed``."""
        return "fixed" if self.fixed else self.kind

    def _check(self) -> None:
        what = f"tensor {self.name!r}"
        if not isinstance(self.name, str) or not NAME.fullmatch(self.name):
            raise InputError(
                "name of a tensor", given=self.name, expected="letters and digits, a letter first", remedy="rename it"
            )
        if not isinstance(self.legs, tuple) or not all(isinstance(leg, str) for leg in self.legs) or not self.legs:
            raise InputError(
                f"legs of {what}", given=self.legs, expected="a tuple of at least one size", remedy='give ("n", "p")'
            )
        if self.kind not in get_args(Kind):
            raise InputError(
                f"kind of {what}", given=self.kind, expected=f"one of {', '.join(get_args(Kind))}", remedy='use "real"'
            )
        same = len(set(self.legs)) == 1
        if (self.kind == "symmetric" and not same) or (self.kind == "hermitian" and not (same and self.order == 2)):
            raise InputError(
                f"legs of {what}",
                given=self.legs,
                expected=f"{'two legs' if self.kind == 'hermitian' else 'all legs'} of one size for kind {self.kind}",
                remedy='use kind "real", or one size',
            )
        roles = [role for role in ("trained", "average", "fixed") if getattr(self, role)]
        if len(roles) > 1:
            raise InputError(f"roles of {what}", given=roles, expected="at most one of them", remedy="drop the others")
        if self.fixed and (self.variance != Monomial() or self.covariance is not None):
            raise InputError(
                what, given="fixed = true with a law", expected="no variance and no covariance", remedy="drop them"
            )
        if not self.trained and self.rate != Monomial():
            raise InputError(f"rate of {what}", given=self.rate, expected="a trained tensor", remedy="drop the rate")
        if self.covariance is not None and self.kind not in ("real", "complex"):
            raise InputError(
                f"covariance of {what}",
                given=self.covariance,
                expected="a real or complex tensor",
                remedy="drop it",
            )
