"""Local worker processes: one BLAS thread each, replaced when they die, gone when their parent is."""

from __future__ import annotations

import gc
import multiprocessing
import os
import signal
import sys
import threading
import time
from collections.abc import Generator, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from typing import Any

from numerics.provenance import environment
from numerics.replicas import Experiment, Failure, Outcome, run_one
from numerics.threads import load_pools, pin_one_thread

TRIES = 3
"""How often a replica may take its own worker down before it is given up as lost."""

_POLL_SECONDS = 0.25


def on_workers(
    experiment: Experiment, pending: Iterable[int], seed: int, workers: int
) -> Generator[Outcome, None, None]:
    """Run the pending replicas on ``workers`` processes, and yield each outcome as it comes.

    When a worker dies the whole pool goes with it, and any of the replicas in flight may be the cause. Each of them is
    tried again alone, in a worker of its own, at most ``TRIES`` times: the guilty one is lost, the others lose nothing.
    """
    queue = iter(pending)
    while True:
        flight: dict[int, Future[Outcome]] = {}
        try:
            with _pool(workers) as pool:
                yield from _drain(pool, flight, queue, experiment, seed, workers)
            return
        except BrokenProcessPool:
            for replica, future in flight.items():
                finished = future.done() and not future.cancelled() and future.exception() is None
                yield future.result() if finished else _alone(experiment, replica, seed)


def _drain(
    pool: ProcessPoolExecutor,
    flight: dict[int, Future[Outcome]],
    queue: Iterator[int],
    experiment: Experiment,
    seed: int,
    workers: int,
) -> Iterator[Outcome]:
    """Keep every worker busy and one replica each in waiting, until the queue has run out."""
    while True:
        while len(flight) < 2 * workers and (replica := next(queue, None)) is not None:
            flight[replica] = Future()  # in flight even where the submission itself meets a broken pool
            flight[replica] = pool.submit(run_one, experiment, replica, seed)
        if not flight:
            return
        wait(flight.values(), return_when=FIRST_COMPLETED)
        for replica in [replica for replica, future in flight.items() if future.done()]:
            outcome = flight[replica].result()
            del flight[replica]
            yield outcome


def _alone(experiment: Experiment, replica: int, seed: int) -> Outcome:
    start = time.perf_counter()
    for _ in range(TRIES):
        try:
            with _pool(1) as pool:
                return pool.submit(run_one, experiment, replica, seed).result()
        except BrokenProcessPool:
            continue
    reason = f"its worker died {TRIES} times (out of memory, or killed from outside)"
    return Outcome(replica, Failure(replica, reason, "lost"), time.perf_counter() - start, environment())


@contextmanager
def _pool(workers: int) -> Iterator[ProcessPoolExecutor]:
    """Worker processes that stop at once when the body fails or is interrupted, or when this process is killed."""
    # Forked workers know functions of notebooks and scripts, and start in milliseconds; elsewhere the platform decides.
    context: Any = multiprocessing.get_context("fork" if sys.platform == "linux" else None)
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
