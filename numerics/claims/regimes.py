"""AE claims on regimes: the polytope of leading rates, found in the series; the ranking of faces at actual sizes."""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import replace
from fractions import Fraction

from numerics.claims.ledger import Claim, Conditions, Curve, Evidence, Plot
from numerics.gradient_flow.ranking_trial import Trial, trials
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

_TRIALS = {"quick": 8, "full": 200}
_SMALLEST = {"quick": 16, "full": 24}
_REPLICAS = {"quick": 32, "full": 96}


def gather_ranking(conditions: Conditions) -> Evidence:
    """Run the trials: are the stated misses the measured ones, and is the face named within the tolerance?"""
    effort = conditions.effort
    found = list(
        trials(
            _TRIALS[effort],
            smallest=_SMALLEST[effort],
            replicas=_REPLICAS[effort],
            seed=conditions.seed * 1000,
            machine=conditions.machine,
            name="AE-RANKING",
        )
    )
    pairs = [(trial, face) for trial in found for face in trial.misses]
    agree = _share([trial.agrees(face) for trial, face in pairs])
    shuffled = _share([_other(trial).agrees(face) for trial, face in pairs])
    close = _share([trial.named_is_close for trial in found])
    nearest = _share([_named(trial, -1).named_is_close for trial in found])
    interior = sum(trial.ranking.best.name == "interior" for trial in found)
    return Evidence(
        quantities=(
            Quantity(
                name=f"share of {len(pairs)} faces at {len(found)} sizes whose stated miss is the measured one",
                predicted=1.0,
                measured=agree,
                stderr=_binomial_error(agree, len(found)),
                stderr_bound=0.05,
                rival=shuffled,
                rival_name="the misses in the reverse order of the faces",
                allowance=0.01,
            ),
            Quantity(
                name="share of sizes at which the face named misses no more than the tolerance",
                predicted=1.0,
                measured=close,
                stderr=_binomial_error(close, len(found)),
                stderr_bound=0.05,
                rival=nearest,
                rival_name="the face ranked last",
                allowance=0.01,
            ),
        ),
        plots=(_scatter(found),),
        remarks=(
            f"the face named is the interior at {interior} of {len(found)} sizes",
            *(
                f"{face} at {trial.ranking.sizes}: measured {trial.misses[face].value:.3g} ±"
                f" {trial.misses[face].slack:.2g}"
                for trial, face in pairs
                if not trial.agrees(face)
            ),
        ),
    )


def _other(trial: Trial) -> Trial:
    """The trial with the measured misses in the reverse order."""
    return replace(trial, misses=dict(zip(trial.misses, reversed(trial.misses.values()), strict=True)))


def _named(trial: Trial, place: int) -> Trial:
    """The trial as if the ranking had named another face."""
    known = [ranked for ranked in trial.ranking.faces if ranked.face.name in trial.misses]
    return replace(trial, ranking=replace(trial.ranking, faces=(known[place], *trial.ranking.faces)))


def _share(holds: Sequence[bool]) -> float:
    return sum(holds) / len(holds)


def _binomial_error(share: float, count: int) -> float:
    return float((share * (1 - share) / count) ** 0.5)


def _scatter(found: Sequence[Trial]) -> Plot:
    stated, measured = [], []
    for trial in found:
        for ranked in trial.ranking.faces:
            miss = trial.misses.get(ranked.face.name)
            if miss is not None and miss.value > 0 and ranked.distance_early > 0:
                stated.append(ranked.distance_early)
                measured.append(miss.value)
    low, high = min(stated), max(stated)
    return Plot(
        curves=(
            Curve("one face at one vector of sizes", stated, measured, kind="points"),
            Curve("measured = stated", [low, high], [low, high]),
        ),
        xlabel="stated: distance from the interior",
        ylabel="measured in simulation",
        xscale="log",
        yscale="log",
        alt="Each face's stated miss of the early change against the measured one, on logarithmic axes: the points lie"
        " on the diagonal.",
    )


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
        statement="How far each face is from the truth at actual sizes is known without a simulation: its distance from"
        " the interior at these ratios.",
        source="[P] §4; distances at finite ratios are this project's",
        prediction="regimes.ranking: each face's limit against the interior's over the early change.",
        experiment="Gradient flow at random sizes (ratios and σ²p log-uniform from 1/30 to 30; 200 vectors, quick: 8)"
        " and at half of them, extrapolated in 1/N; all 21 limits against the mean curves.",
        rule="The measured miss is the stated one within 4 standard errors, the interior's own error, half of what the"
        " extrapolation moved, and 0.3 % of the change, for all faces but one in a hundred; and the face named misses"
        " no more than the tolerance.",
        power="The misses in another order of the faces do not agree; the face ranked last is beyond the tolerance.",
        gather=gather_ranking,
    ),
)
