"""``ringprism simulate``: Monte Carlo of a model's gradient flow at real sizes."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ringprism import console
from ringprism.options import (
    DaskOption,
    ModelOption,
    PlainFormat,
    PlainFormatOption,
    ReuseOption,
    SeedOption,
    SpectrumOption,
    StoreOption,
    WorkersOption,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class Method(StrEnum):
    """How the weights move."""

    flow = "flow"
    descent = "descent"


def simulate(
    sizes: Annotated[str, typer.Option(help="All sizes, variances and parameters: p=…,n=…,m=…,sigma2=….")],
    times: Annotated[str, typer.Option(help="Times, increasing, separated by commas.")],
    replicas: Annotated[int, typer.Option(min=1, help="Independent draws of all random tensors.")] = 16,
    model: ModelOption = "autoencoder",
    seed: SeedOption = 0,
    eta: Annotated[float, typer.Option(help="Learning rate η.")] = 1.0,
    method: Annotated[Method, typer.Option(help="Gradient flow, or gradient descent with --step.")] = Method.flow,
    step: Annotated[float | None, typer.Option(help="Step of gradient descent, in units of time.")] = None,
    spectrum: SpectrumOption = "isotropic",
    store: StoreOption = None,
    workers: WorkersOption = 1,
    dask: DaskOption = None,
    reuse: ReuseOption = False,
    figure: Annotated[Path | None, typer.Option(help="Write a figure (.png, .svg or .pdf).")] = None,
    force: Annotated[bool, typer.Option("--force", help="Begin a run of many hours.")] = False,
    format: PlainFormatOption = PlainFormat.text,
) -> None:
    """Simulate gradient flow from random weights and data: mean losses over time with standard errors."""
    from numerics.gradient_flow.any_model import simulate as run
    from numerics.gradient_flow.simulate import Simulation
    from theory.times import parse_times

    console.check_figure(figure)
    with console.machine("replicas", workers=workers, dask=dask, store=store, reuse=reuse) as machine:
        result = run(
            sizes,
            parse_times(times),
            model=model,
            replicas=replicas,
            seed=seed,
            eta=eta,
            method=method.value,
            step=step,
            spectrum=spectrum,
            machine=machine,
            force=force,
        )

    def draw() -> Figure:
        from numerics.figures.losses import draw_losses
        from numerics.figures.validation import draw_simulation

        return draw_simulation(result) if isinstance(result, Simulation) else draw_losses(result)

    console.finish(result, format, figure=figure, draw=draw)
