"""``ringprism single-index compare``: does pre-training help for this link, at this d?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from ringprism import console
from ringprism.commands.single_index import Eta1Option, FigureOption, LambdaOption, LinkOption, NoiseOption
from ringprism.commands.single_index_train import _Method, _method, _MethodOption, _setting, _WorkersOption
from ringprism.commands.single_index_train import single_index as single_index
from ringprism.options import DaskOption, PlainFormat, PlainFormatOption, ReuseOption, SeedOption, StoreOption
from theory.errors import InputError

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@single_index.command("compare")
def compare_command(
    link: LinkOption,
    lam: LambdaOption,
    eta1: Eta1Option,
    d: Annotated[int, typer.Option("--d", help="Input dimension.")],
    budget: Annotated[
        float | None,
        typer.Option("--budget", help="Samples after which a run is given up [default: 8 times the slowest ODE's]."),
    ] = None,
    starts: Annotated[
        str, typer.Option("--starts", help="Starts, separated by commas.")
    ] = "random,pca,pca-random-sign,pca-labels,transfer",
    target: Annotated[float, typer.Option("--target", help="The overlap m1 (|m1| for an even f) to reach.")] = 0.5,
    replicas: Annotated[int, typer.Option("--replicas", help="Independent runs of each start.")] = 32,
    samples: Annotated[float, typer.Option("--samples", help="Unlabelled inputs of PCA, in units of d.")] = 4.0,
    labels: Annotated[int, typer.Option("--labels", help="Labelled samples that choose the sign of PCA.")] = 100,
    transfer: Annotated[float, typer.Option("--transfer", help="ζ of a transferred start's overlap d^−ζ.")] = 0.25,
    noise: NoiseOption = 0.0,
    method: _MethodOption = _Method.reduced,
    store: StoreOption = None,
    seed: SeedOption = 0,
    workers: _WorkersOption = 1,
    dask: DaskOption = None,
    reuse: ReuseOption = False,
    figure: FigureOption = None,
    format: PlainFormatOption = PlainFormat.text,
) -> None:
    """Compare random, PCA and transferred starts: who finds the target, in how many samples, and what theory says.

    Example: ringprism single-index compare --link "x**3-3*x" --lambda 1 --eta1 0.45 --d 200
    """
    from numerics.single_index.compare import compare

    console.check_figure(figure)
    if budget is not None and not (budget >= 1 and budget == int(budget)):
        raise InputError("--budget", given=budget, expected="a whole number from 1", remedy="use --budget 1e6")
    with console.machine("steps, at most", workers=workers, dask=dask, store=store, reuse=reuse) as machine:
        result = compare(
            _setting(link, lam, eta1, d, noise),
            starts=[part.strip() for part in starts.split(",")],
            budget=None if budget is None else int(budget),
            target=target,
            replicas=replicas,
            samples=samples,
            labels=labels,
            transfer=transfer,
            seed=seed,
            method=_method(method),
            machine=machine,
        )

    def draw() -> Figure:
        from numerics.figures.single_index_compare import comparison_figure

        return comparison_figure(result)

    console.finish(result, format, figure=figure, draw=draw)
