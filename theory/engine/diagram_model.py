"""Declarations of models whose losses are sums of products of tensor entries, all indices summed. [D]."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

from theory.checks import rational
from theory.engine.diagram_tensor import NAME, Monomial, Powers, Tensor
from theory.errors import InputError

LARGEST_TERM = 200
"""More entries in one term are not meant."""


@dataclass(frozen=True)
class Entry:
    """``tensor[labels]``, one label a leg; ``conjugate`` for the complex conjugate (without effect on real tensors).

    >>> print(Entry("U", ("h", "i")), Entry("Z", ("i", "k"), conjugate=True))
    U[h,i] conj(Z[i,k])
    """

    tensor: str
    labels: tuple[str, ...]
    conjugate: bool = False

    def __str__(self) -> str:
        text = f"{self.tensor}[{','.join(self.labels)}]"
        return f"conj({text})" if self.conjugate else text


_ENTRY = re.compile(r"([A-Za-z]\w*)\[(\w+(?:,\w+)*)\]|conj\(([A-Za-z]\w*)\[(\w+(?:,\w+)*)\]\)", re.ASCII)


def product_of(text: str) -> tuple[Entry, ...]:
    """The entries of a plain product, as they print.

    >>> product_of("U[h,i] conj(Z[i,k])")
    (Entry(tensor='U', labels=('h', 'i'), conjugate=False), Entry(tensor='Z', labels=('i', 'k'), conjugate=True))

    Raises ``InputError`` for anything but entries separated by spaces.
    """
    matches = [_ENTRY.fullmatch(item) for item in text.split()]
    if not all(matches):
        raise InputError(
            "product of entries", given=text, expected='entries such as "U[h,i] conj(Z[i,k])"', remedy="mend the text"
        )
    return tuple(Entry(m[1] or m[3], tuple((m[2] or m[4]).split(",")), bool(m[3])) for m in matches if m)


@dataclass(frozen=True)
class DiagramTerm:
    """``coefficient`` · Π variable^power · Σ over all labels of Π entries.

    Every label is summed, however often it occurs: entries that share a label meet in one node, so that
    ``delta[i,j,k]`` is written by giving i, j and k one label. A label that occurs in a delta alone sums to its size,
    which belongs into ``powers``. A term without entries is a constant.

    >>> print(DiagramTerm(Fraction(1, 2), (("m", -1),), (Entry("W", ("h", "i")), Entry("W", ("h", "i")))))
    1/2 m^-1 W[h,i] W[h,i]
    """

    coefficient: Fraction
    powers: Powers = ()
    entries: tuple[Entry, ...] = ()

    def __post_init__(self) -> None:
        exact = rational("coefficient of a term", self.coefficient, remedy="give for example Fraction(1, 2)")
        object.__setattr__(self, "coefficient", exact)
        object.__setattr__(self, "powers", Monomial(Fraction(1), self.powers).powers)
        if not isinstance(self.entries, tuple) or not all(isinstance(entry, Entry) for entry in self.entries):
            raise InputError(
                "entries of a term",
                given=self.entries,
                expected="a tuple of Entry",
                remedy='give (Entry("v", ("i",)),)',
            )
        if len(self.entries) > LARGEST_TERM:
            raise InputError(
                "entries of a term",
                given=len(self.entries),
                expected=f"at most {LARGEST_TERM}",
                remedy="lower the degree of the loss",
            )

    def __str__(self) -> str:
        scale = str(Monomial(self.coefficient, self.powers))
        return " ".join([scale, *map(str, self.entries)])


@dataclass(frozen=True)
class DiagramLoss:
    """A named sum of terms."""

    name: str
    terms: tuple[DiagramTerm, ...]


@dataclass(frozen=True)
class DiagramModel:
    """Tensors and losses; trained tensors follow dT/dt = −η · rate · ∂(train loss)/∂T (metric: see ``Tensor``).

    ``sizes`` names the index spaces, each name also the variable that stands for its dimension. ``losses`` holds all
    that one may ask the time evolution of; ``train_loss`` names the one descended. ``parameters`` are further
    variables. The variables of every result are the sizes, the names in variances and rates in order of first use,
    the parameters, and then a symbol for each closed word of fixed tensors that occurs in it.

    >>> U = Tensor("U", ("n", "p"), "sigma2", trained=True)
    >>> norm = DiagramLoss("train", (DiagramTerm(1, (), (Entry("U", ("h", "i")), Entry("U", ("h", "i")))),))
    >>> DiagramModel("example", ("p", "n"), (U,), (norm,), train_loss="train").variables
    ('p', 'n', 'sigma2')

    Raises ``InputError`` for names used twice, tensors or variables that are not declared, labels on legs of two sizes.
    """

    name: str
    sizes: tuple[str, ...]
    tensors: tuple[Tensor, ...]
    losses: tuple[DiagramLoss, ...]
    train_loss: str
    parameters: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for part in ("sizes", "tensors", "losses", "parameters"):
            if not isinstance(getattr(self, part), tuple):
                raise InputError(
                    f"{part} of model {self.name!r}",
                    given=getattr(self, part),
                    expected="a tuple",
                    remedy="put the items into a tuple",
                )
        names = [tensor.name for tensor in self.all_tensors] + [*self.variables]
        for name in names:
            if not isinstance(name, str) or not NAME.fullmatch(name) or names.count(name) > 1:
                raise InputError(
                    f"name in model {self.name!r}",
                    given=name,
                    expected="letters and digits, each name used once",
                    remedy="rename the tensor, size, variance or parameter",
                )
        for tensor in self.tensors:
            self._check_tensor(tensor)
        self.loss(self.train_loss)
        for loss in self.losses:
            self.loss(loss.name)
            for term in loss.terms:
                self._check_term(loss.name, term)

    @cached_property
    def variables(self) -> tuple[str, ...]:
        """Names of the variables: sizes, those of variances and rates in order of first use, parameters."""
        known = (*self.sizes, *self.parameters)
        scales = [name for t in self.tensors for scale in (t.variance, t.rate) for name in scale.names]
        return (*self.sizes, *dict.fromkeys(name for name in scales if name not in known), *self.parameters)

    @cached_property
    def all_tensors(self) -> tuple[Tensor, ...]:
        """The tensors, and after them the fixed symmetric matrices that are named by a ``covariance`` only."""
        declared = {tensor.name for tensor in self.tensors}
        implied: dict[str, Tensor] = {}
        for tensor in self.tensors:
            if tensor.covariance is not None and tensor.covariance not in declared:
                size = tensor.legs[0]
                implied.setdefault(
                    tensor.covariance, Tensor(tensor.covariance, (size, size), fixed=True, kind="symmetric")
                )
        return (*self.tensors, *implied.values())

    def tensor(self, name: str) -> Tensor:
        """A tensor by its name; ``InputError`` for one that is not declared."""
        for tensor in self.all_tensors:
            if tensor.name == name:
                return tensor
        raise InputError(
            f"tensor of model {self.name!r}",
            given=name,
            expected=f"one of {', '.join(tensor.name for tensor in self.all_tensors)}",
            remedy="declare it as a Tensor",
        )

    def loss(self, name: str) -> tuple[DiagramTerm, ...]:
        """The terms of a loss; ``InputError`` for one that is not declared, or is declared twice."""
        found = [loss.terms for loss in self.losses if loss.name == name]
        if len(found) != 1:
            raise InputError(
                f"loss of model {self.name!r}",
                given=name,
                expected=f"one of {', '.join(loss.name for loss in self.losses)}, each declared once",
                remedy="declare it as a DiagramLoss",
            )
        return found[0]

    def label_sizes(self, entries: Sequence[Entry]) -> dict[str, str]:
        """The size that each label of a product runs over, in order of first occurrence.

        Raises ``InputError`` where a label stands on legs of two sizes, or an entry has not one label a leg.
        """
        result: dict[str, str] = {}
        for entry in entries:
            legs = self.tensor(entry.tensor).legs
            if len(entry.labels) != len(legs):
                raise InputError(
                    "entry", given=str(entry), expected=f"{len(legs)} indices", remedy="give one index for each leg"
                )
            for label, size in zip(entry.labels, legs, strict=True):
                if result.setdefault(label, size) != size:
                    raise InputError(
                        f"index {label}",
                        given=str(entry),
                        expected=f"a leg of size {result[label]}, as elsewhere in its term; this one has {size}",
                        remedy="rename the index, or mend the declaration",
                    )
        return result

    def _check_tensor(self, tensor: Tensor) -> None:
        what = f"tensor {tensor.name!r}"
        for leg in tensor.legs:
            if leg not in self.sizes:
                raise InputError(
                    f"legs of {what}",
                    given=leg,
                    expected=f"one of {', '.join(self.sizes)}",
                    remedy="add it to the model's sizes",
                )
        if tensor.covariance is not None:
            cov = self.tensor(tensor.covariance)
            fits = cov.fixed and cov.kind in ("symmetric", "hermitian") and cov.legs == (tensor.legs[0],) * 2
            if not fits:
                raise InputError(
                    f"covariance of {what}",
                    given=cov.name,
                    expected=f"a fixed symmetric matrix on the first leg, {tensor.legs[0]}",
                    remedy='declare it with fixed = true and kind = "symmetric", or leave its declaration out',
                )

    def _check_term(self, loss: str, term: DiagramTerm) -> None:
        for name, _ in term.powers:
            if name not in self.variables:
                raise InputError(
                    f"variable in loss {loss!r}",
                    given=name,
                    expected=f"one of {', '.join(self.variables)}",
                    remedy="declare it as a size or a parameter",
                )
        self.label_sizes(term.entries)
