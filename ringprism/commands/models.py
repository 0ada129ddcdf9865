"""``ringprism models``: the models that are shipped, or one of them as a model file."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from ringprism.options import PlainFormat, PlainFormatOption


def models(
    name: Annotated[str | None, typer.Argument(help="A model: its file is printed.", metavar="[NAME]")] = None,
    format: PlainFormatOption = PlainFormat.text,
) -> None:
    """List the models that are shipped, or print one as a model file, from which to write your own."""
    from theory.models.catalogue import shipped_names, shipped_text
    from theory.models.model import Model

    if name is None:
        found = shipped_names()
        if format is PlainFormat.json:
            print(json.dumps({"version": 1, "models": found, "warnings": []}))
            return
        width = max(map(len, found))
        print("\n".join(f"{key:<{width}}  {what}" for key, what in found.items()))
        return
    model = Model.of(name)
    text = model.to_toml() if "/" in name or name.endswith(".toml") else shipped_text(name)
    if format is PlainFormat.json:
        record = {
            "version": 1,
            "model": model.name,
            "variables": list(model.variables),
            "losses": list(model.loss_names),
            "file": text,
            "warnings": [],
        }
        print(json.dumps(record))
        return
    print(text, end="")
