"""The regimes of CP decompositions: rates against exact series, explicit losses against their leading monomials."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from functools import cache
from math import prod

import numpy as np
import pytest

from regimes.polytope_atlas import polytope_atlas
from theory.engine.laurent import Laurent
from theory.engine.newton import leading_monomials, limiting_polytope
from theory.engine.polytope import hull
from theory.engine.series import expected_derivatives
from theory.errors import InputError
from theory.models.cp import cp_face, cp_rates
from theory.models.cp_limits import CPSizes, cp_limit
from theory.models.cp_polytope import stated_polytope
from theory.models.model import Model

HIGHEST = {"cp:2": 4, "cp:2:asymmetric": 5, "cp:3": 4, "cp:3:asymmetric": 4}
"""One derivation serves all tests."""


def series(name: str, order: int) -> tuple[Laurent, ...]:
    return derived(name, HIGHEST.get(name, 3))[: order + 1]


@cache
def derived(name: str, order: int) -> tuple[Laurent, ...]:
    model = Model.named(name)
    assert model.variables == ("p", "H", "sigma2")
    return expected_derivatives(model.plan, "train", order=order)


@pytest.mark.parametrize(
    ("name", "nu", "symmetric", "order"),
    [("cp:2", 2, True, 4), ("cp:2:asymmetric", 2, False, 5), ("cp:3:asymmetric", 3, False, 4), ("cp:4", 4, True, 3)],
)
def test_the_limiting_polytope_of_the_series_is_the_triangle(name: str, nu: int, symmetric: bool, order: int) -> None:
    supports = [leading_monomials(y, sizes=("p", "H"), planar=False) for y in series(name, order)]
    found = limiting_polytope(supports, variables=("p", "H", "sigma2"))
    assert set(found.polytope.vertices) == set(cp_rates(nu, symmetric=symmetric).values())


@pytest.mark.parametrize(
    ("name", "nu", "symmetric", "order"),
    [("cp:3", 3, True, 4), ("cp:3:asymmetric", 3, False, 4), ("cp:4", 4, True, 3), ("cp:4:asymmetric", 4, False, 3)],
)
def test_no_derivative_grows_faster_than_the_triangle(name: str, nu: int, symmetric: bool, order: int) -> None:
    # every exponent of D^s, less s times a point of the triangle, stays where those of D^0 and D^1 are, in each
    # direction that the triangle has a normal for
    rates = list(cp_rates(nu, symmetric=symmetric).values())
    directions = np.array([(p, h, s) for p in range(5) for h in range(7) for s in range(-8, 9)])
    rate = (directions @ np.array([[int(2 * x) for x in rate] for rate in rates]).T).max(axis=1)
    tops = [2 * (directions @ np.array(list(y.terms)).T).max(axis=1) for y in series(name, order)]
    offsets = np.array([top - s * rate for s, top in enumerate(tops)])
    assert (offsets.max(axis=0) <= offsets[:2].max(axis=0)).all()
    assert hull(rates).dimension == 2


@pytest.mark.parametrize(("name", "nu"), [("cp:2:asymmetric", 2), ("cp:3:asymmetric", 3), ("cp:4:asymmetric", 4)])
def test_ntk_coefficients(name: str, nu: int) -> None:
    for s, y in enumerate(series(name, 3)):
        assert y.terms[1, s, (nu - 1) * s] == Fraction((2 * nu) ** s, 2)
        assert y.terms[nu, s + 1, nu + (nu - 1) * s] == Fraction((2 * nu) ** s, 2)


def test_ntk_coefficients_of_the_symmetric_model() -> None:
    # all monomials H^s sigma2^2s, whatever their power of p: those of 1/2 p in a constant kernel of two eigenvalues
    p = Fraction(7)
    for s, y in enumerate(series("cp:3", 4)):
        found = sum(c * p ** e[0] for e, c in y.terms.items() if e[1:] == (s, 2 * s))
        trace = 3 * p / (p + 2)
        assert found == (trace * (6 * (p + 8)) ** s + (p - trace) * 36**s) / 2
    loss = cp_limit(3, CPSizes(7.0, 1e9, 1e-5), symmetric=True, face="N")
    assert loss is not None
    assert (loss(np.array(1e-6)) - loss(np.array(0.0))) / 1e-6 == pytest.approx(-27 * 7 * 0.1, rel=1e-4)


@pytest.mark.parametrize(
    ("name", "nu", "symmetric"),
    [("cp:2", 2, True), ("cp:3", 3, True), ("cp:4", 4, True), ("cp:3:asymmetric", 3, False)],
)
def test_free_coefficients_of_a_single_term(name: str, nu: int, symmetric: bool) -> None:
    factor = nu if symmetric else 1
    for s, y in enumerate(series(name, 3)):
        power = nu + (nu - 1) * s
        assert y.terms[power, 1, power] == Fraction(prod(2 * factor * (nu + k * (nu - 1)) for k in range(s)), 2)


@pytest.mark.parametrize(("name", "nu"), [("cp:2", 2), ("cp:4", 4)])
def test_free_coefficients_of_the_mean(name: str, nu: int) -> None:
    pairings = prod(range(1, nu, 2))
    for s, y in enumerate(series(name, 3)):
        found = y.terms[nu // 2 + s * (nu // 2 - 1), 2 + s, nu + (nu - 1) * s]
        assert found == Fraction(pairings * prod(2 * nu * pairings * (nu + k * (nu - 1)) for k in range(s)), 2)


@pytest.mark.parametrize(
    ("face", "weights"),
    [
        ("RNP", (1, 1, -1)),
        ("NP", (1, 1, 0)),
        ("RN", (1, 2, -2)),
        ("RP", (2, 1, -2)),
        ("R", (1, 1, -3)),
        ("N", (1, 2, 0)),
        ("P", (2, 1, 0)),
    ],
)
def test_matrix_losses_have_the_leading_series(face: str, weights: tuple[int, int, int]) -> None:
    scaling = dict(zip(("p", "H", "sigma2"), weights, strict=True))
    found_face = cp_face(2, symmetric=True, **scaling)
    assert found_face.vertices == face
    point = {"p": Fraction(3), "H": Fraction(2), "sigma2": Fraction(1, 5)}
    sizes = CPSizes(3.0, 2.0, 0.2)
    loss = cp_limit(2, sizes, symmetric=True, face=face)
    assert loss is not None
    # the same flow to third order: the leading part of every coefficient at this scaling, in the sizes' values
    step = 1e-3
    grid = loss(step * np.arange(-6, 7) / 6)
    taylor = np.polynomial.polynomial.polyfit(np.arange(-6, 7) / 6, grid, 6)
    for s, y in enumerate(series("cp:2", 3)):
        total = y if s else y - Laurent(y.variables, {(1, 0, 0): Fraction(1, 2)})
        constant = 0.5 * point["p"] if s == 0 and "R" in face else 0
        expected = float(total.leading(scaling).evaluate(point) + constant) * (-1) ** s
        measured = taylor[s] * prod(range(1, s + 1)) / step**s
        assert measured == pytest.approx(expected, rel=1e-4 if s < 3 else 1e-2), s


def test_symmetry_and_order_decide_what_is_over_parameterised() -> None:
    # H against p², σ² large: over-parameterised for ν = 4 symmetric (border p²) but not for asymmetric (p³)
    assert cp_face(4, symmetric=True, p=1, H=2, sigma2=0).vertices == "NP"
    assert cp_face(4, symmetric=True, p=1, H=3, sigma2=0).name == "free, over-parameterised"
    assert cp_face(4, symmetric=False, p=1, H=2, sigma2=0).vertices == "P"
    assert cp_face(4, symmetric=False, p=1, H=4, sigma2=0).name == "NTK"
    assert cp_face(3, symmetric=True, p=1, H=1, sigma2=0).vertices == "NP"


def test_bad_orders_and_faces_are_refused() -> None:
    with pytest.raises(InputError, match="order of the tensor"):
        cp_rates(1, symmetric=True)
    with pytest.raises(InputError, match="face"):
        cp_limit(3, CPSizes(2, 2, 1), symmetric=True, face="Q")
    assert cp_limit(3, CPSizes(2, 2, 1), symmetric=True, face="RN") is None


def test_the_regimes_of_cp_models_are_at_hand_without_a_long_series() -> None:
    found = polytope_atlas(Model.named("cp:3").plan)
    assert set(found.limiting.polytope.vertices) == set(cp_rates(3, symmetric=True).values())
    assert found.certificate.startswith("stated")
    one = {"p": Fraction(1), "H": Fraction(1)}
    assert found.face_at({**one, "sigma2": Fraction(0)}).vertices == ("sigma2^2*p*H", "sigma2^2*p^2")
    assert found.face_at({**one, "sigma2": Fraction(-3)}).vertices == ("sigma2^(1/2)",)
    assert stated_polytope(Model.named("cp:2").plan) is None
    other = replace(Model.named("quadratic"), name="cp:3")
    assert stated_polytope(other.plan) is None
