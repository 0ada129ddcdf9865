"""A model of tensors compiled for the engine: letters, rules of contraction, packed exponents."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import permutations
from math import factorial

import numpy as np
import numpy.typing as npt

from theory.engine.diagram_canonical import MOST_LEGS, MOST_NODES, Ints
from theory.engine.diagram_model import DiagramModel, Entry
from theory.engine.diagram_tensor import Monomial, Tensor
from theory.errors import BudgetError, InputError

_WIDTH = 24
_UNIT = 1 << _WIDTH

Term = tuple[Ints, Ints, int]
"""Letters of the edges, their nodes (a row each), and how many nodes there are."""


@dataclass(frozen=True, eq=False)
class Rule:
    """How two edges meet: leg k of an edge ``letter`` meets leg orders[·, k] of an edge ``partner``, times ``weight``.

    With ``insert`` ≥ 0 an edge of that letter (a covariance) goes between the two first legs.
    """

    letter: int
    partner: int
    orders: Ints
    weight: Fraction
    shift: int
    insert: int = -1


@dataclass(frozen=True, eq=False)
class DiagramPlan:
    """Letters are tensors, a complex one twice: T and, next to it, T̄. ``kinds[letter, leg]`` indexes the sizes."""

    model: DiagramModel
    letters: tuple[tuple[Tensor, bool], ...]
    legs: Ints
    unordered: npt.NDArray[np.bool_]
    kinds: Ints
    pairings: Mapping[str, Rule]
    merges: tuple[Rule, ...]

    @property
    def spaces(self) -> int:
        """How many sizes."""
        return len(self.model.sizes)

    def pack(self, powers: Iterable[tuple[str, int]]) -> int:
        """Exponents as one integer, whose sums are those of the exponents."""
        variables = self.model.variables
        return sum(power << (_WIDTH * variables.index(name)) for name, power in powers)

    def unpack(self, key: int) -> tuple[int, tuple[int, ...]]:
        """What stands above the exponents (a column), and the exponents."""
        exponents = []
        for _ in self.model.variables:
            low = (key + _UNIT // 2) % _UNIT - _UNIT // 2
            exponents.append(low)
            key = (key - low) >> _WIDTH
        return key, tuple(exponents)

    def column(self, index: int) -> int:
        """What to add to a key for its column to be ``index``."""
        return index << (_WIDTH * len(self.model.variables))

    def closed(self, counts: Iterable[int]) -> int:
        """The key of Π size^count, counts in the order of the sizes."""
        return sum(int(count) << (_WIDTH * k) for k, count in enumerate(counts))

    def letters_of(self, name: str) -> tuple[int, ...]:
        """The letter of a tensor; of a complex one, the two."""
        return tuple(i for i, (tensor, _) in enumerate(self.letters) if tensor.name == name)

    def term(self, entries: tuple[Entry, ...]) -> Term:
        """The edges and nodes of a product of entries."""
        nodes = {label: k for k, label in enumerate(self.model.label_sizes(entries))}
        if len(nodes) > MOST_NODES // 2:
            raise BudgetError(
                "indices of one term",
                estimate=f"{len(nodes)} indices",
                limit=str(MOST_NODES // 2),
                remedy="lower the degree of the loss",
            )
        letters, ends = np.zeros(len(entries), np.int64), np.zeros((len(entries), MOST_LEGS), np.int64)
        for e, entry in enumerate(entries):
            tensor, labels = self.model.tensor(entry.tensor), entry.labels
            if entry.conjugate and tensor.kind == "hermitian":
                labels = labels[::-1]
            conjugate = entry.conjugate and tensor.kind == "complex"
            letters[e] = self.letters_of(tensor.name)[int(conjugate)]
            ends[e, : len(labels)] = [nodes[label] for label in labels]
        return letters, ends, len(nodes)


def compile_plan(model: DiagramModel) -> DiagramPlan:
    """The plan of a model.

    >>> from theory.engine.diagram_tensor import Tensor
    >>> from theory.engine.diagram_model import DiagramLoss
    >>> Z = Tensor("Z", ("n", "p"), kind="complex")
    >>> plan = compile_plan(DiagramModel("example", ("n", "p"), (Z,), (DiagramLoss("train", ()),), "train"))
    >>> [(tensor.name, conjugate) for tensor, conjugate in plan.letters]
    [('Z', False), ('Z', True)]
    """
    for tensor in model.all_tensors:
        if tensor.order > MOST_LEGS:
            raise InputError(
                f"legs of tensor {tensor.name!r}",
                given=tensor.order,
                expected=f"at most {MOST_LEGS}",
                remedy="lower the order of the tensor",
            )
    letters = tuple(
        (tensor, conjugate)
        for tensor in model.all_tensors
        for conjugate in ((False, True) if tensor.kind == "complex" else (False,))
    )
    legs = np.array([tensor.order for tensor, _ in letters], np.int64)
    unordered = np.array([tensor.kind == "symmetric" for tensor, _ in letters], np.bool_)
    kinds = np.zeros((len(letters), MOST_LEGS), np.int64)
    for i, (tensor, _) in enumerate(letters):
        kinds[i, : tensor.order] = [model.sizes.index(leg) for leg in tensor.legs]
    plan = DiagramPlan(model, letters, legs, unordered, kinds, {}, ())
    random = [tensor for tensor in model.all_tensors if not tensor.fixed]
    pairings = {tensor.name: _pairing(plan, tensor) for tensor in random}
    merges = tuple(rule for tensor in random if tensor.trained for rule in _merges(plan, tensor))
    return DiagramPlan(model, letters, legs, unordered, kinds, pairings, merges)


def _pairing(plan: DiagramPlan, tensor: Tensor) -> Rule:
    own = plan.letters_of(tensor.name)
    insert = plan.letters_of(tensor.covariance)[0] if tensor.covariance is not None else -1
    weight, shift = _scale(plan, tensor.variance)
    return Rule(own[0], own[-1], _orders(tensor), weight, shift, insert)


def _merges(plan: DiagramPlan, tensor: Tensor) -> list[Rule]:
    own = plan.letters_of(tensor.name)
    rate, shift = _scale(plan, tensor.rate)
    orders = _orders(tensor)
    if tensor.kind == "complex":
        return [Rule(a, b, orders, 2 * rate, shift) for a, b in (own, own[::-1])]
    weight = rate / factorial(tensor.order) if tensor.kind == "symmetric" else rate
    return [Rule(own[0], own[0], orders, weight, shift)]


def _orders(tensor: Tensor) -> Ints:
    legs = tuple(range(tensor.order))
    if tensor.kind == "symmetric":
        return np.array(list(permutations(legs)), np.int64)
    return np.array([legs[::-1] if tensor.kind == "hermitian" else legs], np.int64)


def _scale(plan: DiagramPlan, scale: Monomial) -> tuple[Fraction, int]:
    return scale.coefficient, plan.pack(scale.powers)
