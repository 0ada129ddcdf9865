"""Tiny experiments for the tests of runs: module-level functions, as workers want them."""

from __future__ import annotations

import gc
import os
import signal
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from numerics.runs.outcome import Experiment, Values


def normals(parameters: Mapping[str, Any], seed: np.random.SeedSequence) -> Values:
    """A few numbers that use BLAS and LAPACK, whose last bits depend on threads and order."""
    generator = np.random.default_rng(seed)
    size = parameters["size"]
    matrix = generator.standard_normal((size, size))
    if parameters.get("fails") and generator.random() < 0.3:
        raise FloatingPointError("diverged at t = 3")
    time.sleep(parameters.get("sleep", 0.0))
    return {
        "product": [float((matrix @ matrix).sum()), -0.0, 5e-324],
        "spectrum": np.linalg.eigvalsh(matrix @ matrix.T)[:3].tolist(),
    }


def killer(parameters: Mapping[str, Any], seed: np.random.SeedSequence) -> Values:
    """Replica 2 kills its worker while the file ``kill`` is in ``folder``; ``once`` in it: it is taken away first."""
    mark = Path(parameters["folder"]) / "kill"
    if seed.spawn_key[0] == 2 and mark.exists():
        if mark.read_text() == "once":
            mark.unlink()
        os.kill(os.getpid(), signal.SIGKILL)
    return normals({"size": 3}, seed)


def collecting(parameters: Mapping[str, Any], seed: np.random.SeedSequence) -> Values:
    """One that collects garbage, as any long one does."""
    gc.collect()
    return normals(parameters, seed)


def odd(parameters: Mapping[str, Any], seed: np.random.SeedSequence) -> Values:
    """What an experiment should not give: infinities, or an exception of its own."""
    if parameters["how"] == "raise":
        raise KeyError("no such thing")
    return {"x": [float("inf") if seed.spawn_key[0] == 1 or parameters["how"] == "always" else 1.0]}


def tiny(**parameters: Any) -> Experiment:
    """The usual experiment of these tests."""
    return Experiment("tiny", {"size": 40, **parameters}, normals)
