"""Claim AE-LIMIT-4: the interior at the ratios, and the first 1/N term, are what the limits of the two-faces miss."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from numerics.claims.ledger import Claim, Conditions, Curve, Evidence, Plot
from numerics.gradient_flow.loss_replicas import loss_replicas
from numerics.judge import Quantity
from regimes.limit import limit
from theory.autoencoder.sizes import Sizes

_CASES = {
    "large-data": (Sizes(50, 50, 1000, Fraction(1, 50)), 50.0, 1, 1 / 20),
    "small-data": (Sizes(300, 300, 16, Fraction(1, 300)), 16.0, 1, 1 / 16),
    "mean-field": (Sizes(50, 1000, 50, Fraction(1, 2000)), 50.0, 1, 1 / 20),
    "narrow-latent": (Sizes(150, 12, 150, Fraction(1, 150)), 150.0, 1, 1 / 12),
    "free": (Sizes(50, 50, 50, Fraction(2)), 0.5, 4, 1 / 50),
}
"""Face → sizes, the face's time scale, how many times the replicas, the largest ratio taken to be small."""

_TIMES = (0.0, 0.05, 0.1, 0.2, 0.3)
_SECOND_ORDER = 3.0
_LEAST = 0.1
_REPLICAS = {"quick": 250, "full": 8000}


def _gather(conditions: Conditions) -> Evidence:
    quantities, plots = [], []
    for face, (sizes, scale, times_more, small) in _CASES.items():
        times = [scale * t for t in _TIMES]
        run = loss_replicas(
            "AE-LIMIT-4",
            sizes,
            times,
            replicas=times_more * _REPLICAS[conditions.effort],
            seed=conditions.seed,
            machine=conditions.machine,
        )
        bare, corrected = limit(face, sizes, times), limit(face, sizes, times, corrected=True)
        theory = np.concatenate([bare.train, bare.population])
        change = np.concatenate([corrected.train, corrected.population]) - theory
        # one number a replica: its deviation from the limit, in units of the limit, projected on the predicted one
        deviation = np.concatenate([run.train, run.population], axis=1) - theory
        weight = change / theory**2
        mean, stderr = run.mean(deviation @ weight / (change @ weight))
        quantities.append(
            Quantity(
                f"{face}, {sizes}: deviation from the limit, in units of the predicted one",
                predicted=1.0,
                measured=float(mean),
                stderr=float(stderr),
                stderr_bound=0.15,
                rival=0.0,
                rival_name="the bare limit",
                allowance=max(_LEAST, _SECOND_ORDER * small),
            )
        )
        x = list(_TIMES)
        shown, bars = run.mean(deviation)
        k = len(x)
        curves = (
            Curve("predicted, train", x, change[:k].tolist()),
            Curve("predicted, population", x, change[k:].tolist()),
            Curve("simulation − limit, train", x, shown[:k].tolist(), bars[:k].tolist(), "points"),
            Curve("simulation − limit, population", x, shown[k:].tolist(), bars[k:].tolist(), "points"),
        )
        alt = f"What finite sizes add to the losses on {face}: predicted and simulated."
        plots.append(Plot(curves, "time / time scale", "difference from the limit", alt))
    return Evidence(tuple(quantities), tuple(plots))


CORRECTED = Claim(
    id="AE-LIMIT-4",
    statement="At p ~ 50 the interior's solution at the sizes' ratios and the first 1/N term of the genus expansion "
    "account for what the limits of the two-faces miss.",
    source="[P] §3–4, genus expansion; the interior solved here",
    prediction="the interior at these ratios minus the face's limit, and the terms of the exact series one degree "
    "below the leading one, to order 7, by Padé approximants",
    experiment="replicas of gradient flow up to 0.3 time scales; simulation minus limit, in units of the limit, "
    "projected on the prediction",
    rule="the projection is 1 within four standard errors and three times the largest ratio taken to be small (for the "
    "terms of order 1/N²), or 0.1 where that is more",
    power="the bare limit: projection 0",
    gather=_gather,
)

CLAIMS: tuple[Claim, ...] = (CORRECTED,)
