"""``ringprism atlas``: all 21 faces of the prism on one page."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ringprism import console
from ringprism.options import SeedOption, WorkersOption


def atlas(
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="Write atlas.html there.")],
    replicas: Annotated[int, typer.Option("--replicas", min=2, help="Simulated draws a face.")] = 16,
    seed: SeedOption = 0,
    workers: WorkersOption = 1,
) -> None:
    """Write the atlas: for each face its cone, scales, formula, asymptotics, and limit against simulation."""
    from numerics.files import make_folder, write_whole
    from numerics.gradient_flow.survey import survey_faces
    from numerics.pages.atlas import atlas_html

    make_folder(out)
    with console.machine("faces", workers=workers) as machine:
        surveys = survey_faces(replicas=replicas, seed=seed, machine=machine)
    print(write_whole(out / "atlas.html", atlas_html(surveys)))
