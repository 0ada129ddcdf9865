"""The tied linear autoencoder of [P] §2 with weight decay: gradient flow of the loss of its data + ½ decay ‖U‖²."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from theory.autoencoder.model import POPULATION
from theory.autoencoder.model import TRAIN as BARE
from theory.engine.model import GaussianMatrix, Loss, MatrixModel, Space, Term

_P, _N, _M = Space("p"), Space("n"), Space("m")

TRAIN = Loss("train", (*BARE.terms, Term(Fraction(1, 2), ("U' U",), (("decay", 1),))))
"""‖X − UᵀUX‖²/(2pm) + ½ decay ‖U‖²."""

DATA = replace(BARE, name="data")
"""‖X − UᵀUX‖²/(2pm)."""

DECAYED_AUTOENCODER = MatrixModel(
    "linear autoencoder with weight decay",
    (_P, _N, _M),
    (GaussianMatrix("U", _N, _P, variance="sigma2", trained=True), GaussianMatrix("X", _P, _M)),
    (TRAIN, DATA, POPULATION),
    train_loss="train",
    parameters=("decay",),
)
"""The autoencoder's matrices and losses; ``train``, with the decay, drives the flow, ``data`` is without."""
