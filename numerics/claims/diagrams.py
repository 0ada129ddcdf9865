"""DI claims: CP decompositions and networks with squared activations, from diagrams to simulation. [D]."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from math import factorial

import numpy as np
import numpy.typing as npt

from numerics.claims.ledger import Claim, Conditions, Curve, Evidence, Plot
from numerics.gradient_flow.model_simulate import simulate_model
from numerics.judge import Quantity
from theory.engine.newton import leading_monomials, limiting_polytope
from theory.engine.series import expected_derivatives
from theory.models.cp import VARIABLES, cp_rates
from theory.models.cp_limits import CPSizes, cp_limit
from theory.models.model import Model

Array = npt.NDArray[np.float64]
Sizes = Mapping[str, int | Fraction]

_FAR = {"quick": 1, "full": 4}


def _mean(
    claim: str, model: str, sizes: Sizes, times: Sequence[float], *, replicas: int, conditions: Conditions
) -> tuple[Array, Array, Array, Array]:
    """Means and standard errors of the train loss, and of its change since the first time."""
    run = simulate_model(
        Model.named(model),
        sizes,
        times,
        replicas=replicas,
        seed=conditions.seed,
        machine=conditions.machine,
        name=f"{claim} {model}",
    )
    loss, change = run.losses["train"], run.changes["train"]
    return (np.array(loss.mean), np.array(loss.stderr), np.array(change.mean), np.array(change.stderr))


_EARLY: tuple[tuple[str, int, Sizes], ...] = (
    ("cp:3", 400, {"p": 30, "H": 10, "sigma2": Fraction(1, 30)}),
    ("cp:3:asymmetric", 400, {"p": 30, "H": 10, "sigma2": Fraction(1, 15)}),
    ("cp:4", 400, {"p": 100, "H": 20, "sigma2": Fraction(1, 60)}),
    (
        "quadratic",
        3000,
        {"p": 80, "n": 40, "m": 160, "sigma2_a": Fraction(1, 10), "sigma2_w": Fraction(1, 80), "tau2": Fraction(1, 80)},
    ),
)


def _series(conditions: Conditions) -> Evidence:
    quantities = []
    for name, replicas, sizes in _EARLY:
        replicas *= _FAR[conditions.effort]
        coefficients = expected_derivatives(Model.named(name).plan, "train", order=3)
        values = [float(Fraction(c.evaluate(sizes))) / factorial(s) for s, c in enumerate(coefficients)]
        time = 0.25 * min(abs(values[s] / values[s + 1]) for s in (1, 2))
        terms = [(-time) ** s * value for s, value in enumerate(values)]
        run = _mean("DI-SERIES", name, sizes, (0.0, time), replicas=replicas, conditions=conditions)
        predicted = sum(terms[1:])
        quantities.append(
            Quantity(
                f"{name}: change of the train loss from 0 to {time:.2g}",
                predicted=predicted,
                measured=float(run[2][1]),
                stderr=float(run[3][1]),
                stderr_bound=0.05 * abs(predicted),
                rival=terms[1],
                rival_name="the first derivative alone",
                allowance=abs(terms[3]) / 2,
                replicas=replicas,
            )
        )
    return Evidence(quantities)


SERIES = Claim(
    id="DI-SERIES",
    statement="The exact series from diagrams gives the mean loss of CP models and of a quadratic network early on.",
    source="[D] §3",
    prediction="E dˢL/dtˢ at time zero for s = 1, 2, 3, exact at the sizes simulated",
    experiment="gradient flow of cp:3, cp:3:asymmetric, cp:4 and quadratic at sizes 10 to 160",
    rule="within half the third term and the standard errors of few replicas",
    power="the series cut after its first term",
    gather=_series,
)

_MODELS: tuple[tuple[str, int, bool, int], ...] = (
    ("cp:2", 2, True, 4),
    ("cp:2:asymmetric", 2, False, 5),
    ("cp:3:asymmetric", 3, False, 4),
    ("cp:4", 4, True, 3),
)


def _triangle(conditions: Conditions) -> Evidence:
    models = list(_MODELS)
    if conditions.effort == "full":
        models.append(("cp:4:asymmetric", 4, False, 4))
    quantities, remarks = [], []
    for name, order, symmetric, highest in models:
        series = expected_derivatives(Model.named(name).plan, "train", order=highest)
        supports = [leading_monomials(y, sizes=("p", "H"), planar=False) for y in series]
        found = limiting_polytope(supports, variables=VARIABLES)
        rates = set(cp_rates(order, symmetric=symmetric).values())
        other = set(cp_rates(order + 1, symmetric=symmetric).values())
        vertices = set(found.polytope.vertices)
        quantities.append(
            Quantity(
                f"{name}: rates in which the series and the triangle differ",
                predicted=0,
                measured=len(vertices ^ rates),
                stderr=0.0,
                stderr_bound=0.0,
                rival=len(rates ^ other),
                rival_name="as for the next order of the tensor",
            )
        )
        remarks.append(f"{name}: {'; '.join(found.rates)}; {found.certificate}")
    return Evidence(quantities, remarks=remarks)


TRIANGLE = Claim(
    id="DI-TRIANGLE",
    statement="The rates of a CP model are a triangle: sigma2^{(ν−2)/2}, H sigma2^{ν−1} p^κ and (p sigma2)^{ν−1} with"
    " κ = ⌊(ν−1)/2⌋ for symmetric models of even order or order 2, 0 for asymmetric ones.",
    source="[D] §5",
    prediction="theory.models.cp",
    experiment="the limiting polytope of the exact series of orders 2, 3 and 4",
    rule="the same vertices, exactly",
    power="the triangle of the next order ν",
    gather=_triangle,
)


def _ratios(
    claim: str,
    name: str,
    sizes: Sizes,
    times: Sequence[float],
    theory: Array,
    rival: Array,
    rival_name: str,
    *,
    offset: float,
    replicas: int,
    allowance: float,
    conditions: Conditions,
) -> tuple[list[Quantity], Plot]:
    """The mean loss less an offset, in units of theory's at the start, at each later time."""
    mean, stderr, change, change_error = _mean(claim, name, sizes, times, replicas=replicas, conditions=conditions)
    start = mean[0] - offset
    quantities = []
    for k in range(1, len(times)):
        measured = 1 + change[k] / start
        # the change and the start are nearly proportional from replica to replica
        error = float(
            np.hypot(change_error[k] / start - abs(change[k]) * stderr[0] / start**2, 0.1 * stderr[k] / start)
        )
        quantities.append(
            Quantity(
                f"{name}: loss at t = {times[k]:.3g}, as a part of the start's",
                predicted=float(theory[k] / theory[0]),
                measured=float(measured),
                stderr=error,
                stderr_bound=0.03,
                rival=float(rival[k] / rival[0]),
                rival_name=rival_name,
                allowance=allowance,
                replicas=replicas,
            )
        )
    curves = (
        Curve("theory", list(times), (theory / theory[0]).tolist()),
        Curve(rival_name, list(times), (rival / rival[0]).tolist()),
        Curve("simulation", list(times), ((mean - offset) / start).tolist(), (stderr / start).tolist(), "points"),
    )
    alt = f"Train loss of {name} as a part of the start's: the simulation lies on the theory, not on {rival_name}."
    return quantities, Plot(curves, "t", "loss / loss at the start", alt, yscale="log")


def _grid(rate: float) -> list[float]:
    return [x / rate for x in (0.0, 0.5, 1.0, 2.0)]


def _limit(order: int, sizes: Sizes, *, symmetric: bool, face: str, times: Sequence[float]) -> Array:
    loss = cp_limit(order, CPSizes(*(float(sizes[x]) for x in VARIABLES)), symmetric=symmetric, face=face)
    assert loss is not None
    return loss(np.array(times))


def _kernel(conditions: Conditions) -> Evidence:
    quantities, plots = [], []
    for order, p, terms, variance in ((2, 6, 2000, Fraction(1, 20)), (3, 4, 8000, Fraction(1, 40))):
        sizes: Sizes = {"p": p, "H": terms, "sigma2": variance}
        times = _grid(2 * order * terms * float(variance) ** (order - 1))
        theory = _limit(order, sizes, symmetric=False, face="N", times=times)
        rate = 2 * order * (order - 1) * terms * float(variance) ** (order - 1)
        rival = (1 + rate * np.array(times)) ** (-order / (order - 1))
        found, plot = _ratios(
            "DI-NTK", f"cp:{order}:asymmetric", sizes, times, theory, rival, "the power law of an unlearned mean",
            offset=0.0, replicas=40 * _FAR[conditions.effort], allowance=0.02, conditions=conditions,
        )  # fmt: skip
        quantities += found
        plots.append(plot)
    return Evidence(quantities, plots)


KERNEL = Claim(
    id="DI-NTK",
    statement="Asymmetric CP models with many terms are in the NTK regime: the loss decays as exp(−2νHσ^{2ν−2}ηt).",
    source="[D] §8",
    prediction="the kernel's mean, νHσ^{2ν−2} times the identity",
    experiment="gradient flow at order 2 (p = 6, H = 2000) and 3 (p = 4, H = 8000)",
    rule="loss as a part of the start's within 0.03 and the standard errors, at three times",
    power="the power law that symmetric models of even order follow",
    gather=_kernel,
)


def _free(conditions: Conditions) -> Evidence:
    quantities, plots = [], []
    for name, order, symmetric, norm in (
        ("cp:3", 3, True, 20), ("cp:3:asymmetric", 3, False, 20), ("cp:4", 4, True, 8),
    ):  # fmt: skip
        p = 1500
        sizes: Sizes = {"p": p, "H": 1, "sigma2": Fraction(norm, p)}
        kappa = order if symmetric else 1
        times = _grid(2 * kappa * (order - 1) * float(norm) ** (order - 1))
        theory = _limit(order, sizes, symmetric=symmetric, face="P", times=times)
        rival = _limit(order, sizes, symmetric=not symmetric, face="P", times=times)
        found, plot = _ratios(
            "DI-FREE", name, sizes, times, theory, rival, "the rate of the other symmetry",
            offset=p / 2, replicas=60 * _FAR[conditions.effort], allowance=0.02, conditions=conditions,
        )  # fmt: skip
        quantities += found
        plots.append(plot)
    return Evidence(quantities, plots)


FREE = Claim(
    id="DI-FREE",
    statement="Few terms of large variance evolve freely, L − ½p = ½H(σ²p)^ν (1 + 2κ(ν−1)(σ²p)^{ν−1}ηt)^{−ν/(ν−1)},"
    " with κ = ν for symmetric models and 1 for asymmetric ones.",
    source="[D] §7",
    prediction="the squared norm of a term, q′ = −2κη q^ν",
    experiment="gradient flow at p = 1500, H = 1, orders 3 and 4",
    rule="loss less ½p as a part of the start's within 0.02 and the standard errors, at three times",
    power="the rate of the model of the other symmetry",
    gather=_free,
)


def _matrix(conditions: Conditions) -> Evidence:
    p = 40 * _FAR[conditions.effort]
    quantities, plots = [], []
    for face, terms, norm in (("RNP", p, 1.0), ("NP", p, 400.0), ("RN", 100 * p, 0.25)):
        variance = Fraction(norm).limit_denominator() / max(p, terms)
        sizes: Sizes = {"p": p, "H": terms, "sigma2": variance}
        times = [x / (4 * max(1.0, norm)) for x in (0.0, 0.5, 1.0, 2.0)]
        theory = _limit(2, sizes, symmetric=True, face=face, times=times)
        rival = _limit(2, sizes, symmetric=True, face="RP" if face != "RN" else "N", times=times)
        mean, stderr, _, _ = _mean("DI-MATRIX", "cp:2", sizes, times, replicas=40, conditions=conditions)
        for k in (2, 3):
            scale = p if face != "NP" else float(theory[0])
            quantities.append(
                Quantity(
                    f"{face}, p = {p}, H = {terms}: loss at t = {times[k]:.3g}, in units of {scale:.3g}",
                    predicted=float(theory[k]) / scale,
                    measured=float(mean[k] - (p / 2 if face == "NP" else 0)) / scale,
                    stderr=float(stderr[k]) / scale,
                    stderr_bound=0.01,
                    rival=float(rival[k]) / scale,
                    rival_name="the leading loss of another face",
                    allowance=0.01,
                    replicas=40,
                )
            )
        curves = (
            Curve("theory", times, (theory / theory[0]).tolist()),
            Curve("simulation", times, (mean / mean[0]).tolist(), (stderr / mean[0]).tolist(), "points"),
        )
        alt = f"Train loss of cp:2 on the face {face}: simulation on theory."
        plots.append(Plot(curves, "t", "loss / loss at the start", alt))
    return Evidence(quantities, plots)


MATRIX = Claim(
    id="DI-MATRIX",
    statement="The symmetric matrix model is solved in every regime: each eigenvalue of UᵀU is logistic, started from"
    " the Marchenko–Pastur law, or its limits.",
    source="[D] §9",
    prediction="theory.models.cp_limits",
    experiment="gradient flow at p = H with σ²p = 1 and 400, and at H = 100 p",
    rule="loss per dimension within 0.01 and the standard errors, at two times",
    power="the leading loss of another face at the same sizes",
    gather=_matrix,
)


def _trace(conditions: Conditions) -> Evidence:
    p, terms = 10, 20_000
    variance = Fraction(1, 200)
    sizes: Sizes = {"p": p, "H": terms, "sigma2": variance}
    slow = 36 * terms * float(variance) ** 2
    times = _grid(slow * (p + 8) / 6)
    theory = _limit(3, sizes, symmetric=True, face="N", times=times)
    found, plot = _ratios(
        "DI-TRACE", "cp:3", sizes, times, theory, np.exp(-slow * np.array(times)), "one rate for all tensors",
        offset=0.0, replicas=40 * _FAR[conditions.effort], allowance=0.01, conditions=conditions,
    )  # fmt: skip
    return Evidence(found, (plot,))


TRACE = Claim(
    id="DI-TRACE",
    statement="The symmetric model of order 3 with many terms is in a kernel regime of two rates, 6H(p+8)σ⁴η on the"
    " trace part of the error and 36Hσ⁴η on the rest: a factor p between them.",
    source="[D] §5 and §8 have the regime; the two rates are found here",
    prediction="the kernel's mean on symmetric tensors, exact in p",
    experiment="gradient flow at p = 10, H = 20 000, σ² = 1/200",
    rule="loss as a part of the start's within 0.01 and the standard errors, at three times",
    power="one rate for all tensors",
    gather=_trace,
)

CLAIMS: tuple[Claim, ...] = (SERIES, TRIANGLE, KERNEL, FREE, MATRIX, TRACE)
