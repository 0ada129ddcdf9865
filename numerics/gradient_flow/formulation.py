"""Choose the cheapest coordinates for the sizes given, and follow the flow there."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np

from numerics.gradient_flow.draw import Draw
from numerics.gradient_flow.integrate import Losses, moves_gram
from numerics.gradient_flow.problem import Problem
from numerics.gradient_flow.reduce import few_data, full, thin_latent
from theory.autoencoder.sizes import Sizes
from theory.errors import BudgetError, InputError
from theory.spectrum import Spectrum

Name = Literal["full", "thin-latent", "few-data"]

HOURS = 12
"""The longest run that is begun without being asked twice."""

_FLOPS_PER_SECOND = 1.5e10
_SECONDS_PER_CALL = 4e-5
_STATES = 24
"""Arrays of the state's size that DOP853 and the derivative hold at once."""
_GROWTH = 1.3
_ROUNDING = 1e-7
"""Part of the largest loss below which losses are not compared, however small the tolerance."""


@dataclass(frozen=True)
class Formulation:
    """The coordinates of a run: their name, how many are expected, and what one replica is expected to cost."""

    name: Name
    blocks: int
    coordinates: int
    of: int
    seconds: float
    bytes: float

    def __str__(self) -> str:
        if self.name == "thin-latent":
            return f"thin latent: about {self.coordinates} Krylov coordinates of S at the rows of U(0), of {self.of}"
        if self.name == "few-data":
            return f"few data: about {self.coordinates} Krylov coordinates of M(0) at the span of X, of {self.of}"
        return f"full: {self.coordinates} coordinates, the eigenbasis of S"


def choose(
    sizes: Sizes,
    *,
    end: float,
    eta: float,
    tolerance: float,
    evaluations: float | None = None,
    spectrum: Spectrum | None = None,
) -> Formulation:
    """The formulation of least expected cost for a run up to time ``end``.

    ``evaluations`` of the derivative are estimated from the stiffness of the flow (DOP853 takes steps up to about
    6/(4η·s_max/pm) at M = 1) unless they are known. With a ``spectrum`` of the data all p coordinates are followed.
    """
    p, n, m = sizes.p, sizes.n, sizes.m
    q = min(p, n + m) if spectrum is None else p
    largest = float(sizes.sigma2) * (math.sqrt(n) + math.sqrt(p)) ** 2  # eigenvalue of M(0)
    # Where S has a kernel a large M stays large there; elsewhere it is down to 1 in no time.
    excess = max(1.0, 2 * largest - 1 if m < p else 1 + math.log(max(1.0, largest)))
    stiffness = eta * (math.sqrt(p) + math.sqrt(m)) ** 2 / (p * m) * end * excess
    if spectrum is not None:
        stiffness *= float(spectrum.values.max())
    if not stiffness < 1e300:
        raise InputError(
            "sizes, eta and times",
            given=f"{sizes}, η = {eta:g}, times to {end:g}",
            expected="a flow whose speed is a floating-point number",
            remedy="bring them closer to 1",
        )
    calls = 12 * (8 + 4 * stiffness / 5) if evaluations is None else evaluations
    blocks = 4 + math.ceil(0.5 * math.sqrt(stiffness * -math.log(tolerance)))
    data = 8.0 * q * (min(n, q) + min(m, q))

    def candidate(name: Name, coordinates: int, flops: float, solutions: int) -> Formulation:
        rows = min(n, coordinates)
        flops += solutions * (40.0 * coordinates**3 + calls * _flops(rows, coordinates))
        seconds = flops / _FLOPS_PER_SECOND + solutions * calls * _SECONDS_PER_CALL
        size = data + 8.0 * (4 * q * coordinates + _STATES * _state(rows, coordinates))
        return Formulation(name, blocks, coordinates, q, seconds, size)

    candidates = [candidate("full", q, 2.0 * q * q * min(m, q), 1)]
    widths: tuple[tuple[Name, int, int], ...] = (("thin-latent", n, min(m, q)), ("few-data", m, min(n, q)))
    if spectrum is not None:
        widths = ()
    for name, width, inner in widths:
        largest = math.ceil(_GROWTH * blocks)
        if largest * width < q:
            # Each block is multiplied by S (or M), as two thin factors, and made orthogonal to those before it.
            lanczos = largest * (4.0 * q * inner * width + 8.0 * q * largest * width**2)
            candidates.append(candidate(name, largest * width, lanczos, 2))
    return min(candidates, key=lambda formulation: formulation.seconds)


def follow(
    formulation: Formulation, drawn: Draw, solver: Callable[[Problem], Losses], *, tolerance: float
) -> tuple[Losses, int]:
    """The losses by ``solver`` in the coordinates chosen, and how many coordinates it took.

    A Krylov space is enlarged until each loss and its change since the first time move by less than ``tolerance`` of
    their size (``tolerance`` of the largest, where they are smaller); where it would have to be nearly everything,
    everything is taken.
    """
    before: np.ndarray | None = None
    for problem in _problems(formulation, drawn):
        losses = solver(problem)
        if problem.exact or (before is not None and _close(losses, before, tolerance)):
            return losses, problem.dimension
        before = losses
    problem = full(drawn)
    return solver(problem), problem.dimension


def refuse_beyond(formulation: Formulation, *, replicas: int, workers: int, force: bool) -> None:
    """Raise ``BudgetError`` where the run would not fit in memory, or (unless ``force``) would take most of a day."""
    memory = memory_of_machine() / 2
    needed = formulation.bytes * workers
    if needed > memory:
        raise BudgetError(
            "simulate",
            estimate=f"{needed / 1e9:.3g} GB",
            limit=f"{memory / 1e9:.3g} GB, half of this machine's memory",
            remedy="make the second largest of p, n, m smaller (sizes far above it cost nothing), or use fewer workers",
        )
    hours = formulation.seconds * replicas / workers / 3600
    if hours > HOURS and not force:
        raise BudgetError(
            "simulate",
            estimate=f"about {hours:.3g} hours",
            limit=f"{HOURS} hours",
            remedy="take smaller sizes, earlier times, fewer replicas or more workers, or force=True to go on",
        )


def _problems(formulation: Formulation, drawn: Draw) -> Iterator[Problem]:
    if formulation.name == "full":
        yield full(drawn)
        return
    width = drawn.weights.shape[0] if formulation.name == "thin-latent" else drawn.data.shape[1]
    counts = list(_growing(formulation.blocks, drawn.data.shape[0] * 0.7 / width))
    reduction = thin_latent if formulation.name == "thin-latent" else few_data
    yield from reduction(drawn, counts)


def _growing(first: int, limit: float) -> Iterable[int]:
    count = first
    while count <= limit:
        yield count
        count = max(count + 2, round(_GROWTH * count))


def _close(losses: Losses, before: Losses, tolerance: float) -> bool:
    """Loss by loss and time by time, down to ``tolerance`` of the largest; and so the changes since the first time."""
    return _agree(losses, before, tolerance) and _agree(losses - losses[:, :1], before - before[:, :1], tolerance)


def _agree(found: np.ndarray, before: np.ndarray, tolerance: float) -> bool:
    largest = np.abs(found).max(axis=1, keepdims=True)
    allowed = tolerance * np.maximum(np.abs(found), np.maximum(tolerance, _ROUNDING) * largest)
    return bool((np.abs(found - before) <= allowed).all())


def _flops(r: int, q: int) -> float:
    return 2.0 * q**3 if moves_gram((r, q)) else 4.0 * r * q * min(2 * r, q)


def _state(r: int, q: int) -> float:
    return float(q * q if moves_gram((r, q)) else r * q)


def memory_of_machine() -> float:
    """Bytes of memory that this machine has."""
    return float(os.sysconf("SC_PAGE_SIZE")) * os.sysconf("SC_PHYS_PAGES")
