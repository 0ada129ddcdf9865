"""The claims about limit solutions, gathered."""

from __future__ import annotations

from numerics.claims import limits_corrected, limits_faces, limits_free
from numerics.claims.ledger import Claim

CLAIMS: tuple[Claim, ...] = (*limits_faces.CLAIMS, *limits_corrected.CLAIMS, *limits_free.CLAIMS)
