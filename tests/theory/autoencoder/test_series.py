"""The autoencoder's series: known values, Monte Carlo, planar parts, the genus expansion, its forms."""

from __future__ import annotations

import itertools
import json
from fractions import Fraction
from typing import Any, get_args

import numpy as np
import pytest
import sympy

from numerics.gradient_flow.taylor import by_weight_degree
from numerics.runs.seeds import replica_seed
from regimes.derive import derive
from regimes.faces import FACES, Face
from regimes.limit import limit
from regimes.scaling import Scaling, representative
from theory.autoencoder.budget import estimate
from theory.autoencoder.genus import WEIGHTS, genus_expansion
from theory.autoencoder.planar import planar_series, planar_taylor
from theory.autoencoder.series import LossName, LossSeries, loss_series, loss_series_together
from theory.autoencoder.sizes import Sizes
from theory.engine.laurent import Laurent
from theory.errors import BudgetError, InputError

LOSSES: tuple[LossName, ...] = get_args(LossName)
ORDER = 6


@pytest.fixture(scope="module")
def exact() -> dict[LossName, LossSeries]:
    return loss_series_together({"train": ORDER, "population": ORDER})


def polynomial(text: str) -> Laurent:
    """A Laurent polynomial from SymPy text written in this file."""
    p, n, m, v = sympy.symbols("p n m sigma2")
    terms = sympy.Poly(eval(text, {"p": p, "n": n, "m": m, "v": v, "half": sympy.Rational(1, 2)}), p, n, m, v).terms()
    return Laurent(("p", "n", "m", "sigma2"), {e: Fraction(int(c.p), int(c.q)) for e, c in terms})


def test_known_values(exact: dict[LossName, LossSeries]) -> None:
    """Y_0 and Y_1 as printed in [P] §3."""
    population = exact["population"].coefficients
    assert population[0] == polynomial("half*v**2*(p*n + n**2 + n) - v*n")
    assert population[1] == polynomial(
        "m*(4*n*v - 8*v**2*(p*n + n**2 + n) + v**3*(4*p**2*n + 12*p*n**2 + 12*p*n + 4*n**3 + 12*n**2 + 16*n))"
    )
    assert exact["train"].coefficients[0] == population[0]


def test_one_number_for_each_pairing(exact: dict[LossName, LossSeries]) -> None:
    """p = n = m = 1: one weight u and one datum S = x², both Gaussian, so each coefficient is a sum of moments."""
    u2, s = sympy.symbols("u2 s")
    flow, loss = 4 * s * (u2**2 - u2), {"population": u2**2 / 2 - u2, "train": (u2**2 / 2 - u2) * s}
    for name in LOSSES:
        value = loss[name]
        for coefficient in exact[name].coefficients:
            moments = sympy.Poly(sympy.expand(value), u2, s).terms()
            expected = sum(c * sympy.factorial2(2 * a - 1) * sympy.factorial2(2 * b - 1) for (a, b), c in moments)
            assert coefficient.evaluate({"p": 1, "n": 1, "m": 1, "sigma2": 1}) == Fraction(str(expected))
            value = sympy.diff(value, u2) * flow * u2 / u2


@pytest.mark.parametrize("shape", [(4, 5, 6), (6, 3, 4), (5, 8, 6)])
def test_monte_carlo_of_the_flow(exact: dict[LossName, LossSeries], shape: tuple[int, int, int]) -> None:
    """Means of d^sL/dt^s over draws, power by power of σ², within 4 standard errors, s ≤ 3.

    A standard error must be below 4 % of the value, and the planar part alone must be rejected.
    """
    p, n, m = shape
    generator = np.random.default_rng(replica_seed(11, p))
    draws = 100_000
    U, X = generator.standard_normal((draws, n, p)), generator.standard_normal((draws, p, m))
    measured = dict(zip(("train", "population"), by_weight_degree(U, X, order=3), strict=True))
    for loss in LOSSES:
        for s, coefficient in enumerate(exact[loss].coefficients[:4]):
            for d in range(1, s + 3):
                part = Laurent(coefficient.variables, {e: c for e, c in coefficient.terms.items() if e[3] == d})
                predicted, planar = (
                    float(chosen.evaluate({"p": p, "n": n, "m": m, "sigma2": 1}))
                    for chosen in (part, part.leading(WEIGHTS))
                )
                mean = float(measured[loss][s, d - 1].mean())
                stderr = float(measured[loss][s, d - 1].std()) / draws**0.5
                assert abs(mean - predicted) <= 4 * stderr, (loss, s, d)
                assert stderr <= 0.04 * abs(predicted), (loss, s, d)
                assert abs(mean - planar) > 4 * stderr or part == part.leading(WEIGHTS), (loss, s, d)


def test_planar_is_the_leading_part_inside_every_cone(exact: dict[LossName, LossSeries]) -> None:
    """Three scalings in the relative interior of each of the 21 cones; and the leading part is the same in all."""
    for loss in LOSSES:
        planar = planar_series(loss, order=ORDER)
        for face in FACES:
            leading = set()
            for scaling in _inside(face):
                assert scaling.face() == face
                weights = scaling.weights
                whole = exact[loss].leading(weights)
                assert planar.leading(weights) == whole
                leading.add(whole.coefficients)
            assert len(leading) == 1
            constant = Fraction("R" in face.triangle, 2)
            derived = derive(loss, order=ORDER, face=face.name, source=lambda *_, kept=planar, **__: kept)
            assert derived == LossSeries(loss, next(iter(leading)), constant)


def _inside(face: Face) -> list[Scaling]:
    """Different scalings of one face: gaps between winners and losers 1, 2 and 5/3 and another common growth."""
    found = []
    for gap, growth in itertools.product((Fraction(1), Fraction(2), Fraction(5, 3)), (3, 7)):
        top = Fraction(0) if "R" in face.triangle else gap
        wide, narrow = (top if letter in face.triangle else top - gap for letter in "NP")
        data = growth + gap * (("m" in face.segment) - ("p" in face.segment))
        found.append(Scaling(p=growth, n=growth + wide - narrow, m=data, sigma2=narrow - growth))
    return [*found, representative(face)]


@pytest.mark.parametrize("loss", LOSSES)
def test_planar_numbers_are_the_planar_polynomials(loss: LossName) -> None:
    planar = planar_series(loss, order=7)
    for sizes in (Sizes(3, 2, 5, Fraction(3, 7)), Sizes(100, 200, 50, Fraction(1, 64))):
        exact_taylor = planar.exact_taylor(sizes)
        assert planar_taylor(loss, order=7, sizes=sizes) == exact_taylor
    free = derive(loss, order=7, face="free").exact_taylor(Sizes(3, 2, 5, Fraction(3, 7)))
    assert planar_taylor(loss, order=7, sizes=Sizes(3, 2, 5, Fraction(3, 7)), target=False) == free


@pytest.mark.parametrize(
    "sigma2", [Fraction(1, 262139), Fraction(1, 10**300), Fraction(262139, 3 * 10**40), Fraction(10**12)]
)
@pytest.mark.parametrize("loss", ["train", "population"])
def test_numbers_are_the_polynomials_at_variances_that_floats_or_primes_would_lose(
    loss: LossName, sigma2: Fraction
) -> None:
    """262139 is the first prime that the residues are taken of; 10^-300 squared is no float."""
    sizes = Sizes(3, 2, 5, sigma2)
    assert planar_taylor(loss, order=3, sizes=sizes) == planar_series(loss, order=3).exact_taylor(sizes)


@pytest.mark.parametrize("loss", LOSSES)
def test_genus_expansion_sums_to_the_whole(exact: dict[LossName, LossSeries], loss: LossName) -> None:
    parts = genus_expansion(exact[loss])
    assert parts[0] == planar_series(loss, order=ORDER)
    for s, whole in enumerate(exact[loss].coefficients):
        total = sum((part.coefficients[s] for part in parts), start=Laurent.constant(0, whole.variables))
        assert total == whole
        degrees = [part.coefficients[s].degree(WEIGHTS) for part in parts if part.coefficients[s]]
        assert degrees == [s - lost for lost in range(len(degrees))]


def test_first_correction_by_counting_twists() -> None:
    """Terms with one lost node of Tr M² and Tr M²S, from the pairings themselves."""
    first = genus_expansion(loss_series("population", order=1))[1]
    assert first.coefficients[0] == polynomial("half*v**2*n")
    assert first.coefficients[1] == polynomial("m*(12*p*n*v**3 + 12*n**2*v**3 - 8*n*v**2)")


def test_forms_agree(exact: dict[LossName, LossSeries]) -> None:
    series = exact["train"]
    sizes = Sizes(30, 20, 50, Fraction(1, 25))
    point = {"p": 30, "n": 20, "m": 50, "sigma2": Fraction(1, 25)}
    read = LossSeries.from_json(json.loads(json.dumps(series.to_json())))
    assert read == series
    assert hash(read) == hash(series)
    for coefficient, expression in zip(series.coefficients, series.to_sympy(), strict=True):
        value = coefficient.evaluate(point)
        symbols = {sympy.Symbol(k, positive=True): sympy.Rational(str(v)) for k, v in point.items()}
        assert Fraction(str(expression.subs(symbols))) == value
        assert coefficient.compile()(30.0, 20.0, 50.0, 0.04) == pytest.approx(float(value), rel=1e-12)
    times = np.array([0.0, 0.1])
    summed = sum(c * times**s for s, c in enumerate(series.taylor(sizes)))
    assert series.compile()(30, 20, 50, 0.04, times) == pytest.approx(summed, rel=1e-12)
    assert series.to_latex().count(r"\hat Y_{") == ORDER + 1
    assert series.to_text().count("\n") == ORDER + 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"loss": "test", "order": 2}, "expected train or population"),
        ({"loss": "train", "order": -1}, "expected a whole number from 0"),
        ({"loss": "train", "order": True}, "expected a whole number from 0"),
        ({"loss": "train", "order": 2, "face": "cube"}, "one of the prism's 21 faces"),
    ],
)
def test_bad_requests_say_what_to_do(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        derive(**arguments)


def test_what_would_not_fit_is_refused_with_the_estimate() -> None:
    with pytest.raises(BudgetError, match=r"about \d+ minutes and .* GiB.*use force=True"):
        derive("train", order=14)
    with pytest.raises(BudgetError, match="order 20"):
        planar_taylor("train", order=21, sizes=Sizes(1, 1, 1, Fraction(1)))
    costs = [estimate("population", order=s, planar=False).seconds for s in (9, 10, 11)]
    assert costs[2] / costs[1] == pytest.approx(costs[1] / costs[0])


@pytest.mark.parametrize("target", [True, False])
def test_planar_numbers_sum_to_the_limit_found_otherwise(target: bool) -> None:
    """Inside the disk of convergence the Taylor sums to s = 12 are the curves of the free-product algebra in time."""
    sizes, time = Sizes(100, 50, 200, Fraction(1, 100)), 1.0
    curves = limit("interior" if target else "free", sizes, (time,))
    for loss, value in (("train", curves.train[0]), ("population", curves.population[0])):
        terms = [float(c) * time**s for s, c in enumerate(planar_taylor(loss, order=12, sizes=sizes, target=target))]
        assert abs(terms[-1]) < 1e-7
        assert sum(terms) == pytest.approx(value, abs=1e-6 + curves.error_estimate[0])
        assert abs(sum(terms) - terms[0]) > 1e-2
