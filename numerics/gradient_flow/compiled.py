"""A declared model at given sizes: its losses and the gradient of the one descended, as programs of contractions."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import permutations

import numpy as np

from numerics.gradient_flow.contraction import Array, Labels, Program
from numerics.gradient_flow.eigenbasis import Rotation, diagonal, rotations
from numerics.gradient_flow.factored import Summand, add_sum
from theory.engine.diagram_tensor import Monomial, Tensor
from theory.models.model import Model
from theory.models.terms import Term, Terms, collect
from theory.models.values import Values, read_values

Arrays = dict[str, Array]


@dataclass(frozen=True)
class Weighted:
    """Σ weight · node over parts, and a constant; a weight stands before each shared node once."""

    parts: tuple[tuple[float, int], ...]
    constant: float


@dataclass(frozen=True, eq=False)
class CompiledModel:
    """What a flow needs: losses by name, and for each trained tensor the nodes of its gradient.

    ``rates`` are the learning rates of the trained tensors relative to η.
    """

    model: Model
    values: Values
    program: Program
    losses: Mapping[str, Weighted]
    gradients: Mapping[str, Weighted]
    rates: Mapping[str, float]
    shapes: Mapping[str, tuple[int, ...]]
    rotations: tuple[Rotation, ...] = ()

    @cached_property
    def trained(self) -> tuple[Tensor, ...]:
        """The trained tensors."""
        return tuple(tensor for tensor in self.model.tensors if tensor.trained)

    @property
    def flops(self) -> float:
        """Floating-point operations of one evaluation of the gradient, constants not counted."""
        fixed = frozenset(self.program.constant(self.constants))
        nodes = [node for weighted in self.gradients.values() for _, node in weighted.parts]
        return sum(self.program.steps[node].flops for node in self.program.order(nodes, fixed))

    @property
    def bytes(self) -> float:
        """Memory of all intermediate arrays together."""
        return 8.0 * sum(step.entries for step in self.program.steps)

    @property
    def constants(self) -> frozenset[str]:
        """Operands that do not move."""
        moving = {name for tensor in self.trained for name in (tensor.name, _conjugate(tensor.name))}
        return frozenset(name for name in self.program.shapes if name not in moving)


def compile_model(model: Model, values: Values) -> CompiledModel:
    """Compile a model once for given sizes.

    >>> compiled = compile_model(Model.named("cp:3"), {"p": 4, "H": 2, "sigma2": 1})
    >>> sorted(compiled.losses), list(compiled.gradients), compiled.shapes["U"]
    (['train'], ['U'], (2, 4))
    """
    tensors = {t.name: t for t in (*model.tensors, *model.implied) if not t.average}
    shapes = {name: tuple(int(values[leg]) for leg in t.legs) for name, t in tensors.items()}
    turned = rotations(model.expanded, tensors, values)
    squares = {rotation.squares: (int(values[rotation.space]),) for rotation in turned}
    program = Program(shapes | {_conjugate(name): shape for name, shape in shapes.items()} | squares)
    expanded = dict(model.expanded)
    for rotation in turned:
        expanded = {name: diagonal(terms, rotation) for name, terms in expanded.items()}
    losses = {name: _compiled(program, terms, values) for name, terms in expanded.items()}
    gradients, rates = {}, {}
    for tensor in model.tensors:
        if tensor.trained:
            opened = gradient_terms(expanded[model.descend], tensor)
            gradients[tensor.name] = _compiled(program, opened, values)
            rates[tensor.name] = number(tensor.rate, values)
    return CompiledModel(model, values, program, losses, gradients, rates, shapes, tuple(turned))


@lru_cache(maxsize=8)
def compiled_from(text: str, given: tuple[tuple[str, str], ...]) -> CompiledModel:
    """The same from a model file's text and values as texts: what a worker is sent."""
    model = Model.parse(text)
    return compile_model(model, read_values(model, dict(given)))


def number(monomial: Monomial, values: Values) -> float:
    """The value of a monomial."""
    return float(monomial.coefficient) * math.prod(float(values[name]) ** power for name, power in monomial.powers)


def gradient_terms(terms: Terms, tensor: Tensor) -> Terms:
    """The derivative by a tensor's entries: each of them taken out of each term, its indices left open.

    Of a complex tensor twice the derivative by its conjugate; of a hermitian one the matrix G with dF = Tr(G dH).
    """
    conjugate = tensor.kind == "complex"
    found = []
    for term in terms:
        for k, factor in enumerate(term.factors):
            if factor.tensor == tensor.name and factor.conjugate == conjugate:
                rest = term.factors[:k] + term.factors[k + 1 :]
                legs = factor.indices[::-1] if tensor.kind == "hermitian" else factor.indices
                found.append(replace(term, factors=rest, legs=legs).scaled(Fraction(2 if conjugate else 1)))
    return collect(found)


def evaluate(weighted: Weighted, values: Sequence[Array]) -> Array | float:
    """Weights times the values of the nodes, added up."""
    if not weighted.parts:
        return weighted.constant
    total: Array = weighted.parts[0][0] * values[0]
    for (weight, _), value in zip(weighted.parts[1:], values[1:], strict=True):
        total = total + weight * value
    return total + weighted.constant if weighted.constant else total


def symmetrised(tensor: Tensor, gradient: Array) -> Array:
    """The gradient in the metric of the tensor's kind."""
    if tensor.kind == "symmetric":
        orders = list(permutations(range(len(tensor.legs))))
        total: Array = sum((gradient.transpose(order) for order in orders), np.zeros_like(gradient))
        return total / len(orders)
    if tensor.kind == "hermitian":
        half: Array = (gradient + gradient.conj().T) / 2
        return half
    return gradient


def operands_of(compiled: CompiledModel, arrays: Mapping[str, Array]) -> Arrays:
    """The arrays, and beside them the conjugates of complex ones."""
    complex_names = [t.name for t in compiled.model.tensors if t.kind == "complex" and t.name in arrays]
    if not complex_names:
        return dict(arrays)
    return {**arrays, **{_conjugate(name): arrays[name].conj() for name in complex_names}}


def _compiled(program: Program, terms: Terms, values: Values) -> Weighted:
    summands: list[Summand] = []
    constant = 0.0
    for term in terms:
        weight = float(term.coefficient) * math.prod(float(values[name]) ** power for name, power in term.powers)
        factors = [(_conjugate(f.tensor) if f.conjugate else f.tensor, f.indices) for f in term.factors]
        sizes = {k: int(values[str(space)]) for k, space in enumerate(term.spaces)}
        output = _output(program, term, factors, sizes)
        if factors:
            summands.append(Summand(weight, tuple(factors), output, sizes))
        else:
            constant += weight
    return Weighted(tuple(add_sum(program, summands)), constant)


def _output(program: Program, term: Term, factors: list[tuple[str, Labels]], sizes: dict[int, int]) -> Labels:
    """The labels of the open legs, each once: legs with one index, or with one no factor has, get a constant factor."""
    have = {label for _, labels in factors for label in labels}
    output: list[int] = []
    for label in term.legs:
        size = sizes[label]
        if label in output:
            fresh = len(sizes)
            sizes[fresh] = size
            factors.append((_operand(program, "identity", size), (label, fresh)))
            output.append(fresh)
            continue
        if label not in have:
            factors.append((_operand(program, "ones", size), (label,)))
        output.append(label)
    return tuple(output)


def _operand(program: Program, kind: str, size: int) -> str:
    name = f"{kind} {size}"
    shapes = dict(program.shapes)
    shapes.setdefault(name, (size,) if kind == "ones" else (size, size))
    program.shapes = shapes
    return name


def constant_operands(program: Program) -> Arrays:
    """The identities and vectors of ones that a program uses."""
    found: Arrays = {}
    for name in program.shapes:
        kind, _, size = name.partition(" ")
        if kind == "identity":
            found[name] = np.eye(int(size))
        elif kind == "ones":
            found[name] = np.ones(int(size))
    return found


def _conjugate(name: str) -> str:
    return f"{name}*"
