"""The solutions of all 21 faces of the prism, 19 of them by a formula. [P] §4."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from theory.autoencoder.limits.free import FREE, INTERIOR
from theory.autoencoder.limits.large_data import LARGE_DATA, LARGE_DATA_NO_TARGET
from theory.autoencoder.limits.mean_field import MEAN_FIELD, SCALAR_SOLUTIONS, TARGET_ALONE, WIDE_NO_TARGET
from theory.autoencoder.limits.narrow_edges import NARROW_EDGES
from theory.autoencoder.limits.narrow_latent import NARROW_LATENT, NARROW_NO_TARGET
from theory.autoencoder.limits.small_data import SMALL_DATA, SMALL_NO_TARGET
from theory.autoencoder.limits.solution import LimitSolution

_ALL = (
    LARGE_DATA,
    SMALL_DATA,
    MEAN_FIELD,
    NARROW_LATENT,
    LARGE_DATA_NO_TARGET,
    SMALL_NO_TARGET,
    WIDE_NO_TARGET,
    NARROW_NO_TARGET,
    TARGET_ALONE,
    *SCALAR_SOLUTIONS,
    *NARROW_EDGES,
)
SOLVED: Mapping[str, LimitSolution] = MappingProxyType({solution.face: solution for solution in _ALL})
"""Vertex set → solution. Every face but the interior ``R,N,P|m,p`` and the free regime ``N,P|m,p``."""

SOLUTIONS: Mapping[str, LimitSolution] = MappingProxyType(
    {solution.face: solution for solution in (INTERIOR, *_ALL, FREE)}
)
"""Vertex set → solution, all 21 faces."""

assert len(SOLVED) == len(_ALL) == 19
