"""``ringprism single-index train`` and ``ringprism single-index complexity``."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from ringprism import console
from ringprism.commands.single_index import (
    Eta1Option,
    FigureOption,
    LambdaOption,
    LinkOption,
    NoiseOption,
)
from ringprism.commands.single_index import (
    single_index as single_index,
)
from ringprism.options import (
    DaskOption,
    Format,
    FormatOption,
    PlainFormat,
    PlainFormatOption,
    ReuseOption,
    SeedOption,
    StoreOption,
)
from theory.errors import InputError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from numerics.single_index.chains import Method
    from numerics.single_index.setting import Setting

_StartOption = Annotated[
    str,
    typer.Option(
        "--start",
        help="random; pca:N0 or pca:4d (from samples), pca-law:N0 (its exact law), pca-limit:N0 (its limit); "
        "transfer:ZETA[:C] (overlap C·d^−ZETA); or M1,M2.",
    ),
]
_SignOption = Annotated[
    str, typer.Option("--pca-sign", help="Sign of a principal component: oracle (as [S] assumes), labels:K, random.")
]


class _Method(StrEnum):
    """How a chain is run."""

    reduced = "reduced"
    full = "full"


_MethodOption = Annotated[
    _Method, typer.Option("--method", help="reduced: exact in law, cost independent of d; full: every coordinate.")
]
_WorkersOption = Annotated[int, typer.Option("--workers", min=1, help="Threads.")]
_RECORDS = 400


@single_index.command("train")
def train_command(
    link: LinkOption,
    lam: LambdaOption,
    eta1: Eta1Option,
    d: Annotated[int, typer.Option("--d", help="Input dimension.")] = 1000,
    steps: Annotated[int, typer.Option("--steps", help="Steps, one fresh sample each.")] = 1_500_000,
    step: Annotated[
        float | None, typer.Option("--step", help="Step size δ/d, the factor of the gradient [default: 1/(10 d²)].")
    ] = None,
    start: _StartOption = "random",
    replicas: Annotated[int, typer.Option("--replicas", help="Independent runs.")] = 16,
    method: _MethodOption = _Method.reduced,
    pca_sign: _SignOption = "oracle",
    target: Annotated[
        float, typer.Option("--target", help="Success is to end with m1 (|m1| for an even f) here.")
    ] = 0.9,
    noise: NoiseOption = 0.0,
    store: StoreOption = None,
    seed: SeedOption = 0,
    workers: _WorkersOption = 1,
    dask: DaskOption = None,
    reuse: ReuseOption = False,
    figure: FigureOption = None,
    format: PlainFormatOption = PlainFormat.text,
) -> None:
    """Train by online spherical SGD, and count who finds the target.

    Example: ringprism single-index train --link "x**3-3*x" --lambda 1 --eta1 0.45 --start pca:4000
    """
    from numerics.single_index.starts import parse_start
    from numerics.single_index.train import train

    console.check_figure(figure)
    setting = _setting(link, lam, eta1, d, noise)
    if not 0 < target < 1:
        raise InputError("target", given=target, expected="a number between 0 and 1", remedy="use --target 0.9")
    with console.machine("steps", workers=workers, dask=dask, store=store, reuse=reuse) as machine:
        result = train(
            setting,
            parse_start(start, sign=pca_sign),
            steps=steps,
            step=0.1 / d**2 if step is None else step,
            replicas=replicas,
            seed=seed,
            method=_method(method),
            target=target,
            every=max(1, steps // _RECORDS) if figure or store else 0,  # a stored run may want its figure later
            machine=machine,
        )

    def draw() -> Figure:
        from numerics.figures.single_index_train import training_figure

        return training_figure([result])

    console.finish(result, format, figure=figure, draw=draw)


@single_index.command("complexity")
def complexity_command(
    link: LinkOption,
    lam: LambdaOption,
    eta1: Eta1Option,
    start: _StartOption = "random",
    dims: Annotated[str, typer.Option("--dims", help="Dimensions, increasing, for example 100,200,400.")] = (
        "100,200,400"
    ),
    target: Annotated[float, typer.Option("--target", help="The overlap m1 (|m1| for an even f) to reach.")] = 0.5,
    replicas: Annotated[int, typer.Option("--replicas", help="Independent runs at each dimension.")] = 32,
    pca_sign: _SignOption = "oracle",
    steps: Annotated[
        str | None, typer.Option("--steps", help="Step sizes δ/d, one a dimension [default: as theory bounds them].")
    ] = None,
    budget: Annotated[
        float, typer.Option("--budget", help="A run is given up after this many times the samples the ODE needs.")
    ] = 8.0,
    noise: NoiseOption = 0.0,
    method: _MethodOption = _Method.reduced,
    store: StoreOption = None,
    seed: SeedOption = 0,
    workers: _WorkersOption = 1,
    dask: DaskOption = None,
    reuse: ReuseOption = False,
    figure: FigureOption = None,
    format: FormatOption = Format.text,
) -> None:
    """Measure how many samples it takes to reach an overlap, and the power of d, beside the theory's.

    Example: ringprism single-index complexity --link "x**3-3*x" --lambda 0 --eta1 1 --start random --dims 50,100,200
    """
    from numerics.single_index.complexity import complexity
    from numerics.single_index.starts import parse_start

    console.check_figure(figure)
    sizes = [int(size) for size in _numbers("dims", dims, whole=True)]
    with console.machine("steps, at most", workers=workers, dask=dask, store=store, reuse=reuse) as machine:
        result = complexity(
            _setting(link, lam, eta1, sizes[0], noise),
            parse_start(start, sign=pca_sign),
            dims=sizes,
            target=target,
            replicas=replicas,
            seed=seed,
            steps=None if steps is None else _numbers("steps", steps),
            budget=budget,
            method=_method(method),
            machine=machine,
        )

    def draw() -> Figure:
        from numerics.figures.single_index_train import complexity_figure

        return complexity_figure([result])

    notes = () if format is Format.text else result.notes
    console.finish(result, format, figure=figure, draw=draw, warnings=notes)


def _setting(link: str, lam: float, eta1: float, d: int, noise: float) -> Setting:
    from numerics.single_index.setting import Setting
    from theory.single_index.link import Link

    return Setting(Link.parse(link), lam=lam, eta1=eta1, d=d, noise=noise)


def _method(chosen: _Method) -> Method:
    return "full" if chosen is _Method.full else "reduced"


def _numbers(what: str, text: str, *, whole: bool = False) -> list[float]:
    try:
        return [int(item) if whole else float(item) for item in text.split(",")]
    except ValueError as error:
        kind = "whole numbers" if whole else "numbers"
        raise InputError(
            what, given=text, expected=f"{kind} separated by commas", remedy=f"use for example --{what} 100,200"
        ) from error
