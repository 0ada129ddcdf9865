"""The claims on single-index models with a spiked covariance [S]."""

from __future__ import annotations

from numerics.claims.ledger import Claim
from numerics.claims.single_index_figures import SI_CHAIN, SI_FIGURE_1, SI_FIGURE_4
from numerics.claims.single_index_growth import SI_EXPONENT, SI_LINEAR, SI_RANDOM, SI_TRANSFER
from numerics.claims.single_index_pca import SI_PCA
from numerics.claims.single_index_trap import SI_TRAP

CLAIMS: tuple[Claim, ...] = (
    SI_CHAIN,
    SI_FIGURE_1,
    SI_FIGURE_4,
    SI_PCA,
    SI_LINEAR,
    SI_RANDOM,
    SI_TRAP,
    SI_TRANSFER,
    SI_EXPONENT,
)
