"""``ringprism classify``: the regime of a scaling, or the faces nearest to actual sizes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ringprism.console import emit, progress_bar, warn
from ringprism.options import Format, FormatOption, ModelOption
from theory.errors import InputError

if TYPE_CHECKING:
    from regimes.ranking import Ranking
    from regimes.scaling import Scaling
    from theory.models.model import Model


def classify(
    p: Annotated[str | None, typer.Option("--p", metavar="A", help="p = N^A; A is exact: 1, -1/2, 0.25.")] = None,
    n: Annotated[str | None, typer.Option("--n", metavar="B", help="n = N^B.")] = None,
    m: Annotated[str | None, typer.Option("--m", metavar="C", help="m = N^C.")] = None,
    sigma2: Annotated[str | None, typer.Option("--sigma2", metavar="D", help="σ² = N^D.")] = None,
    scaling: Annotated[
        str | None, typer.Option("--scaling", help="All exponents at once, for any model: p=1,n=2,m=1,sigma2=-2.")
    ] = None,
    model: ModelOption = "autoencoder",
    sizes: Annotated[
        str | None, typer.Option("--sizes", help="Actual sizes instead: p=200,n=100,m=400,sigma2=1/200.")
    ] = None,
    tolerance: Annotated[
        float, typer.Option("--tolerance", help="The largest miss of the early change for a face to be named.")
    ] = 0.05,
    figure: Annotated[
        Path | None, typer.Option("--figure", metavar="FILE", help="Draw the scaling on the prism (png, svg, pdf).")
    ] = None,
    format: FormatOption = Format.text,
) -> None:
    """Name the regime: the face of the prism, the terms that win, the time and loss scales.

    With exponents of N the answer is exact. With actual sizes the faces are ranked by how far they are.
    """
    declared = _declared(model)
    given = {"p": p, "n": n, "m": m, "sigma2": sigma2}
    if scaling is not None or (declared is not None and sizes is None):
        if sizes is not None or (scaling is not None and any(value is not None for value in given.values())):
            raise InputError(
                "classify", given="--scaling and others", expected="one of the ways", remedy="drop either of them"
            )
        text = scaling or ",".join(f"{name}={value}" for name, value in given.items() if value is not None)
        _classify_scaling(text, declared, figure, format)
        return
    if declared is not None and sizes is not None:
        if any(value is not None for value in given.values()) or figure is not None:
            raise InputError(
                "classify", given="--sizes and others", expected="one of the ways", remedy="drop either of them"
            )
        _rank(sizes, declared, tolerance, format)
        return
    exponents = {"--p": p, "--n": n, "--m": m, "--sigma2": sigma2}
    missing = [name for name, value in exponents.items() if value is None]
    if sizes is not None and len(missing) < len(exponents):
        raise InputError(
            "classify", given="--sizes and exponents", expected="one of the two", remedy="drop either of them"
        )
    if sizes is None and missing:
        raise InputError(
            "classify",
            given=f"no {missing[0]}",
            expected="the exponents --p, --n, --m, --sigma2, or --sizes",
            remedy="give for example --p 1 --n 1 --m 2 --sigma2 -1",
        )
    if sizes is not None:
        _classify_sizes(sizes, figure, format)
    else:
        _classify_exponents([str(value) for value in exponents.values()], figure, format)


def _declared(model: str) -> Model | None:
    """The model, ``None`` for the autoencoder."""
    from theory.models.model import Model

    declared = Model.of(model)
    return None if declared == Model.named("autoencoder") else declared


def _classify_scaling(text: str, model: Model | None, figure: Path | None, format: Format) -> None:
    from regimes.classify import classify as classify_scaling
    from regimes.model_regime import read_scaling
    from regimes.prism import SIZE_NAMES

    if model is None:
        exponents = read_scaling(text, SIZE_NAMES)
        _classify_exponents([str(exponents[name]) for name in SIZE_NAMES], figure, format)
        return
    if figure is not None:
        raise InputError("--figure", given=str(figure), expected="the autoencoder's prism", remedy="leave it out")
    with progress_bar("words") as progress:
        result = classify_scaling(text, model=model, progress=progress)
    warn(result.warnings)
    emit(result, format)


def _rank(sizes: str, model: Model, tolerance: float, format: Format) -> None:
    from regimes.model_ranking import rank_model

    with progress_bar("words") as progress:
        result = rank_model(model, sizes, tolerance=tolerance, progress=progress)
    warn(result.warnings)
    emit(result, format)


def _classify_exponents(exponents: list[str], figure: Path | None, format: Format) -> None:
    from regimes.classify import classify as classify_scaling
    from regimes.scaling import Scaling

    result = classify_scaling(Scaling(*exponents))
    if figure is not None:
        _draw(result.scaling, figure)
    warn(result.warnings)
    emit(result, format)


def _classify_sizes(sizes: str, figure: Path | None, format: Format) -> None:
    from regimes.ranking import rank_faces
    from theory.autoencoder.sizes import Sizes

    result = rank_faces(Sizes.parse(sizes))
    if figure is not None:
        _draw(result, figure)
    warn(result.warnings)
    emit(result, format)


def _draw(placed: Scaling | Ranking, path: Path) -> None:
    from numerics.figures.prism import draw_prism
    from numerics.figures.style import figure_path, save

    save(draw_prism(placed), figure_path(path))
