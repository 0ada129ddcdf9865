"""The verb ``validate`` for any model: the autoencoder's own reference, else the exact finite-size series."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any, overload

from numerics.gradient_flow.model_validate import ModelValidation, validate_model
from numerics.gradient_flow.validate import Validation
from numerics.gradient_flow.validate import validate as validate_autoencoder
from regimes.faces import Face
from theory.autoencoder.sizes import Sizes
from theory.models.model import Model


@overload
def validate(
    face: Face | str | None, sizes: Sizes, times: Iterable[float], *, replicas: int, seed: int, **options: Any
) -> Validation: ...
@overload
def validate(
    face: Face | str | None,
    sizes: object,
    times: Iterable[float],
    *,
    replicas: int,
    seed: int,
    model: Model | str | Path,
    **options: Any,
) -> Validation | ModelValidation: ...
def validate(
    face: Face | str | None,
    sizes: object,
    times: Iterable[float],
    *,
    replicas: int,
    seed: int,
    model: Model | str | Path = "autoencoder",
    **options: Any,
) -> Validation | ModelValidation:
    """Compare theory with a simulation at the same sizes and times, by a rule stated before.

    For the autoencoder ``options`` are those of ``numerics.gradient_flow.validate.validate`` (``eta``, ``machine``, …);
    for any other model those of ``numerics.gradient_flow.model_validate.validate_model``, and ``face`` lists the rates
    that win, or is ``None``.

    >>> found = validate(None, "p=6,H=4,sigma2=1/6", [0.05], replicas=20, seed=0, model="cp:2", order=6)
    >>> found.verdicts["train"]
    'holds'
    """
    declared = Model.of(model)
    if declared == Model.named("autoencoder"):
        known = sizes if isinstance(sizes, Sizes) else Sizes.parse(sizes) if isinstance(sizes, str) else sizes
        return validate_autoencoder(face, known, times, replicas=replicas, seed=seed, **options)  # type: ignore[arg-type]
    text = None if face is None else str(face)
    return validate_model(declared, text, sizes, times, replicas=replicas, seed=seed, **options)
