"""A model's declaration as a table, as TOML has it: read with every key and type checked, and written again."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from typing import Any, get_args

from theory.checks import rational
from theory.engine.diagram_tensor import NAME, Kind, Monomial, Tensor
from theory.errors import InputError
from theory.models.complaint import Source, nearest
from theory.models.expand import Expander
from theory.models.parser import FUNCTIONS, parse

RESERVED = ("c", "s", "t", "u", "eta", *FUNCTIONS)
"""Names that results, times and the language use themselves."""

KEYS = ("name", "sizes", "parameters", "descend", "tensors", "losses")
TENSOR_KEYS = ("indices", "variance", "trained", "average", "fixed", "kind", "covariance", "rate")
LARGEST_FILE = 100_000


def read_toml(text: str) -> dict[str, Any]:
    """The table of a TOML text; ``InputError`` for what is no TOML."""
    if not isinstance(text, str) or len(text) > LARGEST_FILE:
        given = f"{len(text)} characters" if isinstance(text, str) else text
        raise InputError("model", given=given, expected=f"TOML of up to {LARGEST_FILE} characters", remedy="shorten it")
    try:
        return tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise InputError(
            "model", given=text, expected=f"TOML ({error})", remedy="see ringprism models autoencoder for an example"
        ) from error


def known_keys(what: str, table: Mapping[str, Any], keys: tuple[str, ...]) -> None:
    """Refuse a key that is not known, with the nearest one."""
    for key in table:
        if key not in keys:
            raise InputError(
                f"key of {what}", given=key, expected=f"one of {', '.join(keys)}", remedy=nearest(key, keys)
            )


def texts(what: str, given: object) -> tuple[str, ...]:
    """A list of texts."""
    if isinstance(given, list | tuple) and all(isinstance(item, str) for item in given):
        return tuple(given)
    raise InputError(what, given=given, expected="a list of names", remedy='write for example ["p", "n"]')


def mapping(what: str, given: object) -> Mapping[str, Any]:
    """A table."""
    if isinstance(given, Mapping) and all(isinstance(key, str) for key in given):
        return given
    raise InputError(what, given=given, expected="a table of names", remedy=f"write them under [{what.split()[0]}]")


def check_name(what: str, name: str) -> None:
    """Refuse what cannot be a name of a size, tensor, variance or parameter."""
    if not NAME.fullmatch(name):
        raise InputError(what, given=name, expected="letters, digits and _, a letter first", remedy="rename it")
    if name in RESERVED:
        raise InputError(what, given=name, expected=f"none of the reserved {', '.join(RESERVED)}", remedy="rename it")


def read_tensor(name: str, given: object) -> Tensor:
    """A tensor from its table."""
    what = f"tensor {name!r}"
    check_name("name of a tensor", name)
    table = mapping(f"tensors: {name}", given)
    known_keys(what, table, TENSOR_KEYS)
    if "indices" not in table:
        raise InputError(
            what, given="no indices", expected="the sizes of its indices", remedy='write indices = ["n", "p"]'
        )
    flags = {}
    for key in ("trained", "average", "fixed"):
        flags[key] = table.get(key, False)
        if not isinstance(flags[key], bool):
            raise InputError(
                f"{key} of {what}", given=flags[key], expected="true or false", remedy=f"write {key} = true"
            )
    if flags["fixed"] and "variance" in table:
        raise InputError(
            f"variance of {what}", given=table["variance"], expected="none with fixed = true", remedy="drop it"
        )
    covariance, kind = table.get("covariance"), table.get("kind", "real")
    if kind not in get_args(Kind):
        kinds = ", ".join(get_args(Kind))
        raise InputError(
            f"kind of {what}", given=kind, expected=f"one of {kinds}", remedy=nearest(str(kind), get_args(Kind))
        )
    if covariance is not None:
        if not isinstance(covariance, str):
            raise InputError(
                f"covariance of {what}", given=covariance, expected="a name", remedy='write covariance = "C"'
            )
        check_name(f"covariance of {what}", covariance)
    return Tensor(
        name,
        texts(f"indices of {what}", table["indices"]),
        read_monomial(f"variance of {what}", table.get("variance", 1)),
        kind=kind,
        rate=read_monomial(f"rate of {what}", table.get("rate", 1)),
        covariance=covariance,
        **flags,
    )


def read_monomial(what: str, given: object) -> Monomial:
    """A positive number, or a text such as ``"sigma2/n"`` or ``"2 / (n p)"``."""
    if isinstance(given, Monomial):
        return given
    if isinstance(given, str):
        source = Source(what, given)
        node = parse(given, what=what)
        names = tuple(dict.fromkeys(NAME.findall(given)))
        value = Expander(source, {}, [name for name in names if name not in FUNCTIONS]).closed(node)
        if len(value.terms) == 1 and value.scalar and value.terms[0].coefficient > 0:
            term = value.terms[0]
            order = {name: k for k, name in enumerate(names)}
            for name, _ in term.powers:
                check_name(what, name)
            return Monomial(term.coefficient, tuple(sorted(term.powers, key=lambda pair: order[pair[0]])))
        source.refuse(0, "not a positive product of numbers and names", 'write for example "sigma2/n"')
    exact = rational(what, given, remedy='write for example 0.5 or "sigma2/n"')
    if exact <= 0:
        raise InputError(what, given=given, expected="a positive number", remedy='write for example 0.5 or "sigma2/n"')
    return Monomial(exact)


def monomial_text(monomial: Monomial) -> str:
    """A monomial as ``read_monomial`` reads it.

    >>> monomial_text(read_monomial("rate", "sigma2/(2 n)"))
    '1/2 sigma2 / (n)'
    """
    above = [name if k == 1 else f"{name}^{k}" for name, k in monomial.powers if k > 0]
    below = [name if k == -1 else f"{name}^{-k}" for name, k in monomial.powers if k < 0]
    number = [str(monomial.coefficient)] if monomial.coefficient != 1 or not above else []
    text = " ".join([*number, *above])
    return f"{text} / ({' '.join(below)})" if below else text


def tensor_toml(tensor: Tensor) -> str:
    """The line of a tensor."""
    parts = [f"indices = {_list(tensor.legs)}"]
    if not tensor.fixed:
        parts.append(f"variance = {_string(monomial_text(tensor.variance))}")
    parts += [f"{flag} = true" for flag in ("trained", "average", "fixed") if getattr(tensor, flag)]
    if tensor.kind != "real":
        parts.append(f"kind = {_string(tensor.kind)}")
    if tensor.covariance is not None:
        parts.append(f"covariance = {_string(tensor.covariance)}")
    if tensor.rate != Monomial():
        parts.append(f"rate = {_string(monomial_text(tensor.rate))}")
    return f"{tensor.name} = {{ {', '.join(parts)} }}"


def model_toml(
    name: str,
    sizes: tuple[str, ...],
    parameters: tuple[str, ...],
    descend: str,
    tensors: tuple[Tensor, ...],
    losses: tuple[tuple[str, str], ...],
) -> str:
    """The text of a model file."""
    lines = [f"name = {_string(name)}", f"sizes = {_list(sizes)}"]
    if parameters:
        lines.append(f"parameters = {_list(parameters)}")
    lines += [f"descend = {_string(descend)}", "", "[tensors]", *map(tensor_toml, tensors), "", "[losses]"]
    width = max(len(loss) for loss, _ in losses)
    lines += [f"{loss:<{width}} = {_string(text)}" for loss, text in losses]
    return "\n".join(lines) + "\n"


def _string(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _list(names: tuple[str, ...]) -> str:
    return f"[{', '.join(map(_string, names))}]"
