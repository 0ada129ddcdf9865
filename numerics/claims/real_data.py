"""Claims on real inputs: where whitened digits behave as the Gaussian theory says, and where not, and by how much."""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np

from numerics.claims.digits import COMPONENTS, Floats, whitened_digits
from numerics.claims.ledger import Claim, Conditions, Curve, Evidence, Plot
from numerics.gradient_flow.draw import Draw
from numerics.gradient_flow.integrate import gradient_flow
from numerics.gradient_flow.reduce import full
from numerics.judge import Quantity
from numerics.runs.outcome import Experiment, Json, Values
from numerics.runs.replicas import run_replicas
from regimes.limit import limit
from theory.autoencoder.limits.scalar_flows import logistic
from theory.autoencoder.sizes import Sizes
from theory.single_index.link import Link
from theory.single_index.loss import PopulationLoss

LEADING = 40
A_N = Fraction(1, 5)

_FINITE_SIZE = 0.04
"""Relative: one part in fifty for p/n, and as much for the 1/p corrections at p = 40 and above."""


def _orthonormal_pair(d: int, generator: np.random.Generator) -> tuple[Floats, Floats]:
    q, _ = np.linalg.qr(generator.standard_normal((d, 2)))
    return q[:, 0], q[:, 1]


# --- the autoencoder, in the mean-field regime -----------------------------------------------------------------------


def _autoencoder_replica(parameters: Mapping[str, Json], seed: np.random.SeedSequence) -> Values:
    """One choice of images and of U(0): measured losses, and the mean-field solution at the images' own spectrum."""
    given: dict[str, Any] = dict(parameters)
    p, n, m, times = given["p"], given["n"], given["m"], given["times"]
    generator = np.random.default_rng(seed)
    images = whitened_digits(p)
    data = images[generator.choice(len(images), m, replace=False)].T
    weights = math.sqrt(A_N / n) * generator.standard_normal((n, p))
    measured = gradient_flow(full(Draw(weights, data, p, m)), times, eta=1.0, tolerance=1e-8)
    spectrum = np.linalg.eigvalsh(data @ data.T)
    # [P], mean-field: M is a function of S, whatever the spectrum of S.
    remaining = [0.5 * (1.0 - logistic(float(A_N), 4 * t / (p * m) * spectrum)) ** 2 for t in times]
    return {
        "train": measured[0].tolist(),
        "population": measured[1].tolist(),
        "train of own spectrum": [float(np.mean(spectrum / m * rest)) for rest in remaining],
        "population of own spectrum": [float(np.mean(rest)) for rest in remaining],
    }


def _autoencoder(conditions: Conditions, claim_id: str, p: int) -> Evidence:
    full_effort = conditions.effort == "full"
    n = (200 if full_effort else 50) * p
    sizes = Sizes(p=p, n=n, m=2 * p, sigma2=A_N / n)
    times = [p * x for x in (0.0, 0.125, 0.25, 0.5, 0.75, 1.0)]
    parameters: dict[str, Json] = {"p": p, "n": sizes.n, "m": sizes.m, "times": list(times)}
    experiment = Experiment(f"{claim_id} autoencoder on digits", parameters, _autoencoder_replica)
    run = run_replicas(
        experiment,
        replicas=200 if full_effort else 24,
        seed=conditions.seed,
        machine=conditions.machine,
    )
    gaussian = limit("mean-field", sizes, times)
    every_direction_alike = limit("R,N|m", sizes, times)
    quantities = []
    for loss in ("train", "population"):
        mean, stderr = run.mean(loss)
        own, _ = run.mean(f"{loss} of own spectrum")
        theory = getattr(gaussian, loss)
        for k in (3, 5):
            leading = p == LEADING
            rival = getattr(every_direction_alike, loss)[k] if leading else theory[k]
            quantities.append(
                Quantity(
                    f"{loss} loss at ηt = {times[k] / p:g} p",
                    predicted=theory[k] if leading else float(own[k]),
                    measured=float(mean[k]),
                    stderr=float(stderr[k]),
                    stderr_bound=0.03 * theory[k],
                    rival=rival,
                    rival_name="S = m on every direction" if leading else "the Marchenko–Pastur law",
                    allowance=_FINITE_SIZE * theory[k],
                )
            )
    x = [t / p for t in times]
    mean, stderr = run.mean("population")
    curves = (
        Curve("Gaussian data, limit", x, gaussian.population),
        Curve("limit at the images' own spectrum", x, run.mean("population of own spectrum")[0].tolist()),
        Curve("digits, measured", x, mean.tolist(), stderr.tolist(), "points"),
    )
    alt = f"Population loss of the autoencoder on {p} whitened components of digits, against both mean-field limits."
    return Evidence(tuple(quantities), (Plot(curves, "ηt / p", "population loss", alt),))


def _leading_components(conditions: Conditions) -> Evidence:
    return _autoencoder(conditions, "AE-D1", LEADING)


def _all_components(conditions: Conditions) -> Evidence:
    return _autoencoder(conditions, "AE-D2", COMPONENTS)


# --- single-index models ---------------------------------------------------------------------------------------------

_QUADRATIC = "x**2-1"
_LINKS = ("tanh(x)", "relu(x)", _QUADRATIC)
_OVERLAP = 0.5


def _loss_replica(parameters: Mapping[str, Json], seed: np.random.SeedSequence) -> Values:
    """Squared loss on all images at overlap ½ with a random truth, for each link."""
    d = int(str(parameters["d"]))
    truth, other = _orthonormal_pair(d, np.random.default_rng(seed))
    images = whitened_digits(d)
    u, z = images @ truth, images @ (_OVERLAP * truth + math.sqrt(1 - _OVERLAP**2) * other)
    return {text: [float(np.mean((link.value(z) - link.value(u)) ** 2))] for text, link in _links().items()}


@cache
def _links() -> dict[str, Link]:
    return {text: Link.parse(text) for text in _LINKS}


def _single_index_loss(conditions: Conditions) -> Evidence:
    quantities = []
    for d in (LEADING, COMPONENTS):
        experiment = Experiment(f"SI-D1 loss on digits, d={d}", {"d": d}, _loss_replica)
        run = run_replicas(
            experiment,
            replicas=4000 if conditions.effort == "full" else 600,
            seed=conditions.seed,
            machine=conditions.machine,
        )
        images = whitened_digits(d)
        radial = float(np.mean(np.sum(images**2, axis=1) ** 2)) / (d * (d + 2))
        for text, link in _links().items():
            quadratic = text == _QUADRATIC
            if d == COMPONENTS and not quadratic:
                continue
            mean, stderr = run.mean(text)
            loss = PopulationLoss(link, lam=0.0, eta1=1.0)
            gaussian = float(loss.value(_OVERLAP, 0.0))
            quantities.append(
                Quantity(
                    f"loss for {text} on {d} components",
                    predicted=gaussian * radial if quadratic else gaussian,
                    measured=float(mean[0]),
                    stderr=float(stderr[0]),
                    stderr_bound=0.05 * gaussian * radial,
                    rival=gaussian if quadratic else float(loss.value(0.0, 0.0)),
                    rival_name="Gaussian inputs" if quadratic else "no overlap",
                    allowance=0.0 if quadratic else 0.02 * gaussian,
                )
            )
    remark = (
        "For a quadratic link the mean over random directions of a fourth moment is the Gaussian one times "
        "E‖a‖⁴/(d(d+2)), whatever the law of the inputs: 1.04 for 40 components, about 3 for all 61."
    )
    return Evidence(tuple(quantities), (), (remark,))


def _sgd_replica(parameters: Mapping[str, Json], seed: np.random.SeedSequence) -> Values:
    """Online spherical SGD from a random start, tanh link: the overlap, on images drawn anew or on Gaussian inputs."""
    d, steps, delta = int(str(parameters["d"])), int(str(parameters["steps"])), 0.2
    generator = np.random.default_rng(seed)
    truth, x = _orthonormal_pair(d, generator)
    if parameters["inputs"] == "digits":
        images = whitened_digits(d)
        inputs = images[generator.integers(len(images), size=steps)]
    else:
        inputs = generator.standard_normal((steps, d))
    for a in inputs:
        value = math.tanh(a @ x)
        gradient = 2.0 * (value - math.tanh(a @ truth)) * (1.0 - value**2) * a
        x = x - delta / d * (gradient - (gradient @ x) * x)
        x /= np.linalg.norm(x)
    return {"overlap": [float(x @ truth)]}


def _single_index_sgd(conditions: Conditions) -> Evidence:
    measured: dict[tuple[int, str], tuple[float, float]] = {}
    for d in (LEADING, COMPONENTS):
        for inputs in ("digits", "gaussian"):
            experiment = Experiment(
                f"SI-D2 SGD on {inputs}, d={d}", {"d": d, "steps": 12 * d, "inputs": inputs}, _sgd_replica
            )
            run = run_replicas(
                experiment,
                replicas=2000 if conditions.effort == "full" else 100,
                seed=conditions.seed,
                machine=conditions.machine,
            )
            mean, stderr = run.mean("overlap")
            measured[d, inputs] = float(mean[0]), float(stderr[0])
    leading, control = measured[LEADING, "digits"], measured[LEADING, "gaussian"]
    heavy, heavy_control = measured[COMPONENTS, "digits"], measured[COMPONENTS, "gaussian"]
    quantities = (
        Quantity(
            "overlap after 12 d images, 40 components",
            predicted=control[0],
            measured=leading[0],
            stderr=math.hypot(leading[1], control[1]),
            stderr_bound=0.01,
            rival=heavy[0],
            rival_name="all 61 components",
            allowance=0.02,
        ),
        Quantity(
            "overlap after 12 d images, all 61 components",
            predicted=heavy_control[0] - 0.05,
            measured=heavy[0],
            stderr=math.hypot(heavy[1], heavy_control[1]),
            stderr_bound=0.015,
            rival=0.5,
            rival_name="SGD hardly moves",
            relation="<=",
        ),
    )
    return Evidence(quantities)


_RULE = "each measurement within its allowance plus four standard errors, and not within that of its rival"

CLAIMS: tuple[Claim, ...] = (
    Claim(
        "AE-D1",
        "The mean-field limit for Gaussian data describes the 40 leading whitened components of handwritten digits",
        "[P] mean-field regime, on real data",
        "mean-field limit with the Marchenko–Pastur law at p = 40, m = 80",
        "gradient flow from U(0) on random sets of 80 images, n = 50 p (full: 200 p)",
        f"{_RULE}; allowance {_FINITE_SIZE:.0%} of the loss for p/n and 1/p",
        "a spectrum of S of the wrong width, down to S = m on every direction",
        _leading_components,
    ),
    Claim(
        "AE-D2",
        "On all 61 whitened components the Marchenko–Pastur law fails, and the mean-field limit at the data's own "
        "spectrum holds",
        "[P] mean-field regime, on real data",
        "M is a function of S: the mean-field solution averaged over the measured eigenvalues of S",
        "gradient flow from U(0) on random sets of 122 images, n = 50 p (full: 200 p)",
        f"{_RULE}; allowance {_FINITE_SIZE:.0%} of the loss for p/n and 1/p",
        "Gaussian data of the same size",
        _all_components,
    ),
    Claim(
        "SI-D1",
        "On digits the single-index loss is the Gaussian one for links that grow at most linearly; for a quadratic "
        "link it is larger by exactly the radial moment E‖a‖⁴/(d(d+2))",
        "[S] population loss, on real data",
        "Gaussian population loss, times the radial moment for x²−1",
        "squared loss over all images at overlap ½, over random truths and directions",
        f"{_RULE}; allowance 2 % of the loss for tanh and ReLU, none for x²−1",
        "Gaussian inputs for x²−1; a loss that knows nothing of the overlap for tanh and ReLU",
        _single_index_loss,
    ),
    Claim(
        "SI-D2",
        "Online SGD with a tanh link learns 40 whitened components of digits as it learns Gaussian inputs, and falls "
        "behind on all 61",
        "[S] online SGD, [U] universality, on real data",
        "the same SGD on Gaussian inputs of the same dimension",
        "overlap with a random truth after 12 d images, δ = 0.2, random start",
        f"{_RULE}; 40 components: allowance 0.02; 61 components: at least 0.05 below the Gaussian overlap",
        "the 61-component behaviour at 40 components, and no learning at all at 61",
        _single_index_sgd,
    ),
)
