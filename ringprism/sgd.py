"""One-pass SGD in high dimension, as ``rp.sgd``: its ODE, simulation, universality, fluctuations, basins.

>>> import ringprism as rp
>>> task = rp.sgd.task("single-index", step=0.02)
>>> rp.sgd.ode(task, [0, 5], start={"M_1_1": 0.0, "Q_1_1": 0.6}).values[-1, 0].item()
0.0

Names are imported on first use.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from numerics.sgd.basins import basins
    from numerics.sgd.fluctuate import study_fluctuations as fluctuations
    from numerics.sgd.simulate import simulate_sgd as simulate
    from numerics.sgd.universality import universality
    from theory.sgd.fluctuations import fixed_point
    from theory.sgd.laws import law
    from theory.sgd.ode import effective_ode as ode
    from theory.sgd.state import start_state
    from theory.sgd.task import Component, Task, symbols
    from theory.sgd.tasks import build_task as task
    from theory.sgd.tasks import with_steps

__all__ = [
    "Component",
    "Task",
    "basins",
    "fixed_point",
    "fluctuations",
    "law",
    "ode",
    "simulate",
    "start_state",
    "symbols",
    "task",
    "universality",
    "with_steps",
]

_HOMES = {
    "Component": "theory.sgd.task:Component",
    "Task": "theory.sgd.task:Task",
    "basins": "numerics.sgd.basins:basins",
    "fixed_point": "theory.sgd.fluctuations:fixed_point",
    "fluctuations": "numerics.sgd.fluctuate:study_fluctuations",
    "law": "theory.sgd.laws:law",
    "ode": "theory.sgd.ode:effective_ode",
    "simulate": "numerics.sgd.simulate:simulate_sgd",
    "start_state": "theory.sgd.state:start_state",
    "symbols": "theory.sgd.task:symbols",
    "task": "theory.sgd.tasks:build_task",
    "universality": "numerics.sgd.universality:universality",
    "with_steps": "theory.sgd.tasks:with_steps",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'ringprism.sgd' has no attribute {name!r}")
    module, attribute = _HOMES[name].split(":")
    return getattr(import_module(module), attribute)


def __dir__() -> list[str]:
    return sorted(__all__)
