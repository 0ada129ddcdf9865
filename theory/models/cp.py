"""The regimes of CP decompositions of the identity tensor of order ν: a triangle of rates, and its faces. [D] §5.

L = ½‖Σ_h u_h^{⊗ν} − δ‖² with H terms in p dimensions, variance σ² ("sigma2"); asymmetric: u_h^1 ⊗ … ⊗ u_h^ν. One merge
with the loss contributes one of three rates, read off the exact series (and checked against it):

    R   sigma2^{(ν−2)/2}        the target drives a coordinate by its own powers
    N   H sigma2^{ν−1} p^κ      the other terms push back through their mean; κ = ⌊(ν−1)/2⌋, or 0 if asymmetric
    P   p^{ν−1} sigma2^{ν−1}    a term pushes back on itself

R and N/P differ in the variance, N and P where H meets p^{ν−1−κ}: with a symmetric model that border is p^{ν/2} for
even ν and p^{(ν−1)/2} for odd, with an asymmetric one p^{ν−1}, so that symmetry decides what over-parameterised means.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from theory.checks import rational, whole

VARIABLES = ("p", "H", "sigma2")
MOST_ORDER = 12

Rate = tuple[Fraction, Fraction, Fraction]
"""Exponents of p, H, sigma2."""

_NAMES = {
    "RNP": "balanced",
    "NP": "free",
    "RN": "over-parameterised mean field",
    "RP": "under-parameterised mean field",
    "P": "free, under-parameterised",
    "R": "gradient ascent on the target",
}


@dataclass(frozen=True)
class CPFace:
    """A face of the triangle: the rates that win, its name, and the exponent of the rate in the size."""

    vertices: str
    name: str
    rate_exponent: Fraction


def cp_rates(order: int, *, symmetric: bool) -> dict[str, Rate]:
    """The exponents of p, H, sigma2 of the three rates.

    >>> {name: tuple(map(str, rate)) for name, rate in cp_rates(3, symmetric=True).items()}
    {'R': ('0', '0', '1/2'), 'N': ('1', '1', '2'), 'P': ('2', '0', '2')}

    Raises ``InputError`` for an order outside 2 … 12.
    """
    nu = whole("order of the tensor", order, least=2, most=MOST_ORDER, remedy="use 3")
    zero, one = Fraction(0), Fraction(1)
    inner = Fraction((nu - 1) // 2 if symmetric else 0)
    return {
        "R": (zero, zero, Fraction(nu - 2, 2)),
        "N": (inner, one, Fraction(nu - 1)),
        "P": (Fraction(nu - 1), zero, Fraction(nu - 1)),
    }


def cp_face(order: int, *, symmetric: bool, p: Fraction | int, H: Fraction | int, sigma2: Fraction | int) -> CPFace:
    """The face that a scaling p = N^p, H = N^H, σ² = N^sigma2 selects: the rates of largest exponent.

    >>> cp_face(3, symmetric=False, p=1, H=3, sigma2=-2)
    CPFace(vertices='RN', name='over-parameterised mean field', rate_exponent=Fraction(-1, 1))
    """
    scaling = tuple(
        rational(f"exponent of {name}", value, remedy="give for example 1")
        for name, value in zip(VARIABLES, (p, H, sigma2), strict=True)
    )
    degrees = {
        name: sum((a * b for a, b in zip(rate, scaling, strict=True)), Fraction(0))
        for name, rate in cp_rates(order, symmetric=symmetric).items()
    }
    top = max(degrees.values())
    vertices = "".join(name for name, degree in degrees.items() if degree == top)
    return CPFace(vertices, face_name(vertices, order=order, symmetric=symmetric), top)


def face_name(vertices: str, *, order: int, symmetric: bool) -> str:
    """The name of a face, given as letters of ``RNP`` in this order.

    The vertex N is the NTK for asymmetric models: the kernel stays at its mean, νHσ^{2ν−2} times the identity. For
    symmetric ones of odd order it does so too, but is large only on tensors v ⊗ δ (the trace part); of even order the
    mean of Σ_h u_h^{⊗ν} is there from the start and has to be unlearned: no kernel regime.

    >>> [face_name("N", order=order, symmetric=True) for order in (2, 3)]
    ['free, over-parameterised', 'NTK of the trace part']
    """
    if vertices == "N":
        return "NTK" if not symmetric else "NTK of the trace part" if order % 2 else "free, over-parameterised"
    return _NAMES[vertices]
