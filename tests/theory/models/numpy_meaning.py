"""What a syntax tree means, evaluated with numpy at once: nothing is expanded, nothing is shared with ``expand``.

A value is an array with its kind: a number, a matrix, or entries with labels. Only what needs no inference of sizes is
known here; sizes of deltas and identities come from the neighbours, as the language says.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from theory.models.syntax import (
    Adjoint,
    Bind,
    Bracket,
    Call,
    Delta,
    Divide,
    Entry,
    Name,
    Node,
    Number,
    Power,
    Product,
    Sum,
)


@dataclass(frozen=True)
class Meaning:
    """An array; ``labels`` for entries, ``matrix`` for matrices, neither for numbers."""

    array: np.ndarray
    labels: tuple[str, ...] = ()
    matrix: bool = False


class Evaluator:
    """Arrays by name, numbers by name, and the dimension of each label in the scope of a test."""

    def __init__(
        self, arrays: Mapping[str, np.ndarray], numbers: Mapping[str, float], dimensions: Mapping[str, int]
    ) -> None:
        self.arrays, self.numbers, self.dimensions = arrays, numbers, dimensions

    def __call__(self, node: Node, free: frozenset[str] = frozenset()) -> Meaning:
        match node:
            case Number():
                return Meaning(np.array(float(node.value)))
            case Name():
                if node.name in self.numbers:
                    return Meaning(np.array(self.numbers[node.name]))
                array = self.arrays[node.name]
                return Meaning(array if array.ndim == 2 else array[:, None], matrix=True)
            case Entry() | Delta():
                return self.product([node], free)
            case Bracket():
                return self(node.inner, free)
            case Adjoint():
                inner = self(node.inner, free)
                turned = inner.array.conj()
                return Meaning(turned.T if inner.matrix else turned, inner.labels, inner.matrix)
            case Product():
                return self.product(node.factors, free)
            case Divide():
                left, right = self(node.left, free), self(node.right, free)
                return Meaning(left.array / right.array, left.labels, left.matrix)
            case Power():
                base = self(node.base, free)
                if base.matrix:
                    return Meaning(np.linalg.matrix_power(base.array, node.exponent), matrix=True)
                return Meaning(base.array**node.exponent, base.labels)
            case Sum():
                return self.sum(node, free)
            case Call():
                inner = self(node.inner, free)
                if node.function == "tr":
                    return Meaning(np.trace(inner.array))
                return Meaning(np.sum(np.abs(inner.array) ** 2))
            case Bind():
                inner = self(node.inner, free | set(node.labels))
                if node.function == "free":
                    return inner
                axes = tuple(inner.labels.index(label) for label in node.labels)
                kept = tuple(label for label in inner.labels if label not in node.labels)
                return Meaning(inner.array.sum(axis=axes), kept)
        raise TypeError(node)

    def product(self, factors: object, free: frozenset[str]) -> Meaning:
        scale, matrix = 1.0, None
        arrays: list[tuple[np.ndarray, tuple[str, ...]]] = []
        for factor in factors:  # type: ignore[attr-defined]
            if isinstance(factor, Entry):
                array = self.arrays[factor.name]
                arrays.append((array.conj().T if factor.adjoint else array, factor.labels))
                continue
            if isinstance(factor, Delta):
                shape = [self.dimensions[label] for label in factor.labels]
                delta = np.zeros(shape)
                for i in range(min(shape)):
                    delta[(i,) * len(shape)] = 1
                arrays.append((delta, factor.labels))
                continue
            value = self(factor, free)
            if value.matrix:
                matrix = value.array if matrix is None else matrix @ value.array
            elif value.labels:
                arrays.append((value.array, value.labels))
            else:
                scale = scale * value.array
        if matrix is not None:
            return Meaning(scale * matrix, matrix=True)
        if not arrays:
            return Meaning(np.asarray(scale))
        every = [label for _, labels in arrays for label in labels]
        kept = [label for label in dict.fromkeys(every) if every.count(label) == 1 or label in free]
        letter = {label: "abcdefghijklmnopqrstuvwxyz"[k] for k, label in enumerate(dict.fromkeys(every))}
        pattern = ",".join("".join(letter[label] for label in labels) for _, labels in arrays)
        result = np.einsum(f"{pattern}->{''.join(letter[label] for label in kept)}", *(array for array, _ in arrays))
        return Meaning(scale * result, tuple(kept))

    def sum(self, node: Sum, free: frozenset[str]) -> Meaning:
        parts = [(sign, _plain(self(part, free))) for sign, part in node.terms]
        matrix = next((value for _, value in parts if value.matrix), None)
        if matrix is not None:
            size = matrix.array.shape[0]
            total = sum(sign * (v.array if v.matrix else v.array * np.eye(size)) for sign, v in parts)
            return Meaning(np.asarray(total), matrix=True)
        labels = next((value.labels for _, value in parts if value.labels), ())
        total = 0
        for sign, value in parts:
            order = [value.labels.index(label) for label in labels] if value.labels else []
            total = total + sign * (np.transpose(value.array, order) if order else value.array)
        return Meaning(np.asarray(total), labels)


def _plain(value: Meaning) -> Meaning:
    """A matrix of one row and one column is a number."""
    return Meaning(value.array.reshape(())) if value.matrix and value.array.size == 1 else value
