"""The models that are shipped, each as the text of a model file: files of this package, and two families."""

from __future__ import annotations

import re
from importlib import resources

from theory.errors import InputError
from theory.models.complaint import nearest

MOST_LAYERS = 8
MOST_LEGS = 8
_FOLDER = "shipped"
_FAMILIES = {
    "deep:L": f"deep linear network of L layers, L = 1 … {MOST_LAYERS}, that reproduces its input",
    "cp:NU": f"CP decomposition of the identity tensor of order NU = 2 … {MOST_LEGS}, one factor (symmetric)",
    "cp:NU:asymmetric": "the same with NU factors",
}
_LEGS = "ijklabde"


def shipped_names() -> dict[str, str]:
    """The names, families as ``deep:L``, and what each model is.

    >>> shipped_names()["autoencoder"]
    'Tied linear autoencoder of [P]: f(x) = UᵀUx, data X.'
    """
    found = {}
    for file in sorted(resources.files("theory.models").joinpath(_FOLDER).iterdir(), key=lambda file: file.name):
        if file.name.endswith(".toml"):
            found[file.name.removesuffix(".toml")] = file.read_text(encoding="utf-8").split("\n")[0].removeprefix("# ")
    first = {"autoencoder": found.pop("autoencoder")}
    return first | found | _FAMILIES


def shipped_text(name: str) -> str:
    """The model file of a shipped model.

    >>> print(shipped_text("cp:3").split("[losses]")[1].strip())
    train = "norm2(U[h,i] U[h,j] U[h,k] - delta[i,j,k]) / 2"

    Raises ``InputError`` for an unknown name.
    """
    if isinstance(name, str):
        if match := re.fullmatch(r"deep:([0-9]{1,3})", name):
            return deep_text(int(match[1]))
        if match := re.fullmatch(r"cp:([0-9]{1,3})(:asymmetric)?", name):
            return cp_text(int(match[1]), symmetric=match[2] is None)
        if re.fullmatch(r"[a-z0-9-]+", name):
            file = resources.files("theory.models").joinpath(_FOLDER, f"{name}.toml")
            if file.is_file():
                return file.read_text(encoding="utf-8")
    names = shipped_names()
    raise InputError(
        "model",
        given=name,
        expected=f"one of {', '.join(names)}, or a file (with / or ending in .toml)",
        remedy=nearest(str(name), names) if isinstance(name, str) else "use for example model='untied'",
    )


def deep_text(layers: int) -> str:
    """A deep linear network with weights W1 (n1×p), …, WL (p×n_{L−1}), variances ``sigma2_1`` … ``sigma2_L``."""
    if not 1 <= layers <= MOST_LAYERS:
        raise InputError(
            "layers", given=layers, expected=f"a whole number from 1 to {MOST_LAYERS}", remedy="use for example deep:3"
        )
    spaces = ["p", *(f"n{i}" for i in range(1, layers)), "p"]
    forward = " ".join(f"W{i}" for i in range(layers, 0, -1))
    rows = [
        f'W{i} = {{ indices = ["{spaces[i]}", "{spaces[i - 1]}"], variance = "sigma2_{i}", trained = true }}'
        for i in range(1, layers + 1)
    ]
    sizes = ", ".join(f'"{size}"' for size in (*spaces[:-1], "m"))
    return "\n".join(
        [
            f"# Deep linear network of {layers} layers: f(x) = {forward} x, data X.",
            f'name = "deep:{layers}"',
            f"sizes = [{sizes}]",
            'descend = "train"',
            "",
            "[tensors]",
            *rows,
            'X = { indices = ["p", "m"], variance = "1" }',
            "",
            "[losses]",
            f'train      = "norm2(X - {forward} X) / (2 p m)"',
            f'population = "norm2(1 - {forward}) / (2 p)"',
            "",
        ]
    )


def cp_text(legs: int, *, symmetric: bool) -> str:
    """CP decomposition of the identity tensor of order ν: ½‖Σ_h u_h ⊗ … ⊗ u_h − δ‖². [D]"""
    if not 2 <= legs <= MOST_LEGS:
        raise InputError(
            "order of the tensor", given=legs, expected=f"a whole number from 2 to {MOST_LEGS}", remedy="use cp:3"
        )
    names = ["U"] if symmetric else [f"U{k + 1}" for k in range(legs)]
    factors = " ".join(f"{names[k % len(names)]}[h,{_LEGS[k]}]" for k in range(legs))
    kind = "" if symmetric else ":asymmetric"
    return "\n".join(
        [
            f"# CP decomposition of the identity tensor of order {legs}, [D]: H rank-one terms.",
            f'name = "cp:{legs}{kind}"',
            'sizes = ["p", "H"]',
            'descend = "train"',
            "",
            "[tensors]",
            *(f'{name} = {{ indices = ["H", "p"], variance = "sigma2", trained = true }}' for name in names),
            "",
            "[losses]",
            f'train = "norm2({factors} - delta[{",".join(_LEGS[:legs])}]) / 2"',
            "",
        ]
    )
