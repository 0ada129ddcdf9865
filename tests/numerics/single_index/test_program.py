"""Links as instructions: the kernels' f and f′ against SymPy's."""

from __future__ import annotations

import numpy as np
import pytest

from numerics.single_index.program import _TANH, compile_link, execute
from theory.errors import InputError
from theory.single_index.link import Link

LINKS = (
    "x**3 - 3*x",
    "He(5, x)/10",
    "erf(x)",
    "relu(x)",
    "relu(x - 1) + abs(x)**3",
    "gelu(x)",
    "sigmoid(2*x + 1)",
    "x*tanh(x)**2",
    "1/(1 + x**2)",
    "(1 + x**2)**(-1/3)",
    "log(1 + x**2)*sqrt(2 + x**2)",
    "2**x - exp(-x**2)",
    "sin(x)*cos(x) + x/(2 + cos(x))",
    "He(3, tanh(x))*pi",
    "tanh(x)*exp(sin(x))",
)


def run(text: str, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    program = compile_link(Link.parse(text))
    rows = np.full((program.registers, x.size), np.nan)
    rows[0] = x
    execute(program.instructions, program.constants, rows)
    return rows[program.value], rows[program.slope]


@pytest.mark.parametrize("text", LINKS)
def test_value_and_slope_are_the_links(text: str) -> None:
    x = np.linspace(-3, 3, 61)
    value, slope = run(text, x)
    link = Link.parse(text)
    np.testing.assert_allclose(value, link.value(x), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(slope, link.derivative(x), rtol=1e-12, atol=1e-12)


def test_slope_is_the_derivative_of_value() -> None:
    x, h = np.linspace(-2, 2, 9), 1e-6
    for text in ("gelu(x)", "x*tanh(x)**2", "(1 + x**2)**(-1/3)"):
        difference = (run(text, x + h)[0] - run(text, x - h)[0]) / (2 * h)
        np.testing.assert_allclose(run(text, x)[1], difference, atol=1e-8)


def test_shared_parts_are_computed_once() -> None:
    operations = compile_link(Link.parse("tanh(x) + tanh(x)**3")).instructions[:, 0].tolist()
    assert operations.count(_TANH) == 1


def test_programs_cannot_be_changed() -> None:
    with pytest.raises(ValueError, match="read-only"):
        compile_link(Link.parse("x**3")).constants[0] = 1.0


def test_code_is_refused_before_it_gets_here() -> None:
    with pytest.raises(InputError):
        compile_link(Link.parse("__import__('os').getcwd()"))
