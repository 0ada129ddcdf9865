"""What an experiment is, what becomes of one replica of it, and of a whole run."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, overload

import numpy as np

from numerics.judge import mean_and_error
from numerics.runs.clock import Clock
from numerics.runs.provenance import UNKNOWN

Json = None | bool | int | float | str | list["Json"] | dict[str, "Json"]
Values = dict[str, list[float]]
Parameters = Mapping[str, Json]
Single = Callable[[Parameters, np.random.SeedSequence], Values]


@dataclass(frozen=True)
class Batches:
    """Replicas run together by a compiled kernel: ``run(parameters, seeds, clock)`` gives one result a seed.

    A call has up to ``size`` seeds; a replica's result may depend on its own alone. A replica counts ``units`` on the
    clock, which ``run`` moves, and asks now and then whether it was stopped. Kernels hold no interpreter lock and take
    long to compile, so local workers are threads of this process.
    """

    run: Callable[[Parameters, Sequence[np.random.SeedSequence], Clock], Sequence[Values]]
    size: int = 1
    units: int = 1


@dataclass(frozen=True)
class Experiment:
    """What one replica does.

    ``run(parameters, seed)`` is a function at module level (workers import it by name), or ``Batches``. ``parameters``
    is JSON data and, with the seed, determines the result, a dictionary of named lists of finite floats. A replica that
    cannot give one raises an ``ArithmeticError`` (``FloatingPointError("diverged at t = 3")``) or numpy's
    ``LinAlgError``, or returns a value that is not finite. It is then recorded as failed, with the reason, and the
    others go on. Any other exception ends the run.

    In a store the ``name`` stands for one set of parameters: give each point of a sweep its own name. ``remedy`` says
    what to do where every replica fails.
    """

    name: str
    parameters: Parameters
    run: Single | Batches
    remedy: str = "all failed: change the sizes, times or steps"

    @property
    def function(self) -> Callable[..., Any]:
        """The function whose code decides the numbers."""
        return self.run.run if isinstance(self.run, Batches) else self.run


@dataclass(frozen=True)
class Failure:
    """A replica without a result: ``failed`` numerically (for good), or ``lost`` with its workers (worth a retry)."""

    replica: int
    reason: str
    kind: Literal["failed", "lost"] = "failed"


@dataclass(frozen=True)
class Outcome:
    """What became of one replica: its values or its failure, the seconds it took, and what produced it."""

    replica: int
    result: Values | Failure
    seconds: float
    environment: str


@dataclass(frozen=True)
class Run(Sequence[Values]):
    """The results of a run: a sequence of the values of the replicas that gave some, in replica order.

    ``interrupted``: Ctrl-C ended the run, and these are the replicas that had finished. ``reused`` is how many were
    found in the store.

    >>> run = Run(values=({"x": [1.0, 2.0]}, {"x": [3.0, 6.0]}))
    >>> len(run), run[1]["x"]
    (2, [3.0, 6.0])
    >>> mean, stderr = run.mean("x")
    >>> mean.tolist(), stderr.tolist()
    ([2.0, 4.0], [1.0, 2.0])
    """

    values: tuple[Values, ...]
    failures: tuple[Failure, ...] = ()
    warnings: tuple[str, ...] = ()
    interrupted: bool = False
    reused: int = field(default=0, compare=False)

    def __len__(self) -> int:
        return len(self.values)

    @overload
    def __getitem__(self, index: int) -> Values: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Values]: ...
    def __getitem__(self, index: int | slice) -> Values | Sequence[Values]:
        return self.values[index]

    def stack(self, name: str) -> np.ndarray:
        """The lists called ``name``, one row a replica."""
        return np.array([values[name] for values in self.values])

    def mean(self, name: str) -> tuple[np.ndarray, np.ndarray]:
        """Mean over the replicas, and its standard error (NaN for a single replica: it has none)."""
        return mean_and_error(self.stack(name))


def lost(replica: int, reason: str, seconds: float = 0.0) -> Outcome:
    """The outcome of a replica that went down with its workers."""
    return Outcome(replica, Failure(replica, reason, "lost"), seconds, UNKNOWN)
