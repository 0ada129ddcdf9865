"""``ringprism single-index``: for a link, a spike and a start, is learning easy, hard or trapped? Loss and flow."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ringprism import console
from ringprism.options import Format, FormatOption, PlainFormat, PlainFormatOption
from theory.errors import InputError

if TYPE_CHECKING:
    from numerics.single_index.outlook import Outlook
    from theory.single_index.link import Link

single_index = typer.Typer(
    name="single-index",
    help="Single-index models with a spiked covariance: loss, flow, training, sample complexity.",
    no_args_is_help=True,
)

LinkOption = Annotated[str, typer.Option("--link", help="The link f, a formula in x, for example x**3-3*x.")]
LambdaOption = Annotated[float, typer.Option("--lambda", help="Strength λ of the spike.")]
Eta1Option = Annotated[float, typer.Option("--eta1", help="Alignment η1 of the spike with the target, 0 to 1.")]
NoiseOption = Annotated[float, typer.Option("--noise", help="Variance of the label noise.")]
FigureOption = Annotated[Path | None, typer.Option("--figure", help="Draw into a .png, .svg or .pdf file.")]


@single_index.command()
def loss(
    link: LinkOption,
    lam: Annotated[float | None, typer.Option("--lambda", help="Strength λ of the spike.")] = None,
    eta1: Annotated[float | None, typer.Option("--eta1", help="Alignment η1 of the spike with the target.")] = None,
    m1: Annotated[float | None, typer.Option("--m1", help="Overlap X·v0.")] = None,
    m2: Annotated[float | None, typer.Option("--m2", help="Overlap of X with the spike's other direction.")] = None,
    order: Annotated[int, typer.Option("--order", help="Order of the expansion at zero overlap.")] = 4,
    d: Annotated[int | None, typer.Option("--d", help="Dimension at which a start is judged.")] = None,
    start: Annotated[
        str, typer.Option("--start", help="The start judged: random, pca:4d, transfer:Z, M1,M2.")
    ] = "random",
    budget: Annotated[float | None, typer.Option("--budget", help="Samples to spend [default: 1.5 d²].")] = None,
    step: Annotated[
        float | None, typer.Option("--step", help="Step size δ/d [default: theory's for the start].")
    ] = None,
    noise: NoiseOption = 0.0,
    figure: FigureOption = None,
    format: FormatOption = Format.text,
) -> None:
    """The population loss of a link: formula, information exponent, expansion at zero overlap, trap; values at a point.

    Example: ringprism single-index loss --link "x**3-3*x" --lambda 1 --eta1 0.45 --m1 0.3 --m2 0.2
    """
    from theory.single_index.link import Link
    from theory.single_index.loss_report import describe_loss

    _check_figure(figure)
    if (m1 is None) != (m2 is None):
        raise InputError(
            "m1, m2", given=(m1, m2), expected="both or neither", remedy="give for example --m1 0.3 --m2 0.2"
        )
    if figure is not None and (lam is None or eta1 is None):
        raise InputError(
            "figure", given=str(figure), expected="also --lambda and --eta1", remedy="add --lambda 1 --eta1 0.45"
        )
    if d is None and (budget is not None or step is not None or start != "random"):
        raise InputError(
            "--d", given=None, expected="a dimension, with --start, --budget or --step", remedy="add --d 1000"
        )
    if d is not None and (lam is None or eta1 is None):
        raise InputError("--d", given=d, expected="also --lambda and --eta1", remedy="add --lambda 1 --eta1 0.45")
    point = None if m1 is None or m2 is None else (m1, m2)
    report = describe_loss(Link.parse(link), lam=lam, eta1=eta1, point=point, order=order, noise=noise)
    if d is not None and lam is not None and eta1 is not None:
        report = replace(report, outlook=_outlook(report.link, lam, eta1, d, noise, start, budget, step))
    if format is not Format.text:
        console.warn(report.warnings)
    if figure is not None and lam is not None and eta1 is not None:
        from numerics.figures.single_index import draw_loss
        from numerics.figures.style import save
        from theory.single_index.loss import PopulationLoss

        save(draw_loss(PopulationLoss(report.link, lam=lam, eta1=eta1, noise=noise), point=point), figure)
    console.emit(report, format)


@single_index.command()
def flow(
    link: LinkOption,
    lam: LambdaOption,
    eta1: Eta1Option,
    start: Annotated[str, typer.Option("--start", help="Overlaps M1,M2 at time 0.")],
    times: Annotated[str, typer.Option("--times", help="Times, increasing, separated by commas.")],
    noise: NoiseOption = 0.0,
    figure: FigureOption = None,
    format: PlainFormatOption = PlainFormat.text,
) -> None:
    """The population gradient flow on the sphere from a start, with the fixed points and the start's fate.

    Example: ringprism single-index flow --link "x**3-3*x" --lambda 1 --eta1 0.45 --start 0.4,0.8 --times 0,0.1,1
    """
    from theory.single_index.flow_report import describe_flow
    from theory.single_index.link import Link
    from theory.single_index.loss import PopulationLoss
    from theory.times import parse_times

    _check_figure(figure)
    landscape = PopulationLoss(Link.parse(link), lam=lam, eta1=eta1, noise=noise)
    report = describe_flow(landscape, start=parse_overlaps(start), times=parse_times(times))
    console.warn(report.warnings)
    if figure is not None:
        from numerics.figures.single_index import draw_portrait
        from numerics.figures.style import save
        from theory.single_index.flow import smooth_path

        with console.progress_bar("starts followed") as progress:
            drawn = draw_portrait(landscape, paths=[smooth_path(report.path)], points=report.points, progress=progress)
        save(drawn, figure)
    console.emit(report, format)


def _outlook(
    link: Link, lam: float, eta1: float, d: int, noise: float, start: str, budget: float | None, step: float | None
) -> Outlook:
    from numerics.single_index.outlook import outlook
    from numerics.single_index.setting import Setting
    from numerics.single_index.starts import parse_start

    setting = Setting(link, lam=lam, eta1=eta1, d=d, noise=noise)
    begin = parse_start(start.replace("pca:", "pca-law:", 1) if start.startswith("pca:") else start)
    return outlook(setting, begin, budget=1.5 * d**2 if budget is None else budget, step=step)


def parse_overlaps(text: str) -> tuple[float, float]:
    """Read ``M1,M2``.

    >>> parse_overlaps("0.4, -0.8")
    (0.4, -0.8)
    """
    from theory.single_index.loss import check_overlaps

    try:
        m1, m2 = (float(part) for part in text.split(","))
    except ValueError as error:
        raise InputError(
            "start", given=text, expected="two numbers M1,M2", remedy="give for example --start 0.4,0.8"
        ) from error
    return check_overlaps(m1, m2)


def _check_figure(figure: Path | None) -> None:
    if figure is not None:
        from numerics.figures.style import figure_path

        figure_path(figure)
