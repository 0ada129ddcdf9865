"""Little data with a spectrum: the isotropic solution, with κ = Tr C²/Tr C along a data direction. THEORY H.

While C's effective rank is far above m, XᵀX = Tr C · I: S is Tr C times a projector on m orthogonal directions v that
do not feel each other. With τ = Tr C/p, M moves as for isotropic data at the rate τη, and L̂ is τ times as large. The
population loss sees vᵀCv = κ along v, and τ in all other directions, where M changes too. What v itself adds to
Tr[(1−M)²C]/2p is κ/p times the isotropic train loss ½vᵀ(1−M)²v; so with L̂₁, L₁ the isotropic losses at rate τη,

    L̂ = τL̂₁,  L = τL₁ + (m/p)(κ − τ)(L̂₁ − L̂₁(0)).
"""

from __future__ import annotations

import numpy as np

from theory.autoencoder.limits.solution import Curves, FloatArray, Formula, LimitSolution, Ratios
from theory.autoencoder.sizes import Sizes
from theory.spectrum import Spectrum

_RANK = 10.0
"""XXᵀ is not flat on the span of the data where the effective rank is below this times m."""


def little_data(
    solution: LimitSolution, sizes: Sizes, spectrum: Spectrum, times: FloatArray, *, eta: float
) -> tuple[Curves, tuple[str, ...]]:
    """Both losses on a face of little data (p), from its isotropic ``solution``, and what is doubtful.

    Raises ``ReachError`` for times beyond the solution's reach.
    """
    shares, values = spectrum.fractions, spectrum.values
    first = float(shares @ values)
    kappa = float(shares @ values**2) / first
    ratios = Ratios.of(sizes, eta * first)
    found = solution.curves(ratios, times)
    start = solution.curves(ratios, np.zeros(1))
    share = ratios.data * (kappa - first)
    population = first * found.population + share * (found.train - start.train[0])
    error = (first + abs(share)) * (found.error + start.error[0]) + 4e-16 * np.abs(population)
    rank = spectrum.size * first / kappa
    said = (
        f"C has an effective rank (Tr C)²/Tr C² of {rank:.3g}, and this face wants it far above m = {sizes.m}: "
        "the data's Gram matrix XᵀX is no multiple of the identity",
    )
    return Curves(first * found.train, population, error), said if rank < _RANK * sizes.m else ()


def little_data_formula(solution: LimitSolution) -> Formula:
    """The solution in LaTeX."""
    known = solution.formula
    return Formula(
        train=r"\tau\hat{L}_1(\tau t)",
        population=r"\tau L_1(\tau t) + \frac{m}{p}(\kappa - \tau)\left(\hat{L}_1(\tau t) - \hat{L}_1(0)\right)",
        where=(
            r"\tau = \frac{\operatorname{Tr} C}{p},\quad \kappa = \frac{\operatorname{Tr} C^2}{\operatorname{Tr} C}",
            rf"\hat{{L}}_1(t) = {known.train}",
            rf"L_1(t) = {known.population.replace('L(0)', 'L_1(0)').replace('{L}', '{L}_1')}",
            *(line.replace("L(0)", "L_1(0)").replace(r"\hat{L}(0)", r"\hat{L}_1(0)") for line in known.where),
        ),
        large_time=known.large_time.replace(r"\hat{L}", r"\hat{L}_1").replace("L(0)", "L_1(0)").replace(" L ", " L_1 "),
    )
