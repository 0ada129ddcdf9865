r"""LaTeX formulas of this project as MathML, so that a page needs no scripts and no network.

A small grammar is read: fractions, roots, scripts, hats, ``\left … \right``, ``\mathrm``, ``\text``, Greek letters,
operators, spaces. Anything else is an ``InputError``, so that no formula is ever shown wrongly.
"""

from __future__ import annotations

import re
from html import escape

from theory.errors import InputError

_IDENTIFIERS = {
    r"\alpha": "α", r"\beta": "β", r"\eta": "η", r"\lambda": "λ", r"\mu": "μ", r"\sigma": "σ", r"\infty": "∞",
}  # fmt: skip
_OPERATORS = {
    r"\int": "∫", r"\sum": "∑", r"\cdot": "⋅", r"\sim": "∼", r"\gg": "≫", r"\ll": "≪", r"\approx": "≈", r"\to": "→",
    r"\propto": "∝", r"\neq": "≠", r"\le": "≤", r"\ge": "≥", r"\langle": "⟨", r"\rangle": "⟩", r"\times": "×",
    r"\lim": "lim", r"\min": "min", r"\{": "{", r"\}": "}",
}  # fmt: skip
_SPACES = {r"\,": "0.17em", r"\ ": "0.3em", r"\;": "0.28em", r"\quad": "1em", r"\qquad": "2em"}
_TOKEN = re.compile(r"\\[A-Za-z]+|\\.|\d+(?:\.\d+)?|\s+|.", re.DOTALL)


def mathml(latex: str, *, display: bool = False) -> str:
    r"""A ``<math>`` element, in line; ``display`` makes its fractions and integrals as large as in a display.

    >>> mathml(r"\frac{1}{2}\mu^2")
    '<math><mrow><mfrac><mn>1</mn><mn>2</mn></mfrac><msup><mi>μ</mi><mn>2</mn></msup></mrow></math>'
    """
    reader = _Reader(latex)
    body = reader.row(())
    return f'<math displaystyle="true">{body}</math>' if display else f"<math>{body}</math>"


class _Reader:
    """One pass over the tokens; ``at`` is the next one."""

    def __init__(self, latex: str) -> None:
        self.latex = latex
        self.tokens: list[str] = _TOKEN.findall(latex)
        self.at = 0

    def fail(self, found: str) -> InputError:
        return InputError(
            "formula", given=self.latex, expected=f"LaTeX of the small grammar (not {found!r})", remedy="add it there"
        )

    def peek(self) -> str:
        while self.at < len(self.tokens) and self.tokens[self.at].isspace():
            self.at += 1
        return self.tokens[self.at] if self.at < len(self.tokens) else ""

    def take(self) -> str:
        token = self.peek()
        if not token:
            raise self.fail("the end")
        self.at += 1
        return token

    def row(self, ends: tuple[str, ...]) -> str:
        """Everything up to one of ``ends`` (left unread) or the end."""
        items = []
        while self.peek() and self.peek() not in ends:
            items.append(self.scripted())
        if ends and not self.peek():
            raise self.fail("the end")
        return items[0] if len(items) == 1 else f"<mrow>{''.join(items)}</mrow>"

    def scripted(self) -> str:
        base = self.atom()
        scripts = {}
        while self.peek() in ("^", "_", "'"):
            kind = self.take()
            if kind == "'":
                scripts["^"] = "<mo>′</mo>"
            else:
                scripts[kind] = self.argument()
        if not scripts:
            return base
        low, high = scripts.get("_"), scripts.get("^")
        if low and high:
            return f"<msubsup>{base}{low}{high}</msubsup>"
        return f"<msub>{base}{low}</msub>" if low else f"<msup>{base}{high}</msup>"

    def argument(self) -> str:
        if self.peek() != "{":
            return self.atom()
        self.take()
        inner = self.row(("}",))
        self.take()
        return inner

    def words(self) -> str:
        """The text of a braced argument, spaces kept."""
        if self.take() != "{":
            raise self.fail("no brace")
        rest = self.tokens[self.at :]
        if "}" not in rest:
            raise self.fail("the end")
        length = rest.index("}")
        self.at += length + 1
        return "".join(rest[:length])

    def atom(self) -> str:
        token = self.take()
        if token == "{":
            self.at -= 1
            return self.argument()
        if token in _IDENTIFIERS:
            return f"<mi>{_IDENTIFIERS[token]}</mi>"
        if token in _OPERATORS:
            return f"<mo>{escape(_OPERATORS[token])}</mo>"
        if token in _SPACES:
            return f'<mspace width="{_SPACES[token]}"></mspace>'
        if token == r"\frac":
            return f"<mfrac>{self.argument()}{self.argument()}</mfrac>"
        if token == r"\sqrt":
            return f"<msqrt>{self.argument()}</msqrt>"
        if token == r"\hat":
            return f'<mover accent="true">{self.argument()}<mo>^</mo></mover>'
        if token == r"\mathrm":
            return f'<mi mathvariant="normal">{escape(self.words())}</mi>'
        if token == r"\text":
            text = escape(self.words()).replace(" ", "&#160;")
            return f"<mtext>{text}</mtext>"
        if token == r"\left":
            opening = self.delimiter()
            inner = self.row((r"\right",))
            self.take()
            return f"<mrow>{opening}{inner}{self.delimiter()}</mrow>"
        if token[0].isdigit():
            return f"<mn>{token}</mn>"
        if token.isalpha():
            return f"<mi>{token}</mi>"
        if token in "()[]":  # would else be moved off the line where it carries a script
            return f'<mo stretchy="false">{token}</mo>'
        if token in "+-=<>,;:/|!.":
            return f"<mo>{'−' if token == '-' else escape(token)}</mo>"
        raise self.fail(token)

    def delimiter(self) -> str:
        token = self.take()
        if token not in ("(", ")", "[", "]", r"\{", r"\}"):
            raise self.fail(token)
        return f'<mo stretchy="true">{token.lstrip(chr(92))}</mo>'
