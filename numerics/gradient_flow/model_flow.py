"""One replica of any declared model: draw its tensors, follow gradient flow or descent, and observe its losses."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import permutations

import numpy as np
from scipy.integrate import DOP853

from numerics.gradient_flow.compiled import (
    Arrays,
    CompiledModel,
    Weighted,
    constant_operands,
    evaluate,
    number,
    operands_of,
    symmetrised,
)
from numerics.gradient_flow.contraction import Array, Program
from numerics.gradient_flow.eigenbasis import rotate
from theory.engine.diagram_tensor import Tensor
from theory.errors import InputError
from theory.spectrum import read_spectrum

ISOTROPIC = "isotropic"

_STIFF = 3.0
"""Step times rate from which a step is held by stability, not by accuracy; DOP853 is stable up to about 6."""
_POWERS = 6
_LARGEST = 1e100
"""A loss beyond this has diverged."""
_NUDGE = 1e-6


def draw_tensors(compiled: CompiledModel, generator: np.random.Generator, spectrum: str = ISOTROPIC) -> Arrays:
    """Every tensor at time zero, in the order of the declaration; fixed matrices are diagonal, with this spectrum.

    Symmetric, complex and hermitian tensors have the laws that ``theory.engine.diagram_tensor.Tensor`` states.

    Raises ``InputError`` for a fixed tensor that cannot be the identity.
    """
    found: Arrays = {}
    for tensor in (*compiled.model.tensors, *compiled.model.implied):
        if not tensor.average:
            shape = compiled.shapes[tensor.name]
            if tensor.fixed:
                found[tensor.name] = _fixed(tensor, shape, spectrum)
                continue
            found[tensor.name] = _gaussian(compiled, tensor, shape, generator)
            if tensor.covariance is not None:
                roots = np.sqrt(read_spectrum(spectrum, shape[0]).eigenvalues())
                found[tensor.name] = found[tensor.name] * roots.reshape((-1, *(1,) * (len(shape) - 1)))
    return found


def _fixed(tensor: Tensor, shape: tuple[int, ...], spectrum: str) -> Array:
    if len(shape) != 2 or shape[0] != shape[1]:
        raise InputError(
            f"fixed tensor {tensor.name!r}",
            given=f"shape {shape}, no values",
            expected="a square matrix, which is the identity unless a spectrum is given",
            remedy="make it a Gaussian tensor, or square",
        )
    return np.diag(read_spectrum(spectrum, shape[0]).eigenvalues())


def _gaussian(compiled: CompiledModel, tensor: Tensor, shape: tuple[int, ...], generator: np.random.Generator) -> Array:
    sigma = math.sqrt(number(tensor.variance, compiled.values))
    if tensor.kind == "real":
        return sigma * generator.standard_normal(shape)
    if tensor.kind == "symmetric":
        entries = generator.standard_normal(shape)
        orders = list(permutations(range(len(shape))))
        total: Array = sum((entries.transpose(order) for order in orders), np.zeros(shape))
        return sigma / math.sqrt(len(orders)) * total
    real, imaginary = generator.standard_normal(shape), generator.standard_normal(shape)
    entries = (real + 1j * imaginary) / math.sqrt(2)
    if tensor.kind == "hermitian":
        entries = (entries + entries.conj().T) / math.sqrt(2)
    return sigma * entries


@dataclass(eq=False)
class ModelFlow:
    """The flow of one replica: its constants contracted beforehand, its state one real vector."""

    compiled: CompiledModel
    arrays: Arrays
    eta: float

    def __post_init__(self) -> None:
        program = self.compiled.program
        tensors = {tensor.name: tensor for tensor in self.compiled.model.tensors}
        for rotation in self.compiled.rotations:
            self.arrays = rotate(self.arrays, tensors, rotation)
        operands = operands_of(self.compiled, self.arrays) | constant_operands(program)
        names = self.compiled.constants
        constant = set(program.constant(names))
        nodes = {node for weighted in (*self._gradients, *self._losses) for _, node in weighted.parts}
        edge = {k for step in program.steps for k in step.inputs if k in constant} | (nodes & constant)
        wanted = sorted(edge)
        fixed = {name: operands[name] for name in names if name in operands}
        self._known = dict(zip(wanted, program.run(fixed, wanted, {}), strict=True))
        self._spread = [(w, [node for _, node in w.parts]) for w in self._gradients]
        self._together = [node for _, group in self._spread for node in group]
        self._order = program.order(self._together, frozenset(self._known))
        self._needed = {k: v for k, v in self._known.items() if k in _inputs(program, self._order, self._together)}

    @cached_property
    def _gradients(self) -> list[Weighted]:
        return list(self.compiled.gradients.values())

    @cached_property
    def _losses(self) -> list[Weighted]:
        return list(self.compiled.losses.values())

    @property
    def start(self) -> Array:
        """The state at time zero."""
        return self.pack(self.arrays)

    def pack(self, arrays: Mapping[str, Array]) -> Array:
        """The trained tensors as one real vector."""
        parts = [arrays[tensor.name] for tensor in self.compiled.trained]
        return np.concatenate([np.ascontiguousarray(x).view(np.float64).ravel() for x in parts] or [np.zeros(0)])

    def unpack(self, state: Array) -> Arrays:
        """The trained tensors of a state."""
        found: Arrays = {}
        place = 0
        for tensor in self.compiled.trained:
            shape = self.compiled.shapes[tensor.name]
            if tensor.kind in ("complex", "hermitian"):
                size = 2 * math.prod(shape)
                found[tensor.name] = state[place : place + size].view(np.complex128).reshape(shape)
            else:
                size = math.prod(shape)
                found[tensor.name] = state[place : place + size].reshape(shape)
            place += size
        return found

    def velocity(self, state: Array) -> Array:
        """dT/dt = −η · rate · ∂(loss descended)/∂T for all trained tensors."""
        compiled = self.compiled
        operands = operands_of(compiled, self.unpack(state))
        values = compiled.program.follow(self._order, operands, self._together, self._needed)
        velocity = np.empty_like(state)
        moved = self.unpack(velocity)
        place = 0
        for tensor, (weighted, nodes) in zip(compiled.trained, self._spread, strict=True):
            found = values[place : place + len(nodes)]
            place += len(nodes)
            scale, target = -self.eta * compiled.rates[tensor.name], moved[tensor.name]
            if tensor.kind == "real" and found and not weighted.constant and not any(map(np.iscomplexobj, found)):
                np.multiply(found[0], scale * weighted.parts[0][0], out=target)
                for (weight, _), value in zip(weighted.parts[1:], found[1:], strict=True):
                    target += (scale * weight) * value
                continue
            gradient = np.broadcast_to(np.asarray(evaluate(weighted, found)), target.shape)
            gradient = symmetrised(tensor, gradient if np.iscomplexobj(target) else gradient.real)
            target[...] = scale * gradient
        return velocity

    def losses(self, state: Array) -> list[float]:
        """All losses of the model, in order."""
        operands = operands_of(self.compiled, self.unpack(state))
        result = []
        for weighted in self.compiled.losses.values():
            nodes = [node for _, node in weighted.parts]
            values = self.compiled.program.run(operands, nodes, self._known)
            result.append(float(np.real(evaluate(weighted, values))))
        return result

    def scales(self, tolerance: float) -> Array:
        """Absolute errors allowed: relative to a tensor's first size, or to 1 over the root of its longest leg."""
        parts = []
        for tensor in self.compiled.trained:
            array = self.arrays[tensor.name]
            size = float(np.sqrt(np.mean(np.abs(array) ** 2)))
            count = array.size * (2 if np.iscomplexobj(array) else 1)
            parts.append(np.full(count, tolerance * min(size, 1 / math.sqrt(max(array.shape)))))
        return np.concatenate(parts) if parts else np.zeros(0)

    def rate_at(self, state: Array, velocity: Array) -> float:
        """About the largest rate of the flow at a state: power iterations of its Jacobian, by differences."""
        size = float(np.linalg.norm(state))
        direction = velocity if np.any(velocity) else np.ones_like(state)
        rate = 0.0
        for _ in range(_POWERS):
            length = float(np.linalg.norm(direction))
            if not 0.0 < length < math.inf:
                return rate
            nudge = _NUDGE * size / length
            direction = (self.velocity(state + nudge * direction) - velocity) / (nudge * length)
            rate = float(np.linalg.norm(direction))
        return rate


def _inputs(program: Program, order: Sequence[int], nodes: Sequence[int]) -> set[int]:
    return {k for node in order for k in program.steps[node].inputs} | set(nodes)


def follow_flow(flow: ModelFlow, times: Sequence[float], *, tolerance: float) -> list[list[float]]:
    """The losses at ``times`` by scipy's DOP853, one row a time.

    ``tolerance`` is the relative local error that the solver is allowed, as for the autoencoder.
    Raises ``FloatingPointError`` where the solver stops.
    """
    state = flow.start
    found = [flow.losses(state) for t in times if t == 0.0]
    waiting = [t for t in times if t > 0.0]
    if not waiting or not len(state):
        return found + [flow.losses(state) for _ in waiting]
    end = waiting[-1]
    with np.errstate(over="ignore", invalid="ignore"):
        solver = DOP853(
            lambda _, y: flow.velocity(y), 0.0, state, end, rtol=tolerance, atol=flow.scales(tolerance), first_step=end
        )
        size, speed = float(np.linalg.norm(solver.y)), float(np.linalg.norm(solver.f))
        if not math.isfinite(speed):
            raise FloatingPointError("the gradient at time zero is not finite")
        solver.h_abs = min(end, tolerance ** (1 / 8) * size / speed) if speed > 0 else end
        while waiting:
            inside = waiting[0] < min(end, solver.t + solver.h_abs)
            stiff = inside and solver.h_abs * flow.rate_at(solver.y, solver.f) > _STIFF
            goal = (waiting[0] if stiff else end) - solver.t
            solver.h_abs = goal / math.ceil(goal / solver.h_abs)
            message = solver.step()
            if solver.status == "failed":
                raise FloatingPointError(f"the solver stopped at t = {solver.t:g}: {message}")
            reached = [t for t in waiting if t <= solver.t]
            waiting = waiting[len(reached) :]
            if any(t < solver.t for t in reached):
                between = solver.dense_output()
                found += [flow.losses(between(t)) for t in reached if t < solver.t]
            found += [flow.losses(solver.y) for t in reached if t == solver.t]
    return _finite(found)


def descend(flow: ModelFlow, times: Sequence[float], *, step: float) -> list[list[float]]:
    """The losses under T ← T − step·η·rate·∂(loss descended)/∂T, at the step nearest to each time.

    Raises ``FloatingPointError`` where it diverges.
    """
    state, done, found = flow.start, 0, []
    with np.errstate(over="ignore", invalid="ignore"):
        for t in times:
            target = round(t / step)
            for _ in range(target - done):
                state = state + step * flow.velocity(state)
            done = target
            found.append(flow.losses(state))
            if not all(abs(loss) < _LARGEST for loss in found[-1]):
                raise FloatingPointError(f"gradient descent with step {step:g} diverged before t = {t:g}")
    return found


def _finite(found: list[list[float]]) -> list[list[float]]:
    if not all(abs(loss) < _LARGEST for row in found for loss in row):
        raise FloatingPointError("a loss grew beyond all bounds: the loss descended has no minimum")
    return found
