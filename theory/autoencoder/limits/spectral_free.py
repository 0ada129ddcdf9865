"""The free product with data of any covariance: the interior, the free face and large data with a spectrum. THEORY H.

M(0) is free from S and C together. So the flow of M needs the law F of x = S/m alone, as the Jacobi matrix of one
letter, and the population loss the conditional expectation of C on S, which is δ(S) (Ledoit and Péché): with P_i the
orthonormal polynomials of F it acts on the leading run of a word by D_ij = ∫ P_i P_j δ dF. With much data x = δ = λ.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from theory.autoencoder.limits.free_product import Letter
from theory.autoencoder.limits.solution import FloatArray
from theory.autoencoder.limits.spectral_law import Rule, SpectralLaw

_HIGHEST = 60
_SPENT = 1e-9
"""A law on finitely many values has no more polynomials: the next one is this small."""


@dataclass(frozen=True, eq=False)
class DataLetter:
    """The letter S/m by the nodes of a quadrature for F and δ dF."""

    x: FloatArray
    delta: FloatArray
    weights: FloatArray

    @classmethod
    def of(cls, rule: Rule) -> DataLetter:
        """The letter with the measures of this rule."""
        kept = rule.weights > 0
        return cls(rule.x[kept], rule.population[kept] / rule.weights[kept], rule.weights[kept])

    @classmethod
    def of_law(cls, law: SpectralLaw) -> DataLetter:
        """The letter of a law, its quadrature good for polynomials of the degrees that words have."""
        top = law.support[-1][1]
        orders = np.arange(_HIGHEST)[:, None]
        rule, _ = law.rule(lambda x: np.cos(orders * np.arccos(np.clip(2 * x / top - 1, -1, 1))))
        return cls.of(rule)

    def polynomials(self, degree: int) -> tuple[FloatArray, FloatArray, FloatArray]:
        """The diagonal and off-diagonal of the Jacobi matrix, and √weight · P_i at the nodes, i up to ``degree``."""
        basis = np.zeros((degree + 2, self.x.size))
        diagonal, off_diagonal = np.zeros(degree + 1), np.zeros(degree + 1)
        basis[0] = np.sqrt(self.weights / self.weights.sum())
        for i in range(degree + 1):
            image = self.x * basis[i]
            diagonal[i] = basis[i] @ image
            for _ in range(2):
                image = image - basis[: i + 1].T @ (basis[: i + 1] @ image)
            size = float(np.linalg.norm(image))
            if size <= _SPENT * float(self.x.max()):
                break
            off_diagonal[i], basis[i + 1] = size, image / size
        return diagonal, off_diagonal, basis[: degree + 1]

    def letter(self, degree: int) -> Letter:
        """The generator x, with the products of its polynomials up to ``degree``."""
        diagonal, off_diagonal, basis = self.polynomials(degree)
        linear = np.einsum("in,jn,kn->ijk", basis, basis, basis / basis[0], optimize=True)
        return Letter(diagonal, off_diagonal, linear)

    def weigh(self, element: FloatArray, degree: int) -> float:
        """⟨X* δ(S) X⟩ of an element with words up to ``degree``."""
        _, _, basis = self.polynomials(degree)
        matrix = (basis * self.delta) @ basis.T
        total = 0.0
        for length in range(degree + 1):  # of what follows the leading run: nothing, or a word that begins with M(0)
            tails = np.arange(1 << max(length - 1, 0))
            runs = np.arange(degree - length + 1)[:, None]
            words = (1 << (runs + length)) + (((1 << runs) - 1) << length) + tails
            parts = element[words]
            total += float(np.vdot(matrix[: len(runs), : len(runs)] @ parts, parts))
        return total
