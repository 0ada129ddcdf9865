"""Sums of products of tensor entries as programs: pairwise contractions, each done once, constants done beforehand.

opt_einsum chooses the order for each product; equal steps of all products (of a loss, of its gradients) are shared.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import opt_einsum

Array = np.ndarray
Labels = tuple[int, ...]


@dataclass(frozen=True)
class Step:
    """One node of a program: an operand by name, or one or two earlier nodes contracted."""

    name: str | None
    inputs: tuple[int, ...]
    apply: Callable[..., Array] | None
    flops: float
    entries: float


@dataclass
class Program:
    """Shared steps. ``add`` appends a product and gives its node; ``run`` evaluates nodes for given operands."""

    shapes: Mapping[str, tuple[int, ...]]
    steps: list[Step] = field(default_factory=list)
    _known: dict[object, int] = field(default_factory=dict)

    def add(self, factors: Sequence[tuple[str, Labels]], output: Labels, sizes: Mapping[int, int]) -> int | None:
        """The node of Σ over all labels not in ``output`` of the product; ``None`` for the empty product."""
        if not factors:
            return None
        last = [k for k, (_, labels) in enumerate(factors) if len(labels) == 1 and labels[0] in output]
        if last and len(last) < len(factors) and len(factors) > 2:
            inside = [factor for k, factor in enumerate(factors) if k not in last]
            if set(output) <= {label for _, labels in inside for label in labels}:
                node = self.add(inside, output, sizes)
                for k in last:  # a vector on an open leg scales the result, which others may share
                    node, _ = self.pair((node or 0, output), (self.leaf(factors[k][0]), factors[k][1]), output, sizes)
                return node
        operands = [(self.leaf(name), labels) for name, labels in factors]
        operands = [self._diagonal(node, labels, factors, output) for node, labels in operands]
        if len(operands) == 1:
            return self.pair(operands[0], None, output, sizes)[0]
        for pair in _path([labels for _, labels in operands], output, sizes):
            chosen = [operands[k] for k in sorted(pair)]
            operands = [operand for k, operand in enumerate(operands) if k not in pair]
            kept = {label for _, labels in operands for label in labels} | set(output)
            if len(chosen) == 1:
                operands.append(self.pair(chosen[0], None, _keep(chosen[0][1], kept), sizes))
                continue
            first, second = chosen
            labels = output if not operands else _keep(first[1] + second[1], kept)
            operands.append(self.pair(first, second, labels, sizes))
        node, labels = operands[0]
        return node if labels == output else self.pair((node, labels), None, output, sizes)[0]

    def run(self, operands: Mapping[str, Array], nodes: Sequence[int], known: Mapping[int, Array]) -> list[Array]:
        """The values of nodes; ``known`` holds those that are there already."""
        return self.follow(self.order(nodes, frozenset(known)), operands, nodes, known)

    def follow(
        self, order: Sequence[int], operands: Mapping[str, Array], nodes: Sequence[int], known: Mapping[int, Array]
    ) -> list[Array]:
        """The same, the order of the steps being known."""
        values = dict(known)
        steps = self.steps
        for node in order:
            step = steps[node]
            apply, inputs = step.apply, step.inputs
            if apply is None:
                values[node] = operands[str(step.name)]
            elif len(inputs) == 2:
                values[node] = apply(values[inputs[0]], values[inputs[1]])
            else:
                values[node] = apply(*[values[k] for k in inputs])
        return [values[node] for node in nodes]

    def order(self, nodes: Sequence[int], known: frozenset[int]) -> list[int]:
        """The steps that nodes need, in order."""
        key = ("order", tuple(nodes), known)
        if key not in self._orders:
            needed: set[int] = set()
            stack = list(nodes)
            while stack:
                node = stack.pop()
                if node not in needed and node not in known:
                    needed.add(node)
                    stack += self.steps[node].inputs
            self._orders[key] = sorted(needed)
        return self._orders[key]

    def constant(self, names: frozenset[str]) -> list[int]:
        """The nodes that depend on operands of these names alone."""
        found: list[bool] = []
        for step in self.steps:
            found.append(step.name in names if step.apply is None else all(found[k] for k in step.inputs))
        return [k for k, fixed in enumerate(found) if fixed]

    def __post_init__(self) -> None:
        self._orders: dict[object, list[int]] = {}

    def leaf(self, name: str) -> int:
        """The node of an operand."""
        return self.step(("leaf", name), Step(name, (), None, 0.0, math.prod(self.shapes[name])))

    def step(self, key: object, step: Step) -> int:
        """The node of a step, which is added unless one with this key is there."""
        if key not in self._known:
            self._known[key] = len(self.steps)
            self.steps.append(step)
        return self._known[key]

    def _diagonal(
        self, node: int, labels: Labels, factors: Sequence[tuple[str, Labels]], output: Labels
    ) -> tuple[int, Labels]:
        """An operand with a label twice, as its diagonal."""
        del factors, output
        distinct = tuple(dict.fromkeys(labels))
        if len(distinct) == len(labels):
            return node, labels
        place = {label: k for k, label in enumerate(distinct)}
        pattern = tuple(place[label] for label in labels)
        count = len(distinct)

        def diagonal(array: Array) -> Array:
            taken: Array = np.einsum(array, list(pattern), list(range(count)))
            return taken

        entries = self.steps[node].entries
        return self.step(("diagonal", node, pattern), Step(None, (node,), diagonal, entries, entries)), distinct

    def pair(
        self, first: tuple[int, Labels], second: tuple[int, Labels] | None, output: Labels, sizes: Mapping[int, int]
    ) -> tuple[int, Labels]:
        """Contract two operands (or sum one) to the labels of ``output``."""
        if second is not None and (second[0], second[1]) < (first[0], first[1]):
            first, second = second, first
        a, b = first[1], second[1] if second else ()
        place = {label: k for k, label in enumerate(dict.fromkeys(a + b))}
        pattern = tuple(tuple(place[label] for label in labels) for labels in (a, b, output))
        inputs = (first[0],) if second is None else (first[0], second[0])
        if second is None and pattern[0] == pattern[2]:
            return first
        dimensions = {place[label]: sizes[label] for label in place}
        flops = 2.0 * math.prod(dimensions.values())
        entries = math.prod(sizes[label] for label in output)
        make = _summed if second is None else _contracted
        step = Step(None, inputs, make(*pattern), flops, entries)
        return self.step((inputs, pattern), step), output


def _path(labels: Sequence[Labels], output: Labels, sizes: Mapping[int, int]) -> Sequence[tuple[int, ...]]:
    inputs = [set(one) for one in labels]
    names: dict[int, int] = dict(sizes)
    if len(labels) <= 4:
        return list(opt_einsum.paths.optimal(inputs, set(output), names))
    if len(labels) <= 10:
        return list(opt_einsum.paths.branch(inputs, set(output), names, nbranch=2))
    return list(opt_einsum.paths.greedy(inputs, set(output), names))


def _keep(labels: Labels, kept: set[int]) -> Labels:
    return tuple(label for label in dict.fromkeys(labels) if label in kept)


def _summed(a: Labels, _: Labels, output: Labels) -> Callable[..., Array]:
    def apply(x: Array) -> Array:
        result: Array = np.einsum(x, list(a), list(output))
        return result

    return apply


def _contracted(a: Labels, b: Labels, output: Labels) -> Callable[..., Array]:
    """One matrix product over the shared labels where they are summed, an elementwise product otherwise."""
    batch = [label for label in a if label in b and label in output]
    inner = [label for label in a if label in b and label not in output]
    left = [label for label in a if label not in b]
    right = [label for label in b if label not in a]
    kept_left = [label for label in left if label in output]
    kept_right = [label for label in right if label in output]
    lone_a = tuple(k for k, label in enumerate(a) if label in left and label not in output)
    lone_b = tuple(k for k, label in enumerate(b) if label in right and label not in output)
    rest_a = [label for k, label in enumerate(a) if k not in lone_a]
    rest_b = [label for k, label in enumerate(b) if k not in lone_b]
    order = [*batch, *kept_left, *kept_right]
    turn = [order.index(label) for label in output]
    straight = turn == list(range(len(turn)))
    if not lone_a and not lone_b and len(a) == 2 and len(b) == 2 and len(inner) == 1 and not batch and len(output) == 2:
        return _matrices(a, b, output, inner[0])
    if inner:
        turn_a = [rest_a.index(label) for label in (*batch, *kept_left, *inner)]
        turn_b = [rest_b.index(label) for label in (*batch, *inner, *kept_right)]
        nb, nl, nr = len(batch), len(kept_left), len(kept_right)

        def apply(x: Array, y: Array) -> Array:
            x = (x.sum(axis=lone_a) if lone_a else x).transpose(turn_a)
            y = (y.sum(axis=lone_b) if lone_b else y).transpose(turn_b)
            outer, rows, columns = x.shape[:nb], x.shape[nb : nb + nl], y.shape[y.ndim - nr :] if nr else ()
            middle = math.prod(x.shape[nb + nl :])
            count = math.prod(outer)
            one = x.reshape((*((count,) if nb else ()), math.prod(rows), middle))
            two = y.reshape((*((count,) if nb else ()), middle, math.prod(columns)))
            result = (one @ two).reshape((*outer, *rows, *columns))
            return result if straight else result.transpose(turn)

        return apply
    spread = [*batch, *kept_left]
    turn_a = [rest_a.index(label) for label in spread]
    turn_b = [rest_b.index(label) for label in (*batch, *kept_right)]
    nb, nl, nr = len(batch), len(kept_left), len(kept_right)

    def multiply(x: Array, y: Array) -> Array:
        x = (x.sum(axis=lone_a) if lone_a else x).transpose(turn_a)
        y = (y.sum(axis=lone_b) if lone_b else y).transpose(turn_b)
        result: Array = x.reshape((*x.shape, *(1,) * nr)) * y.reshape((*y.shape[:nb], *(1,) * nl, *y.shape[nb:]))
        return result if straight else result.transpose(turn)

    return multiply


def _matrices(a: Labels, b: Labels, output: Labels, inner: int) -> Callable[..., Array]:
    """A product of two matrices, each as it is or transposed."""
    swap = output[0] not in a
    turn_a, turn_b = a[1] != inner, b[0] != inner

    def apply(x: Array, y: Array) -> Array:
        x, y = (x.T if turn_a else x), (y.T if turn_b else y)
        result: Array = y.T @ x.T if swap else x @ y
        return result

    return apply
