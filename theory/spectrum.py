"""Spectra of a covariance as they are typed: isotropic, power laws, groups of values, files.

A ``Spectrum`` is a list of eigenvalues with multiplicities, once the number of coordinates is known.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from theory.checks import rational, whole
from theory.errors import InputError

Array = NDArray[np.float64]

_EXPECTED = "isotropic, power:ALPHA, values:V1*K1,V2*K2,… or file:PATH"
_REMEDY = "use for example power:0.7, or values:2*1,0.5*1"
_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?", re.ASCII)
_STEEPEST = 50.0
_LIMIT = 10_000
_LARGEST_FILE = 2**26


@dataclass(frozen=True, eq=False)
class Spectrum:
    """Distinct ``values`` of the eigenvalues, each as often as ``counts`` says; the counts sum to the size."""

    text: str
    values: Array
    counts: NDArray[np.int64]

    @property
    def size(self) -> int:
        """The number of eigenvalues."""
        return int(self.counts.sum())

    @property
    def fractions(self) -> Array:
        """The part of the coordinates that has each value."""
        result: Array = self.counts / self.counts.sum()
        return result

    def eigenvalues(self) -> Array:
        """All eigenvalues, equal ones together."""
        return np.repeat(self.values, self.counts)

    def binned(self, groups: int) -> tuple[Spectrum, float]:
        """At most so many groups, each with the mean of its values, and the largest relative spread within one.

        Groups hold neighbours in size; their bounds are even in the logarithm.

        >>> found, spread = read_spectrum("power:1", 1000).binned(8)
        >>> len(found.values), round(float(found.values @ found.fractions), 9)
        (8, 1.0)
        """
        if len(self.values) <= groups:
            return self, 0.0
        order = np.argsort(self.values)
        values, counts = self.values[order], self.counts[order]
        tiny = values[values > 0].min() if (values > 0).any() else 1.0
        logs = np.log(np.maximum(values, tiny))
        place = np.minimum((groups * (logs - logs[0]) / max(logs[-1] - logs[0], 1e-300)).astype(int), groups - 1)
        means, sizes, spread = [], [], 0.0
        for label in np.unique(place):
            chosen = place == label
            mean = float(values[chosen] @ counts[chosen]) / float(counts[chosen].sum())
            means.append(mean)
            sizes.append(int(counts[chosen].sum()))
            if mean > 0:
                spread = max(spread, float(np.ptp(values[chosen])) / mean)
        return Spectrum(self.text, np.array(means), np.array(sizes, dtype=np.int64)), spread


def read_spectrum(text: str, size: int | None = None) -> Spectrum:
    """The spectrum of ``size`` coordinates that a text names.

    ``power:ALPHA``: eigenvalue j ∝ j^−ALPHA with mean 1. ``values:V1*K1,…``: value V with weight K, on any scale of
    weights. ``file:PATH``: one eigenvalue a line, or a .npy array, ``size`` of them. Without a size: the least that
    the values fill, the length of the file, 10000 of a power law.

    >>> read_spectrum("values:2*1,0.5*3", 8).counts.tolist()
    [2, 6]
    >>> read_spectrum("power:0.5", 100).eigenvalues().mean().round(12).item()
    1.0

    Raises ``InputError`` for anything else, negative eigenvalues, values that do not fill ``size`` in whole numbers
    (size·K/ΣK), and files without ``size`` finite numbers.
    """
    if size is not None:
        size = whole("spectrum: size", size, least=1, remedy="give the number of coordinates")
    if not isinstance(text, str):
        raise InputError("spectrum", given=text, expected=_EXPECTED, remedy=_REMEDY)
    kind, _, rest = text.strip().partition(":")
    if text.strip() == "isotropic":
        return Spectrum("isotropic", np.ones(1), np.array([size or 1]))
    if kind == "power" and _NUMBER.fullmatch(rest.strip()):
        alpha = float(rest)
        if not abs(alpha) <= _STEEPEST:
            raise InputError("spectrum", given=text, expected=f"ALPHA within ±{_STEEPEST:g}", remedy=_REMEDY)
        size = size or _LIMIT
        powers = np.arange(1, size + 1, dtype=float) ** -alpha
        if alpha == 0:
            return Spectrum(text.strip(), np.ones(1), np.array([size]))
        return Spectrum(text.strip(), powers / powers.mean(), np.ones(size, dtype=np.int64))
    if kind == "values" and rest:
        return _values(text, rest, size)
    if kind == "file" and rest:
        return _file(text, rest, size)
    raise InputError("spectrum", given=text, expected=_EXPECTED, remedy=_REMEDY)


def _values(text: str, rest: str, size: int | None) -> Spectrum:
    pairs: list[tuple[float, Fraction]] = []
    for item in rest.split(","):
        value, star, weight = (part.strip() for part in item.partition("*"))
        if not star or not _NUMBER.fullmatch(value):
            raise InputError("spectrum", given=text, expected="VALUE*WEIGHT, separated by commas", remedy=_REMEDY)
        share = rational("spectrum: weight", weight, remedy=_REMEDY)
        if share <= 0:
            raise InputError("spectrum: weight", given=weight, expected="a positive number", remedy=_REMEDY)
        pairs.append((float(value), share))
    total = sum(share for _, share in pairs)
    least = math.lcm(*((share / total).denominator for _, share in pairs))
    if size is None:
        size = least
    exact = [size * share / total for _, share in pairs]
    if any(count.denominator != 1 for count in exact):
        raise InputError(
            "spectrum",
            given=text,
            expected=f"weights that divide {size} coordinates into whole numbers "
            f"(they give {', '.join(f'{float(count):g}' for count in exact)})",
            remedy=f"take a size that is a multiple of {least}",
        )
    return _checked(text, np.array([value for value, _ in pairs]), np.array([int(count) for count in exact]))


def _file(text: str, name: str, size: int | None) -> Spectrum:
    path = Path(name.strip())
    try:
        if path.stat().st_size > _LARGEST_FILE:
            raise InputError("spectrum", given=text, expected="a file of up to 64 MB", remedy="give fewer eigenvalues")
        if path.suffix == ".npy":
            found = np.asarray(np.load(path, allow_pickle=False), dtype=float).ravel()
        else:
            found = np.array([float(line) for line in path.read_text(encoding="utf-8").split("\n") if line.strip()])
    except OSError as error:
        raise InputError("spectrum", given=text, expected="a file that can be read", remedy="check its path") from error
    except (ValueError, UnicodeDecodeError, TypeError) as error:
        raise InputError(
            "spectrum",
            given=text,
            expected="one eigenvalue a line, or a .npy array of numbers",
            remedy="check the file",
        ) from error
    if not len(found) or (size is not None and len(found) != size):
        raise InputError(
            "spectrum",
            given=f"{len(found)} eigenvalues in {path.name}",
            expected=f"{size or 'some'}, one for each coordinate",
            remedy="give a file of that many lines, or change the size",
        )
    values, counts = np.unique(found, return_counts=True)
    return _checked(text, values, counts)


def _checked(text: str, values: Array, counts: NDArray[np.int64]) -> Spectrum:
    if not np.isfinite(values).all() or (values < 0).any() or not (values > 0).any() or values.max() > 1e6:
        raise InputError(
            "spectrum",
            given=text,
            expected="eigenvalues from 0 to 1e6, one of them positive",
            remedy="rescale or drop the others",
        )
    return Spectrum(text.strip(), np.asarray(values, dtype=float), np.asarray(counts, dtype=np.int64))
