"""The claims' runs of SGD in one store: each set of parameters under a name of its own, at both efforts."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from numerics.claims.ledger import Conditions, Effort
from numerics.claims.sgd import CLAIMS
from numerics.runs.outcome import Experiment, Run, Values


@pytest.mark.parametrize("effort", ["quick", "full"])
@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim.id)
def test_no_two_runs_share_a_name(claim: Any, effort: Effort, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: dict[str, object] = {}
    generator = np.random.default_rng(0)

    def record(experiment: Experiment, *, replicas: int, **_: Any) -> Run:
        """Numbers of the right shape in place of a run."""
        assert seen.setdefault(experiment.name, experiment.parameters) == experiment.parameters, experiment.name
        start: Any = experiment.parameters["start"]
        K, marks = len(start["Q"]), len(experiment.parameters["steps"])  # type: ignore[arg-type]
        width = np.size(start["M"]) + K * (K + 1) // 2 + len(start["b"]) + np.size(start["p"])

        def values() -> Values:
            return {"rows": [float(marks)], "statistics": generator.standard_normal(marks * width).tolist()}

        return Run(tuple(values() for _ in range(replicas)))

    monkeypatch.setattr("numerics.sgd.replicas.run_replicas", record)
    claim.gather(Conditions(effort=effort))
    assert seen
    assert all(name.startswith(f"{claim.id}") for name in seen)
