"""Where and how a run runs: nothing here changes a number."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from numerics.runs.clock import Progress
from numerics.runs.store import Store
from theory.checks import whole
from theory.errors import InputError

MOST_WORKERS = 1024


@dataclass(frozen=True)
class Machine:
    """Where a run runs, and what is kept of it. Results depend on the seed alone, never on the machine.

    ``workers`` local processes (threads, where compiled kernels run), or the Dask cluster whose scheduler has the
    address ``dask``. With ``store``, a file, each finished replica is written at once, and what is found there is not
    run again; ``reuse`` takes even replicas that other code made, with a warning. ``progress(done, total)`` is called
    as the run goes on.

    Ctrl-C keeps what finished. With a store it is written there, and ``KeyboardInterrupt`` goes on: run again to go on
    from it. Without one the result holds the replicas that finished, and says so in its warnings; with ``whole``, for a
    part of a longer run, ``KeyboardInterrupt`` goes on there too.

    >>> Machine(workers=2).workers
    2

    ``warn`` is told each warning of a run as well, for those who make other results of it.

    Raises ``InputError`` for a number of workers out of range, or workers beside a cluster.
    """

    workers: int = 1
    dask: str | None = None
    store: Store | str | Path | None = None
    progress: Progress | None = None
    reuse: bool = False
    whole: bool = False
    warn: Callable[[str], None] | None = None

    def __post_init__(self) -> None:
        whole("workers", self.workers, least=1, most=MOST_WORKERS, remedy="use for example workers=4")
        if self.dask is not None and self.workers != 1:
            raise InputError(
                "workers",
                given=self.workers,
                expected="workers or a cluster, not both",
                remedy="give one of the two, workers= or dask=",
            )

    def part(self, before: int, total: int) -> Machine:
        """The machine for one part of a longer run, whose progress begins at ``before`` of ``total``."""
        tell = self.progress
        return replace(self, whole=True, progress=tell and (lambda done, _: tell(before + done, total)))

    def silent(self) -> Machine:
        """The machine for one part of a run whose progress is counted elsewhere."""
        return replace(self, whole=True, progress=None)


HERE = Machine()
"""One process, nothing kept, nothing told."""


def check_machine(machine: object) -> Machine:
    """The machine, or ``InputError`` for anything else."""
    if not isinstance(machine, Machine):
        raise InputError(
            "machine", given=machine, expected="a Machine", remedy="use for example machine=Machine(workers=4)"
        )
    return machine
