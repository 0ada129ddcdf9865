"""The tied linear autoencoder of [P] §2 with weight decay: gradient flow of the train loss + ½λ‖U‖²."""

from __future__ import annotations

from fractions import Fraction

from theory.autoencoder.model import POPULATION, TRAIN
from theory.engine.model import GaussianMatrix, Loss, MatrixModel, Space, Term

_P, _N, _M = Space("p"), Space("n"), Space("m")

OBJECTIVE = Loss("objective", (*TRAIN.terms, Term(Fraction(1, 2), ("U' U",), (("lambda", 1),))))
"""‖X − UᵀUX‖²/(2pm) + ½λ‖U‖²."""

DECAYED_AUTOENCODER = MatrixModel(
    "linear autoencoder with weight decay",
    (_P, _N, _M),
    (GaussianMatrix("U", _N, _P, variance="sigma2", trained=True), GaussianMatrix("X", _P, _M)),
    (TRAIN, POPULATION, OBJECTIVE),
    train_loss="objective",
    parameters=("lambda",),
)
"""The autoencoder's matrices and losses; ``objective`` drives the flow, ``lambda`` is λ."""
