"""The exact coefficients of the loss series, kept between calls: several limits are read off the same ones. [P] §3."""

from __future__ import annotations

from functools import lru_cache

from theory.autoencoder.limits.solution import Loss
from theory.autoencoder.series import loss_series
from theory.engine.laurent import Laurent


@lru_cache(maxsize=8)
def exact_coefficients(loss: Loss, order: int) -> tuple[Laurent, ...]:
    """Y_0 … Y_order of one loss.

    >>> print(exact_coefficients("population", 0)[0])
    1/2 p n sigma2^2 + 1/2 n^2 sigma2^2 + 1/2 n sigma2^2 - n sigma2
    """
    return loss_series(loss, order=order).coefficients
