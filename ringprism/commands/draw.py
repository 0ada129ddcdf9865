"""``ringprism draw``: pictures of the diagrams of a loss and of its derivatives."""

from __future__ import annotations

from typing import Annotated

import typer

from ringprism.options import ModelOption


def draw(
    out: Annotated[str, typer.Option("--out", help="The picture: a .png, .svg or .pdf file.", metavar="FILE")],
    loss: Annotated[str, typer.Option("--loss", help="Which loss of the model.", metavar="L")] = "train",
    order: Annotated[int, typer.Option("--order", help="How many merges with the loss descended.", min=0)] = 0,
    model: ModelOption = "autoencoder",
    most: Annotated[int, typer.Option("--most", help="Draw so many diagrams, the largest first.", min=1)] = 12,
    pairing: Annotated[
        int | None, typer.Option("--pairing", help="Draw this Wick pairing (1, 2, …) of the first diagram.", min=1)
    ] = None,
) -> None:
    """Draw the diagrams of a loss's time derivative, before the expectation; or one Wick pairing of the first."""
    from itertools import islice

    from numerics.figures.diagrams import MOST_PANELS, draw_diagram_pairing, draw_diagrams
    from numerics.figures.style import figure_path, save
    from theory.engine.diagram_pairings import enumerate_pairings
    from theory.engine.diagram_terms import derivative_terms
    from theory.errors import InputError
    from theory.models.model import Model

    target = figure_path(out)
    declared = Model.of(model)
    declared.check_loss(loss)
    diagrams = declared.diagrams
    terms = [term for term in derivative_terms(diagrams, loss, order=order) if term.entries]
    if pairing is None:
        fig = draw_diagrams(terms[: min(most, MOST_PANELS)], model=diagrams)
        typer.echo(f"{min(most, MOST_PANELS, len(terms))} of {len(terms)} diagrams: {save(fig, target)}")
        return
    found = list(islice(enumerate_pairings(terms[0], model=diagrams), pairing))
    if len(found) < pairing:
        raise InputError(
            "--pairing", given=pairing, expected=f"one of the {len(found)} pairings", remedy="use --pairing 1"
        )
    typer.echo(f"pairing {pairing}: {save(draw_diagram_pairing(terms[0], found[-1], model=diagrams), target)}")
