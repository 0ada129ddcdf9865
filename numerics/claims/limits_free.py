"""Claims AE-LIMIT-5 and -6: the free regime and the interior at ηt = p, and what truncation bounds."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from numerics.claims.ledger import Claim, Conditions, Curve, Evidence, Plot
from numerics.gradient_flow.loss_replicas import loss_replicas
from numerics.judge import Quantity
from theory.autoencoder.limits.free import extrapolate, truncate
from theory.autoencoder.limits.solution import Ratios
from theory.autoencoder.sizes import Sizes

_PAIR = {"quick": (24, 48), "full": (64, 128)}
_REPLICAS = {"quick": (1600, 600), "full": (12_000, 4000)}
_TARGET_SCALE = Fraction(10_000)
_RIVAL_DEGREE = 4
_EQUAL = Ratios(1.0, 1.0, 1.0, 1.0, 1.0, 1.0)


def _references(conditions: Conditions) -> Evidence:
    quantities, plots = [], []
    for face, tolerance in (("free", 0.01), ("interior", 0.03)):
        target = face == "interior"
        theory = extrapolate(_EQUAL, np.array([0.0, 1.0]), target=target)
        rival = truncate(_EQUAL, np.array([0.0, 1.0]), target=target, degree=_RIVAL_DEGREE)
        means = []
        for size, replicas in zip(_PAIR[conditions.effort], _REPLICAS[conditions.effort], strict=True):
            # without the target: σ²p = 10⁴, losses in units of its square, time in units of its inverse
            scale = Fraction(1) if target else _TARGET_SCALE
            sizes = Sizes(size, size, size, scale / size)
            run = loss_replicas(
                "AE-LIMIT-5",
                sizes,
                (size / float(scale),),
                replicas=replicas,
                seed=conditions.seed,
                machine=conditions.machine,
            )
            unit = float(scale) ** 2
            means.append([run.mean(values[:, 0] / unit) for values in (run.train, run.population)])
        for k, loss in enumerate(("train", "population")):
            (small, small_error), (large, large_error) = means[0][k], means[1][k]
            first, second = _PAIR[conditions.effort]
            weight = second / (second - first)  # removes the 1/N term
            value = float(weight * large + (1 - weight) * small)
            predicted = float(getattr(theory, loss)[1])
            quantities.append(
                Quantity(
                    f"{face}: {loss} loss at ηt = p, simulation extrapolated in 1/p",
                    predicted=predicted,
                    measured=value,
                    stderr=float(np.hypot(weight * large_error, (1 - weight) * small_error)),
                    stderr_bound=0.012 * predicted,
                    rival=float(getattr(rival, loss)[1]),
                    rival_name=f"words of degree {_RIVAL_DEGREE}, not extrapolated",
                    allowance=tolerance * predicted,
                )
            )
        grid = np.linspace(0.0, 1.0, 6)
        curves = [
            Curve(
                f"degree {degree}", grid.tolist(), truncate(_EQUAL, grid, target=target, degree=degree).train.tolist()
            )
            for degree in (4, 6, 8)
        ]
        alt = f"Train loss on {face} from words of growing degree: the curves close in on each other."
        plots.append(Plot(curves, "ηt / p", "train loss", alt, yscale="log"))
    return Evidence(tuple(quantities), tuple(plots))


REFERENCES = Claim(
    id="AE-LIMIT-5",
    statement="The free-product algebra gives the free regime to 1 % and the interior to 3 % at ηt = p, p = n = m.",
    source="[P] §4, where both are open",
    prediction="Galerkin in the free-product algebra of M(0) and S, extrapolated in the degree of the words",
    experiment="gradient flow at two sizes p = n = m, extrapolated linearly in 1/p; the target dropped by σ²p = 10⁴",
    rule="both losses within 1 % (free) and 3 % (interior), and four standard errors",
    power="the same algebra cut at degree 4",
    gather=_references,
)

_RATIOS = {"quick": (0.5, 1.0, 2.0), "full": (0.25, 0.5, 1.0, 2.0, 3.0)}
_DEGREES = {"quick": (4, 5, 6, 7), "full": (4, 5, 6, 7, 8, 9)}
_SETTLED = 1e-6
_NEAR = {0.5, 1.0, 2.0}
_FAR = Ratios(0.25, 1.0, 0.25, 3.0, 1.0, 1.0)


def _rises(weights: float, data: float, *, target: bool, degrees: tuple[int, ...]) -> dict[str, list[bool]]:
    """For each loss, step in the degree, and time: whether the loss rose; steps below 1e−6 are not counted."""
    times = np.array([0.1, 0.3, 0.6]) * min(data, 1.0)
    ratios = Ratios(weights, 1.0, weights, data, 1.0, 1.0)
    runs = [truncate(ratios, times, target=target, degree=degree) for degree in degrees]
    found = {}
    for loss in ("train", "population"):
        steps = np.diff([getattr(run, loss) for run in runs], axis=0)
        found[loss] = (steps[np.abs(steps) > _SETTLED] > 0).tolist()
    return found


def _bounds(conditions: Conditions) -> Evidence:
    degrees, choices = _DEGREES[conditions.effort], _RATIOS[conditions.effort]
    quantities, counted = [], 0
    remarks: list[str] = []
    for name, target in (("free", False), ("interior", True)):
        rises: dict[str, list[bool]] = {"near": [], "population": [], "train, equal": [], "train, much data": []}
        for weights in choices:
            for data in choices:
                found = _rises(weights, data, target=target, degrees=degrees)
                rises["population"] += found["population"]
                if {weights, data} <= _NEAR:
                    rises["near"] += found["population"]
                if weights == data == 1:
                    rises["train, equal"] += found["train"]
                if weights <= 1 < data:
                    rises["train, much data"] += found["train"]
        counted += len(rises["population"])
        where, chosen = ("all ratios", "population") if target else ("ratios from ½ to 2", "near")
        quantities.append(_share(f"{name}, {where}: population loss", rises[chosen], predicted=1.0, rival=0.5))
        if not target:
            lowered = len(rises["population"]) - sum(rises["population"])
            remarks.append(f"free: {lowered} of {len(rises['population'])} steps lower the population loss")
            quantities.append(_overshoot())
            equal, much = rises["train, equal"], rises["train, much data"]
            quantities.append(_share("free, p = n = m: train loss", equal, predicted=0.0, rival=0.5))
            quantities.append(_share("free, n ≤ p < m: train loss", much, predicted=1.0, rival=0.0, allowance=0.1))
    return Evidence(tuple(quantities), remarks=(f"{counted} steps of the population loss counted", *remarks))


def _overshoot() -> Quantity:
    """Degree 4 beside the highest, where n ≪ p < m and the loss is nearly gone."""
    low, high = (float(truncate(_FAR, np.array([0.6]), target=False, degree=degree).population[0]) for degree in (4, 8))
    return Quantity(
        f"free, n = p/4, m = 3p: whether degree 4 is above degree 8, at population losses {low:.8f} and {high:.8f}",
        predicted=1.0,
        measured=float(low - high > _SETTLED),
        stderr=0.0,
        stderr_bound=0.0,
        rival=0.0,
        rival_name="a bound from below at all ratios",
    )


def _share(name: str, rises: list[bool], *, predicted: float, rival: float, allowance: float = 0.0) -> Quantity:
    return Quantity(
        f"{name}, share of steps in the degree that raise it",
        predicted=predicted,
        measured=float(np.mean(rises)),
        stderr=0.0,
        stderr_bound=0.0,
        rival=rival,
        rival_name="no order" if rival == 0.5 else "the order at p = n = m holds at all ratios",
        allowance=allowance,
    )


BOUNDS = Claim(
    id="AE-LIMIT-6",
    statement="Cutting words short gives the population loss from below at ratios from ½ to 2, but is no bound: at "
    "n = p/4, m = 3p degree 4 overshoots on the free regime; its train loss falls with the degree at p = n = m and "
    "rises at n ≤ p < m.",
    source="found here; [P] §4 for the flow",
    prediction="every further degree raises the population loss near p = n = m; far from there, and for the train "
    "loss, it goes either way",
    experiment="truncations of degree 4 and more at ratios n/p and m/p below and above 1, three times each, σ²p = 1",
    rule="no step lowers the population loss (free: at ratios from ½ to 2); degree 4 is above degree 8 at n = p/4, "
    "m = 3p; the train loss always falls at p = n = m, and rises in nine steps of ten where n ≤ p < m",
    power="no order at all; one order for all ratios; a bound from below at all ratios",
    gather=_bounds,
)

CLAIMS: tuple[Claim, ...] = (REFERENCES, BOUNDS)
