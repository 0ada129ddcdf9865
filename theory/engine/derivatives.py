"""Time derivatives of a loss along the gradient flow of the train loss. [P] §3, [D]."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from theory.checks import whole
from theory.engine.merge import merge
from theory.engine.model import Combination, MatrixModel


def derivatives(model: MatrixModel, loss: str, *, order: int) -> tuple[Combination, ...]:
    """D⁰F, D¹F, …, D^order F with DF = ⟨∇F, ∇L̂⟩, so that d^sF/dt^s = (−η)^s D^s F along the flow.

    F is the loss named ``loss``, L̂ the model's train loss, and the flow is dW/dt = −η ∂L̂/∂W for every trained W.

    >>> from theory.autoencoder.model import AUTOENCODER
    >>> [len(combination) for combination in derivatives(AUTOENCODER, "population", order=2)]
    [3, 3, 8]
    """
    check_order(order)
    return tuple(islice(successive(model, loss), order + 1))


def successive(model: MatrixModel, loss: str) -> Iterator[Combination]:
    """D⁰F, D¹F, … without end, each computed when it is asked for."""
    driver = model.loss(model.train_loss)
    current = model.loss(loss)
    while True:
        yield current
        current = merge(current, driver, model=model)


def check_order(order: int) -> None:
    """Raise ``InputError`` unless ``order`` is a whole number from 0."""
    whole("order", order, remedy="use for example order=6")
