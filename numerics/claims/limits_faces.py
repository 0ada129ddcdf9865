"""Claims AE-LIMIT…: the limits of the faces against simulation at sizes up to 1000, and the power of what is left."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction

import numpy as np

from numerics.claims.ledger import Claim, Conditions, Curve, Evidence, Plot
from numerics.gradient_flow.atlas_sizes import SETTINGS
from numerics.gradient_flow.loss_replicas import loss_replicas
from numerics.judge import Quantity
from regimes.limit import limit
from theory.autoencoder.sizes import Sizes

_REPLICAS = {"quick": 24, "full": 400}
_AT = 3
_TIMES = 6
_NEGLECTED = 2.0

_TWO_FACES = {
    "large-data": "R,N|m",
    "small-data": "R,N|p",
    "mean-field": "R,N|p",
    "narrow-latent": "R|m,p",
    "free": "N|m,p",
}
"""Face → the rival: a face on its boundary or beside it, whose formula leaves a term out."""

_EDGES = {
    "R,N|m": "R,N|p",
    "R,N|p": "R,N|m",
    "R,P|m": "R,P|p",
    "R,P|p": "R,P|m",
    "N,P|m": "N,P|p",
    "N,P|p": "N,P|m",
    "R|m,p": "R|m",
    "N|m,p": "N|p",
    "P|m,p": "P|p",
}
"""Edge → the rival: the other node contracted in the data, or one of the two only."""


def _moved(claim_id: str, rivals: Mapping[str, str], conditions: Conditions) -> Evidence:
    quantities, plots = [], []
    for face, rival in rivals.items():
        setting = SETTINGS[face]
        times = setting.times(_TIMES)
        run = loss_replicas(
            claim_id,
            setting.sizes,
            times,
            replicas=_REPLICAS[conditions.effort],
            seed=conditions.seed,
            machine=conditions.machine,
        )
        theory, other = limit(face, setting.sizes, times), limit(rival, setting.sizes, times)
        for loss in ("train", "population"):
            moved, stderr = run.change(loss)
            expected = getattr(theory, loss)[_AT] - getattr(theory, loss)[0]
            quantities.append(
                Quantity(
                    f"{face}: {loss} loss, change by t = {times[_AT]:.3g}",
                    predicted=expected,
                    measured=float(moved[_AT]),
                    stderr=float(stderr[_AT]),
                    stderr_bound=0.06 * abs(expected),
                    rival=getattr(other, loss)[_AT] - getattr(other, loss)[0],
                    rival_name=f"the limit of {rival}",
                    allowance=_NEGLECTED * setting.smallness * abs(expected),
                )
            )
        x = [t / setting.unit for t in times]
        change = run.change("train")
        curves = (
            Curve("limit", x, [value - theory.train[0] for value in theory.train]),
            Curve("simulation", x, change[0].tolist(), change[1].tolist(), "points"),
        )
        plots.append(
            Plot(
                curves, "time / time scale", "change of the train loss", f"Train loss of {face}: limit and simulation."
            )
        )
    return Evidence(tuple(quantities), tuple(plots))


def _two_faces(conditions: Conditions) -> Evidence:
    return _moved("AE-LIMIT-2", _TWO_FACES, conditions)


def _edges(conditions: Conditions) -> Evidence:
    return _moved("AE-LIMIT-1", _EDGES, conditions)


_RULE = (
    "the change of each loss by the middle of the run is the predicted one within four standard errors and twice the "
    "largest ratio that the face takes to be zero"
)

TWO_FACES = Claim(
    id="AE-LIMIT-2",
    statement="The limits of the five two-faces are what gradient flow does at sizes up to 1000.",
    source="[P] §4",
    prediction="closed form, hierarchy, quadrature, ODE, and the free-product algebra, at the actual sizes",
    experiment="gradient flow from Gaussian U(0) and X, replicas, at sizes inside each face's cone",
    rule=_RULE,
    power="a formula that leaves one of the six terms out: the limit of a neighbouring face",
    gather=_two_faces,
)

EDGES = Claim(
    id="AE-LIMIT-1",
    statement="The limits of the nine edges are what gradient flow does at sizes up to 1000.",
    source="[P] §4, solved here",
    prediction="the edge's own formula at the actual sizes",
    experiment="gradient flow from Gaussian U(0) and X, replicas, at sizes inside each edge's cone",
    rule=_RULE,
    power="the formula of the edge with the other node contracted in the data",
    gather=_edges,
)

_SCALES = {"quick": (8, 12, 18, 27), "full": (8, 12, 18, 27, 40)}
_SLOPE_REPLICAS = {"quick": 400, "full": 10_000}


def _slope(conditions: Conditions) -> Evidence:
    scales = _SCALES[conditions.effort]
    errors, stderrs = [], []
    for size in scales:
        sizes = Sizes(size, size**2, size, Fraction(1, 2 * size**2))
        times = (0.1 * size,)
        run = loss_replicas(
            "AE-LIMIT-3",
            sizes,
            times,
            replicas=_SLOPE_REPLICAS[conditions.effort],
            seed=conditions.seed,
            machine=conditions.machine,
        )
        mean, stderr = run.mean(run.population)
        errors.append(abs(float(mean[0]) - limit("mean-field", sizes, times).population[0]))
        stderrs.append(float(stderr[0]))
    slope, error = _fitted_power(scales, errors, stderrs)
    quantity = Quantity(
        "power of N in the distance from the mean-field limit, p = m = N, n = N²",
        predicted=-1.0,
        measured=slope,
        stderr=error,
        stderr_bound=0.04,
        rival=-0.5,
        rival_name="fluctuations of order N^(−1/2) that do not average out",
        allowance=0.15,
    )
    curves = (
        Curve("distance", scales, errors, stderrs, "points"),
        Curve("power −1", scales, [errors[0] * scales[0] / size for size in scales]),
    )
    alt = "The distance of the simulated population loss from its limit falls like 1/N."
    return Evidence((quantity,), (Plot(curves, "N", "distance from the limit", alt, xscale="log", yscale="log"),))


def _fitted_power(x: Sequence[float], y: Sequence[float], stderr: Sequence[float]) -> tuple[float, float]:
    """Weighted least squares of log y on log x, with the slope's standard error."""
    a, b = np.log(np.array(x)), np.log(np.array(y))
    weight = (np.array(y) / np.array(stderr)) ** 2
    centre = float(weight @ a / weight.sum())
    spread = float(weight @ (a - centre) ** 2)
    return float(weight @ ((a - centre) * b) / spread), 1 / math.sqrt(spread)


SLOPE = Claim(
    id="AE-LIMIT-3",
    statement="At finite sizes the losses differ from their limit by a term of order 1/N.",
    source="[P] §3, genus expansion",
    prediction="pairings with one twist, and the neighbouring faces, cost one power of N: slope −1",
    experiment="mean-field sizes p = m = N, n = N², population loss at ηt = 0.1 p against the limit",
    rule="the fitted power is −1 within 0.15 (terms of order 1/N²) and four standard errors",
    power="a distance of order N^(−1/2)",
    gather=_slope,
)

CLAIMS: tuple[Claim, ...] = (TWO_FACES, EDGES, SLOPE)
