"""Expected time derivatives of a loss: differentiate, then take the expectation. [P] §3."""

from __future__ import annotations

from theory.engine.derivatives import derivatives
from theory.engine.laurent import Laurent
from theory.engine.model import MatrixModel
from theory.engine.recursion import expectation


def expected_derivatives(model: MatrixModel, loss: str, *, order: int) -> tuple[Laurent, ...]:
    """E D⁰F, …, E D^order F with E d^sF/dt^s = (−η)^s E D^s F at time zero, F the loss named ``loss``.

    >>> from theory.autoencoder.model import AUTOENCODER
    >>> print(expected_derivatives(AUTOENCODER, "population", order=0)[0])
    1/2 p n sigma2^2 + 1/2 n^2 sigma2^2 + 1/2 n sigma2^2 - n sigma2 + 1/2
    """
    return tuple(expectation(combination, model=model) for combination in derivatives(model, loss, order=order))
