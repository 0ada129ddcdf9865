"""Declarations of Gaussian matrix models: index spaces, matrices, losses as polynomials of traces."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property

from theory.engine.laurent import Laurent
from theory.engine.ring import Product, Word, product
from theory.errors import InputError

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
_LETTER = re.compile(r"([A-Za-z][A-Za-z0-9_]*)('?)")

Combination = dict[Product, Laurent]
"""A linear combination of products of rings, with Laurent coefficients."""


@dataclass(frozen=True)
class Space:
    """An index space; ``name`` is also the variable that stands for its dimension."""

    name: str


@dataclass(frozen=True)
class GaussianMatrix:
    """A ``rows`` × ``columns`` matrix with iid centred Gaussian entries, at time zero if it is trained.

    ``variance`` of an entry is a number or the name of a variable.
    """

    name: str
    rows: Space
    columns: Space
    variance: str | Fraction | int = 1
    trained: bool = False


@dataclass(frozen=True)
class Term:
    """``coefficient`` · Π variable^power · Π Tr(trace).

    A trace is a text such as ``"U' U X X'"``: names of matrices in order, ``'`` for the transpose. A term without
    traces is a constant. ``powers`` pairs variables with integer exponents, e.g. ``(("p", -1),)`` divides by p.
    """

    coefficient: Fraction | int
    traces: tuple[str, ...] = ()
    powers: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True)
class Loss:
    """A named loss: a sum of terms."""

    name: str
    terms: tuple[Term, ...]


@dataclass(frozen=True)
class MatrixModel:
    """A Gaussian matrix model, whose trained matrices follow dW/dt = −η ∂(train loss)/∂W.

    ``losses`` holds everything one may ask the time evolution of; ``train_loss`` names the one that drives it.
    ``parameters`` are further symbols (a weight decay, say) that may occur in ``powers``. The variables of every
    result are the spaces, the variances in order of first use, and the parameters.

    >>> p, m = Space("p"), Space("m")
    >>> norm = Loss("norm", (Term(1, ("X X'",)),))
    >>> model = MatrixModel("example", (p, m), (GaussianMatrix("X", p, m),), (norm,), train_loss="norm")
    >>> model.variables, model.word("X X'"), model.spell((0, 1))
    (('p', 'm'), (0, 1), "X X'")

    Raises ``InputError`` for names used twice, letters that are not declared, words that do not close.
    """

    name: str
    spaces: tuple[Space, ...]
    matrices: tuple[GaussianMatrix, ...]
    losses: tuple[Loss, ...]
    train_loss: str
    parameters: tuple[str, ...] = ()
    _words: Mapping[str, Combination] = field(init=False, repr=False, compare=False, hash=False)

    def __post_init__(self) -> None:
        names = [m.name for m in self.matrices] + [*self.variables]
        for name in names:
            if not _NAME.fullmatch(name) or names.count(name) > 1:
                raise InputError(
                    f"name in model {self.name!r}",
                    given=name,
                    expected="letters and digits, each name used once",
                    remedy="rename the matrix, space, variance or parameter",
                )
        for matrix in self.matrices:
            for space in (matrix.rows, matrix.columns):
                if space not in self.spaces:
                    raise InputError(
                        f"space of matrix {matrix.name!r}",
                        given=space.name,
                        expected=f"one of {', '.join(known.name for known in self.spaces)}",
                        remedy="add it to the model's spaces",
                    )
        self._check_loss_name(self.train_loss)
        object.__setattr__(self, "_words", {loss.name: self._read(loss) for loss in self.losses})

    @cached_property
    def variables(self) -> tuple[str, ...]:
        """Names of the Laurent variables: spaces, variances, parameters."""
        variances = [m.variance for m in self.matrices if isinstance(m.variance, str)]
        return (*(space.name for space in self.spaces), *dict.fromkeys(variances), *self.parameters)

    @cached_property
    def variances(self) -> tuple[Laurent, ...]:
        """The variance of an entry of each matrix, as a monomial."""
        return tuple(
            Laurent.variable(m.variance, self.variables)
            if isinstance(m.variance, str)
            else Laurent.constant(m.variance, self.variables)
            for m in self.matrices
        )

    @cached_property
    def trained(self) -> tuple[int, ...]:
        """Indices of the trained matrices."""
        return tuple(i for i, m in enumerate(self.matrices) if m.trained)

    def loss(self, name: str) -> Combination:
        """A loss as a combination of products of rings."""
        self._check_loss_name(name)
        return dict(self._words[name])

    def word(self, text: str) -> Word:
        """Read ``"U' U X X'"``; the word must close: neighbours, cyclically, share their space."""
        index = {m.name: i for i, m in enumerate(self.matrices)}
        letters = []
        for item in text.split():
            match = _LETTER.fullmatch(item)
            if not match or match[1] not in index:
                raise InputError(
                    "trace",
                    given=text,
                    expected=f"matrices {', '.join(index)}, each with or without '",
                    remedy="separate them by spaces, for example \"U' U X X'\"",
                )
            letters.append(2 * index[match[1]] + (match[2] == "'"))
        for here, after in zip(letters, letters[1:] + letters[:1], strict=True):
            if self.right_space(here) != self.left_space(after):
                raise InputError(
                    "trace",
                    given=text,
                    expected=f"columns and rows to match: {self._spell(here)} ends in {self.right_space(here).name}, "
                    f"{self._spell(after)} begins with {self.left_space(after).name}",
                    remedy="transpose one of the two, or mend the declaration",
                )
        return tuple(letters)

    def spell(self, word: Word) -> str:
        """The text of a word, as ``word`` reads it."""
        return " ".join(self._spell(letter) for letter in word)

    def left_space(self, letter: int) -> Space:
        """The space of the row index of a letter."""
        matrix = self.matrices[letter >> 1]
        return matrix.columns if letter & 1 else matrix.rows

    def right_space(self, letter: int) -> Space:
        """The space of the column index of a letter."""
        return self.left_space(letter ^ 1)

    def nodes(self, word: Word) -> tuple[str, ...]:
        """The kinds of a ring's nodes: node k lies to the left of letter k."""
        return tuple(self.left_space(letter).name for letter in word)

    def size(self, space: Space) -> Laurent:
        """The trace of the identity on a space."""
        return Laurent.variable(space.name, self.variables)

    def _spell(self, letter: int) -> str:
        return self.matrices[letter >> 1].name + ("'" if letter & 1 else "")

    def _check_loss_name(self, name: str) -> None:
        known = [loss.name for loss in self.losses]
        if known.count(name) != 1:
            raise InputError(
                f"loss of model {self.name!r}",
                given=name,
                expected=f"one of {', '.join(known)}, each declared once",
                remedy="declare it as a Loss",
            )

    def _read(self, loss: Loss) -> Combination:
        combination: Combination = {}
        for term in loss.terms:
            rings = product(self.word(trace) for trace in term.traces)
            factor = Laurent.monomial(dict(term.powers), self.variables, term.coefficient)
            combination[rings] = combination[rings] + factor if rings in combination else factor
        return {rings: factor for rings, factor in combination.items() if factor}
