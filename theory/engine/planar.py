"""Planar expectation: the non-crossing pairings alone, for which traces factorise. [P] §4.

For the first edge W of a trace only contractions that split it survive, φ(W A Wᵀ B) → φ(A) φ(B); every twist or
handle, and every pair that joins two traces, loses nodes. So a word's value is a polynomial of the values of shorter
words, each computed once, and states with several traces do not occur.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from fractions import Fraction
from itertools import islice

from flint import Ordering, fmpq_mpoly, fmpq_mpoly_ctx, fmpz_poly

from theory.engine.composite import CompositePlan, composite_plan, successive_packed
from theory.engine.cost import Progress, Watch
from theory.engine.derivatives import check_order, successive
from theory.engine.laurent import Exponents, Laurent
from theory.engine.model import Combination, MatrixModel, Space
from theory.engine.ring import Word, canonical


def expectation(combination: Combination, *, model: MatrixModel) -> Laurent:
    """The planar part of E of a combination of products of rings.

    >>> from theory.autoencoder.model import AUTOENCODER
    >>> one = Laurent.constant(1, AUTOENCODER.variables)
    >>> print(expectation({(AUTOENCODER.word("U' U U' U"),): one}, model=AUTOENCODER))
    p^2 n sigma2^2 + p n^2 sigma2^2
    """
    values = _LetterValues(model)
    result = Laurent.constant(0, model.variables)
    for rings, factor in combination.items():
        value = values.one
        for word in rings:
            value = value * values.word(word)
        result = result + factor * values.laurent(value)
    return result


def planar_derivatives(
    model: MatrixModel, loss: str, *, order: int, force: bool = False, progress: Progress | None = None
) -> tuple[Laurent, ...]:
    """The planar parts of E D⁰F … E D^order F: see ``theory.engine.series.expected_derivatives``, also for the errors.

    >>> from theory.autoencoder.model import AUTOENCODER
    >>> print(planar_derivatives(AUTOENCODER, "population", order=0)[0])
    1/2 p n sigma2^2 + 1/2 n^2 sigma2^2 - n sigma2 + 1/2
    """
    check_order(order)
    plan = composite_plan(model, [loss])
    watch = Watch(f"the planar series of {loss}", order, force=force, progress=progress)
    if plan is None:
        return tuple(_planar_words(model, islice(successive(model, loss), order + 1), watch))
    return tuple(_planar_gram(plan, loss, order, watch))


def _planar_words(model: MatrixModel, combinations: Iterable[Combination], watch: Watch) -> Iterator[Laurent]:
    values = _LetterValues(model)
    for combination in combinations:
        total = Laurent.constant(0, model.variables)
        for rings, factor in combination.items():
            value = values.one
            for word in rings:
                value = value * values.word(word)
            total = total + factor * values.laurent(value)
        watch.done(len(combination) + values.known)
        yield total


def _planar_gram(plan: CompositePlan, loss: str, order: int, watch: Watch) -> Iterator[Laurent]:
    longest, step = _lengths(plan, loss)
    values = _GramValues(plan, degree=longest + order * step)
    for packed in islice(successive_packed(plan, loss), order + 1):
        total = Laurent(plan.model.variables, packed.constant)
        for exponents, (codes, coefficients) in packed.parts.items():
            sums: dict[tuple[int, ...], fmpz_poly] = {}
            for code, coefficient in zip(codes.tolist(), coefficients.tolist(), strict=True):
                counts = values.counts(code)
                sums[counts] = sums.get(counts, fmpz_poly()) + values.word(code) * coefficient
            factor = Laurent(plan.model.variables, {exponents: packed.scale})
            for counts, value in sums.items():
                total = total + values.laurent(value, counts) * factor
        watch.done(packed.words + values.known, held=200 * values.known)
        yield total


def _lengths(plan: CompositePlan, loss: str) -> tuple[int, int]:
    """The most letters of a ring of the loss, and by how many a derivative lengthens rings at most."""

    def most(name: str) -> int:
        return max((len(word) // 2 for rings in plan.model.loss(name) for word in rings), default=0)

    return most(loss), max(0, most(plan.model.train_loss) - 1) + 1


class _LetterValues:
    """Planar values of words in the matrices and their transposes, in the sizes and one symbol a variance."""

    def __init__(self, model: MatrixModel) -> None:
        self.model = model
        symbols = [*(f"d{k}" for k in range(len(model.spaces))), *(f"v{k}" for k in range(len(model.matrices)))]
        self.context = fmpq_mpoly_ctx.get(symbols, Ordering.lex)
        self.zero: fmpq_mpoly = self.context.constant(0)
        self.one: fmpq_mpoly = self.context.constant(1)
        generators = self.context.gens()
        self.sizes = dict(zip(model.spaces, generators, strict=False))
        self.variances = generators[len(model.spaces) :]
        self._known: dict[Word, fmpq_mpoly] = {}

    @property
    def known(self) -> int:
        """How many words have been valued."""
        return len(self._known)

    def laurent(self, value: fmpq_mpoly) -> Laurent:
        images = [*(model_size for model_size in map(self.model.size, self.model.spaces)), *self.model.variances]
        (columns, factors) = zip(*(next(iter(image.terms.items())) for image in images), strict=True)
        terms: dict[Exponents, Fraction] = {}
        for powers, c in value.to_dict().items():
            exponents, coefficient = [0] * len(self.model.variables), Fraction(int(c.p), int(c.q))
            for power, column, factor in zip(map(int, powers), columns, factors, strict=True):
                if power:
                    exponents = [e + power * k for e, k in zip(exponents, column, strict=True)]
                    coefficient *= factor**power
            key = tuple(exponents)
            terms[key] = terms.get(key, Fraction(0)) + coefficient
        return Laurent(self.model.variables, terms)

    def word(self, word: Word) -> fmpq_mpoly:
        word = canonical(word)
        if word not in self._known:
            self._known[word] = self._split(word)
        return self._known[word]

    def _split(self, word: Word) -> fmpq_mpoly:
        edge, rest = word[0], word[1:]
        total = self.zero
        for i, letter in enumerate(rest):
            if letter == edge ^ 1:
                inside = self._open(rest[:i], self.model.right_space(edge))
                total += inside * self._open(rest[i + 1 :], self.model.left_space(edge))
        return total * self.variances[edge >> 1]

    def _open(self, word: Word, space: Space) -> fmpq_mpoly:
        return self.word(word) if word else self.sizes[space]


class _GramValues:
    """Planar values of packed words: φ(C A) = inner φ(A) + Σ_{A = B C D} φ(D) φ(B C), variances left out.

    Every pairing of a word leaves one node more than it has pairs, and one variance a pair; so it is enough to keep
    the exponents of the inner sizes. They are packed into one: the i-th inner size is x^(base^i).
    """

    def __init__(self, plan: CompositePlan, *, degree: int) -> None:
        self._plan = plan
        self._bits = plan.packed.bits
        self._base = degree + 1
        self._sizes = [fmpz_poly([0] * self._base**i + [1]) for i in range(len(plan.letters))]
        self._known: dict[int, fmpz_poly] = {1: fmpz_poly([1])}

    @property
    def known(self) -> int:
        """How many words have been valued."""
        return len(self._known)

    def counts(self, code: int) -> tuple[int, ...]:
        """How often each letter occurs."""
        letters = self._plan.packed.unpack(code)
        return tuple(letters.count(digit) for digit in range(len(self._sizes)))

    def word(self, code: int) -> fmpz_poly:
        """The value of a word, at outer size 1 and variances 1."""
        known = self._known.get(code)
        if known is not None:
            return known
        ring = self._plan.packed.canonical_one(code)
        known = self._known.get(ring)
        if known is None:
            known = self._known[ring] = self._split(ring)
        if ring != code:
            self._known[code] = known
        return known

    def laurent(self, value: fmpz_poly, counts: tuple[int, ...]) -> Laurent:
        """The value with outer size and variances restored."""
        plan = self._plan
        variance = Laurent.constant(1, plan.model.variables)
        for gram, count in zip(plan.letters, counts, strict=True):
            variance = variance * plan.model.variances[gram.matrix] ** count
        total = Laurent.constant(0, plan.model.variables)
        for packed_exponent, coefficient in enumerate(value.coeffs()):
            if coefficient:
                powers: dict[str, int] = {}
                left, outer = packed_exponent, sum(counts) + 1
                for gram in plan.letters:
                    left, power = divmod(left, self._base)
                    powers[gram.inner.name] = powers.get(gram.inner.name, 0) + power
                    outer -= power
                powers[plan.outer.name] = powers.get(plan.outer.name, 0) + outer
                total = total + Laurent.monomial(powers, plan.model.variables, int(coefficient))
        return total * variance

    def _split(self, code: int) -> fmpz_poly:
        bits, mask = self._bits, (1 << self._bits) - 1
        below = code.bit_length() - 1 - bits
        digit = code >> below & mask
        rest = (1 << below) | (code & ((1 << below) - 1))
        total = self._sizes[digit] * self.word(rest)
        for at in range(0, below, bits):
            if rest >> at & mask == digit:
                total += self.word((1 << at) | (rest & ((1 << at) - 1))) * self.word(rest >> at)
        return total
