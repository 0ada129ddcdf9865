"""Local workers that are threads: for kernels that hold no interpreter lock."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from itertools import islice
from typing import TypeVar

from numerics.runs.blas import one_thread

Item = TypeVar("Item")
Result = TypeVar("Result")

_POLL_SECONDS = 0.1


def on_threads(
    run: Callable[[Item], Result],
    items: Iterable[Item],
    workers: int,
    *,
    poll: Callable[[], None] | None = None,
) -> Generator[Result, None, None]:
    """``run`` of each item on so many threads, as they end; ``poll`` is called here between looks at them.

    Where the caller stops early, what is under way is left to end by itself: ``run`` must have its own way to be told.
    """
    queue = iter(items)
    pool = ThreadPoolExecutor(workers)
    try:
        with one_thread():
            flight = {pool.submit(run, item) for item in islice(queue, workers)}
            while flight:
                finished: set[Future[Result]]
                finished, flight = wait(flight, timeout=_POLL_SECONDS, return_when=FIRST_COMPLETED)
                if poll:
                    poll()
                flight |= {pool.submit(run, item) for item in islice(queue, len(finished))}
                for future in finished:
                    yield future.result()
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
