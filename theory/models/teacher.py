"""A tied linear network that learns another one: f(x) = UᵀUx, target AᵀAx, a Gaussian teacher for the identity."""

from __future__ import annotations

from fractions import Fraction

from theory.engine.model import GaussianMatrix, Loss, MatrixModel, Space, Term

_P, _N, _K, _M = Space("p"), Space("n"), Space("k"), Space("m")
_HALF = Fraction(1, 2)
_PER_DATUM = (("p", -1), ("m", -1))
_PER_DIMENSION = (("p", -1),)

TRAIN = Loss(
    "train",
    (
        Term(_HALF, ("U' U U' U X X'",), _PER_DATUM),
        Term(-1, ("A' A U' U X X'",), _PER_DATUM),
        Term(_HALF, ("A' A A' A X X'",), _PER_DATUM),
    ),
)
"""‖AᵀAX − UᵀUX‖²/(2pm)."""

POPULATION = Loss(
    "population",
    (
        Term(_HALF, ("U' U U' U",), _PER_DIMENSION),
        Term(-1, ("A' A U' U",), _PER_DIMENSION),
        Term(_HALF, ("A' A A' A",), _PER_DIMENSION),
    ),
)
"""‖AᵀA − UᵀU‖²/(2p)."""

TEACHER_STUDENT = MatrixModel(
    "tied teacher and student",
    (_P, _N, _K, _M),
    (
        GaussianMatrix("U", _N, _P, variance="sigma2", trained=True),
        GaussianMatrix("A", _K, _P, variance="tau2"),
        GaussianMatrix("X", _P, _M),
    ),
    (TRAIN, POPULATION),
    train_loss="train",
)
"""Student U ∈ R^{n×p} with variance ``sigma2``, fixed teacher A ∈ R^{k×p} with ``tau2``, data X ∈ R^{p×m}."""
