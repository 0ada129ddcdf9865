"""The verb ``solve``: what it prints holds on the series, in the variables that it names."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from math import factorial, perm

import numpy as np
import pytest

from regimes.limit import limit
from regimes.solve import solve, solve_at
from theory.autoencoder.limits.table import SOLUTIONS
from theory.autoencoder.series import LossName
from theory.autoencoder.sizes import Sizes
from theory.errors import InputError, ReachError


@pytest.mark.parametrize(("face", "loss"), [("R,N|m", "train"), ("R,P|p", "train"), ("N|p", "population")])
def test_json_says_what_holds(face: str, loss: LossName) -> None:
    data = solve(face, loss, order=8).to_json()
    assert data["equations"]
    names = list(data["variables"])
    columns = ("u", "p", "n", "m", "sigma2")
    known: dict[tuple[int, ...], Fraction] = {}
    order = 9
    for s, polynomial in enumerate(SOLUTIONS[face].taylor(loss, order)):
        for exponents, c in polynomial.terms.items():
            left = [s, *exponents]
            for k, column in enumerate(columns):
                left[k] -= data["prefactor"].get(column, 0)
            powers = _coordinates(left, [[data["variables"][name].get(c, 0) for c in columns] for name in names])
            known[powers] = c / factorial(s)
    for equation in data["equations"]:
        total: dict[tuple[int, ...], Fraction] = {}
        drop = max(t["derivative"].get("x", 0) - t["monomial"].get("x", 0) for t in equation["terms"])
        for term in equation["terms"]:
            for powers, value in known.items():
                times = [term["derivative"].get(name, 0) for name in names]
                factor = Fraction(term["c"])
                for p, k in zip(powers, times, strict=True):
                    factor *= perm(p, k)
                shift = [term["monomial"].get(name, 0) for name in names]
                key = tuple(p - k + a for p, k, a in zip(powers, times, shift, strict=True))
                total[key] = total.get(key, Fraction(0)) + factor * value
        for term in equation["inhomogeneous"]:
            key = tuple(term["monomial"].get(name, 0) for name in names)
            total[key] = total.get(key, Fraction(0)) + Fraction(term["c"])
        assert not {key: c for key, c in total.items() if c and key[0] <= order - max(drop, 0)}


def _coordinates(vector: list[int], basis: list[list[int]]) -> tuple[int, ...]:
    """The whole combination of the basis, by trying: all tests' exponents are small."""
    for powers in product(range(14), repeat=len(basis)):
        if [sum(k * b[i] for k, b in zip(powers, basis, strict=True)) for i in range(len(vector))] == vector:
            return powers
    raise AssertionError(vector)


def test_output_forms() -> None:
    found = solve("R,N|m", "train", order=6)
    assert "G_x + (-4 A^2 + 4 A) G_A = 0" in found.to_text()
    latex = found.to_latex()
    assert latex.startswith("\\begin{align*}")
    assert "G_{A}" in latex
    assert [scaling.degree for scaling in found.series.scalings] == [0, 0, 0]


def test_bad_requests() -> None:
    with pytest.raises(InputError, match="order"):
        solve("R,N|m", order=2)
    with pytest.raises(InputError, match="face"):
        solve("nowhere")


def test_curve_is_that_of_the_limit() -> None:
    sizes, times = Sizes(100, 20, 3000, Fraction(1, 200)), [0.0, 20.0, 200.0]
    found = solve("R,P|m", "train", order=6).curve(sizes, times)
    assert np.allclose(found.values, limit("R,P|m", sizes, times).train, rtol=1e-13)
    with pytest.raises(ReachError, match="small-data"):
        solve("small-data", "train", order=5, closed=False).curve(sizes, times)


def test_other_models_have_equations_too() -> None:
    # matrix factorisation of the identity is the autoencoder at m = ∞, p times slower and p times larger
    ours = solve("R,N|m", "train", order=6)
    other = solve("1,sigma2*H", "train", model="cp:2", order=6)
    assert [e.operator for e in other.equations] == [e.operator for e in ours.equations]
    assert other.to_json()["prefactor"] == {"p": 1}
    values = other.curve({"p": 10, "H": 40, "sigma2": Fraction(1, 100)}, [0.0, 0.3]).values
    expected = limit("R,N|m", Sizes(10, 40, 10**6, Fraction(1, 100)), [0.0, 3.0]).train
    assert np.allclose(values, 10 * np.array(expected), rtol=1e-13)


def test_scaling_in_place_of_a_face() -> None:
    assert solve_at("p=1,n=1,m=2,sigma2=-1") == "large-data"
