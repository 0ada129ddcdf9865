"""Data that occur only as XXᵀ, in a space that all losses see up to rotation: there XXᵀ is made diagonal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from theory.engine.diagram_tensor import Tensor
from theory.models.terms import Factor, Term, Terms, identify
from theory.models.values import Values

_THINNEST = 0.5
"""Where X has fewer columns than this part of its rows, X itself is the better operand."""


@dataclass(frozen=True)
class Rotation:
    """The matrix X whose XXᵀ becomes the vector ``squares``; ``side`` is the leg whose space is rotated."""

    tensor: str
    side: int
    space: str

    @property
    def squares(self) -> str:
        """The name of the vector of eigenvalues."""
        return f"{self.tensor}²"


def rotations(losses: Mapping[str, Terms], tensors: Mapping[str, Tensor], values: Values) -> list[Rotation]:
    """What can be made diagonal at these sizes, at most one matrix in each space."""
    found: dict[str, Rotation] = {}
    every = [term for terms in losses.values() for term in terms]
    for tensor in tensors.values():
        if tensor.trained or tensor.kind != "real" or len(tensor.legs) != 2 or tensor.fixed or tensor.average:
            continue
        for side in (0, 1):
            space, other = tensor.legs[side], tensor.legs[1 - side]
            wide = space != other and values[other] >= _THINNEST * values[space]
            if space not in found and wide and _rotatable(every, tensors, tensor, side):
                found[space] = Rotation(tensor.name, side, space)
                break
    return list(found.values())


def diagonal(terms: Terms, rotation: Rotation) -> Terms:
    """The terms with each XXᵀ replaced by the vector of its eigenvalues, on one index."""
    return tuple(_diagonal(term, rotation) for term in terms)


def rotate(
    arrays: Mapping[str, np.ndarray], tensors: Mapping[str, Tensor], rotation: Rotation
) -> dict[str, np.ndarray]:
    """The arrays in the eigenbasis of XXᵀ, and its eigenvalues."""
    data = arrays[rotation.tensor] if rotation.side == 0 else arrays[rotation.tensor].T
    values, basis = np.linalg.eigh(data @ data.T)
    result = dict(arrays)
    for name, array in arrays.items():
        turned = array
        if name != rotation.tensor and name in tensors:
            for leg, space in enumerate(tensors[name].legs):
                if space == rotation.space:
                    turned = np.moveaxis(np.tensordot(turned, basis, axes=(leg, 0)), -1, leg)
        result[name] = np.ascontiguousarray(turned)
    result[rotation.squares] = np.maximum(values, 0.0)
    return result


def _rotatable(every: list[Term], tensors: Mapping[str, Tensor], tensor: Tensor, side: int) -> bool:
    space = tensor.legs[side]
    for other in tensors.values():
        touches = space in other.legs and not other.average
        if touches and (other.fixed or other.kind != "real" or other.covariance is not None):
            return False
    occurs = False
    for term in every:
        degrees = Counter(i for factor in term.factors for i in factor.indices)
        if any(degrees[i] != 2 for i, name in enumerate(term.spaces) if name == space):
            return False
        inner = Counter(f.indices[1 - side] for f in term.factors if f.tensor == tensor.name)
        if any(count != 2 or degrees[i] != 2 for i, count in inner.items()):
            return False
        occurs = occurs or bool(inner)
    return occurs


def _diagonal(term: Term, rotation: Rotation) -> Term:
    ends: dict[int, list[int]] = {}
    rest = []
    for factor in term.factors:
        if factor.tensor == rotation.tensor:
            ends.setdefault(factor.indices[1 - rotation.side], []).append(factor.indices[rotation.side])
        else:
            rest.append(factor)
    rest += [Factor(rotation.squares, (pair[0],)) for pair in ends.values()]
    joined = identify(replace(term, factors=tuple(rest)), [(pair[0], pair[1]) for pair in ends.values()])
    used = dict.fromkeys(i for factor in joined.factors for i in factor.indices)
    place = {i: k for k, i in enumerate(used)}
    return replace(
        joined,
        factors=tuple(Factor(f.tensor, tuple(place[i] for i in f.indices), f.conjugate) for f in joined.factors),
        spaces=tuple(joined.spaces[i] for i in used),
    )
