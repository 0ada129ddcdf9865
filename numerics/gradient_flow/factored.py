"""Sums of products with the same open legs, factored: A·B + A·C is computed as A·(B + C), level by level."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from numerics.gradient_flow.contraction import Array, Labels, Program, Step

Factors = tuple[tuple[str, Labels], ...]


@dataclass(frozen=True)
class Summand:
    """``weight`` times a product of factors, summed over all labels but those of ``output``."""

    weight: float
    factors: Factors
    output: Labels
    sizes: Mapping[int, int]


Parts = list[tuple[float, int]]


def add_sum(program: Program, summands: Sequence[Summand]) -> Parts:
    """The nodes, with weights, whose sum is that of the summands; none of them may be without factors.

    Where several summands begin (or end) with one and the same matrix, what stands behind it is added up first: fewer
    matrix products.
    """
    best: dict[object, list[int]] = {}
    place = 0
    for leg in (0, 1):
        groups: dict[object, list[int]] = {}
        for k, summand in enumerate(summands):
            found = _outer(program, summand, leg)
            groups.setdefault(("alone", k) if found is None else summand.factors[found][0], []).append(k)
        if not best or len(groups) < len(best):
            best, place = groups, leg
    parts: Parts = []
    for members in best.values():
        chosen = [summands[k] for k in members]
        if len(chosen) == 1:
            node = program.add(chosen[0].factors, chosen[0].output, chosen[0].sizes)
            assert node is not None
            parts.append((chosen[0].weight, node))
        else:
            parts += _factored(program, chosen, place)
    total: dict[int, float] = {}
    for weight, node in parts:
        total[node] = total.get(node, 0.0) + weight
    return [(weight, node) for node, weight in total.items()]


def _outer(program: Program, summand: Summand, leg: int) -> int | None:
    """The matrix that alone carries an open leg of a product with two of them, its other label being summed."""
    if len(summand.output) != 2 or len(summand.factors) < 3:
        return None
    label = summand.output[leg]
    found = [k for k, (_, labels) in enumerate(summand.factors) if label in labels]
    if len(found) != 1:
        return None
    name, labels = summand.factors[found[0]]
    if len(labels) != 2 or labels[0] == labels[1] or len(program.shapes[name]) != 2:
        return None
    inner = labels[1] if labels[0] == label else labels[0]
    return found[0] if inner not in summand.output else None


def _factored(program: Program, summands: Sequence[Summand], leg: int) -> Parts:
    """Summands that share their outer matrix; those that have it transposed go apart."""
    turned: dict[int, list[tuple[Summand, Labels]]] = {}
    for summand in summands:
        k = _outer(program, summand, leg)
        assert k is not None
        name, labels = summand.factors[k]
        position = labels.index(summand.output[leg])
        inner = labels[1 - position]
        rest = summand.factors[:k] + summand.factors[k + 1 :]
        output = (inner, summand.output[1]) if leg == 0 else (summand.output[0], inner)
        turned.setdefault(position, []).append((Summand(summand.weight, rest, output, summand.sizes), labels))
    parts: Parts = []
    for members in turned.values():
        inside = add_sum(program, [summand for summand, _ in members])
        first, labels = members[0]
        node, weight = _total(program, inside, first)
        name = summands[0].factors[_outer(program, summands[0], leg) or 0][0]
        inner = first.output[0] if leg == 0 else first.output[1]
        outer = labels[1] if labels[0] == inner else labels[0]
        open_legs = (outer, first.output[1]) if leg == 0 else (first.output[0], outer)
        product, _ = program.pair((program.leaf(name), labels), (node, first.output), open_legs, first.sizes)
        parts.append((weight, product))
    return parts


def _total(program: Program, parts: Parts, like: Summand) -> tuple[int, float]:
    """One node for a sum of nodes, and the weight that it comes with."""
    if len(parts) == 1:
        return parts[0][1], parts[0][0]
    common = parts[0][0]
    weights = tuple(weight / common for weight, _ in parts)
    nodes = tuple(node for _, node in parts)

    def add(*arrays: Array) -> Array:
        total = arrays[0]
        for weight, array in zip(weights[1:], arrays[1:], strict=True):
            total = total + (array if weight == 1 else weight * array)
        return total

    entries = 1.0
    for label in like.output:
        entries *= like.sizes[label]
    return program.step(("sum", weights, nodes), Step(None, nodes, add, len(nodes) * entries, entries)), common
