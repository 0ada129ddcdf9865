"""One BLAS thread: the last bits of a matrix product depend on how many threads shared it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def one_thread() -> Iterator[None]:
    """Run the body with BLAS and OpenMP pools of one thread, as every worker does.

    Replicas give the same bits here, in a worker process, and on a cluster; and workers do not fight for cores.

    >>> with one_thread():
    ...     pass
    """
    from threadpoolctl import threadpool_limits

    load_pools()
    with threadpool_limits(limits=1):
        yield


def pin_one_thread() -> None:
    """Set the pools of this process to one thread for good: for worker processes, where tasks may share a process."""
    from threadpoolctl import threadpool_limits

    load_pools()
    threadpool_limits(limits=1)


def load_pools() -> None:
    """Load the libraries whose pools are to be limited: one loaded later would start with all its threads."""
    import scipy.linalg  # noqa: F401
