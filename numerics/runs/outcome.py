"""What an experiment is, what becomes of one replica of it, and of a whole run."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, overload

import numpy as np

from numerics.judge import mean_and_error
from numerics.runs.provenance import environment

Json = None | bool | int | float | str | list["Json"] | dict[str, "Json"]
Values = dict[str, list[float]]
Progress = Callable[[int, int], None]
"""Called with (replicas finished, replicas in all)."""


@dataclass(frozen=True)
class Experiment:
    """What one replica does.

    ``run(parameters, seed)`` is a function at module level (workers import it by name); ``parameters`` is JSON data
    and, with the seed, determines the result, a dictionary of named lists of finite floats. A replica that cannot
    give one raises an ``ArithmeticError`` (``FloatingPointError("diverged at t = 3")``) or numpy's ``LinAlgError``, or
    returns a value that is not finite: it is then recorded as failed, with the reason, and the others go on. Any other
    exception ends the run.

    In a store the ``name`` stands for one set of parameters: give each point of a sweep its own name. With ``threads``
    local workers are threads of this process: for kernels that hold no interpreter lock and take long to compile.
    """

    name: str
    parameters: Mapping[str, Json]
    run: Callable[[Mapping[str, Json], np.random.SeedSequence], Values]
    threads: bool = False


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
    return Outcome(replica, Failure(replica, reason, "lost"), seconds, environment())
