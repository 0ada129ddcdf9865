"""Replicas on a Dask cluster (``pip install "dask[distributed]"``).

A scheduler asks nobody who they are: whoever reaches its address runs code on its workers. Use a network you trust.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Generator, Iterable, Sequence
from functools import cache
from importlib import import_module
from itertools import islice
from typing import Any

from numerics.runs.blas import pin_one_thread
from numerics.runs.outcome import Outcome, lost
from numerics.runs.places import PlaceError

_CONNECT_SECONDS = 30  # a scheduler on a busy machine
_PATIENCE_SECONDS = 60
"""Without a result for so long, it is asked whether the cluster has any worker left."""
_ADDRESS = re.compile(r"[a-z]+://\S+:(\d{1,5})", re.ASCII)
_START = "start one with: dask scheduler, and give its address, for example tcp://127.0.0.1:8786"
_RESUME = "finished replicas are in the store, if one was given: repeat the command to go on"


def on_cluster(
    run: Callable[[Sequence[int]], list[Outcome]], batches: Iterable[Sequence[int]], address: str
) -> Generator[Outcome, None, None]:
    """Run batches of replicas on the cluster whose scheduler listens at ``address``; yield outcomes as they come.

    ``run``, which is sent to the workers, gives the outcomes of one batch. Workers that die are replaced as Dask's
    ``allowed-failures`` says; a batch that keeps killing them is lost. Raises ``PlaceError`` where Dask is not
    installed, nothing answers at ``address``, or the scheduler goes away.
    """
    client = _connect(address)
    distributed: Any = import_module("distributed")

    queue = iter(batches)
    try:
        _await_workers(client, address)
        window = 2 * sum(client.ncores().values())

        def submit(batch: Sequence[int]) -> Any:
            return client.submit(_task, run, tuple(batch), pure=False)

        flight = {submit(batch): batch for batch in islice(queue, window)}
        while flight:
            try:
                with client.as_current():
                    done = distributed.wait(list(flight), timeout=_PATIENCE_SECONDS, return_when="FIRST_COMPLETED").done
            except TimeoutError:
                _await_workers(client, address)
                continue
            for future in done:
                yield from _outcomes(distributed, future, flight.pop(future))
                future.release()
            flight |= {submit(batch): batch for batch in islice(queue, len(done))}
    except (distributed.CancelledError, TimeoutError, OSError) as error:
        raise PlaceError(
            "dask", given=address, expected=f"a scheduler that stays ({type(error).__name__})", remedy=_RESUME
        ) from error
    finally:
        client.close(timeout=2)


def check_cluster(address: str) -> None:
    """Raise ``PlaceError`` unless a scheduler with a worker answers at ``address``."""
    client = _connect(address)
    try:
        _await_workers(client, address)
    finally:
        client.close(timeout=2)


def _outcomes(distributed: Any, future: Any, batch: Sequence[int]) -> list[Outcome]:
    if future.status != "error":
        found: list[Outcome] = future.result()
        return found
    error = future.exception()
    if not isinstance(error, distributed.KilledWorker):
        raise error
    reason = f"its workers died: {error}"[:500]
    return [lost(k, reason) for k in batch]


def _await_workers(client: Any, address: str) -> None:
    try:
        client.wait_for_workers(1, timeout=_CONNECT_SECONDS)
    except TimeoutError as error:
        raise PlaceError(
            "dask",
            given=f"{address}, which has no worker",
            expected=f"one within {_CONNECT_SECONDS} s",
            remedy=f"start some where ringprism is installed: dask worker {address}; {_RESUME}",
        ) from error


def _connect(address: str) -> Any:
    found = _ADDRESS.fullmatch(address)
    if found is None or int(found[1]) > 65535:
        raise PlaceError("dask", given=address, expected="a scheduler's address", remedy=_START)
    try:
        distributed: Any = import_module("distributed")
    except ImportError as error:
        raise PlaceError(
            "dask", given=address, expected="Dask to be installed", remedy='run pip install "dask[distributed]"'
        ) from error
    _silence()
    try:
        return distributed.Client(address, timeout=_CONNECT_SECONDS, set_as_default=False)
    except (OSError, ValueError, TimeoutError) as error:
        raise PlaceError(
            "dask",
            given=address,
            expected=f"a Dask scheduler that answers within {_CONNECT_SECONDS} s",
            remedy=_START,
        ) from error


def _silence() -> None:
    """What is worth saying, the errors here say; each of Dask's loggers has a level and handlers of its own."""
    for name in ("distributed", "tornado", "asyncio"):
        logging.getLogger(name).addHandler(logging.NullHandler())
        logging.getLogger(name).propagate = False
        for other in [*logging.root.manager.loggerDict]:
            if other == name or other.startswith(f"{name}."):
                logger = logging.getLogger(other)
                logger.setLevel(logging.CRITICAL + 1)
                logger.handlers = [handler for handler in logger.handlers if isinstance(handler, logging.NullHandler)]


def _task(run: Callable[[Sequence[int]], list[Outcome]], batch: Sequence[int]) -> list[Outcome]:
    _pin()
    return run(batch)


@cache
def _pin() -> None:
    """Once in a worker process; its tasks may share it as threads, so the limit is never taken back."""
    pin_one_thread()
