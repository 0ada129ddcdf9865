"""A claim's result as JSON, and back."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict
from importlib.metadata import version
from typing import Any

from numerics.claims.ledger import Claim, Conditions, Curve, Evidence, Plot, Result
from numerics.judge import Quantity


def result_to_json(result: Result, conditions: Conditions) -> dict[str, Any]:
    """Everything about a result that is data; numbers that are not finite become null."""
    claim = result.claim
    return {
        "id": claim.id,
        "statement": claim.statement,
        "source": claim.source,
        "prediction": claim.prediction,
        "experiment": claim.experiment,
        "rule": claim.rule,
        "power": claim.power,
        "verdict": result.verdict,
        "seconds": round(result.seconds, 3),
        "effort": conditions.effort,
        "seed": conditions.seed,
        "release": version("ringprism"),
        "error": result.error,
        "quantities": [
            {**_finite(asdict(quantity)), "verdict": quantity.verdict} for quantity in result.evidence.quantities
        ],
        "remarks": list(result.evidence.remarks),
        "plots": [_finite(asdict(plot)) for plot in result.evidence.plots],
    }


def result_from_json(record: Mapping[str, Any], claim: Claim, conditions: Conditions) -> Result | None:
    """The result in ``record``; ``None`` where it was made under other conditions, by another release, or in error."""
    same = (claim.id, conditions.effort, conditions.seed, version("ringprism"), None)
    if tuple(record[key] for key in ("id", "effort", "seed", "release", "error")) != same:
        return None
    quantities = [{k: _number(k, v) for k, v in q.items() if k != "verdict"} for q in record["quantities"]]
    plots = [{**plot, "curves": tuple(Curve(**curve) for curve in plot["curves"])} for plot in record["plots"]]
    evidence = Evidence(
        tuple(Quantity(**quantity) for quantity in quantities),
        tuple(Plot(**plot) for plot in plots),
        tuple(record["remarks"]),
    )
    return Result(claim, evidence, float(record["seconds"]))


_NO_FLOATS = ("name", "rival_name", "relation", "replicas")


def _number(key: str, value: Any) -> Any:
    return math.nan if value is None and key not in _NO_FLOATS else value


def _finite(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(item) for item in value]
    if isinstance(value, (float, int)) and not isinstance(value, bool):
        number = float(value)
        return number if math.isfinite(number) else None
    if hasattr(value, "tolist"):
        return _finite(value.tolist())
    return value
