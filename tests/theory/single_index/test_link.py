"""Links: values, slopes, kinks, and what is no link."""

from __future__ import annotations

import numpy as np
import pytest

from theory.errors import InputError
from theory.single_index.link import Link

LINKS = ("x**3-3*x", "erf(x)", "relu(x)", "gelu(x)", "sigmoid(x)", "tanh(x)", "abs(x-1)*x", "exp(-x**2)", "log(1+x**2)")


@pytest.mark.parametrize("text", LINKS)
def test_the_derivative_is_the_slope(text: str) -> None:
    link = Link.parse(text)
    x = np.linspace(-3, 3, 61) + 0.017
    slope = (link.value(x + 1e-6) - link.value(x - 1e-6)) / 2e-6
    np.testing.assert_allclose(link.derivative(x), slope, rtol=1e-6, atol=1e-7)


def test_known_values() -> None:
    x = np.array([-1.0, 0.0, 2.0])
    np.testing.assert_allclose(Link.parse("relu(x)").value(x), [0, 0, 2])
    np.testing.assert_allclose(Link.parse("sigmoid(x)").value(x), 1 / (1 + np.exp(-x)))
    np.testing.assert_allclose(Link.parse("x-x**2").value(x), [-2, 0, -2])
    assert Link.parse("x**2").value(np.ones((2, 3))).shape == (2, 3)


def test_huge_arguments_stay_silent() -> None:
    assert np.isfinite(Link.parse("sigmoid(x)").value([-1e6, 1e6])).all()
    assert np.isinf(Link.parse("exp(x)").value(1e4))


def test_coefficients_are_exact() -> None:
    link = Link.parse("(x-1)**2/3 + 0.1*x**3")
    assert [str(c) for c in link.coefficients] == ["1/3", "-2/3", "1/3", "1/10"]
    assert link.degree == 3
    assert not Link.parse("tanh(x)").is_polynomial
    with pytest.raises(InputError, match="polynomial"):
        _ = Link.parse("tanh(x)").coefficients


def test_kinks() -> None:
    assert Link.parse("abs(x**2-2) + relu(x-0.5)").kinks == pytest.approx((-np.sqrt(2), 0.5, np.sqrt(2)))
    assert Link.parse("tanh(x)").kinks == ()


@pytest.mark.parametrize(
    "text",
    [
        *("3", "x-x", "1/x", "1/(x-0.1234)", "log(abs(x))", "sqrt(x)", "x**(1/3)", "abs(x)**0.5"),
        *("exp(x**2)", "exp(x**2/1000)", "exp(exp(x))", "x*sin(exp(x**2))"),
    ],
)
def test_no_link(text: str) -> None:
    with pytest.raises(InputError, match="link"):
        Link.parse(text)


@pytest.mark.parametrize("text", ["exp(x)/(1+exp(x))**2", "log(1+exp(x))-x/2", "x*(exp(x)-1)/(exp(x)+1)", "cos(x)"])
def test_even_links_are_seen_however_they_are_written(text: str) -> None:
    assert Link.parse(text).is_even
    assert not Link.parse(f"{text} + x/1000000").is_even


@pytest.mark.parametrize("text", ["1/abs(x-0.0012345)", "abs(x-0.0012345)**(-0.4)", "1/(x-0.0012345)**2"])
def test_poles_that_change_no_sign_are_refused(text: str) -> None:
    with pytest.raises(InputError, match="pole"):
        Link.parse(text)
    Link.parse("1/(1+abs(x-0.0012345))")
