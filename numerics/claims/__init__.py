"""The ledger of claims: what the theory predicts, what simulation measures, and the verdict."""

from __future__ import annotations

from functools import cache
from importlib import import_module

from numerics.claims.ledger import Claim

_MODULES: tuple[str, ...] = (
    "series",
    "regimes",
    "limits",
    "equations",
    "single_index",
    "sgd",
    "real_data",
    "diagrams",
)


@cache
def all_claims() -> tuple[Claim, ...]:
    """Every claim of the project, by paper: AE (autoencoder, [P]), SI (single index, [S]), UN (universality, [U]), DI
    (diagrams, [D]).
    """
    claims: list[Claim] = []
    for module in _MODULES:
        claims += import_module(f"numerics.claims.{module}").CLAIMS
    ids = [claim.id for claim in claims]
    assert len(set(ids)) == len(ids), "two claims share an id"
    return tuple(claims)
