"""The weight-tied linear autoencoder f(x) = UᵀUx as a Gaussian matrix model. [P] §2."""

from __future__ import annotations

from fractions import Fraction

from theory.engine.model import GaussianMatrix, Loss, MatrixModel, Space, Term

_P, _N, _M = Space("p"), Space("n"), Space("m")
_HALF = Fraction(1, 2)
_PER_DATUM = (("p", -1), ("m", -1))
_PER_DIMENSION = (("p", -1),)

TRAIN = Loss(
    "train",
    (
        Term(_HALF, ("U' U U' U X X'",), _PER_DATUM),
        Term(-1, ("U' U X X'",), _PER_DATUM),
        Term(_HALF, ("X X'",), _PER_DATUM),
    ),
)
"""‖X − UᵀUX‖²/(2pm)."""

POPULATION = Loss(
    "population",
    (Term(_HALF, ("U' U U' U",), _PER_DIMENSION), Term(-1, ("U' U",), _PER_DIMENSION), Term(_HALF)),
)
"""‖I − UᵀU‖²/(2p)."""

AUTOENCODER = MatrixModel(
    "linear autoencoder",
    (_P, _N, _M),
    (GaussianMatrix("U", _N, _P, variance="sigma2", trained=True), GaussianMatrix("X", _P, _M)),
    (TRAIN, POPULATION),
    train_loss="train",
)
"""U ∈ R^{n×p} trained, X ∈ R^{p×m} data; losses ``train`` and ``population``."""
