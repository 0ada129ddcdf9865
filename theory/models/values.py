"""Values of a model's sizes, variances and parameters, as users give them: checked, exact."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from theory.checks import rational, whole
from theory.errors import InputError
from theory.models.complaint import nearest
from theory.models.model import Model

LARGEST_SIZE = 10**9
SMALLEST = Fraction(1, 10**100)
"""Variances and parameters beyond this and its inverse leave the range of float64 once they are multiplied."""

Values = dict[str, Fraction | int]
"""By name, in the order of the model's variables: whole numbers for sizes, exact rationals for the others."""


def read_values(model: Model, given: str | Mapping[str, Any] | object) -> Values:
    """Read ``p=20,n=10,sigma2=1/20`` (or a mapping of these): every variable of the model once.

    >>> read_values(Model.named("cp:2"), "p=20, H=10, sigma2=0.05")
    {'p': 20, 'H': 10, 'sigma2': Fraction(1, 20)}

    Raises ``InputError`` for names that the model does not have or that are missing, sizes that are not whole numbers
    from 1, variances that are not positive, zeros below a line, and values that are not numbers.
    """
    example = f"give for example {_example(model)}"
    names = model.variables
    pairs = _pairs(given, names, example)
    missing = [name for name in names if name not in pairs]
    if missing:
        raise InputError("sizes", given=given, expected=f"also {', '.join(missing)}", remedy=example)
    return {name: _value(model, name, pairs[name]) for name in names}


def to_json(values: Values) -> dict[str, int | str]:
    """Sizes as numbers, the others as exact ratios in strings."""
    return {name: value if isinstance(value, int) else str(value) for name, value in values.items()}


def _pairs(given: object, names: tuple[str, ...], example: str) -> dict[str, Any]:
    if isinstance(given, str):
        items = [tuple(part.strip() for part in item.partition("=")) for item in given.split(",")]
        if any(not equals for _, equals, _ in items) or len({name for name, _, _ in items}) < len(items):
            raise InputError("sizes", given=given, expected=f"{', '.join(names)}, each once", remedy=example)
        pairs: dict[str, Any] = {name: value for name, _, value in items}
    elif isinstance(given, Mapping):
        pairs = dict(given)
    elif hasattr(given, "to_json"):
        pairs = dict(given.to_json())
    else:
        raise InputError("sizes", given=given, expected="a text or a mapping", remedy=example)
    for name in pairs:
        if name not in names:
            raise InputError("sizes", given=name, expected=f"{', '.join(names)}", remedy=nearest(str(name), names))
    return pairs


def _value(model: Model, name: str, given: object) -> Fraction | int:
    remedy = f"give for example {name}={'20' if name in model.sizes else '1/20'}"
    exact = rational(name, given, remedy=remedy)
    if name in model.sizes:
        size = int(exact) if exact.denominator == 1 else given
        return whole(f"size {name}", size, least=1, most=LARGEST_SIZE, remedy=remedy)
    if name in model.scales and exact <= 0:
        raise InputError(name, given=given, expected="a positive number", remedy=remedy)
    if exact == 0 and name in model.divisors:
        raise InputError(name, given=given, expected="not 0: the model divides by it", remedy=remedy)
    if exact and not SMALLEST <= abs(exact) <= 1 / SMALLEST:
        raise InputError(name, given=given, expected="a number from 1e-100 to 1e100", remedy=remedy)
    return exact


def _example(model: Model) -> str:
    return ",".join(f"{name}={'20' if name in model.sizes else '1/20'}" for name in model.variables)
