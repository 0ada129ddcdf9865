"""The verb ``limit`` for any model: the autoencoder's own solutions, else the leading series resummed."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any, overload

from regimes.faces import Face
from regimes.limit import LimitCurves
from regimes.limit import limit as autoencoder_limit
from regimes.model_limit import ModelLimit, model_limit
from theory.autoencoder.sizes import Sizes
from theory.errors import InputError
from theory.models.model import Model


@overload
def limit(face: Face | str, sizes: Sizes, times: Iterable[float], **options: Any) -> LimitCurves: ...
@overload
def limit(
    face: Face | str | None, sizes: object, times: Iterable[float], *, model: Model | str | Path, **options: Any
) -> LimitCurves | ModelLimit: ...
def limit(
    face: Face | str | None,
    sizes: object,
    times: Iterable[float],
    *,
    model: Model | str | Path = "autoencoder",
    **options: Any,
) -> LimitCurves | ModelLimit:
    """The losses of a face at given sizes and times.

    For the autoencoder ``options`` are those of ``regimes.limit.limit`` (``eta``, ``corrected``, ``spectrum``, …); for
    any other model those of ``regimes.model_limit.model_limit`` (``eta``, ``scaling``, ``patience``), and ``face``
    lists the rates that win.

    >>> limit("R,N|m", Sizes.parse("p=20,n=40,m=400,sigma2=1/40"), [0, 5]).face.name
    'R,N|m'
    """
    declared = Model.of(model)
    if declared == Model.named("autoencoder") and face is not None:
        return autoencoder_limit(face, sizes if isinstance(sizes, Sizes) else Sizes.parse(str(sizes)), times, **options)
    spectrum = options.pop("spectrum", "isotropic")
    if not (isinstance(spectrum, str) and spectrum.strip() == "isotropic"):
        raise InputError(
            "spectrum",
            given=f"{getattr(spectrum, 'text', spectrum)} for the model {declared.name}",
            expected="a face of the autoencoder: other models are solved for isotropic data",
            remedy="leave it out, or take the model autoencoder",
        )
    return model_limit(declared, None if face is None else str(face), sizes, times, **options)
