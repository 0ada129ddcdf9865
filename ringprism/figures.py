"""Pictures, as ``rp.figures``: each function draws one result, and ``save`` writes it (png, svg, pdf).

>>> import ringprism as rp
>>> figure = rp.figures.prism(rp.Scaling(p=1, n=2, m=1, sigma2=-2))
>>> len(figure.axes)
1

Names are imported on first use.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from numerics.figures.limit import draw_limit as limit
    from numerics.figures.losses import draw_losses as losses
    from numerics.figures.prism import draw_face as face
    from numerics.figures.prism import draw_face_lattice as face_lattice
    from numerics.figures.prism import draw_prism as prism
    from numerics.figures.rings import draw_merge as merge
    from numerics.figures.rings import draw_pairing as pairing
    from numerics.figures.rings import draw_ring as ring
    from numerics.figures.settling import animate_settling as settling
    from numerics.figures.sgd import simulation_figure as sgd_simulation
    from numerics.figures.sgd import universality_figure as sgd_universality
    from numerics.figures.sgd_fluctuations import fluctuation_figure as sgd_fluctuations
    from numerics.figures.sgd_ode import draw_ode as sgd_ode
    from numerics.figures.single_index import draw_loss as single_index_loss
    from numerics.figures.single_index import draw_portrait as single_index_flow
    from numerics.figures.single_index_compare import comparison_figure as single_index_compare
    from numerics.figures.single_index_train import complexity_figure as single_index_complexity
    from numerics.figures.single_index_train import training_figure as single_index_train
    from numerics.figures.style import colours, figure, panels, save, styled
    from numerics.figures.validation import draw_simulation as simulation
    from numerics.figures.validation import draw_validation as validation

__all__ = [
    "colours",
    "face",
    "face_lattice",
    "figure",
    "limit",
    "losses",
    "merge",
    "pairing",
    "panels",
    "prism",
    "ring",
    "save",
    "settling",
    "sgd_fluctuations",
    "sgd_ode",
    "sgd_simulation",
    "sgd_universality",
    "simulation",
    "single_index_compare",
    "single_index_complexity",
    "single_index_flow",
    "single_index_loss",
    "single_index_train",
    "styled",
    "validation",
]

_HOMES = {
    "colours": "style:colours",
    "face": "prism:draw_face",
    "face_lattice": "prism:draw_face_lattice",
    "figure": "style:figure",
    "limit": "limit:draw_limit",
    "losses": "losses:draw_losses",
    "merge": "rings:draw_merge",
    "pairing": "rings:draw_pairing",
    "panels": "style:panels",
    "prism": "prism:draw_prism",
    "ring": "rings:draw_ring",
    "save": "style:save",
    "sgd_fluctuations": "sgd_fluctuations:fluctuation_figure",
    "sgd_ode": "sgd_ode:draw_ode",
    "sgd_simulation": "sgd:simulation_figure",
    "settling": "settling:animate_settling",
    "sgd_universality": "sgd:universality_figure",
    "simulation": "validation:draw_simulation",
    "single_index_compare": "single_index_compare:comparison_figure",
    "single_index_complexity": "single_index_train:complexity_figure",
    "single_index_flow": "single_index:draw_portrait",
    "single_index_loss": "single_index:draw_loss",
    "single_index_train": "single_index_train:training_figure",
    "styled": "style:styled",
    "validation": "validation:draw_validation",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'ringprism.figures' has no attribute {name!r}")
    module, attribute = _HOMES[name].split(":")
    return getattr(import_module(f"numerics.figures.{module}"), attribute)


def __dir__() -> list[str]:
    return sorted(__all__)
