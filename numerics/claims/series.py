"""Claims AE-SERIES, AE-GENUS, AE-WICK: the exact series against the flow of drawn matrices, and its two engines."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from numerics.claims.ledger import Claim, Conditions, Curve, Evidence, Plot
from numerics.gradient_flow.taylor import by_weight_degree
from numerics.judge import Quantity
from numerics.runs.outcome import Experiment, Json
from numerics.runs.replicas import run_replicas
from numerics.runs.seeds import replica_seed
from theory.autoencoder.genus import WEIGHTS
from theory.autoencoder.model import AUTOENCODER
from theory.autoencoder.series import LossName, LossSeries, loss_series_together
from theory.engine import pairings, planar, recursion
from theory.engine.laurent import Laurent
from theory.engine.ring import Word, product

FloatArray = npt.NDArray[np.float64]

_LOSSES: tuple[LossName, ...] = ("train", "population")
_ORDER = 3
_DRAWS = 2000
_REPLICAS = {"quick": 100, "full": 4000}
_SHAPE = (4, 5, 6)
_SIZES = {"quick": (4, 6, 9, 14), "full": (4, 6, 9, 14, 20)}
_GENUS_REPLICAS = {"quick": 40, "full": 1000}
_WORDS = {"quick": 150, "full": 1500}
_MOST_PAIRINGS = 3000


def _replica(parameters: Mapping[str, Json], seed: np.random.SeedSequence) -> dict[str, list[float]]:
    """Means over draws of U with unit variance and X of the loss derivatives, by order and power of σ²."""
    p, n, m, order, draws = (int(str(parameters[name])) for name in ("p", "n", "m", "order", "draws"))
    generator = np.random.default_rng(seed)
    U, X = generator.standard_normal((draws, n, p)), generator.standard_normal((draws, p, m))
    train, population = by_weight_degree(U, X, order=order)
    means = {"train": train.mean(axis=2), "population": population.mean(axis=2)}
    return {name: [float(value) for value in values.ravel()] for name, values in means.items()}


def _measure(
    name: str, shape: tuple[int, int, int], order: int, replicas: int, conditions: Conditions
) -> dict[LossName, tuple[FloatArray, FloatArray]]:
    p, n, m = shape
    parameters: dict[str, Json] = {"p": p, "n": n, "m": m, "order": order, "draws": _DRAWS}
    run = run_replicas(
        Experiment(f"{name} p={p} n={n} m={m}", parameters, _replica),
        replicas=replicas,
        seed=conditions.seed,
        machine=conditions.machine,
    )
    found: dict[LossName, tuple[FloatArray, FloatArray]] = {}
    for loss in _LOSSES:
        values = np.array([row[loss] for row in run]).reshape(-1, order + 1, order + 2)
        found[loss] = (values.mean(axis=0), values.std(axis=0, ddof=1) / np.sqrt(len(values)))
    return found


def _part(series: LossSeries, s: int, d: int) -> Laurent:
    """The terms of Y_s of degree d in σ²."""
    coefficient = series.coefficients[s]
    return Laurent(coefficient.variables, {e: c for e, c in coefficient.terms.items() if e[3] == d})


def _value(polynomial: Laurent, shape: tuple[int, int, int]) -> float:
    return float(polynomial.evaluate({**dict(zip(("p", "n", "m"), shape, strict=True)), "sigma2": 1}))


def _series(conditions: Conditions) -> Evidence:
    exact = loss_series_together(dict.fromkeys(_LOSSES, _ORDER))
    measured = _measure("AE-SERIES", _SHAPE, _ORDER, _REPLICAS[conditions.effort], conditions)
    quantities = []
    for loss in _LOSSES:
        mean, stderr = measured[loss]
        for s in range(_ORDER + 1):
            for d in range(1, s + 3):
                part = _part(exact[loss], s, d)
                leading = part.leading(WEIGHTS)
                if part == leading:
                    continue
                value = _value(part, _SHAPE)
                quantities.append(
                    Quantity(
                        f"{loss}, order {s}, power {d} of σ²: measured over exact",
                        predicted=1.0,
                        measured=float(mean[s, d - 1]) / value,
                        stderr=float(stderr[s, d - 1]) / abs(value),
                        stderr_bound=0.05,
                        rival=_value(leading, _SHAPE) / value,
                        rival_name="planar pairings alone",
                    )
                )
    return Evidence(quantities)


def _genus(conditions: Conditions) -> Evidence:
    exact = loss_series_together({"population": 2})["population"]
    part = _part(exact, 2, 4)
    leading = part.leading(WEIGHTS)
    sizes = _SIZES[conditions.effort]
    predicted, excess, errors = [], [], []
    for size in sizes:
        shape = (size, size, size)
        mean, stderr = _measure("AE-GENUS", shape, 2, _GENUS_REPLICAS[conditions.effort], conditions)["population"]
        top = _value(leading, shape)
        predicted.append(_value(part, shape) / top - 1)
        excess.append(float(mean[2, 3]) / top - 1)
        errors.append(float(stderr[2, 3]) / top)
    slope, error = _slope(sizes, excess, errors)
    expected, _ = _slope(sizes, predicted, errors)
    quantity = Quantity(
        "slope of log (non-planar share of d²L/dt²) in log N, p = n = m = N",
        predicted=expected,
        measured=slope,
        stderr=error,
        stderr_bound=0.08,
        rival=-2.0,
        rival_name="orientable surfaces only, as for complex matrices: a handle costs 1/N²",
    )
    plot = Plot(
        curves=(
            Curve("exact series", sizes, predicted),
            Curve("drawn matrices", sizes, excess, errors, kind="points"),
        ),
        xlabel="N",
        ylabel="excess over the planar part",
        alt="The share of non-planar pairings falls like 1/N; drawn matrices lie on the line of the exact series.",
        xscale="log",
        yscale="log",
    )
    return Evidence((quantity,), (plot,))


def _slope(sizes: tuple[int, ...], values: list[float], errors: list[float]) -> tuple[float, float]:
    """Weighted least squares of log value on log N, and its standard error."""
    x, y = np.log(sizes), np.log(values)
    weights = (np.array(values) / np.array(errors)) ** 2
    centred = x - (weights * x).sum() / weights.sum()
    norm = float((weights * centred**2).sum())
    return float((weights * centred * y).sum()) / norm, norm**-0.5


def _wick(conditions: Conditions) -> Evidence:
    generator = np.random.default_rng(replica_seed(conditions.seed, 0))
    one = Laurent.constant(1, AUTOENCODER.variables)
    agree, planar_agree, total = 0, 0, 0
    while total < _WORDS[conditions.effort]:
        word = _random_word(generator)
        if not 1 < pairings.count_pairings((word,)) <= _MOST_PAIRINGS:
            continue
        combination = {product([word]): one}
        enumerated = pairings.expectation(combination, model=AUTOENCODER)
        agree += recursion.expectation(combination, model=AUTOENCODER) == enumerated
        planar_agree += planar.expectation(combination, model=AUTOENCODER) == enumerated
        total += 1
    quantity = Quantity(
        f"share of {total} random rings on which recursion and enumeration give one polynomial",
        predicted=1.0,
        measured=agree / total,
        stderr=0.0,
        stderr_bound=0.0,
        rival=planar_agree / total,
        rival_name="the recursion without twists and joins",
    )
    return Evidence((quantity,))


def _random_word(generator: np.random.Generator) -> Word:
    """A closed walk on the spaces p, n, m, of 4 to 14 letters, there and back where it does not close by itself."""
    word: list[int] = []
    space = start = AUTOENCODER.spaces[int(generator.integers(3))]
    for _ in range(int(generator.integers(4, 15))):
        letters = [letter for letter in range(4) if AUTOENCODER.left_space(letter) == space]
        word.append(int(generator.choice(letters)))
        space = AUTOENCODER.right_space(word[-1])
    if space != start:
        word += [letter ^ 1 for letter in reversed(word)]
    return tuple(word)


CLAIMS: tuple[Claim, ...] = (
    Claim(
        id="AE-SERIES",
        statement="The exact polynomials Y_s and Ŷ_s are the mean time derivatives of the losses at finite sizes.",
        source="[P] §3",
        prediction="the exact series, each power of σ² by itself, at p=4, n=5, m=6, s ≤ 3",
        experiment="Leibniz' rule on dM/dt for drawn U(0) and X: no ring, no pairing",
        rule="measured over exact is 1 within four standard errors, each of at most 5 %",
        power="the planar part alone, and any wrong coefficient that moves one power of σ² by a fifth",
        gather=_series,
    ),
    Claim(
        id="AE-GENUS",
        statement="Each node that a pairing loses costs a factor 1/N: non-planar pairings are of relative order 1/N.",
        source="[P] §3, [D]",
        prediction="slope of the exact polynomial at the same sizes; −1 in the limit",
        experiment="the part of d²L/dt² of degree 4 in σ², for drawn matrices with p = n = m = N",
        rule="the fitted slope is the exact one within four standard errors, of at most 0.08",
        power="an expansion in 1/N², as orientable gluings would give",
        gather=_genus,
    ),
    Claim(
        id="AE-WICK",
        statement="Integration by parts, state by state, gives the sum over all Wick pairings.",
        source="[P] §3",
        prediction="plain enumeration of every pairing, exactly",
        experiment="both engines on random rings of up to 3000 pairings",
        rule="the same polynomial for every ring",
        power="a recursion that leaves out twists and joins",
        gather=_wick,
    ),
)
