"""The polytope of a shipped CP model, stated where its series settles too late to be asked. [D] §5."""

from __future__ import annotations

from functools import lru_cache

from theory.engine.diagram_model import DiagramModel
from theory.engine.model import MatrixModel
from theory.engine.newton import LimitingPolytope
from theory.engine.polytope import hull
from theory.models.cp import VARIABLES, cp_rates
from theory.models.model import Model

_CERTIFICATE = (
    "stated: the triangle of rates of CP models; no exponent of the exact series grows faster"
    " (checked to s = 4 for order 3, to s = 3 for orders 4 and 5, to s = 2 or 3 for order 6)"
)
_HIGHEST = 6


def stated_polytope(plan: MatrixModel | DiagramModel) -> LimitingPolytope | None:
    """The triangle of a shipped CP model of order 3 to 6, ``None`` for any other plan.

    >>> found = stated_polytope(Model.named("cp:3").plan)
    >>> found.rates
    ('sigma2^(1/2)', 'p H sigma2^2', 'p^2 sigma2^2')
    """
    if plan.variables != VARIABLES:
        return None
    for order in range(3, _HIGHEST + 1):
        for symmetric in (True, False):
            if plan.name == _name(order, symmetric) and plan == _plan(order, symmetric):
                rates = cp_rates(order, symmetric=symmetric).values()
                orders = (1, 2) if order <= 4 else (1,)
                return LimitingPolytope(VARIABLES, hull(rates), 1, orders, minkowski=False, stated=_CERTIFICATE)
    return None


def _name(order: int, symmetric: bool) -> str:
    return f"cp:{order}" if symmetric else f"cp:{order}:asymmetric"


@lru_cache(maxsize=16)
def _plan(order: int, symmetric: bool) -> MatrixModel | DiagramModel:
    return Model.named(_name(order, symmetric)).plan
