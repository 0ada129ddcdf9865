"""The flow in coordinates where S is diagonal, and the losses there."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Problem:
    """The flow restricted to the ``len(spectrum)`` coordinates that move.

    ``factor`` is U(0) (r × q) and ``spectrum`` the eigenvalues of S in these coordinates; ``rest_train`` and
    ``rest_population`` are what the coordinates left out add to ‖X − MX‖² and ‖I − M‖², at all times. ``p`` and ``m``
    divide the losses. ``exact`` tells whether the flow really stays in these coordinates, or only up to an error that
    falls with their number. ``covariance`` is the data's C in these coordinates, ``None`` the identity; a reduction to
    fewer coordinates knows the identity only.
    """

    factor: np.ndarray
    spectrum: np.ndarray
    rest_train: float
    rest_population: float
    p: int
    m: int
    exact: bool
    covariance: np.ndarray | None = None

    @property
    def dimension(self) -> int:
        """The number of coordinates."""
        return len(self.spectrum)

    def losses_of_gram(self, gram: np.ndarray) -> tuple[float, float]:
        """Train and population loss at M = UᵀU, [P] §2: ‖X − MX‖²/2pm and Tr[(I − M)²C]/2p."""
        residual = gram.copy()
        residual[np.diag_indices(self.dimension)] -= 1.0
        squares = np.einsum("ij,ij->j", residual, residual)
        train = float(squares @ self.spectrum) + self.rest_train
        if self.covariance is None:
            population = float(squares.sum()) + self.rest_population
        else:
            population = float(np.vdot(residual @ self.covariance, residual))
        return train / (2 * self.p * self.m), population / (2 * self.p)

    def losses_of_factor(self, factor: np.ndarray) -> tuple[float, float]:
        """The same from U, through the r × r matrices UUᵀ and USUᵀ."""
        kernel = factor @ factor.T
        image = (factor * self.spectrum) @ factor.T
        train = np.vdot(kernel, image) - 2 * np.trace(image) + self.spectrum.sum() + self.rest_train
        if self.covariance is None:
            population = np.vdot(kernel, kernel) - 2 * np.trace(kernel) + self.dimension + self.rest_population
        else:
            seen = factor @ self.covariance @ factor.T
            population = np.vdot(kernel, seen) - 2 * np.trace(seen) + np.trace(self.covariance)
        return float(train) / (2 * self.p * self.m), float(population) / (2 * self.p)
