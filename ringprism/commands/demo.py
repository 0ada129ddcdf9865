"""``ringprism demo``: the main job on one small input, from the series to the verdict."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ringprism import console
from ringprism.options import SeedOption, WorkersOption

DEFAULT_SIZES = "p=80,n=8000,m=120,sigma2=1/40000"
_SHARES = (0.1, 0.25, 0.5, 0.75, 1.0)
_ORDER = 2


def demo(
    sizes: Annotated[str, typer.Option(help="p=…,n=…,m=…,sigma2=…")] = DEFAULT_SIZES,
    replicas: Annotated[int, typer.Option(help="Independent draws of U(0) and X.")] = 16,
    seed: SeedOption = 0,
    workers: WorkersOption = 1,
    out: Annotated[Path, typer.Option(metavar="DIR", help="Folder for the figure.")] = Path("out/demo"),
) -> int:
    """Derive, classify, limit, simulate, judge: the linear autoencoder at given sizes. Exit code 1 on a bad verdict."""
    from numerics.figures.style import save
    from numerics.figures.validation import draw_validation
    from numerics.files import make_folder
    from numerics.gradient_flow.validate import validate
    from regimes.ranking import rank_faces
    from regimes.scaling import representative
    from theory.autoencoder.series import loss_series
    from theory.autoencoder.sizes import Sizes

    given = Sizes.parse(sizes)
    make_folder(out)
    print("1. Derive: E L(t) ~ ½ + Σ_s (−η/pm)^s Y_s t^s/s!")
    coefficients = loss_series("population", order=_ORDER).coefficients
    for s, coefficient in enumerate(coefficients[:_ORDER]):
        print(f"   Y_{s} = {coefficient}")
    print(f"   Y_{_ORDER} has {len(coefficients[_ORDER].terms)} terms")

    ranking = rank_faces(given)
    console.warn(ranking.warnings)
    print(f"\n2. Classify {given}")
    print(
        f"   {ranking.best.name}: terms {' '.join(ranking.best.vertices)} lead; time scale ηt ~ {1 / ranking.rate:.3g}"
    )

    leading = coefficients[_ORDER].leading(representative(ranking.best).weights)
    print(f"   of Y_{_ORDER} there remain {leading}")

    print("\n3. Limit, simulation, verdict")
    with console.machine("replicas", workers=workers) as machine:
        found = validate(
            ranking.best,
            given,
            [share / ranking.rate for share in _SHARES],
            replicas=replicas,
            seed=seed,
            machine=machine,
        )
    print("\n".join(f"   {line}".rstrip() for line in found.to_text().splitlines()))
    for suffix in ("png", "svg"):
        save(draw_validation(found), out / f"demo.{suffix}")
    print(f"\nfigure: {out / 'demo.png'} and {out / 'demo.svg'}")
    return 0 if found.holds else console.FAILED
