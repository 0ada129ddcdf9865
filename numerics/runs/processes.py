"""Local worker processes: one BLAS thread each, replaced when they die, gone when their parent is."""

from __future__ import annotations

import gc
import multiprocessing
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Generator, Hashable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from itertools import islice
from typing import Any, TypeVar

from numerics.runs.blas import load_pools, pin_one_thread

Item = TypeVar("Item", bound=Hashable)
Result = TypeVar("Result")

TRIES = 3
"""How often an item may take its own worker down before it is given up as lost."""

_POLL_SECONDS = 0.25


def on_workers(
    run: Callable[[Item], Result],
    items: Iterable[Item],
    workers: int,
    *,
    lost: Callable[[Item, str, float], Result],
    method: str | None = None,
) -> Generator[Result, None, None]:
    """``run`` of each item on ``workers`` processes, as they end. Items are told apart by their hash.

    When a worker dies the whole pool goes with it, and any of the items in flight may be the cause. Each of them is
    tried again alone, in a worker of its own, at most ``TRIES`` times. ``lost`` builds the result of the item that
    keeps killing its worker, given the reason and the seconds it took; the others are re-run. For ``method`` see
    ``worker_pool``.
    """
    queue = iter(items)
    while True:
        flight: dict[Item, Future[Result]] = {}
        try:
            with worker_pool(workers, method=method) as pool:
                yield from _drain(pool, flight, queue, run, workers)
            return
        except BrokenProcessPool:
            for item, future in flight.items():
                finished = future.done() and not future.cancelled() and future.exception() is None
                yield future.result() if finished else _alone(run, item, lost, method)


def _drain(
    pool: ProcessPoolExecutor,
    flight: dict[Item, Future[Result]],
    queue: Iterator[Item],
    run: Callable[[Item], Result],
    workers: int,
) -> Iterator[Result]:
    """Keep every worker busy and one item each in waiting, until the queue has run out."""
    while True:
        for item in islice(queue, 2 * workers - len(flight)):
            flight[item] = Future()  # in flight even where the submission itself meets a broken pool
            flight[item] = pool.submit(run, item)
        if not flight:
            return
        wait(flight.values(), return_when=FIRST_COMPLETED)
        for item in [item for item, future in flight.items() if future.done()]:
            result = flight[item].result()
            del flight[item]
            yield result


def _alone(
    run: Callable[[Item], Result], item: Item, lost: Callable[[Item, str, float], Result], method: str | None
) -> Result:
    start = time.perf_counter()
    for _ in range(TRIES):
        try:
            with worker_pool(1, method=method) as pool:
                return pool.submit(run, item).result()
        except BrokenProcessPool:
            continue
    reason = f"its worker died {TRIES} times (out of memory, or killed from outside)"
    return lost(item, reason, time.perf_counter() - start)


@contextmanager
def worker_pool(workers: int, *, method: str | None = None) -> Iterator[ProcessPoolExecutor]:
    """Worker processes that stop at once when the body fails or is interrupted, or when this process is killed.

    ``method`` is how they start: by default ``fork`` on Linux (forked workers know functions of notebooks and scripts,
    and start in milliseconds), elsewhere as the platform decides.
    """
    context: Any = multiprocessing.get_context(method or ("fork" if sys.platform == "linux" else None))
    load_pools()  # once, for all that are forked
    gc.collect()  # here, where the threads are that some garbage waits for at its end (a Dask client's)
    stop = context.RawValue("b", False)  # not an Event: one killed as it looks would leave its lock to nobody
    pool = ProcessPoolExecutor(workers, mp_context=context, initializer=_start, initargs=(stop, os.getpid()))
    try:
        yield pool
    except BaseException:
        stop.value = True
        raise
    finally:
        pool.shutdown(cancel_futures=True)


def _start(stop: Any, parent: int) -> None:
    """In a new worker: leave Ctrl-C to the parent, watch for the end of the parent, and use one thread."""
    gc.freeze()  # what was the parent's is the parent's to collect
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_watch, args=(stop, parent), daemon=True).start()
    pin_one_thread()


def _watch(stop: Any, parent: int) -> None:
    while not stop.value and os.getppid() == parent:
        time.sleep(_POLL_SECONDS)
    os._exit(1)
