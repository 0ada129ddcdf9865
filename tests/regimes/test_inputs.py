"""The verbs refuse what they cannot use in one line, and take a number of any type at its value."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from regimes.classify import classify
from regimes.derive import derive
from regimes.limit import limit
from regimes.ranking import rank_faces
from regimes.scaling import Scaling, parse_exponent
from theory.autoencoder.series import loss_series
from theory.autoencoder.sizes import Sizes
from theory.errors import BudgetError, InputError, quoted

HUGE = 10**5000
SIZES = Sizes(50, 60, 70, Fraction(1, 60))
FACES = ["R|m", "R,N|m", "R,P|p", "large-data", "mean-field", "narrow-latent", "small-data", "P|m,p"]
LINE = r"^{what}: got .* expected .*; "
limit_of: Callable[..., Any] = limit
derived: Callable[..., Any] = derive


@pytest.mark.parametrize(
    "eta",
    [None, "x", 10**400, HUGE, float("nan"), float("inf"), -1, 0, True, 1j, [1], np.array([1.0]), 1e-320, 5e-324],
    ids=quoted,
)
def test_a_learning_rate_that_is_none_is_refused(eta: object) -> None:
    with pytest.raises(InputError, match=r"^eta: got .* expected a positive number.*; use eta=1"):
        limit_of("large-data", SIZES, [0, 1], eta=eta)


@pytest.mark.parametrize("face", FACES)
@pytest.mark.parametrize(
    "eta", [Fraction(1, 2), Decimal("0.5"), np.float32(0.5), np.float64(0.5), np.array(0.5)[()]], ids=quoted
)
def test_a_learning_rate_of_any_type_is_the_float(face: str, eta: object) -> None:
    curves, plain = limit_of(face, SIZES, [0, 1.5], eta=eta), limit(face, SIZES, [0, 1.5], eta=0.5)
    assert (curves.train, curves.population, curves.error_estimate) == (
        plain.train,
        plain.population,
        plain.error_estimate,
    )
    assert type(curves.eta) is float


@pytest.mark.parametrize("face", FACES)
@pytest.mark.parametrize(
    ("eta", "times"), [(1e-300, [0, 1e-100]), (1.0, [0, 1e-320, 1]), (1e-307, [0, 1e300]), (1e308, [1e10])]
)
def test_times_that_leave_the_floats_are_refused(face: str, eta: float, times: list[float]) -> None:
    with pytest.raises(InputError, match=r"^ηt: got .* expected .*; "):
        limit(face, SIZES, times, eta=eta)


@pytest.mark.parametrize("face", FACES)
def test_times_that_rounding_makes_one_are_refused(face: str) -> None:
    times = [1.9 + k * 2.0**-52 for k in range(4)]
    with pytest.raises(InputError, match=r"^times: got \[1\.9.* further apart"):
        limit(face, SIZES, times)


@pytest.mark.parametrize("face", FACES)
def test_the_smallest_variances_give_numbers(face: str) -> None:
    curves = limit(face, Sizes(5, 5, 5, Fraction(1, 10**300)), [0, 1])
    assert np.isfinite([curves.train, curves.population, curves.error_estimate]).all()


@pytest.mark.parametrize("face", [None, 5, "", "|", "nope", "x" * 10**6, [], b"R|m", HUGE, SIZES], ids=quoted)
def test_what_is_no_face_is_refused(face: object) -> None:
    with pytest.raises(InputError, match=LINE.format(what="face")):
        limit_of(face, SIZES, [0, 1])
    if face is not None:  # for the whole series there is no face
        with pytest.raises(InputError, match=LINE.format(what="face")):
            derived("train", order=1, face=face)


@pytest.mark.parametrize("sizes", [None, "p=5,n=5,m=5,sigma2=1", 5, Scaling(1, 1, 1, -1), HUGE], ids=quoted)
def test_what_are_no_sizes_is_refused(sizes: Any) -> None:
    for verb in (lambda: limit("R,N|m", sizes, [0, 1]), lambda: rank_faces(sizes)):
        with pytest.raises(InputError, match=r"^sizes: got .* expected .*Sizes; give .*Sizes\.parse"):
            verb()


@pytest.mark.parametrize("scaling", [None, "p=5", 5, SIZES, HUGE, (1, 1, 1, -1)], ids=quoted)
def test_what_is_no_scaling_is_refused(scaling: Any) -> None:
    with pytest.raises(
        InputError, match=r"^scaling: got .* expected (a Scaling.*; give .*rank_faces|also n, m, sigma2; name each)"
    ):
        classify(scaling)


@pytest.mark.parametrize("exponent", [HUGE, 10**400, -HUGE, Fraction(1, HUGE)], ids=quoted)
def test_an_exponent_too_long_to_print_is_refused(exponent: Fraction) -> None:
    with pytest.raises(InputError, match=r"exponent of p: got .* up to 18 digits"):
        Scaling(exponent, 1, 1, -1)


def test_the_longest_exponents_print_and_read_back() -> None:
    longest = parse_exponent("p", f"{'9' * 18}.{'9' * 18}")
    result = classify(Scaling(longest, 1, 1, -1))
    assert str(longest) in result.to_text()
    assert Scaling(**{**result.scaling.weights, "p": longest}) == result.scaling


@pytest.mark.parametrize("order", [None, True, -1, 1.5, "3", float("nan"), Fraction(2), [1]], ids=quoted)
def test_what_is_no_order_is_refused(order: object) -> None:
    with pytest.raises(InputError, match=LINE.format(what="order")):
        derived("train", order=order)


@pytest.mark.parametrize("order", [10**9, HUGE], ids=quoted)
def test_an_order_that_takes_years_is_refused(order: int) -> None:
    with pytest.raises(BudgetError, match=r"order .* of the train loss: would need years"):
        derive("train", order=order)


@pytest.mark.parametrize("loss", [None, "Train", 5, ["train"], np.array(["train", "x"]), b"train", {}], ids=quoted)
def test_what_is_no_loss_is_refused(loss: Any) -> None:
    for verb in (lambda: derive(loss, order=1), lambda: loss_series(loss, order=1)):
        with pytest.raises(InputError, match=r"^loss: got .* expected train or population; use loss=.train."):
            verb()


@pytest.mark.parametrize("workers", [0, -1, "a", None, 1.5, True, HUGE, 10**9], ids=quoted)
@pytest.mark.parametrize("planar", [False, True])
def test_what_is_no_number_of_workers_is_refused(workers: Any, planar: bool) -> None:
    with pytest.raises(InputError, match=r"^workers: got .* a whole number from 1 to 1024; use workers=1"):
        derive("train", order=2, planar=planar, workers=workers)
    with pytest.raises(InputError, match=r"^workers: got"):
        loss_series("train", order=2, workers=workers)


@pytest.mark.parametrize("degree", [0, 1, -3, True, "5", 1.0, 200, 10**400, HUGE, float("nan")], ids=quoted)
def test_what_is_no_degree_is_refused(degree: Any) -> None:
    with pytest.raises((InputError, BudgetError), match="degree"):
        limit("free", SIZES, [0, 0.1], degree=degree)
