"""Deep linear networks f(x) = W_L ⋯ W_1 x that are to reproduce their input, every layer trained."""

from __future__ import annotations

from fractions import Fraction

from theory.engine.model import GaussianMatrix, Loss, MatrixModel, Space, Term
from theory.errors import InputError

MOST_LAYERS = 8


def deep_linear(layers: int) -> MatrixModel:
    """The network with weights W1 (n1×p), W2 (n2×n1), …, WL (p×n_{L−1}), variances ``sigma2_1`` … ``sigma2_L``.

    Losses ``train`` ‖X − W_L⋯W_1X‖²/(2pm) with data X ∈ R^{p×m}, and ``population`` ‖I − W_L⋯W_1‖²/(2p). Two layers
    are the untied autoencoder, three a network with two hidden layers.

    >>> deep_linear(3).variables
    ('p', 'n1', 'n2', 'm', 'sigma2_1', 'sigma2_2', 'sigma2_3')

    Raises ``InputError`` for a number of layers outside 1 … 8.
    """
    if isinstance(layers, bool) or not isinstance(layers, int) or not 1 <= layers <= MOST_LAYERS:
        raise InputError(
            "layers", given=layers, expected=f"a whole number from 1 to {MOST_LAYERS}", remedy="use for example 3"
        )
    p, m = Space("p"), Space("m")
    hidden = tuple(Space(f"n{i}") for i in range(1, layers))
    spaces = (p, *hidden, p)
    weights = tuple(
        GaussianMatrix(f"W{i}", spaces[i], spaces[i - 1], variance=f"sigma2_{i}", trained=True)
        for i in range(1, layers + 1)
    )
    forward = " ".join(f"W{i}" for i in range(layers, 0, -1))
    backward = " ".join(f"W{i}'" for i in range(1, layers + 1))
    half, per_dimension, per_datum = Fraction(1, 2), (("p", -1),), (("p", -1), ("m", -1))
    train = Loss(
        "train",
        (
            Term(half, (f"{backward} {forward} X X'",), per_datum),
            Term(-1, (f"{forward} X X'",), per_datum),
            Term(half, ("X X'",), per_datum),
        ),
    )
    population = Loss(
        "population",
        (Term(half, (f"{backward} {forward}",), per_dimension), Term(-1, (forward,), per_dimension), Term(half)),
    )
    return MatrixModel(
        f"deep linear network, {layers} layers",
        (p, *hidden, m),
        (*weights, GaussianMatrix("X", p, m)),
        (train, population),
        train_loss="train",
    )
