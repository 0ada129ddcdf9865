"""Declarations of Gaussian matrix models: index spaces, matrices, losses as polynomials of traces."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import TypeVar

from theory.checks import rational, whole
from theory.engine.laurent import Laurent
from theory.engine.monomial import Monomial
from theory.engine.ring import Product, Word, product
from theory.errors import InputError

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
_LETTER = re.compile(r"([A-Za-z][A-Za-z0-9_]*)('?)")

_Item = TypeVar("_Item")

MOST_POWER = 10**6

Combination = dict[Product, Laurent]
"""A linear combination of products of rings, with Laurent coefficients."""


@dataclass(frozen=True)
class Space:
    """An index space; ``name`` is also the variable that stands for its dimension."""

    name: str


@dataclass(frozen=True)
class GaussianMatrix:
    """A ``rows`` × ``columns`` matrix with iid centred Gaussian entries, at time zero if it is trained.

    ``variance`` of an entry is a positive number, the name of a variable, or a monomial of names such as ``sigma2/n``.
    It is kept exactly; a float is read as the decimal it prints as. ``rate`` is the learning rate of a trained matrix
    relative to η, a positive number or a monomial likewise: dW/dt = −η · rate · ∂(train loss)/∂W.

    >>> p = Space("p")
    >>> GaussianMatrix("W", p, p, variance=0.1).variance
    Fraction(1, 10)
    >>> variance, rate = GaussianMatrix("W", p, p, variance="sigma2/p", trained=True, rate="1/p").monomials()
    >>> variance.powers, rate.powers
    ((('sigma2', 1), ('p', -1)), (('p', -1),))

    Raises ``InputError`` for anything else, and for a rate of a matrix that is not trained.
    """

    name: str
    rows: Space
    columns: Space
    variance: str | Fraction | int | float = 1
    trained: bool = False
    rate: str | Fraction | int | float = 1

    def __post_init__(self) -> None:
        for part in ("variance", "rate"):
            object.__setattr__(self, part, _positive(f"{part} of matrix {self.name!r}", getattr(self, part)))
        if self.rate != 1 and not self.trained:
            raise InputError(
                f"rate of matrix {self.name!r}",
                given=self.rate,
                expected="a matrix that is trained",
                remedy="set trained, or leave the rate out",
            )

    def monomials(self) -> tuple[Monomial, Monomial]:
        """Variance and rate as monomials."""
        return _monomial(self.variance), _monomial(self.rate)


@dataclass(frozen=True)
class Term:
    """``coefficient`` · Π variable^power · Π Tr(trace).

    A trace is a text such as ``"U' U X X'"``: names of matrices in order, ``'`` for the transpose. A term without
    traces is a constant. ``powers`` pairs variables with integer exponents, e.g. ``(("p", -1),)`` divides by p; those
    of a variable that comes twice add up. The coefficient is kept exactly; a float is read as the decimal it prints as.

    >>> Term(0.1, ("X X'",), (("p", -1), ("p", -1)))
    Term(coefficient=Fraction(1, 10), traces=("X X'",), powers=(('p', -2),))

    Raises ``InputError`` for a coefficient or powers that are not of this kind.
    """

    coefficient: Fraction | int | float
    traces: tuple[str, ...] = ()
    powers: tuple[tuple[str, int], ...] = ()

    def __post_init__(self) -> None:
        exact = rational("coefficient of a term", self.coefficient, remedy="give for example Fraction(1, 2)")
        traces = _tuple("traces of a term", self.traces, kind=str, expected="a tuple of texts", example='"U\' U"')
        total: dict[str, int] = {}
        for name, power in _pairs(self.powers):
            total[name] = total.get(name, 0) + power
        object.__setattr__(self, "coefficient", _kept(self.coefficient, exact))
        object.__setattr__(self, "traces", traces)
        object.__setattr__(self, "powers", tuple(total.items()))


@dataclass(frozen=True)
class Loss:
    """A named loss: a sum of terms."""

    name: str
    terms: tuple[Term, ...]

    def __post_init__(self) -> None:
        what, example = f"terms of loss {self.name!r}", 'Term(1, ("U\' U",))'
        terms = _tuple(what, self.terms, kind=Term, expected="a tuple of terms", example=example)
        object.__setattr__(self, "terms", terms)


@dataclass(frozen=True)
class MatrixModel:
    """A Gaussian matrix model, whose trained matrices follow dW/dt = −η · rate · ∂(train loss)/∂W.

    ``losses`` holds everything one may ask the time evolution of; ``train_loss`` names the one that drives it.
    ``parameters`` are further symbols (a weight decay, say) that may occur in ``powers``. The variables of every
    result are the spaces, the names in variances and in rates in order of first use, and the parameters.

    >>> p, m = Space("p"), Space("m")
    >>> norm = Loss("norm", (Term(1, ("X X'",)),))
    >>> model = MatrixModel("example", (p, m), (GaussianMatrix("X", p, m),), (norm,), train_loss="norm")
    >>> model.variables, model.word("X X'"), model.spell((0, 1))
    (('p', 'm'), (0, 1), "X X'")

    Raises ``InputError`` for names used twice, letters that are not declared, words that are empty or do not close.
    """

    name: str
    spaces: tuple[Space, ...]
    matrices: tuple[GaussianMatrix, ...]
    losses: tuple[Loss, ...]
    train_loss: str
    parameters: tuple[str, ...] = ()
    _words: Mapping[str, Combination] = field(init=False, repr=False, compare=False, hash=False)

    def __post_init__(self) -> None:
        for part, kind, example in _PARTS:
            given, what = getattr(self, part), f"{part} of model {self.name!r}"
            items: tuple[object, ...] = _tuple(
                what, given, kind=kind, expected=f"a tuple of {kind.__name__}", example=example
            )
            object.__setattr__(self, part, items)
        names = [*(m.name for m in self.matrices), *(space.name for space in self.spaces), *self.parameters]
        matrices = names[: len(self.matrices)]
        for name in (*names, *self.variables):
            taken = names.count(name) > 1 or (name in matrices and name in self.variables)
            if not isinstance(name, str) or not _NAME.fullmatch(name) or taken:
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
                        given=getattr(space, "name", space),
                        expected=f"one of {', '.join(known.name for known in self.spaces)}",
                        remedy="add it to the model's spaces",
                    )
        self._check_loss_name(self.train_loss)
        object.__setattr__(self, "_words", {loss.name: self._read(loss) for loss in self.losses})

    @cached_property
    def variables(self) -> tuple[str, ...]:
        """Names of the Laurent variables: spaces, those of variances, those of rates, parameters."""
        named = [name for part in (0, 1) for m in self.matrices for name in m.monomials()[part].names]
        return tuple(dict.fromkeys([*(space.name for space in self.spaces), *named, *self.parameters]))

    @cached_property
    def sizes(self) -> tuple[str, ...]:
        """Names of the variables that are sizes of spaces."""
        return tuple(space.name for space in self.spaces)

    @cached_property
    def variances(self) -> tuple[Laurent, ...]:
        """The variance of an entry of each matrix, as a monomial."""
        return tuple(self._laurent(m.monomials()[0]) for m in self.matrices)

    @cached_property
    def rates(self) -> tuple[Laurent, ...]:
        """The learning rate of each matrix, relative to η, as a monomial; 1 for those that are not trained."""
        return tuple(self._laurent(m.monomials()[1]) for m in self.matrices)

    @cached_property
    def trained(self) -> tuple[int, ...]:
        """Indices of the trained matrices."""
        return tuple(i for i, m in enumerate(self.matrices) if m.trained)

    def loss(self, name: str) -> Combination:
        """A loss as a combination of products of rings."""
        self._check_loss_name(name)
        return dict(self._words[name])

    def word(self, text: str) -> Word:
        """Read ``"U' U X X'"``; the word must close: neighbours, cyclically, share their space.

        Raises ``InputError`` where it does not, for unknown letters, and without any: nothing says of which space the
        empty trace would be.
        """
        index = {m.name: i for i, m in enumerate(self.matrices)}
        letters: list[int] = []
        if not isinstance(text, str) or not text.split():
            raise InputError(
                "trace",
                given=text,
                expected=f"at least one matrix of {', '.join(index)}",
                remedy="for Tr 1 of a space multiply by its size instead, for example in powers",
            )
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

    def _laurent(self, monomial: Monomial) -> Laurent:
        return Laurent.monomial(dict(monomial.powers), self.variables, monomial.coefficient)

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
            factor = Laurent.monomial(dict(term.powers), self.variables, Fraction(term.coefficient))
            combination[rings] = combination[rings] + factor if rings in combination else factor
        return {rings: factor for rings, factor in combination.items() if factor}


_PARTS: tuple[tuple[str, type, str], ...] = (
    ("spaces", Space, "Space('p')"),
    ("matrices", GaussianMatrix, "GaussianMatrix('U', n, p)"),
    ("losses", Loss, "Loss('train', terms)"),
    ("parameters", str, "'decay'"),
)


def _tuple(what: str, given: object, *, kind: type[_Item], expected: str, example: str) -> tuple[_Item, ...]:
    """The items as a tuple; a single one, left without its comma, is refused."""
    if isinstance(given, tuple | list) and all(isinstance(item, kind) for item in given):
        return tuple(given)
    raise InputError(what, given=given, expected=expected, remedy=f"give for example ({example},), with the comma")


def _positive(what: str, given: object) -> str | Fraction | int:
    """A positive number, exactly, or the text of a monomial with a positive coefficient."""
    remedy = 'give for example 1/2 as Fraction(1, 2), a name, or a monomial such as "sigma2/n"'
    if isinstance(given, str):
        monomial = Monomial.parse(given, what=what)
        if monomial.powers:
            return given
        exact = monomial.coefficient
    else:
        exact = rational(what, given, remedy=remedy)
    if exact <= 0:
        raise InputError(what, given=given, expected="a positive number", remedy=remedy)
    return _kept(given, exact)


def _monomial(given: str | Fraction | int | float) -> Monomial:
    return Monomial.parse(given) if isinstance(given, str) else Monomial(Fraction(given))


def _kept(given: object, exact: Fraction) -> Fraction | int:
    """The exact number; a whole one stays whole: a declaration prints, and caches know it, as it was written."""
    return int(exact) if isinstance(given, int) else exact


def _pairs(powers: object) -> Iterator[tuple[str, int]]:
    what, expected, example = "powers of a term", "a tuple of pairs of a variable and a whole number", '("p", -1)'
    for pair in _tuple(what, powers, kind=tuple, expected=expected, example=example):
        if len(pair) != 2 or not isinstance(pair[0], str):
            raise InputError(what, given=powers, expected=expected, remedy=f"give for example ({example},)")
        name, power = pair
        yield name, whole(f"power of {name}", power, least=-MOST_POWER, most=MOST_POWER, remedy=f"give {example}")
