"""The one clock of a run: how much is done, by all its workers together, and whether the run was stopped."""

from __future__ import annotations

import threading
from collections.abc import Callable

Progress = Callable[[int, int], None]
"""Called with how much is done, and how much there is in all."""


class Stopped(Exception):  # noqa: N818  it is no error
    """The run was stopped while this replica was under way."""


class Clock:
    """Counts units of work (steps, recorded times, replicas); ``progress`` hears of them in the run's own thread only.

    >>> clock = Clock(4, lambda done, total: print(f"{done} of {total}"))
    >>> clock.add(1)
    1 of 4
    >>> clock.settle(3)
    3 of 4
    """

    def __init__(self, total: int, progress: Progress | None = None) -> None:
        self._total, self._done, self._told = total, 0, 0
        self._progress = progress
        self._owner = threading.get_ident()
        self._stopped = threading.Event()
        self._lock = threading.Lock()

    def add(self, units: int = 0) -> None:
        """Count work done, from any thread. Raises ``Stopped`` where the run was stopped: long work asks often."""
        if self._stopped.is_set():
            raise Stopped
        with self._lock:
            self._done += units
        if threading.get_ident() == self._owner:
            self.report()

    def settle(self, units: int) -> None:
        """At least so many units are done: for what was found in a store, or ran where nobody counts."""
        with self._lock:
            self._done = max(self._done, units)
        self.report()

    def report(self) -> None:
        """Tell ``progress``, where there is news."""
        done = min(self._done, self._total)
        if self._progress and done != self._told:
            self._told = done
            self._progress(done, self._total)

    def stop(self) -> None:
        """End the work that asks this clock."""
        self._stopped.set()
