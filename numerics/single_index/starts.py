"""Where training starts: uniform, pre-trained by PCA, transferred, or given. [S] §3, §4

A start is drawn as its two overlaps (m_1, m_2) = (X·v_0, X·v_⊥). Every start here has a law that rotations fixing v_0
and v_⊥ leave alone, so the rest of X is uniform on the sphere that the overlaps leave, and ``embed`` draws it when the
full vector is wanted.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from numerics.runs.seeds import child
from numerics.single_index import pca
from numerics.single_index.setting import Setting
from theory.checks import real
from theory.errors import InputError

Overlaps = tuple[float, float]

_EXPECTED = (
    "random, pca:N0, pca:4d (N0 = 4d), pca-law:N0, pca-limit:N0, transfer:ZETA, transfer:ZETA:C or two overlaps M1,M2"
)
_REMEDY = "use for example start='pca:4000'"
_NUMBER = re.compile(r"[+-]?(\d{1,30}(\.\d{0,30})?|\.\d{1,30})([eE][+-]?\d{1,3})?", re.ASCII)
_MOST_SAMPLES = 10**12
_MOST_LABELS = 10**6

Route = Literal["data", "law", "limit"]


class Start(Protocol):
    """A law of starting points on the sphere."""

    @property
    def text(self) -> str:
        """The start as it is written on the command line, and how its sign is chosen."""
        ...

    def draw(self, setting: Setting, seed: np.random.SeedSequence) -> Overlaps:
        """The overlaps (m_1, m_2) of one start."""
        ...

    def typical(self, setting: Setting) -> Overlaps:
        """Overlaps that stand for the law where one start is to be followed by an ODE."""
        ...

    @property
    def decay(self) -> float:
        """The exponent ζ in overlap ~ d^{−ζ}."""
        ...


@dataclass(frozen=True)
class RandomStart:
    """Uniform on the sphere: no pre-training."""

    text: str = "random"
    decay: float = 0.5

    def draw(self, setting: Setting, seed: np.random.SeedSequence) -> Overlaps:
        """(m_1, m_2) of a uniform unit vector: Gaussian numbers over the norm of d of them."""
        return _uniform(setting.d, np.random.default_rng(seed))

    def typical(self, setting: Setting) -> Overlaps:
        """One standard deviation towards the target."""
        return 1 / math.sqrt(setting.d), 0.0


@dataclass(frozen=True)
class Sign:
    """How the arbitrary sign of a principal component is chosen.

    ``oracle``: towards the target, as [S] assumes; ``random``: by a coin; ``labels``: the sign with the smaller mean
    squared error on ``labels`` labelled samples.

    >>> Sign.parse("labels:100")
    Sign(rule='labels', labels=100)
    """

    rule: Literal["oracle", "random", "labels"] = "oracle"
    labels: int = 0

    @classmethod
    def parse(cls, text: str) -> Sign:
        """Read ``oracle``, ``random`` or ``labels:K``."""
        if text == "oracle":
            return cls()
        if text == "random":
            return cls("random")
        rule, _, count = text.partition(":")
        if rule == "labels" and re.fullmatch(r"\d{1,7}", count, re.ASCII) and 1 <= int(count) <= _MOST_LABELS:
            return cls("labels", int(count))
        raise InputError(
            "pca-sign",
            given=text,
            expected=f"oracle, random, or labels:K with K from 1 to {_MOST_LABELS}",
            remedy="use for example sign='labels:100'",
        )

    def __str__(self) -> str:
        return f"labels:{self.labels}" if self.rule == "labels" else self.rule

    def choose(self, setting: Setting, overlaps: Overlaps, seed: np.random.SeedSequence) -> Overlaps:
        """``overlaps`` or their negatives."""
        m1, m2 = overlaps
        rng = np.random.default_rng(seed)
        if self.rule == "oracle":
            flip = m1 < 0
        elif self.rule == "random":
            flip = bool(rng.integers(2))
        else:
            flip = _fits_better_reversed(setting, overlaps, self.labels, rng)
        return (-m1, -m2) if flip else (m1, m2)


@dataclass(frozen=True)
class PcaStart:
    """The first principal component of N_0 unlabelled samples.

    ``route`` says how it is had: ``data`` draws the samples and runs Lanczos; ``law`` draws its overlap with the spike
    from the exact law at this d and N_0; ``limit`` takes the overlap's limit as d → ∞. ``per_dimension`` means
    N_0 = ``samples``·d.
    """

    samples: float
    per_dimension: bool = False
    route: Route = "data"
    sign: Sign = Sign()
    decay: float = 0.0

    @property
    def text(self) -> str:
        """For example ``pca:4000 (sign: oracle)``."""
        name = {"data": "pca", "law": "pca-law", "limit": "pca-limit"}[self.route]
        return f"{name}:{self.samples:g}{'d' if self.per_dimension else ''} (sign: {self.sign})"

    def count(self, setting: Setting) -> int:
        """N_0."""
        return max(1, round(self.samples * setting.d)) if self.per_dimension else int(self.samples)

    def limit(self, setting: Setting) -> float:
        """The limit of |v̂·v| at γ = d/N_0."""
        return pca.limit_overlap(setting.lam, setting.d / self.count(setting))

    def draw(self, setting: Setting, seed: np.random.SeedSequence) -> Overlaps:
        """The overlaps of one principal component, its sign chosen."""
        count = self.count(setting)
        eta1, eta2 = setting.eta1, setting.eta2
        rng = np.random.default_rng(child(seed, 0))
        if self.route == "data":
            vector = pca.principal_component(setting, count, child(seed, 1))
            overlaps = float(vector[0]), float(vector[1])
        else:
            exact = self.route == "law"
            along = pca.overlap_in_law(setting, count, child(seed, 1)) if exact else self.limit(setting)
            across = math.sqrt(1 - along**2) * _uniform(setting.d - 1, rng)[0]
            overlaps = eta1 * along + eta2 * across, eta2 * along - eta1 * across
        return self.sign.choose(setting, overlaps, child(seed, 2))

    def typical(self, setting: Setting) -> Overlaps:
        """The limit; below the threshold, a start as good as random."""
        along = self.limit(setting)
        if along == 0:
            return RandomStart().typical(setting)
        return setting.eta1 * along, setting.eta2 * along


@dataclass(frozen=True)
class TransferStart:
    """A vector learned on a related task, with overlap η_d = c·d^{−ζ} with the target. [S] §4"""

    decay: float
    factor: float = 1.0

    @property
    def text(self) -> str:
        """For example ``transfer:0.25``."""
        return f"transfer:{self.decay:g}" + ("" if self.factor == 1 else f":{self.factor:g}")

    def draw(self, setting: Setting, seed: np.random.SeedSequence) -> Overlaps:
        """m_1 = η_d, the rest uniform."""
        m1 = self.overlap(setting)
        return m1, math.sqrt(1 - m1**2) * _uniform(setting.d - 1, np.random.default_rng(seed))[0]

    def typical(self, setting: Setting) -> Overlaps:
        """(η_d, 0)."""
        return self.overlap(setting), 0.0

    def overlap(self, setting: Setting) -> float:
        """η_d; raises ``InputError`` where it is above one."""
        overlap: float = self.factor * setting.d**-self.decay
        if overlap > 1:
            raise InputError(
                "transfer start", given=self.text, expected="an overlap up to 1", remedy="lower the factor"
            )
        return overlap


@dataclass(frozen=True)
class FixedStart:
    """Given overlaps (m_1, m_2), the rest uniform."""

    m1: float
    m2: float
    decay: float = 0.0

    def __post_init__(self) -> None:
        if real(self.m1) is None or real(self.m2) is None or not self.m1**2 + self.m2**2 <= 1:
            raise InputError(
                "start", given=f"{self.m1},{self.m2}", expected="m1² + m2² ≤ 1", remedy="shorten the vector"
            )

    @property
    def text(self) -> str:
        """For example ``0.3,0.5``."""
        return f"{self.m1:g},{self.m2:g}"

    def draw(self, setting: Setting, seed: np.random.SeedSequence) -> Overlaps:  # noqa: ARG002
        """The overlaps as given."""
        return self.m1, self.m2

    def typical(self, setting: Setting) -> Overlaps:  # noqa: ARG002
        """The overlaps as given."""
        return self.m1, self.m2


def parse_start(text: str, *, sign: str = "oracle") -> Start:
    """Read a start as the command line writes it; ``sign`` is for principal components.

    >>> parse_start("pca:4000").text, parse_start("pca-limit:2.5d", sign="random").text
    ('pca:4000 (sign: oracle)', 'pca-limit:2.5d (sign: random)')
    >>> parse_start("transfer:0.25"), parse_start("0.3,0.5")
    (TransferStart(decay=0.25, factor=1.0), FixedStart(m1=0.3, m2=0.5, decay=0.0))

    Raises ``InputError`` for anything else.
    """
    chosen = Sign.parse(sign)
    name, _, rest = text.strip().partition(":")
    routes: dict[str, Route] = {"pca": "data", "pca-law": "law", "pca-limit": "limit"}
    if name == "random" and not rest:
        return RandomStart()
    if name in routes:
        scaled = rest.endswith("d")
        samples = _number(text, rest.removesuffix("d"))
        whole = scaled or samples == int(samples)
        if not (whole and 0 < samples <= _MOST_SAMPLES):
            raise _refusal(text)
        return PcaStart(samples, scaled, routes[name], chosen)
    if name == "transfer":
        decay, _, factor = rest.partition(":")
        start = TransferStart(_number(text, decay), _number(text, factor) if factor else 1.0)
        if start.decay < 0 or start.factor <= 0:
            raise _refusal(text)
        return start
    parts = text.split(",")
    if len(parts) == 2:
        return FixedStart(_number(text, parts[0].strip()), _number(text, parts[1].strip()))
    raise _refusal(text)


def embed(
    setting: Setting, overlaps: Overlaps, seed: np.random.SeedSequence
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """(X, v_0, v_⊥): a uniformly random frame, and a unit vector with these overlaps, the rest uniform. Each (d,)."""
    frame, _ = np.linalg.qr(np.random.default_rng(seed).standard_normal((setting.d, 3)))
    target, other, rest = (np.ascontiguousarray(column) for column in frame.T)
    m1, m2 = overlaps
    return m1 * target + m2 * other + math.sqrt(max(0.0, 1 - m1**2 - m2**2)) * rest, target, other


def _uniform(d: int, rng: np.random.Generator) -> Overlaps:
    """Two coordinates of a uniform unit vector in R^d."""
    first, second = rng.standard_normal(2)
    norm = math.sqrt(first**2 + second**2 + rng.chisquare(d - 2))
    return float(first / norm), float(second / norm)


def _fits_better_reversed(setting: Setting, overlaps: Overlaps, labels: int, rng: np.random.Generator) -> bool:
    m1, m2 = overlaps
    rest = math.sqrt(max(0.0, 1 - m1**2 - m2**2))
    b = rng.standard_normal((3, labels))
    along = setting.stretch * (setting.eta1 * b[0] + setting.eta2 * b[1])
    field = b[0] + setting.eta1 * along
    guess = m1 * field + m2 * (b[1] + setting.eta2 * along) + rest * b[2]
    label = setting.link.value(field) + math.sqrt(setting.noise) * rng.standard_normal(labels)
    errors = [float(np.sum((label - setting.link.value(sign * guess)) ** 2)) for sign in (1, -1)]
    return errors[1] < errors[0]


def _number(text: str, part: str) -> float:
    if not _NUMBER.fullmatch(part):
        raise _refusal(text)
    return float(part)


def _refusal(text: str) -> InputError:
    return InputError("start", given=text, expected=_EXPECTED, remedy=_REMEDY)
