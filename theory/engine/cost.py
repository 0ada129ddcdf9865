"""What a series would cost, known while it is computed: measured orders, times the growth of their work per order."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from time import process_time

from theory.errors import BudgetError, quoted

SECONDS_LIMIT = 600.0
GIBIBYTES_LIMIT = 8.0
_YEAR = 3.2e7
_FIRST_JUDGED = 2
_LEAST_GROWTH, _MOST_GROWTH = 1.5, 1e3
_HOPELESS = 60

Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class Cost:
    """Seconds on one core, and memory.

    >>> print(Cost(3000, 2))
    about 50 minutes and 2.0 GiB
    """

    seconds: float
    gibibytes: float

    def __str__(self) -> str:
        if self.seconds > _YEAR:
            return "years"
        units = (("seconds", 1.0), ("minutes", 60.0), ("hours", 3600.0), ("days", 86400.0))
        unit, length = next(u for u in reversed(units) if self.seconds >= 2 * u[1] or u[1] == 1.0)
        time = f"{self.seconds / length:.0f} {unit}"
        return f"about {time} and {self.gibibytes:.1f} GiB"

    def check(self, what: str) -> None:
        """Raise ``BudgetError`` for more than ten minutes or 8 GiB."""
        if self.seconds > SECONDS_LIMIT or self.gibibytes > GIBIBYTES_LIMIT:
            raise BudgetError(
                what,
                estimate=str(self),
                limit=f"{SECONDS_LIMIT / 60:.0f} minutes and {GIBIBYTES_LIMIT:.0f} GiB",
                remedy="ask for a lower order, or use force=True",
            )


@dataclass(eq=False)
class Watch:
    """Follows a series computed order by order; refuses the rest where it would take too long.

    ``done`` is told the work of each order, in any unit that grows as time does, and the bytes it held at most. From
    the second order on the rest is extrapolated geometrically. ``progress`` gets work done and the work expected.
    """

    what: str
    order: int
    force: bool = False
    progress: Progress | None = None
    _work: list[int] = field(default_factory=list)
    _clock: float = field(default_factory=process_time)

    def done(self, work: int, *, held: int = 0) -> None:
        """One more order is finished. ``BudgetError`` where the remaining ones would not fit, unless forced."""
        seconds, self._clock = process_time() - self._clock, process_time()
        self._work.append(max(1, work))
        left = self.order + 1 - len(self._work)
        if left and len(self._work) > _FIRST_JUDGED and not self.force:
            growth = self._growth()
            steps = min(left, _HOPELESS)
            Cost(seconds * sum(growth**j for j in range(1, steps + 1)), held * growth**steps / 2**30).check(
                f"order {quoted(self.order)} of {self.what}"
            )
        if self.progress:
            finished = sum(self._work)
            self.progress(finished, finished + self._expected(left))

    def _expected(self, left: int) -> int:
        growth = self._growth() if len(self._work) > 1 else 4.0
        return int(self._work[-1] * sum(growth**j for j in range(1, min(left, _HOPELESS) + 1)))

    def _growth(self) -> float:
        return min(_MOST_GROWTH, max(_LEAST_GROWTH, self._work[-1] / self._work[-2]))
