"""A small grammar for formulas that users type: text in, SymPy out, without ``eval`` or ``sympify``.

    expression := term (("+" | "-") term)*
    term       := factor (("*" | "/") factor)*
    factor     := ("+" | "-") factor | power
    power      := atom (("**" | "^") factor)?
    atom       := number | constant | variable | "(" expression ")"
                | function "(" expression ")" | "He" "(" integer "," expression ")"

Numbers are exact (``0.1`` is 1/10). Length, nesting, powers and the size of numbers are bounded, so that reading
a formula takes a moment whatever it says; an error names the character it was found at, counted from 1.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import NoReturn

import sympy

from theory.errors import InputError
from theory.softplus import Softplus

LONGEST_TEXT = 500
DEEPEST_NESTING = 30
LARGEST_POWER = 32
LARGEST_NUMBER = 1e100
LARGEST_SIZE = 1000
_LONGEST_RATIO = 4000

_TOKEN = re.compile(
    r"\s*(?:(?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)|(?P<name>[A-Za-z_]\w*)|(?P<sign>\*\*|[-+*/^(),]))",
    re.ASCII,
)


@dataclass(frozen=True)
class _Function:
    """A function of one argument: exactly, in floats for constants, and how often the argument is written in it."""

    exact: Callable[[sympy.Expr], sympy.Expr]
    number: Callable[[float], float]
    copies: int = 1


def _sigmoid(x: sympy.Expr) -> sympy.Expr:
    return (1 + sympy.tanh(x / 2)) / 2  # never overflows, unlike 1/(1 + exp(-x))


def _gelu(x: sympy.Expr) -> sympy.Expr:
    return x * (1 + sympy.erf(x / sympy.sqrt(2))) / 2


def _relu(x: sympy.Expr) -> sympy.Expr:
    return (x + sympy.Abs(x)) / 2  # its derivative is (1 + sign x)/2, which every code printer knows


_FUNCTIONS = {
    "abs": _Function(sympy.Abs, abs),
    "cos": _Function(sympy.cos, math.cos),
    "erf": _Function(sympy.erf, math.erf),
    "exp": _Function(sympy.exp, math.exp),
    "gelu": _Function(_gelu, lambda x: x * (1 + math.erf(x / math.sqrt(2))) / 2, copies=2),
    "log": _Function(sympy.log, math.log),
    "relu": _Function(_relu, lambda x: max(x, 0.0), copies=2),
    "sigmoid": _Function(_sigmoid, lambda x: (1 + math.tanh(x / 2)) / 2),
    "sin": _Function(sympy.sin, math.sin),
    "softplus": _Function(Softplus, lambda x: max(x, 0.0) + math.log1p(math.exp(-abs(x)))),
    "sqrt": _Function(sympy.sqrt, math.sqrt),
    "tanh": _Function(sympy.tanh, math.tanh),
}
_CONSTANTS = {"pi": (sympy.pi, math.pi), "e": (sympy.E, math.e)}
_HERMITE = "He"


def parse_expression(text: str, variables: Sequence[str] = ("x",), *, what: str = "expression") -> sympy.Expr:
    """The formula as a SymPy expression in real symbols named ``variables``.

    Functions: abs, cos, erf, exp, gelu, log, relu, sigmoid, sin, softplus, sqrt, tanh, and ``He(k, x)``, the
    probabilists' Hermite polynomial; constants pi and e. ``what`` names the input in errors.

    >>> parse_expression("x**3 - 3*x")
    x**3 - 3*x
    >>> parse_expression("He(4, x) / 24")
    x**4/24 - x**2/4 + 1/8
    >>> parse_expression("0.1*u^2 + erf(v)", ("u", "v"))
    u**2/10 + erf(v)

    Raises ``InputError``, with the position, for anything else: other names, attribute access, formulas longer than
    500 characters or nested deeper than 30, powers beyond 32, numbers beyond 1e100, and values that are not real.
    """
    if not isinstance(text, str):
        raise InputError(what, given=text, expected="a formula as text", remedy="give for example x**3-3*x")
    if len(text) > LONGEST_TEXT:
        raise InputError(
            what,
            given=text,
            expected=f"at most {LONGEST_TEXT} characters",
            remedy=f"shorten the formula: it goes on after character {LONGEST_TEXT}",
        )
    return _Parser(text, tuple(variables), what).parse()


def symbol(name: str) -> sympy.Symbol:
    """The symbol that stands for a variable in parsed formulas: real.

    >>> symbol("x").is_real
    True
    """
    return sympy.Symbol(name, real=True)


@dataclass(frozen=True)
class _Token:
    kind: str
    text: str
    position: int


@dataclass(frozen=True)
class _Node:
    """A parsed part: its expression; its float value if it holds no variable; bounds on a variable's power and on
    the number of symbols the expression is written with.
    """

    expression: sympy.Expr
    number: float | None
    power: float
    size: int


class _Parser:
    def __init__(self, text: str, variables: tuple[str, ...], what: str) -> None:
        self._text, self._what = text, what
        self._variables = {name: symbol(name) for name in variables}
        self._tokens = self._tokenise()
        self._next = 0
        self._depth = 0

    def parse(self) -> sympy.Expr:
        node = self._expression()
        token = self._peek()
        if token.kind != "end":
            self._refuse(token.position, f"an operator, not {token.text!r}", "write products with *, as in 3*x")
        return node.expression

    def _tokenise(self) -> list[_Token]:
        tokens, end = [], len(self._text.rstrip())
        position = 0
        while position < end:
            match = _TOKEN.match(self._text, position)
            if match is None or match.lastgroup is None:
                start = position + len(self._text[position:]) - len(self._text[position:].lstrip())
                self._refuse(start, f"numbers, names and + - * / ** ( ), not {self._text[start]!r}", self._example())
            tokens.append(_Token(match.lastgroup, match[match.lastgroup], match.start(match.lastgroup)))
            position = match.end()
        tokens.append(_Token("end", "", end))
        return tokens

    def _peek(self) -> _Token:
        return self._tokens[self._next]

    def _take(self, *texts: str) -> _Token | None:
        token = self._peek()
        if token.kind == "sign" and token.text in texts:
            self._next += 1
            return token
        return None

    def _expect(self, text: str) -> None:
        if self._take(text) is None:
            token = self._peek()
            self._refuse(token.position, f"{text!r}, not {token.text or 'the end'!r}", self._example())

    def _expression(self) -> _Node:
        self._descend()
        left = self._term()
        while token := self._take("+", "-"):
            right = self._term()
            sign = 1 if token.text == "+" else -1
            number = None if left.number is None or right.number is None else left.number + sign * right.number
            power, size = max(left.power, right.power), left.size + right.size
            self._check(token, number, power, size)
            left = self._node(token, left.expression + sign * right.expression, number, power, size)
        self._depth -= 1
        return left

    def _term(self) -> _Node:
        left = self._factor()
        while token := self._take("*", "/"):
            right = self._factor()
            if token.text == "/" and (right.expression.is_zero or right.number == 0):
                self._refuse(token.position, "a divisor that is not zero", "check the denominator")
            number = None
            if left.number is not None and right.number is not None:
                number = left.number * right.number if token.text == "*" else left.number / right.number
            power, size = left.power + right.power, left.size + right.size
            self._check(token, number, power, size)
            exact = left.expression * (right.expression if token.text == "*" else 1 / right.expression)
            left = self._node(token, exact, number, power, size)
        return left

    def _factor(self) -> _Node:
        sign = 1
        while token := self._take("+", "-"):
            sign = sign if token.text == "+" else -sign
        node = self._power()
        if sign == 1:
            return node
        return replace(node, expression=-node.expression, number=None if node.number is None else -node.number)

    def _power(self) -> _Node:
        base = self._atom()
        token = self._take("**", "^")
        if token is None:
            return base
        self._descend()
        exponent = self._factor()
        self._depth -= 1
        power, size = exponent.power, base.size + exponent.size
        number = None
        if exponent.number is None:
            if base.number is None or base.number <= 0:
                expected = "a constant exponent, or a positive constant base"
                self._refuse(token.position, expected, "write for example exp(x)")
        else:
            if abs(exponent.number) > LARGEST_POWER:
                self._refuse(token.position, f"exponents up to {LARGEST_POWER}", "lower the power")
            power = base.power * abs(exponent.number)
            if base.number is not None:
                number = self._number(token, lambda: math.pow(base.number or 0.0, exponent.number or 0.0))
                digits = sum(part.bit_length() for part in _ratio(base.expression)) * abs(exponent.number)
                if digits > _LONGEST_RATIO:
                    self._refuse(token.position, "powers of numbers with fewer digits", "round the number")
        self._check(token, number, power, size)  # before SymPy multiplies anything out
        return self._node(token, base.expression**exponent.expression, number, power, size)

    def _atom(self) -> _Node:
        token = self._peek()
        if token.kind == "end":
            self._refuse(token.position, "a number, a name or a parenthesis, not the end", self._example())
        self._next += 1
        if token.kind == "number":
            return self._literal(token)
        if token.kind == "name":
            return self._named(token)
        if token.text == "(":
            node = self._expression()
            self._expect(")")
            return node
        return self._refuse(token.position, f"a number, a name or a parenthesis, not {token.text!r}", self._example())

    def _literal(self, token: _Token) -> _Node:
        mantissa, _, exponent = token.text.lower().partition("e")
        if len(exponent) > 4 or abs(int(exponent or "0")) > 100 or len(mantissa) > 100:
            self._refuse(token.position, "numbers from 1e-100 to 1e100 with up to 100 digits", "rescale the formula")
        exact = sympy.Rational(token.text.lower())
        return self._node(token, exact, float(token.text), 0, 1)

    def _named(self, token: _Token) -> _Node:
        name = token.text
        if name in self._variables:
            return _Node(self._variables[name], None, 1, 1)
        if name in _CONSTANTS:
            return _Node(*_CONSTANTS[name], 0, 1)
        if name == _HERMITE:
            return self._hermite(token)
        if name == "hermite":
            expected = "He(k, x), the probabilists' Hermite polynomial; hermite is the physicists' in SymPy and SciPy"
            self._refuse(
                token.position, expected, "write He(3, x) for x**3 - 3*x; the physicists' is 2**(k/2)*He(k, sqrt(2)*x)"
            )
        if name not in _FUNCTIONS:
            known = ", ".join((*self._variables, *_CONSTANTS, *_FUNCTIONS, "He"))
            self._refuse(token.position, f"one of {known}, not {name[:30]!r}", self._example())
        self._expect("(")
        argument = self._expression()
        self._expect(")")
        function, number = _FUNCTIONS[name], None
        if argument.number is not None:
            number = self._number(token, lambda: function.number(argument.number or 0.0))
        size = function.copies * argument.size + 1
        self._check(token, number, argument.power, size)
        return self._node(token, function.exact(argument.expression), number, argument.power, size)

    def _hermite(self, token: _Token) -> _Node:
        self._expect("(")
        index = self._peek()
        if index.kind != "number" or not index.text.isdecimal() or int(index.text) > LARGEST_POWER:
            self._refuse(index.position, f"a whole number from 0 to {LARGEST_POWER}", "write for example He(3, x)")
        self._next += 1
        self._expect(",")
        argument = self._expression()
        self._expect(")")
        k = int(index.text)
        before, polynomial = 0.0, 1.0  # He_{j+1} = x He_j − j He_{j−1}
        if argument.number is not None:
            for j in range(k):
                before, polynomial = polynomial, argument.number * polynomial - j * before
        number = None if argument.number is None else polynomial
        power, size = k * argument.power, (k // 2 + 1) * argument.size + 1
        self._check(token, number, power, size)
        return self._node(token, hermite_polynomial(k, argument.expression), number, power, size)

    def _number(self, token: _Token, compute: Callable[[], float]) -> float:
        try:
            return compute()
        except (ValueError, ZeroDivisionError):
            return self._refuse(token.position, "a real value", "check the argument's sign")
        except OverflowError:
            return self._refuse(token.position, f"numbers up to {LARGEST_NUMBER:.0e}", "rescale the formula")

    def _check(self, token: _Token, number: float | None, power: float, size: int) -> None:
        if number is not None and not abs(number) <= LARGEST_NUMBER:
            self._refuse(token.position, f"numbers up to {LARGEST_NUMBER:.0e}", "rescale the formula")
        if power > LARGEST_POWER:
            self._refuse(token.position, f"powers of a variable up to {LARGEST_POWER}", "lower the power")
        if size > LARGEST_SIZE:
            self._refuse(token.position, f"a formula of up to {LARGEST_SIZE} symbols", "nest fewer functions")

    def _node(self, token: _Token, exact: sympy.Expr, number: float | None, power: float, size: int) -> _Node:
        if exact.has(sympy.zoo, sympy.nan, sympy.oo, -sympy.oo, sympy.I):
            self._refuse(token.position, "a finite real value", "check for division by zero and roots of negatives")
        return _Node(exact, number, power, size)

    def _descend(self) -> None:
        self._depth += 1
        if self._depth > DEEPEST_NESTING:
            expected = f"at most {DEEPEST_NESTING} levels of nesting"
            self._refuse(self._peek().position, expected, "write the formula flatter")

    def _example(self) -> str:
        return f"give for example {'*'.join(self._variables)}**3" if len(self._variables) == 1 else "see the grammar"

    def _refuse(self, position: int, expected: str, remedy: str) -> NoReturn:
        raise InputError(f"{self._what}, character {position + 1}", given=self._text, expected=expected, remedy=remedy)


def _ratio(expression: sympy.Expr) -> tuple[int, int]:
    return (int(expression.p), int(expression.q)) if expression.is_Rational else (0, 0)


def hermite_polynomial(k: int, x: sympy.Expr) -> sympy.Expr:
    """He_k(x), the probabilists' Hermite polynomial: E He_k(G)² = k! for a standard normal G.

    >>> hermite_polynomial(3, symbol("x"))
    x**3 - 3*x
    """
    terms = (
        sympy.Rational((-1) ** j * math.factorial(k), math.factorial(j) * math.factorial(k - 2 * j) * 2**j)
        * x ** (k - 2 * j)
        for j in range(k // 2 + 1)
    )
    return sympy.Add(*terms)
