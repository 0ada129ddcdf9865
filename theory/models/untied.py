"""The untied linear autoencoder f(x) = V U x, both factors trained."""

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
        Term(_HALF, ("U' V' V U X X'",), _PER_DATUM),
        Term(-1, ("V U X X'",), _PER_DATUM),
        Term(_HALF, ("X X'",), _PER_DATUM),
    ),
)
"""‖X − VUX‖²/(2pm)."""

POPULATION = Loss(
    "population",
    (Term(_HALF, ("U' V' V U",), _PER_DIMENSION), Term(-1, ("V U",), _PER_DIMENSION), Term(_HALF)),
)
"""‖I − VU‖²/(2p)."""

UNTIED_AUTOENCODER = MatrixModel(
    "untied autoencoder",
    (_P, _N, _M),
    (
        GaussianMatrix("U", _N, _P, variance="sigma2_u", trained=True),
        GaussianMatrix("V", _P, _N, variance="sigma2_v", trained=True),
        GaussianMatrix("X", _P, _M),
    ),
    (TRAIN, POPULATION),
    train_loss="train",
)
"""U ∈ R^{n×p} with variance ``sigma2_u``, V ∈ R^{p×n} with ``sigma2_v``, data X ∈ R^{p×m}."""
