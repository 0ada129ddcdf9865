"""One BLAS thread a process, unless the environment says otherwise."""

from __future__ import annotations

import os


def one_blas_thread() -> None:
    """Ask for one BLAS thread; before NumPy is loaded.

    Matrices here are small. On a machine with other work several threads wait for each other's cores, and a limit that
    takes seconds takes minutes; and the last bits of a product depend on the number of threads.
    """
    for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ.setdefault(name, "1")
