"""What is to be said beside a face's losses: a face far from the sizes, a loss that cannot be, an error too large."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

import numpy as np

from regimes.atlas import ATLAS
from regimes.faces import Face
from theory.autoencoder.limits.free import extrapolate
from theory.autoencoder.limits.solution import Curves, FloatArray, Ratios
from theory.autoencoder.sizes import Sizes
from theory.errors import RingprismError

FAR = 0.05
"""A face that misses more than this part of the early change is far from the sizes."""
_SHARES = np.array([0.25, 0.5, 1.0])
_UNSURE = 0.02
_WANTED = {True: 0.02, False: 0.01}
"""What the interior and the free face are asked for; the others have formulas and give far more."""
_NEGLIGIBLE = 1e-3
_SMALL_SIZE = 10


def limit_warnings(
    face: Face, sizes: Sizes, times: FloatArray, curves: Curves, *, corrected: bool, spectral: bool = False
) -> tuple[str, ...]:
    """All warnings for these curves; none where they can be taken as they are.

    ``spectral`` data have no interior to be measured by.
    """
    found = list(_impossible(face, times, curves, corrected=corrected))
    if not corrected:
        found += [] if spectral else _far(face, sizes)
        found += _small(sizes)
    found += _unsure(face, times, curves)
    return tuple(found)


def early_miss(face: Face, sizes: Sizes) -> float | None:
    """The largest miss of the change of a loss up to t = 1/(sum of the rates), as a part of the largest change.

    The interior's solution at these sizes is what the face is measured by. ``None`` where either has no answer.

    >>> from regimes.faces import parse_face
    >>> miss = early_miss(parse_face("mean-field"), Sizes.parse("p=784,n=64,m=60000,sigma2=1/784"))
    >>> miss is not None and miss > 0.05
    True
    """
    ratios = Ratios.of(sizes, 1.0)
    times = _SHARES / ((1 + ratios.a_n + ratios.a_p) * (ratios.per_p + ratios.per_m))
    try:
        theirs = ATLAS[face.name].limit.curves(ratios, times)
        start = ATLAS[face.name].limit.curves(ratios, np.zeros(1))
        known = _early_interior(ratios)
    except RingprismError:
        return None
    if known is None:
        return None
    before = ratios.a_n * (ratios.a_p + ratios.a_n) / 2 - ratios.a_n + 0.5
    misses = []
    for a, b, c in zip((theirs.train, theirs.population), (start.train, start.population), known, strict=True):
        change = np.asarray(c) - before
        misses.append(float(np.max(np.abs(a - b[0] - change)) / np.max(np.abs(change))))
    return max(misses)


@lru_cache(maxsize=256)
def _early_interior(ratios: Ratios) -> tuple[tuple[float, ...], tuple[float, ...]] | None:
    times = _SHARES / ((1 + ratios.a_n + ratios.a_p) * (ratios.per_p + ratios.per_m))
    found = extrapolate(ratios, times, target=True, quick=True)
    start = ratios.a_n * (ratios.a_p + ratios.a_n) / 2 - ratios.a_n + 0.5
    for values, error in ((found.train, found.train_error), (found.population, found.population_error)):
        if not np.max(error) <= _UNSURE * np.max(np.abs(values - start)):  # NaN too
            return None
    return tuple(found.train.tolist()), tuple(found.population.tolist())


def _far(face: Face, sizes: Sizes) -> Iterator[str]:
    if face.name == "interior":
        return
    miss = early_miss(face, sizes)
    if miss is not None and miss > FAR:
        yield (
            f"at these sizes {face.name} misses the early change of a loss by {_part(miss)}; the interior's solution "
            "holds at any ratios (classify --sizes names the closest face)"
        )


def _part(miss: float) -> str:
    return f"{100 * miss:.0f} % of it" if miss < 1 else f"{miss:.2g} times itself"


def _small(sizes: Sizes) -> Iterator[str]:
    for name, value in (("p", sizes.p), ("n", sizes.n), ("m", sizes.m)):
        if value < _SMALL_SIZE:
            yield f"{name} = {value} is small: a limit leaves out corrections of relative order 1/{value}"


def _impossible(face: Face, times: FloatArray, curves: Curves, *, corrected: bool) -> Iterator[str]:
    names = ("train", "population")
    for name, values in zip(names, (curves.train, curves.population), strict=True):
        slack = curves.error + 1e-12 * np.max(np.abs(values))
        negative = values < -slack
        if np.any(negative):
            at = int(np.argmax(negative))
            yield (
                f"impossible: the {name} loss is {values[at]:.3g} at t = {times[at]:g}, and no loss is negative; "
                f"{'the correction' if corrected else f'the formal limit of {face.name}'} is beyond its validity there"
            )
    slack = 2 * curves.error + 1e-12 * np.max(np.abs(curves.train))
    rises = np.diff(curves.train) > slack[1:] + slack[:-1]
    if np.any(rises):
        at = int(np.argmax(rises)) + 1
        yield f"impossible: the train loss rises up to t = {times[at]:g}, and gradient flow never raises it"


def _unsure(face: Face, times: FloatArray, curves: Curves) -> Iterator[str]:
    wanted = _WANTED[face.name != "free"]
    sizes = np.minimum(np.abs(curves.train), np.abs(curves.population))
    floor = _NEGLIGIBLE * max(float(np.max(np.abs(curves.train))), float(np.max(np.abs(curves.population))))
    unsure = curves.error > wanted * np.maximum(sizes, floor) + 1e-12
    if np.any(unsure):
        at = int(np.argmax(unsure))
        yield (
            f"uncertain: from t = {times[at]:g} on the error estimate, {curves.error[at]:.2g} there, exceeds "
            f"{100 * wanted:g} % of a loss"
        )
