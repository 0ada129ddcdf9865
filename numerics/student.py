"""Student's t: what a few replicas make of a number of standard errors."""

from __future__ import annotations


def as_rare(errors: float, freedom: float) -> float:
    """How many estimated standard errors (of ``freedom`` degrees) are as seldom exceeded as ``errors`` true ones.

    >>> [round(as_rare(4.0, freedom), 2) for freedom in (2, 15, 999)]
    [125.64, 5.48, 4.02]
    """
    from scipy.stats import norm, t

    return float(t.isf(norm.sf(errors), freedom))
