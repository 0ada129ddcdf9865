"""The syntax tree of the model language: what an expression says, each part with its place in the text."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction


@dataclass(frozen=True)
class Node:
    """A part of an expression: the characters from ``start`` up to ``end``."""

    start: int
    end: int


@dataclass(frozen=True)
class Number(Node):
    """An exact number."""

    value: Fraction


@dataclass(frozen=True)
class Name(Node):
    """A tensor, size or parameter by its name."""

    name: str


@dataclass(frozen=True)
class Entry(Node):
    """``U[h,i]``, an entry of a tensor, or of its adjoint ``U'[i,h]``."""

    name: str
    labels: tuple[str, ...]
    adjoint: bool = False


@dataclass(frozen=True)
class Delta(Node):
    """``delta[i,j,k]``: 1 where all indices agree, else 0."""

    labels: tuple[str, ...]


@dataclass(frozen=True)
class Adjoint(Node):
    """``A'``: the transpose, of complex matrices the adjoint."""

    inner: Node


@dataclass(frozen=True)
class Power(Node):
    """``A^k``; ``place`` is that of the sign."""

    base: Node
    exponent: int
    place: int


@dataclass(frozen=True)
class Product(Node):
    """Juxtaposed factors, or factors joined by ``*``."""

    factors: tuple[Node, ...]


@dataclass(frozen=True)
class Divide(Node):
    """``A / b``; ``place`` is that of the sign."""

    left: Node
    right: Node
    place: int


@dataclass(frozen=True)
class Sum(Node):
    """Summands with their signs, 1 or −1."""

    terms: tuple[tuple[int, Node], ...]


@dataclass(frozen=True)
class Bracket(Node):
    """``(A)``: it closes what is inside, also for repeated indices."""

    inner: Node


@dataclass(frozen=True)
class Call(Node):
    """``tr(A)`` or ``norm2(A)``."""

    function: str
    inner: Node


@dataclass(frozen=True)
class Bind(Node):
    """``sum[h](A)`` or ``free[h](A)``."""

    function: str
    labels: tuple[str, ...]
    inner: Node


def is_number(node: Node) -> bool:
    """Whether a part is written with numbers alone."""
    if isinstance(node, Bracket):
        return is_number(node.inner)
    if isinstance(node, Power):
        return is_number(node.base)
    if isinstance(node, Divide):
        return is_number(node.left) and is_number(node.right)
    return isinstance(node, Number)
