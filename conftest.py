"""One BLAS thread in the tests: several wait for each other's cores, and last bits depend on their number."""

from __future__ import annotations

from ringprism.threads import one_blas_thread

one_blas_thread()
