"""The public face of ringprism: ``import ringprism as rp``. The packages beneath are internal and may move.

>>> from ringprism import Scaling, classify, derive
>>> classify(Scaling(p=1, n=2, m=1, sigma2=-2)).face.name
'mean-field'
>>> print(derive("population", order=0).coefficients[0])
1/2 p n sigma2^2 + 1/2 n^2 sigma2^2 + 1/2 n sigma2^2 - n sigma2

Names are imported on first use, so that ``import ringprism`` costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from numerics.claims.run import run_claims as claims
    from numerics.gradient_flow.any_model import simulate
    from numerics.gradient_flow.any_validate import validate
    from numerics.runs.machine import Machine
    from regimes.any_limit import limit
    from regimes.classify import classify
    from regimes.derive import derive
    from regimes.model_ranking import rank_model
    from regimes.polytope_atlas import polytope_atlas
    from regimes.ranking import rank_faces
    from regimes.scaling import Scaling
    from regimes.solve import solve
    from ringprism import figures as figures
    from ringprism import sgd as sgd
    from ringprism import single_index as single_index
    from theory.autoencoder.sizes import Sizes
    from theory.engine.pairings import pairings
    from theory.engine.ring_graph import surface
    from theory.errors import BudgetError, InputError, ReachError, RingprismError
    from theory.models.model import Model
    from theory.models.variance import predicted_error

__all__ = [
    "BudgetError",
    "InputError",
    "Machine",
    "Model",
    "ReachError",
    "RingprismError",
    "Scaling",
    "Sizes",
    "claims",
    "classify",
    "derive",
    "figures",
    "limit",
    "pairings",
    "polytope_atlas",
    "predicted_error",
    "rank_faces",
    "rank_model",
    "sgd",
    "simulate",
    "single_index",
    "solve",
    "surface",
    "validate",
]

_HOMES = {
    "BudgetError": "theory.errors:BudgetError",
    "InputError": "theory.errors:InputError",
    "ReachError": "theory.errors:ReachError",
    "RingprismError": "theory.errors:RingprismError",
    "Machine": "numerics.runs.machine:Machine",
    "Scaling": "regimes.scaling:Scaling",
    "Sizes": "theory.autoencoder.sizes:Sizes",
    "Model": "theory.models.model:Model",
    "claims": "numerics.claims.run:run_claims",
    "classify": "regimes.classify:classify",
    "derive": "regimes.derive:derive",
    "limit": "regimes.any_limit:limit",
    "pairings": "theory.engine.pairings:pairings",
    "polytope_atlas": "regimes.polytope_atlas:polytope_atlas",
    "predicted_error": "theory.models.variance:predicted_error",
    "rank_model": "regimes.model_ranking:rank_model",
    "rank_faces": "regimes.ranking:rank_faces",
    "simulate": "numerics.gradient_flow.any_model:simulate",
    "solve": "regimes.solve:solve",
    "surface": "theory.engine.ring_graph:surface",
    "validate": "numerics.gradient_flow.any_validate:validate",
}


_ROOMS = ("figures", "sgd", "single_index")
"""Short namespaces of their own: ``rp.single_index.compare(…)``."""


def _hidden() -> None:
    """Say which file or folder of the user's hides a package of ours: imports find the first of a name."""
    import sys
    from importlib.util import find_spec
    from pathlib import Path

    home = Path(__file__).resolve().parents[1]
    for name in ("theory", "regimes", "numerics"):
        if name in sys.modules and getattr(sys.modules[name], "__file__", None) is None:
            continue  # a namespace, or made by hand
        spec = find_spec(name)
        places = [] if spec is None else [spec.origin, *(spec.submodule_search_locations or ())]
        found = next((Path(place).resolve() for place in places if place and place != "namespace"), None)
        if found is not None and home not in found.parents:
            message = f"{found} hides ringprism's package {name!r}: rename it, or start Python from another folder"
            if sys.argv[0] == "-m" or Path(sys.argv[0]).stem == "ringprism":  # the command line
                print(f"error: {message}", file=sys.stderr)
                raise SystemExit(2)
            raise ImportError(message)


_hidden()


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        return version("ringprism")
    if name in _ROOMS:
        return import_module(f"ringprism.{name}")
    if name not in _HOMES:
        raise AttributeError(f"module 'ringprism' has no attribute {name!r}")
    module, attribute = _HOMES[name].split(":")
    return getattr(import_module(module), attribute)


def __dir__() -> list[str]:
    return sorted(__all__)
