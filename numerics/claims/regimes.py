"""AE claims on regimes: the polytope of leading rates, found in the series; the ranking of faces at actual sizes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence, Set
from dataclasses import replace
from fractions import Fraction

import numpy as np

from numerics.claims.ledger import Claim, Conditions, Curve, Evidence, Plot
from numerics.gradient_flow.ranking_trial import Trial, grid, run_trial
from numerics.judge import Quantity
from regimes.prism import VERTICES
from theory.autoencoder.model import AUTOENCODER
from theory.engine.model import MatrixModel
from theory.engine.newton import LimitingPolytope, leading_monomials, limiting_polytope
from theory.engine.planar_support import planar_supports
from theory.engine.polytope import hull
from theory.engine.series import expected_derivatives
from theory.engine.shapes import shape_of
from theory.models.deep_rates import local_rates
from theory.models.model import Model

_DEPTHS = {"quick": (12.0,), "full": (3.0, 12.0, 40.0)}
_SMALLEST = {"quick": 16, "full": 24}
_WORK = {"quick": 3e6, "full": 4e7}
_MOST_REPLICAS = {"quick": 100, "full": 800}
_LEAST_REPLICAS = 8


def gather_ranking(conditions: Conditions) -> Evidence:
    """Run the trials and compare: share that hold, rank correlation, confusion table."""
    effort = conditions.effort
    trials = []
    for number, (face, sizes) in enumerate(grid(depths=_DEPTHS[effort], smallest=_SMALLEST[effort])):
        work = sizes.p * (sizes.n + sizes.m)
        replicas = int(min(_MOST_REPLICAS[effort], max(_LEAST_REPLICAS, _WORK[effort] // work)))
        seed = conditions.seed * 1000 + number
        machine = conditions.machine if effort == "full" else replace(conditions.machine, workers=1)  # pools cost more
        name = f"AE-RANKING {number}"
        trials.append(run_trial(face, sizes, replicas=replicas, seed=seed, machine=machine, name=name))
    share, designed = _share([trial.holds for trial in trials]), _share([trial.designed_holds for trial in trials])
    correlations = np.array([trial.correlation for trial in trials])
    return Evidence(
        quantities=(
            Quantity(
                name=f"share of {len(trials)} size vectors whose first-ranked face fits best or ties",
                predicted=1.0,
                measured=share,
                stderr=_binomial_error(share, len(trials)),
                stderr_bound=0.05,
                rival=designed,
                rival_name="the face whose cone the sizes were placed in, as exponents would say",
                allowance=0.02,
            ),
            Quantity(
                name="rank correlation of distances with curve misses over the faces, mean over size vectors",
                predicted=1.0,
                measured=float(correlations.mean()),
                stderr=float(correlations.std(ddof=1) / len(trials) ** 0.5),
                stderr_bound=0.04,
                rival=0.0,
                rival_name="distances that say nothing of the curves",
                allowance=0.2,
            ),
        ),
        plots=(_scatter(trials),),
        remarks=(*_confusion(trials), *_misses(trials)),
    )


def _share(holds: Sequence[bool]) -> float:
    return sum(holds) / len(holds)


def _binomial_error(share: float, count: int) -> float:
    return float((share * (1 - share) / count) ** 0.5)


def _scatter(trials: Sequence[Trial]) -> Plot:
    distances, misses = [], []
    for trial in trials:
        for ranked in trial.ranking.faces:
            miss = trial.misses[ranked.face.name]
            if np.isfinite(miss) and miss > 0 and ranked.distance > 0:
                distances.append(ranked.distance)
                misses.append(miss)
    low, high = min(distances), max(distances)
    return Plot(
        curves=(
            Curve("one face at one size vector", distances, misses, kind="points"),
            Curve("miss = distance", [low, high], [low, high]),
        ),
        xlabel="distance from the early coefficients",
        ylabel="miss of the simulated curves",
        xscale="log",
        yscale="log",
        alt="Each face's distance from the exact early coefficients against its miss of the simulated curves, one point"
        " a face and size vector, on logarithmic axes: the two grow together, over two decades.",
    )


def _confusion(trials: Sequence[Trial]) -> list[str]:
    """The confusion table, a line for each face ranked first: which face measured as the simplest of the best."""
    table: dict[str, Counter[str]] = {}
    for trial in trials:
        table.setdefault(trial.ranking.best.name, Counter())[trial.measured.name] += 1
    return [
        f"ranked first {ranked}: measured best " + ", ".join(f"{name} {count}" for name, count in row.most_common())
        for ranked, row in sorted(table.items(), key=lambda item: -item[1].total())
    ]


def _misses(trials: Sequence[Trial]) -> list[str]:
    return [
        f"does not hold at {trial.ranking.sizes}: {trial.ranking.best.name} misses"
        f" {trial.misses[trial.ranking.best.name]:.2g}, {trial.measured.name} {trial.misses[trial.measured.name]:.2g}"
        for trial in trials
        if not trial.holds
    ]


def gather_prism(conditions: Conditions) -> Evidence:
    """The limiting polytopes of the autoencoder's exact series against the six rate vectors."""
    order = {"quick": 4, "full": 6}[conditions.effort]
    prism = {vertex.vector for vertex in VERTICES}
    triangle = {vertex.vector for vertex in VERTICES if vertex.segment == "m"}
    found = {loss: _from_series(AUTOENCODER, loss, order) for loss in ("train", "population")}
    infinite_data = _from_series(AUTOENCODER, "population", order, leading_in="m")
    quantities = [
        _count(f"rates in which the {loss} loss's polytope and the prism differ", _differ(polytope, prism), rival=3)
        for loss, polytope in found.items()
    ]
    quantities += [
        _count(
            "rates in which the population loss's, at m = ∞, and the triangle differ",
            _differ(infinite_data, triangle),
            3,
        ),
        _count("faces of the train loss's polytope", sum(found["train"].polytope.f_vector), rival=15, predicted=21),
    ]
    return Evidence(quantities, remarks=[f"{loss}: {_described(polytope)}" for loss, polytope in found.items()])


def gather_shapes(conditions: Conditions) -> Evidence:
    """The limiting polytopes of untied and deeper networks, from their series and from local merges."""
    order = {"quick": 4, "full": 5}[conditions.effort]
    network = Model.named("deep:3").rings
    untied = _from_series(Model.named("untied").rings, "train", order)
    deep = limiting_polytope(planar_supports(network, "train", order=order), variables=network.variables)
    quantities = [
        _count(f"rates in which the series of the {name} and local merges differ", _differ(found, local), rival=1)
        for name, found, local in (
            ("untied autoencoder", untied, set(hull(local_rates(2)).vertices)),
            ("network with two hidden layers", deep, set(hull(local_rates(3)).vertices)),
        )
    ]
    quantities.append(_count("rates of the untied autoencoder", len(untied.rates), rival=10, predicted=9))
    quantities.append(_count("rates of two hidden layers", len(deep.rates), rival=16, predicted=28))
    remarks = [f"untied autoencoder: {_described(untied)}", f"two hidden layers: {_described(deep)}"]
    return Evidence(quantities, remarks=remarks)


def _from_series(model: MatrixModel, loss: str, order: int, *, leading_in: str | None = None) -> LimitingPolytope:
    series = expected_derivatives(model, loss, order=order)
    if leading_in is not None:
        weights = {name: int(name == leading_in) for name in model.variables}
        series = tuple(y.leading(weights) for y in series)
    sizes = [space.name for space in model.spaces]
    return limiting_polytope([leading_monomials(y, sizes=sizes) for y in series], variables=model.variables)


def _differ(found: LimitingPolytope, vectors: Set[tuple[Fraction, ...]] | Set[tuple[int, ...]]) -> int:
    return len(set(found.polytope.vertices) ^ {tuple(map(Fraction, vector)) for vector in vectors})


def _count(name: str, measured: int, rival: int, predicted: int = 0) -> Quantity:
    """An exact count: no error, no allowance."""
    return Quantity(
        name=name,
        predicted=predicted,
        measured=measured,
        stderr=0.0,
        stderr_bound=0.0,
        rival=rival,
        rival_name=f"{rival}, as for another polytope",
    )


def _described(found: LimitingPolytope) -> str:
    shape = shape_of(found.polytope)
    counted = "" if shape.startswith("f =") else f", f = {found.polytope.f_vector[:-1]}"
    return (
        f"{shape}{counted}, dimension {found.polytope.dimension}, rates"
        f" {'; '.join(found.rates)}; hulls grow by {found.period} × the polytope every {found.period} derivatives"
        f" (checked from orders {', '.join(map(str, found.orders))})"
    )


CLAIMS: tuple[Claim, ...] = (
    Claim(
        id="AE-PRISM",
        statement="The leading rates of the autoencoder's loss derivatives are the vertices of a triangular prism.",
        source="[P] §4",
        prediction="The six rate vectors of [P], and the triangle of the three with m contracted for infinite data.",
        experiment="Newton polytopes of the exact series to order 4 (full: 6), their growth from order to order found"
        " as an exact Minkowski difference; nothing of the prism is put in.",
        rule="The vertex sets are the same, and the polytope has 21 faces.",
        power="A polytope with one of the two triangles only differs in three vertices.",
        gather=gather_prism,
    ),
    Claim(
        id="AE-SHAPES",
        statement="An untied autoencoder's leading rates make a square pyramid × segment less one vertex, those of a"
        " linear network with two hidden layers a six-dimensional polytope with 28 vertices.",
        source="new: the construction of [P] §4 for other models",
        prediction="Hulls of the rates of local merges, from norms of random products alone.",
        experiment="Newton polytopes of the exact series (untied) and of planar pairings to order 4 (full: 5).",
        rule="Series and local merges give the same vertices; 9 for the untied autoencoder, 28 for two hidden layers.",
        power="All ten products of five weight and two data rates would be ten; quadratic merges alone would be 16.",
        gather=gather_shapes,
    ),
    Claim(
        id="AE-RANKING",
        statement="The exact early coefficients at actual sizes tell which regime's limit fits the loss curves.",
        source="[P] §4; classification at finite sizes is this project's",
        prediction="regimes.ranking: faces ranked by the share of the early change their leading coefficients miss.",
        experiment="Gradient flow at sizes inside each of the 21 cones (losing terms 3, 12 and 40 times smaller; quick:"
        " 12), up to a quarter of the time 1/Σ rates; all 21 limits against the mean curves.",
        rule="The first-ranked face's curve, known to 10 % of the change, misses at most twice what the best face's"
        " does, or 5 % of the change, plus four standard errors, for all size vectors but one in fifty; over"
        " the faces, distances and misses correlate in rank.",
        power="A rule that reads the face off the exponents the sizes were made from is wrong at most size vectors, as"
        " losing terms still count there; unrelated distances would not correlate.",
        gather=gather_ranking,
    ),
)
