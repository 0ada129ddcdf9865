"""Integration of a limit's equations from 0 to the times asked for, all of them or a refusal."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Literal

import numpy as np
from scipy.integrate import solve_ivp

from theory.autoencoder.limits.solution import FloatArray, refuse_where

Slope = Callable[[FloatArray], FloatArray]
Method = Literal["RK45", "DOP853", "LSODA"]
_LATEST = 1e100
"""The solver squares slopes times the last time."""


def integrate(
    slope: Slope,
    start: FloatArray,
    ends: FloatArray,
    *,
    face: str,
    times: FloatArray,
    method: Method,
    rtol: float,
    atol: FloatArray | float,
) -> FloatArray:
    """The solution of y′ = slope(y), y(0) = ``start``, at each of ``ends``; shape (components, times).

    ``ends`` are the ``times`` in the equations' own unit. The state should be in units in which ``atol`` is small.

    >>> ends = np.array([0.0, 1.0])
    >>> y = integrate(lambda y: -y, np.ones(1), ends, face="…", times=ends, method="DOP853", rtol=1e-9, atol=1e-12)
    >>> y.round(6).tolist()
    [[1.0, 0.367879]]

    Raises ``ReachError`` with the last time reached where the solver stops early or leaves float64.
    """
    found = integrate_as_far(slope, start, ends, method=method, rtol=rtol, atol=atol)
    refuse_where(~np.all(np.isfinite(found), axis=0), face, times, "where the integration of its equations stops")
    return found


def integrate_as_far(
    slope: Slope, start: FloatArray, ends: FloatArray, *, method: Method, rtol: float, atol: FloatArray | float
) -> FloatArray:
    """The same, with NaN from where the solver stops."""
    found = np.full((start.size, ends.size), np.nan)
    reach = ends[ends <= _LATEST]
    if not reach.size:
        return found
    last = float(reach[-1])
    if last == 0:
        found[:, : reach.size] = start[:, None]
        return found
    fractions, place = np.unique(reach / last, return_inverse=True)  # times closer than the smallest float coincide
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a solver's complaint is in what it does not return, too
        run = solve_ivp(  # in units of the last time, so that no step is too small for a float
            lambda _, y: last * slope(y), (0.0, 1.0), start, method=method, t_eval=fractions, rtol=rtol, atol=atol
        )
    reached = np.full((start.size, fractions.size), np.nan)
    if run.t.size:
        reached[:, : run.t.size] = run.y
    found[:, : reach.size] = reached[:, place]
    return found
