"""Expressions of the model language, expanded exactly into the universal index form."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import product
from typing import NoReturn

from theory.engine.diagram_tensor import Tensor
from theory.models.complaint import Source, nearest
from theory.models.parser import FUNCTIONS, parse
from theory.models.syntax import (
    Adjoint,
    Bind,
    Bracket,
    Call,
    Delta,
    Divide,
    Entry,
    Name,
    Node,
    Number,
    Power,
    Product,
    Sum,
)
from theory.models.terms import (
    MOST_WORK,
    UNIT,
    Factor,
    MixedError,
    SizelessError,
    Term,
    Terms,
    check_work,
    collect,
    conjugated,
    contract,
    longest,
    multiply,
    with_space,
)

Shape = tuple[str | None, str | None]
"""The spaces of rows and columns; ``None`` is a vector's missing index."""


@dataclass(frozen=True)
class Value:
    """What a part of an expression means: a number (no legs), a matrix (two legs) or entries (one leg a label).

    ``shape`` is there for matrices, ``labels`` for entries; the labels of a product's bare entries may repeat.
    """

    terms: Terms
    shape: Shape | None = None
    labels: tuple[str, ...] | None = None

    @property
    def scalar(self) -> bool:
        """Whether it is a number."""
        return self.shape is None and not self.labels


def expand(text: str, tensors: Sequence[Tensor], scalars: Sequence[str], *, what: str = "expression") -> Terms:
    """A loss as a sum of closed products of entries; ``scalars`` are the names of sizes and parameters.

    >>> U = Tensor("U", ("n", "p"), trained=True)
    >>> [(str(t.coefficient), t.powers, len(t.factors)) for t in expand("norm2(1 - U' U)", [U], ["p", "n"])]
    [('1', (('p', 1),), 0), ('-2', (), 2), ('1', (), 4)]

    Raises ``InputError`` that points at the place for what is not closed or does not fit, ``BudgetError`` for what
    would expand into too much.
    """
    node = parse(text, what=what)
    expander = Expander(Source(what, text), {tensor.name: tensor for tensor in tensors}, scalars)
    value = expander.closed(node)
    if value.labels:
        names = ", ".join(value.labels)
        expander.refuse(node, f"the free indices {names} are left over", "close them with norm2(…) or sum[…](…)")
    if value.shape is not None and value.shape != (None, None):
        expander.refuse(node, f"a loss is a number, this is {expander.shape(value)}", "close it with norm2(…) or tr(…)")
    return collect(replace(term, legs=()) for term in value.terms)


class Expander:
    """The meaning of each kind of node."""

    def __init__(self, source: Source, tensors: Mapping[str, Tensor], scalars: Sequence[str]) -> None:
        self.source, self.tensors, self.scalars = source, tensors, scalars
        self._done = 0

    def refuse(self, node: Node, problem: str, remedy: str) -> NoReturn:
        """Point at the first character of a part."""
        self.source.refuse(node.start, problem, remedy)

    def shape(self, value: Value) -> str:
        """``n×p``, or what else a value is."""
        if value.shape is not None:
            return "×".join(space or "1" for space in value.shape)
        return f"entries with indices {', '.join(value.labels)}" if value.labels else "a number"

    def cut(self, node: Node) -> str:
        """The text of a part."""
        return self.source.cut(node.start, node.end)

    def kind(self, name: str) -> str:
        """The kind of a tensor."""
        return self.tensors[name].kind

    def closed(self, node: Node, free: frozenset[str] = frozenset()) -> Value:
        """The value of a part, its repeated indices summed, except those in ``free``."""
        value = self.value(node, free)
        return value if value.labels is None else self.contracted([(node, value)], free)

    def value(self, node: Node, free: frozenset[str]) -> Value:
        """The value of a part; bare entries keep their repeated indices, for the product around them to count."""
        match node:
            case Number():
                return Value((Term(node.value),) if node.value else ())
            case Name():
                return self.name(node)
            case Entry():
                return self.entry(node)
            case Delta():
                zeros = (0,) * len(node.labels)
                return Value((Term(Fraction(1), spaces=(None,), legs=zeros),), labels=node.labels)
            case Bracket():
                return self.closed(node.inner, free)
            case Adjoint():
                return self.adjoint(node, free)
            case Power():
                return self.power(node, free)
            case Product():
                return self.product(node, free)
            case Divide():
                return self.divide(node, free)
            case Sum():
                return self.sum(node, free)
            case Call():
                inner = self.whole(node) or self.closed(node.inner, free)
                return self.trace(node, inner) if node.function == "tr" else self.norm2(node, inner)
            case Bind():
                return self.bind(node, free)
        raise TypeError(node)

    def name(self, node: Name) -> Value:
        if node.name in self.scalars:
            return Value((Term(Fraction(1), ((node.name, 1),)),))
        if node.name not in self.tensors:
            what = "a function, and is called" if node.name in FUNCTIONS else "not declared"
            self.refuse(node, f"{node.name} is {what}", nearest(node.name, [*self.tensors, *self.scalars]))
        legs = self.tensors[node.name].legs
        if len(legs) > 2:
            example = f"{node.name}[{','.join('ijklmnopq'[: len(legs)])}]"
            self.refuse(
                node, f"{node.name} has {len(legs)} indices and is no matrix", f"write its entries, as {example}"
            )
        indices = tuple(range(len(legs)))
        term = Term(Fraction(1), (), (Factor(node.name, indices),), legs, (*indices, UNIT)[:2])
        return Value((term,), shape=(legs[0], legs[1] if len(legs) == 2 else None))

    def whole(self, node: Call) -> Value | None:
        """A tensor of three or more indices, whose norm may be taken under its name alone."""
        name = node.inner.name if isinstance(node.inner, Name) else ""
        tensor = self.tensors.get(name)
        if node.function != "norm2" or tensor is None or len(tensor.legs) < 3:
            return None
        labels = tuple(f"{k}" for k in range(len(tensor.legs)))
        return self.entry(Entry(node.inner.start, node.inner.end, name, labels))

    def entry(self, node: Entry) -> Value:
        if node.name not in self.tensors:
            what = "a number, it has no entries" if node.name in self.scalars else "not declared"
            self.refuse(node, f"{node.name} is {what}", nearest(node.name, self.tensors))
        legs = self.tensors[node.name].legs
        if len(legs) != len(node.labels):
            example = f"{node.name}[{','.join('hijklmnopq'[: len(legs)])}]"
            self.refuse(node, f"{node.name} has {len(legs)} indices, not {len(node.labels)}", f"write {example}")
        indices = tuple(range(len(legs)))
        term = Term(Fraction(1), (), (Factor(node.name, indices),), legs, indices)
        if node.adjoint:
            if len(legs) != 2:
                self.refuse(
                    node, f"{node.name} is no matrix to transpose", f"write {node.name}[{','.join(node.labels)}]"
                )
            term = conjugated(replace(term, legs=(1, 0)), self.kind)
        return Value((term,), labels=node.labels)

    def adjoint(self, node: Adjoint, free: frozenset[str]) -> Value:
        inner = self.value(node.inner, free)
        turned = tuple(conjugated(term, self.kind) for term in inner.terms)
        if inner.shape is None:
            return replace(inner, terms=turned)
        rows, columns = inner.shape
        return Value(tuple(replace(t, legs=t.legs[::-1]) for t in turned), shape=(columns, rows))

    def bind(self, node: Bind, free: frozenset[str]) -> Value:
        names = frozenset(node.labels)
        value = self.closed(node.inner, free | names)
        missing = [label for label in node.labels if label not in (value.labels or ())]
        if missing:
            have = ", ".join(value.labels or ()) or "none"
            self.refuse(node, f"no index {missing[0]} is left in the bracket, which has {have}", "name one that it has")
        if node.function == "free" or value.labels is None:
            return value
        kept = [k for k, label in enumerate(value.labels) if label not in names]
        terms = self.contract(node, value.terms, [], kept)
        return Value(terms, labels=tuple(value.labels[k] for k in kept) or None)

    def contract(self, node: Node, terms: Terms, pairs: Sequence[tuple[int, int]], keep: Sequence[int]) -> Terms:
        """Contract the legs of every term."""
        try:
            return collect(contract(term, pairs, keep) for term in terms)
        except SizelessError:
            self.refuse(node, "nothing says what the indices of this delta run over", "let a tensor have them as well")
        except MixedError as error:
            self.refuse(node, f"an index runs over {error.first} and over {error.second}", "rename one of the two")

    def product(self, node: Product, free: frozenset[str]) -> Value:
        """Numbers scale, matrices multiply in order, entries multiply and sum their repeated indices."""
        numbers = Value((Term(Fraction(1)),))
        matrices: list[tuple[Node, Value]] = []
        entries: list[tuple[Node, Value]] = []
        for factor in node.factors:
            value = self.value(factor, free)
            if value.scalar:
                numbers = Value(self.times(factor, numbers.terms, value.terms))
            elif value.shape is not None:
                matrices.append((factor, value))
            else:
                entries.append((factor, value))
            if matrices and entries:
                self.refuse(
                    factor,
                    "a product of matrices and of entries",
                    "write all of it with indices, or none of it",
                )
        if matrices:
            chain = self.chain(matrices)
            return replace(chain, terms=self.times(node, numbers.terms, chain.terms))
        if entries:
            summed = self.contracted(entries, free)
            return replace(summed, terms=self.times(node, numbers.terms, summed.terms))
        return numbers

    def times(self, node: Node, first: Terms, second: Terms) -> Terms:
        """All products of terms, once it is known that they are not too many."""
        count = len(first) * len(second)
        factors = longest(first) + longest(second)
        check_work(self.source, node.start, terms=count, factors=factors)
        self._done += count * (1 + factors)
        if self._done > MOST_WORK:
            self.source.refuse_size(node.start, estimate=f"{self._done} steps so far", limit=f"{MOST_WORK}")
        return collect(multiply(a, b) for a, b in product(first, second))

    def chain(self, matrices: Sequence[tuple[Node, Value]]) -> Value:
        """The product of matrices from left to right; a row times a column is a number."""
        first, result = matrices[0]
        scale: Terms = (Term(Fraction(1)),)
        for node, value in matrices[1:]:
            if result.shape == (None, None):
                scale = self.times(node, scale, tuple(replace(t, legs=()) for t in result.terms))
                first, result = node, value
                continue
            (rows, inner), (other, columns) = result.shape or (None, None), value.shape or (None, None)
            if inner != other:
                self.mismatch(first, result, node, value)
            terms = self.times(node, result.terms, value.terms)
            result = Value(self.contract(node, terms, [(1, 2)], (0, 3)), shape=(rows, columns))
            first = node
        if scale == (Term(Fraction(1)),):
            return result
        return replace(result, terms=self.times(first, scale, result.terms))

    def mismatch(self, left: Node, first: Value, right: Node, second: Value) -> NoReturn:
        """Say which shapes met, and what would fit."""
        (a, b), (c, d) = first.shape or (None, None), second.shape or (None, None)
        one, two = self.cut(left), self.cut(right)
        turned_one, turned_two = _turned(one, left), _turned(two, right)
        fits = [
            text
            for text, fit in (
                (f"{turned_one} {two}", a == c),
                (f"{one} {turned_two}", b == d),
                (f"{two} {one}", d == a),
            )
            if fit
        ]
        remedy = f"did you mean {' or '.join(fits[:2])}?" if fits else "mend the expression or the declaration"
        name = "what stands before it" if isinstance(left, Product) else one
        self.refuse(
            right,
            f"{name} is {self.shape(first)} here and {two} is {self.shape(second)}: {b or 1} meets {c or 1}",
            remedy,
        )

    def contracted(self, entries: Sequence[tuple[Node, Value]], free: frozenset[str]) -> Value:
        """The product of entries: an index that occurs once stays, one that occurs more often is summed or ``free``."""
        terms: Terms = (Term(Fraction(1)),)
        labels: tuple[str, ...] = ()
        first = entries[0][0]
        for node, value in entries:
            before = set(labels)
            terms = self.times(node, terms, value.terms)
            labels += value.labels or ()
            places: dict[str, list[int]] = {}
            for k, label in enumerate(labels):
                places.setdefault(label, []).append(k)
            self.check_spaces(node, terms, places, before)
        pairs = [(where[0], other) for where in places.values() for other in where[1:]]
        kept = [label for label, where in places.items() if len(where) == 1 or label in free]
        done = self.contract(first, terms, pairs, [places[label][0] for label in kept])
        return Value(done, labels=tuple(kept) or None)

    def check_spaces(self, node: Node, terms: Terms, places: Mapping[str, Sequence[int]], before: set[str]) -> None:
        """Refuse an index on legs of two spaces, at the factor that brings the second one."""
        for label, where in places.items():
            for term in terms[:1]:
                spaces = {term.spaces[term.legs[k]] for k in where} - {None}
                if len(spaces) > 1:
                    one, two = sorted(str(space) for space in spaces)
                    known = "already " if label in before else ""
                    self.refuse(node, f"index {label} runs over {one} and {known}over {two}", "rename one of the two")

    def sum(self, node: Sum, free: frozenset[str]) -> Value:
        """Numbers among square matrices are multiples of the identity; among entries they are broadcast."""
        parts = [(sign, part, self.closed(part, free)) for sign, part in node.terms]
        parts = [(sign, part, _plain(value)) for sign, part, value in parts]
        leading = next(((part, value) for _, part, value in parts if not value.scalar), None)
        check_work(self.source, node.start, terms=sum(len(value.terms) for _, _, value in parts), factors=0)
        if leading is None:
            return Value(collect(t.scaled(Fraction(sign)) for sign, _, value in parts for t in value.terms))
        first, model = leading
        terms: list[Term] = []
        if model.shape is not None:
            for sign, part, value in parts:
                terms += [t.scaled(Fraction(sign)) for t in self.as_matrix(part, value, first, model)]
            return Value(collect(terms), shape=model.shape)
        labels = model.labels or ()
        spaces: dict[str, str] = {}
        aligned = [(sign, part, self.as_entries(part, value, first, labels)) for sign, part, value in parts]
        for _, part, found in aligned:
            for term in found[:1]:
                for label, leg in zip(labels, term.legs, strict=True):
                    space = term.spaces[leg]
                    if space is not None and spaces.setdefault(label, space) != space:
                        self.refuse(
                            part,
                            f"index {label} runs over {space}, and over {spaces[label]} before",
                            "rename one of them",
                        )
        for sign, _, found in aligned:
            terms += [self.placed(node, t.scaled(Fraction(sign)), labels, spaces) for t in found]
        return Value(collect(terms), labels=labels)

    def placed(self, node: Node, term: Term, labels: Sequence[str], spaces: Mapping[str, str]) -> Term:
        """Say on the term's legs what the other summands know of their indices."""
        try:
            for k, label in enumerate(labels):
                if label in spaces:
                    term = with_space(term, k, spaces[label])
        except MixedError as error:
            self.refuse(
                node, f"a delta's indices run over {error.first} and over {error.second}", "they need one space"
            )
        return term

    def as_matrix(self, part: Node, value: Value, first: Node, model: Value) -> Terms:
        """A summand beside matrices of the shape of ``model``."""
        rows, columns = model.shape or (None, None)
        if value.scalar:
            if rows != columns:
                self.refuse(
                    part,
                    f"{self.cut(part)} beside {self.cut(first)}, which is {self.shape(model)}: only a square "
                    "matrix takes a number, as a multiple of the identity",
                    "make the matrices square, or write the entries with indices",
                )
            unit = Term(Fraction(1), spaces=(rows,), legs=(0, 0))
            return self.times(part, value.terms, (unit,))
        if value.shape is None:
            self.refuse(part, "entries beside matrices in one sum", "write all of it with indices, or none of it")
        if value.shape != model.shape:
            turned = value.shape == (columns, rows)
            text = self.cut(part)
            alone = isinstance(part, Name | Bracket | Adjoint)
            remedy = (
                f"did you mean {_turned(text if alone else f'({text})', part)}?" if turned else "mend one of the two"
            )
            self.refuse(
                part,
                f"{text} is {self.shape(value)}, and {self.cut(first)} is {self.shape(model)}: they do not add",
                remedy,
            )
        return value.terms

    def as_entries(self, part: Node, value: Value, first: Node, labels: tuple[str, ...]) -> Terms:
        """A summand beside entries with these free indices, its legs in their order."""
        if value.scalar:
            count = len(labels)
            constant = Term(Fraction(1), spaces=(None,) * count, legs=tuple(range(count)))
            return self.times(part, value.terms, (constant,))
        if value.shape is not None:
            self.refuse(part, "a matrix beside entries in one sum", "write all of it with indices, or none of it")
        have = value.labels or ()
        if set(have) != set(labels):
            self.refuse(
                part,
                f"{self.cut(part)} has the free indices {', '.join(have)}, "
                f"and {self.cut(first)} has {', '.join(labels)}",
                "summands have the same free indices, or none",
            )
        order = [have.index(label) for label in labels]
        return tuple(replace(t, legs=tuple(t.legs[k] for k in order)) for t in value.terms)

    def trace(self, node: Call, inner: Value) -> Value:
        if inner.labels:
            self.refuse(node.inner, "tr takes a matrix, not entries", "repeat an index to sum it, as in U[i,i]")
        if inner.shape is None:
            self.refuse(
                node.inner,
                f"the trace of {self.cut(node.inner)} has no size: no matrix beside it says one",
                "write the size itself, for example p",
            )
        if inner.shape[0] != inner.shape[1]:
            text = self.cut(node.inner)
            example = f"{text}' {text}" if isinstance(node.inner, Name) else f"({text})' ({text})"
            self.refuse(
                node.inner,
                f"{text} is {self.shape(inner)}, and tr takes a square matrix",
                f"did you mean tr({example})?",
            )
        return Value(self.contract(node, inner.terms, [(0, 1)], ()))

    def norm2(self, node: Call, inner: Value) -> Value:
        """The squared Frobenius norm: all legs of the value and of its conjugate identified."""
        if inner.scalar and not any(term.factors for term in inner.terms):
            self.refuse(
                node.inner,
                f"the norm of {self.cut(node.inner)} has no size: no matrix beside it says one",
                "write the size itself, for example p",
            )
        legs = len(inner.terms[0].legs) if inner.terms else 0
        turned = tuple(conjugated(term, self.kind) for term in inner.terms)
        squares = self.times(node, turned, inner.terms)
        pairs = [(k, k + legs) for k in range(legs) if not (inner.shape and inner.shape[k] is None)]
        return Value(self.contract(node, squares, pairs, ()))

    def power(self, node: Power, free: frozenset[str]) -> Value:
        base = _plain(self.closed(node.base, free))
        exponent = node.exponent
        if exponent < 0 or (exponent == 0 and not base.scalar):
            return self.inverse(node, base)
        if base.shape is not None and base.shape[0] != base.shape[1]:
            self.refuse(
                node.base,
                f"{self.cut(node.base)} is {self.shape(base)}, and ^ among matrices takes a square one",
                "write U[h,i]^2 with indices for an entrywise power, or transpose one factor with '",
            )
        check_work(self.source, node.place, terms=1, factors=longest(base.terms) * exponent)
        result: Value = base if exponent else Value((Term(Fraction(1)),))
        for _ in range(exponent - 1):
            terms = self.times(node, result.terms, base.terms)
            if base.shape is not None:
                result = replace(base, terms=self.contract(node, terms, [(1, 2)], (0, 3)))
            else:
                legs = len(base.labels or ())
                pairs = [(k, k + legs) for k in range(legs)]
                result = replace(base, terms=self.contract(node, terms, pairs, range(legs)))
        return result

    def inverse(self, node: Power, base: Value) -> Value:
        if node.exponent == 0:
            self.refuse(node.base, "power 0 of matrices or entries", "write 1")
        return Value((self.inverted(node.base, base, -node.exponent),))

    def inverted(self, node: Node, value: Value, power: int) -> Term:
        """1 over a power of a monomial of numbers, sizes and parameters."""
        term = value.terms[0] if len(value.terms) == 1 and value.scalar else None
        if term is None or term.factors:
            if value.scalar and not value.terms:
                self.refuse(node, "division by zero", "check the divisor")
            self.refuse(
                node,
                f"{self.cut(node)} is no number and no product of sizes and parameters: it cannot divide",
                "divide by a number or by one product, as in / (2 p m)",
            )
        return Term(term.coefficient**-power, tuple((name, -k * power) for name, k in term.powers))

    def divide(self, node: Divide, free: frozenset[str]) -> Value:
        divisor = self.inverted(node.right, self.closed(node.right, free), 1)
        value = self.closed(node.left, free)
        return replace(value, terms=tuple(t.scaled(divisor.coefficient, divisor.powers) for t in value.terms))


def _plain(value: Value) -> Value:
    """A matrix of one row and one column as a number."""
    if value.shape == (None, None):
        return Value(tuple(replace(term, legs=()) for term in value.terms))
    return value


def _turned(text: str, node: Node) -> str:
    """The text of a matrix transposed."""
    if isinstance(node, Adjoint):
        return text.rstrip("' ")
    return f"{text}'" if isinstance(node, Name | Bracket | Call) else f"({text})'"
