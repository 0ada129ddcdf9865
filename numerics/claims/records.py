"""A claim's result as JSON, and back."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from numerics.claims.ledger import Claim, Conditions, Curve, Evidence, Plot, Result
from numerics.judge import Quantity
from numerics.runs.places import PlaceError
from numerics.runs.provenance import code_version


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
        "code": code_version(claim.gather),
        "reused": result.reused,
        "warnings": list(result.warnings),
        "error": result.error,
        "quantities": [
            {**_finite(asdict(quantity)), "verdict": quantity.verdict} for quantity in result.evidence.quantities
        ],
        "remarks": list(result.evidence.remarks),
        "plots": [_finite(asdict(plot)) for plot in result.evidence.plots],
    }


def result_from_json(
    record: Mapping[str, Any], claim: Claim, conditions: Conditions, *, place: str = "a report"
) -> Result | None:
    """The result in ``record``, as one that is reused; ``None`` where it was made under other conditions, or in error.

    Raises ``PlaceError``, naming the ``place``, where other code made it; unless the machine is told to reuse it, which
    the result's warnings then say.
    """
    same = (claim.id, conditions.effort, conditions.seed, None)
    if tuple(record[key] for key in ("id", "effort", "seed", "error")) != same:
        return None
    warnings = tuple(str(line) for line in record["warnings"])
    mine, theirs = code_version(claim.gather), str(record["code"])
    if mine != theirs:
        if not conditions.machine.reuse:
            raise PlaceError(
                place,
                given=f"the verdict on {claim.id} by other code, {theirs}",
                expected=f"one by the code that runs, {mine}",
                remedy="use another folder, or reuse=True to take it as it is",
            )
        warnings += (f"{claim.id}: the verdict is one by other code ({theirs}), reused",)
    quantities = [{k: _number(k, v) for k, v in q.items() if k != "verdict"} for q in record["quantities"]]
    plots = [{**plot, "curves": tuple(Curve(**curve) for curve in plot["curves"])} for plot in record["plots"]]
    evidence = Evidence(
        tuple(Quantity(**quantity) for quantity in quantities),
        tuple(Plot(**plot) for plot in plots),
        tuple(record["remarks"]),
    )
    return Result(claim, evidence, float(record["seconds"]), reused=True, warnings=warnings)


def sealed(record: Mapping[str, Any]) -> dict[str, Any]:
    """The record with a checksum over all of it.

    >>> record = sealed({"id": "AE-0"})
    >>> unsealed(record) == record, unsealed({**record, "id": "AE-1"})
    (True, None)
    """
    return {**record, "checksum": _checksum(record)}


def unsealed(record: object) -> dict[str, Any] | None:
    """The record, if it is as it was written."""
    if not isinstance(record, dict) or record.get("checksum") != _checksum(record):
        return None
    return record


def _checksum(record: Mapping[str, Any]) -> str:
    content = {key: value for key, value in record.items() if key != "checksum"}
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


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
