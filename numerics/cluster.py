"""Replicas on a Dask cluster (``pip install "ringprism[cluster]"``)."""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Iterable, Sequence
from functools import cache
from importlib import import_module
from itertools import islice
from typing import Any

from numerics.provenance import environment
from numerics.replicas import Failure, Outcome
from numerics.threads import pin_one_thread
from theory.errors import InputError

_CONNECT_SECONDS = 30  # a scheduler on a busy machine
_ADDRESS = re.compile(r"[a-z]+://\S+:\d{1,5}")
_START = "start one with: dask scheduler, and give its address, for example tcp://127.0.0.1:8786"
_RESUME = "finished replicas are in the --store if one was given: repeat the command to go on"


def on_cluster(
    run: Callable[[Sequence[int]], list[Outcome]], batches: Iterable[Sequence[int]], address: str
) -> Generator[Outcome, None, None]:
    """Run batches of replicas on the cluster whose scheduler listens at ``address``; yield outcomes as they come.

    ``run``, which is sent to the workers, gives the outcomes of one batch. Workers that die are replaced as Dask's
    ``allowed-failures`` says; a batch that keeps killing them is lost. Raises ``InputError`` where Dask is not
    installed, nothing answers at ``address``, or the scheduler goes away.
    """
    client = _connect(address)
    distributed: Any = import_module("distributed")

    queue = iter(batches)
    try:
        window = 2 * max(1, sum(client.ncores().values()))

        def submit(batch: Sequence[int]) -> Any:
            return client.submit(_task, run, tuple(batch), pure=False)

        flight = {submit(batch): batch for batch in islice(queue, window)}
        completed = distributed.as_completed(list(flight), loop=client.loop)
        for future in completed:
            batch = flight.pop(future)
            error = future.exception() if future.status == "error" else None
            if isinstance(error, distributed.KilledWorker):
                reason = f"its workers died: {error}"[:500]
                yield from (Outcome(k, Failure(k, reason, "lost"), 0.0, environment()) for k in batch)
            elif error is not None:
                raise error
            else:
                yield from future.result()
            future.release()
            for following in islice(queue, 1):
                later = submit(following)
                flight[later] = following
                completed.add(later)
    except (distributed.CancelledError, TimeoutError, OSError) as error:
        raise InputError(
            "dask", given=address, expected=f"a scheduler that stays ({type(error).__name__})", remedy=_RESUME
        ) from error
    finally:
        client.close(timeout=2)


def _connect(address: str) -> Any:
    if not _ADDRESS.fullmatch(address):
        raise InputError("dask", given=address, expected="a scheduler's address", remedy=_START)
    try:
        distributed: Any = import_module("distributed")
    except ImportError as error:
        raise InputError(
            "dask", given=address, expected="Dask to be installed", remedy='run pip install "ringprism[cluster]"'
        ) from error
    try:
        return distributed.Client(address, timeout=_CONNECT_SECONDS, set_as_default=False)
    except (OSError, ValueError, TimeoutError) as error:
        raise InputError(
            "dask",
            given=address,
            expected=f"a Dask scheduler that answers within {_CONNECT_SECONDS} s",
            remedy=_START,
        ) from error


def _task(run: Callable[[Sequence[int]], list[Outcome]], batch: Sequence[int]) -> list[Outcome]:
    _pin()
    return run(batch)


@cache
def _pin() -> None:
    """Once in a worker process; its tasks may share it as threads, so the limit is never taken back."""
    pin_one_thread()
