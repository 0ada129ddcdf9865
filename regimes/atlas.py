"""The atlas: for every face of the prism its solution, its cone of scalings, and its scales. [P] §4."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from regimes.faces import FACES, Face
from regimes.scaling import Scaling
from theory.autoencoder.limits.solution import LimitSolution
from theory.autoencoder.limits.table import SOLUTIONS

_TRIANGLE = {"R": ("1", "1"), "N": (r"\sigma^2 n", "σ²n"), "P": (r"\sigma^2 p", "σ²p")}
_OUTSIDE = {"m": "p", "p": "m"}


@dataclass(frozen=True)
class AtlasEntry:
    """One face and what is known of it.

    ``solution`` says of what kind the solution is (closed form, quadrature, ODE, hierarchy, free-product algebra).
    """

    face: Face
    limit: LimitSolution

    @property
    def solution(self) -> str:
        """The kind of solution."""
        return self.limit.kind

    @property
    def cone(self) -> tuple[str, ...]:
        r"""The scalings that select the face, as LaTeX relations: which sizes tie and which are smaller.

        >>> ATLAS["large-data"].cone
        ('1 \\sim \\sigma^2 n \\sim \\sigma^2 p', 'm \\gg p')
        """
        inside = [_TRIANGLE[a][0] for a in "RNP" if a in self.face.triangle]
        outside = [_TRIANGLE[a][0] for a in "RNP" if a not in self.face.triangle]
        ties = r" \sim ".join(inside)
        winners = rf"{ties} \gg {', '.join(outside)}" if outside else ties
        if len(self.face.segment) == 2:
            return winners, r"m \sim p"
        (kept,) = self.face.segment
        return winners, rf"{kept} \gg {_OUTSIDE[kept]}"

    @property
    def scaling(self) -> Scaling:
        """A scaling inside the cone, with every small ratio of the face of order 1/N (or smaller).

        >>> str(ATLAS["mean-field"].scaling)
        'p = N, n = N^2, m = N, σ² = N^(-2)'
        """
        triangle, segment = self.face.triangle, self.face.segment
        p = 2 if "p" in segment and len(segment) == 1 else 1
        if "P" in triangle and "N" not in triangle:
            p = 2
        m = p if len(segment) == 2 else p + 1 if "m" in segment else p - 1
        n = p if {"N", "P"} <= triangle else p + 1 if "N" in triangle else p - 1 if "P" in triangle else p
        return Scaling(p, n, m, -max(n, p) + (0 if len(triangle & {"R"}) else 1) - (triangle == {"R"}))

    @property
    def time_scale(self) -> str:
        r"""The scale of ηt in LaTeX: the inverse of the winning rate.

        >>> ATLAS["N|p"].time_scale
        '\\eta t \\sim \\frac{m}{\\sigma^2 n}'
        """
        numerator = "m" if self.face.segment == {"p"} else "p"
        if "R" in self.face.triangle:
            return rf"\eta t \sim {numerator}"
        size = "n" if "N" in self.face.triangle else "p"
        return rf"\eta t \sim \frac{{{numerator}}}{{\sigma^2 {size}}}"

    @property
    def loss_scales(self) -> tuple[str, str]:
        r"""The scales in LaTeX of what moves of the train and of the population loss.

        Before any merge the moving part is σ²n times the largest of 1, σ²n and σ²p; the population loss moves by a
        factor m/p less where m ≪ p.

        >>> ATLAS["R,N|p"].loss_scales
        ('1', '\\frac{m}{p}')
        """
        if "N" in self.face.triangle:
            train = "1" if "R" in self.face.triangle else r"\sigma^4 n^2"
        elif "R" in self.face.triangle:
            train = r"\frac{n}{p}" if "P" in self.face.triangle else r"\sigma^2 n"
        else:
            train = r"\sigma^4 np"
        if self.face.segment != {"p"}:
            return train, train
        return train, r"\frac{m}{p}" if train == "1" else rf"\frac{{m}}{{p}}\,{train}"


ATLAS: Mapping[str, AtlasEntry] = MappingProxyType(
    {face.name: AtlasEntry(face, SOLUTIONS[face.vertex_set]) for face in FACES}
)
"""Face name → entry, all 21 faces in the order of ``regimes.faces.FACES``."""
