"""The grammar of the model language: text in, syntax tree out.

    expression := ["+" | "-"] product (("+" | "-") product)*
    product    := factor (["*"] factor | "/" divisor)*
    factor     := postfix ["^" ["-"] whole number]
    postfix    := atom "'"*
    atom       := number | name | name "'"* "[" labels "]" | "delta" "[" labels "]" | "(" expression ")"
                | ("tr" | "norm2") "(" expression ")" | ("sum" | "free") "[" labels "]" "(" expression ")"

Only those four are called: any other name before a bracket is a factor. ``/`` divides by one number, one name or a
bracket; nothing may be juxtaposed behind it, except where both sides are numbers (``1/2 decay``) or the divisor is a
bracket. Numbers are exact. Length and nesting are bounded.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction

from theory.models.complaint import Source, nearest
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
    is_number,
)

LONGEST_TEXT = 4000
DEEPEST_NESTING = 40
LARGEST_POWER = 1000
MOST_LABELS = 20

CALLS = ("tr", "norm2")
BINDERS = ("sum", "free")
FUNCTIONS = (*CALLS, *BINDERS, "delta")

_TOKEN = re.compile(
    r"(?P<number>(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?)|(?P<name>[A-Za-z][A-Za-z0-9_]*)|(?P<sign>[-+*/^()\[\],'])",
    re.ASCII,
)
_NUMBER = re.compile(r"(?:\d{1,300}(?:\.\d{0,300})?|\.\d{1,300})(?:[eE][+-]?\d{1,3})?", re.ASCII)
_LOOKALIKES = {"’": "'", "ᵀ": "'", "†": "'", "·": "*", "×": "*", "−": "-", "²": "^2", "³": "^3", "½": "1/2"}


@dataclass(frozen=True)
class _Token:
    kind: str
    text: str
    start: int

    @property
    def end(self) -> int:
        return self.start + len(self.text)


def parse(text: str, *, what: str = "expression") -> Node:
    """The syntax tree of an expression. ``what`` names it in errors.

    >>> parse("norm2(X - V U X) / (2 p m)").place
    17

    Raises ``InputError`` that points at the place for anything that the grammar does not know.
    """
    source = Source(what, text)
    if len(text) > LONGEST_TEXT:
        source.refuse(LONGEST_TEXT, f"longer than {LONGEST_TEXT} characters", "write it shorter")
    return _Parser(source).parse()


class _Parser:
    def __init__(self, source: Source) -> None:
        self._source = source
        self._tokens = self._tokenise()
        self._at = 0
        self._depth = 0

    def parse(self) -> Node:
        if self._peek().kind == "end":
            self._source.refuse(0, "empty", "write for example norm2(X - V U X) / (2 p m)")
        node = self._expression()
        token = self._peek()
        if token.kind != "end":
            self._source.refuse(token.start, f"{token.text!r} closes nothing", "check the brackets")
        return node

    def _tokenise(self) -> list[_Token]:
        text, tokens, at = self._source.text, [], 0
        while at < len(text):
            if text[at].isspace():
                at += 1
                continue
            match = _TOKEN.match(text, at)
            if match is None:
                known = _LOOKALIKES.get(text[at])
                remedy = f"write {known}" if known else "write with names, numbers and + - * / ^ ' ( ) [ ]"
                self._source.refuse(at, f"{text[at]!r} means nothing here", remedy)
            tokens.append(_Token(str(match.lastgroup), match[0], at))
            at = match.end()
        return [*tokens, _Token("end", "", len(text.rstrip()))]

    def _peek(self, ahead: int = 0) -> _Token:
        return self._tokens[min(self._at + ahead, len(self._tokens) - 1)]

    def _take(self, *signs: str) -> _Token | None:
        token = self._peek()
        if token.kind == "sign" and token.text in signs:
            self._at += 1
            return token
        return None

    def _expect(self, sign: str, remedy: str) -> _Token:
        token = self._take(sign)
        if token is None:
            found = self._peek()
            self._source.refuse(found.start, f"{sign!r} expected, not {found.text or 'the end'!r}", remedy)
        return token

    def _expression(self) -> Node:
        self._depth += 1
        start = self._peek().start
        if self._depth > DEEPEST_NESTING:
            self._source.refuse(start, f"nested deeper than {DEEPEST_NESTING} levels", "write it flatter")
        sign = self._take("+", "-")
        terms = [(-1 if sign and sign.text == "-" else 1, self._product())]
        while sign := self._take("+", "-"):
            terms.append((1 if sign.text == "+" else -1, self._product()))
        self._depth -= 1
        if terms[0][0] == 1 and len(terms) == 1:
            return terms[0][1]
        return Sum(start, terms[-1][1].end, tuple(terms))

    def _product(self) -> Node:
        factors = [self._factor()]
        while True:
            if slash := self._take("/"):
                factors = self._divided(factors, slash)
            elif self._take("*"):
                sign = self._take("-", "+")
                factor = self._factor()
                if sign and sign.text == "-":
                    factor = Sum(sign.start, factor.end, ((-1, factor),))
                factors.append(factor)
            elif self._starts_factor():
                factors.append(self._factor())
            else:
                return _joined(factors)

    def _divided(self, factors: list[Node], slash: _Token) -> list[Node]:
        """What stands before ``/``, divided by the one factor behind it."""
        divisor = self._factor()
        token = self._peek()
        numbers = is_number(factors[-1]) and is_number(divisor)
        bracket = isinstance(divisor, Bracket)
        if self._starts_factor() and not numbers and not bracket:
            cut = self._source.cut(divisor.start, divisor.end)
            following = self._source.cut(token.start, token.end)
            self._source.refuse(
                token.start,
                f"is {following!r} below the line or beside it?",
                f"write / ({cut} {following}), or put {following} in front",
            )
        if numbers:
            return [*factors[:-1], Divide(factors[-1].start, divisor.end, factors[-1], divisor, slash.start)]
        left = _joined(factors)
        return [Divide(left.start, divisor.end, left, divisor, slash.start)]

    def _starts_factor(self) -> bool:
        token = self._peek()
        return token.kind in ("number", "name") or token.text == "("

    def _factor(self) -> Node:
        base = self._postfix()
        caret = self._take("^")
        if caret is None:
            return base
        bracket = self._take("(")
        sign = self._take("-")
        token = self._peek()
        if token.kind != "number" or not token.text.isdecimal():
            self._source.refuse(token.start, "a power is a whole number", "write for example (A B)^2")
        self._at += 1
        end = self._expect(")", "close the bracket").end if bracket else token.end
        if len(token.text) > 6 or int(token.text) > LARGEST_POWER:
            self._source.refuse_size(token.start, estimate=f"power {token.text[:20]}", limit=f"power {LARGEST_POWER}")
        following = self._peek()
        if following.text in ("'", "^"):
            cut = self._source.cut(base.start, end)
            self._source.refuse(following.start, f"{following.text} behind a power", f"write ({cut}){following.text}")
        return Power(base.start, end, base, -int(token.text) if sign else int(token.text), caret.start)

    def _postfix(self) -> Node:
        node = self._atom()
        while token := self._take("'"):
            node = Adjoint(node.start, token.end, node)
        if self._peek().text == "[":
            self._source.refuse(
                self._peek().start, "only tensors have entries", "write the entries of each tensor, as in U[h,i] V[i,j]"
            )
        return node

    def _atom(self) -> Node:
        token = self._peek()
        self._at += 1
        if token.kind == "number":
            if not _NUMBER.fullmatch(token.text):
                self._source.refuse(token.start, "a number of too many digits", "write at most 300 digits")
            return Number(token.start, token.end, Fraction(token.text))
        if token.kind == "name":
            return self._named(token)
        if token.text == "(":
            inner = self._expression()
            return Bracket(token.start, self._expect(")", "close the bracket").end, inner)
        self._at -= 1
        found = f"not {token.text!r}" if token.text else "not the end"
        problem = f"a matrix, an entry or a number expected, {found}"
        return self._source.refuse(token.start, problem, "complete the expression")

    def _named(self, token: _Token) -> Node:
        following, name = self._peek().text, token.text
        if name == "delta":
            labels, end = self._labels("delta[i,j]")
            return Delta(token.start, end, labels)
        if name in CALLS:
            self._expect("(", f"write {name}(…)")
            inner = self._expression()
            return Call(token.start, self._expect(")", "close the bracket").end, name, inner)
        if name in BINDERS:
            labels, _ = self._labels(f"{name}[h](…)")
            self._expect("(", f"write {name}[{','.join(labels)}](…)")
            inner = self._expression()
            return Bind(token.start, self._expect(")", "close the bracket").end, name, labels, inner)
        primes = 0
        while self._peek(primes).text == "'":
            primes += 1
        if self._peek(primes).text == "[":
            self._at += primes
            labels, end = self._labels(f"{name}[h,i]")
            return Entry(token.start, end, name, labels, primes % 2 == 1)
        if following == "(" and name in ("trace", "Tr", "norm", "exp", "log", "sqrt", "det", "inv", "norm2_", "Sum"):
            hint = nearest(name, FUNCTIONS)
            self._source.refuse(
                token.start, f"{name}(…) is not of this language", f"it calls {', '.join(FUNCTIONS[:-1])}; {hint}"
            )
        return Name(token.start, token.end, name)

    def _labels(self, example: str) -> tuple[tuple[str, ...], int]:
        self._expect("[", f"write {example}")
        labels: list[str] = []
        while True:
            token = self._peek()
            if token.kind != "name" or len(labels) >= MOST_LABELS:
                expected = "an index is a name" if token.kind != "name" else f"more than {MOST_LABELS} indices"
                self._source.refuse(token.start, expected, f"write for example {example}")
            self._at += 1
            labels.append(token.text)
            if close := self._take("]"):
                return tuple(labels), close.end
            self._expect(",", f"write for example {example}")


def _joined(factors: list[Node]) -> Node:
    return factors[0] if len(factors) == 1 else Product(factors[0].start, factors[-1].end, tuple(factors))
