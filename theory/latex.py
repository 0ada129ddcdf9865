r"""Displays that stand alone: every result in LaTeX is one environment of amsmath, its lines no wider than a page.

>>> print(display([r"Y_0 &= p - n"]))
\begin{align*}
Y_0 &= p - n
\end{align*}
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

WIDTH = 48
"""Printed characters a line. Signs take room besides: this fits the 345 pt of ``article``."""

_COMMAND = re.compile(r"\\(?:left|right|tfrac|frac|mathrm|mathbf|mathbb|text|operatorname|bar|hat|dot|sqrt)\b|\\[,;! ]")
_LETTER = re.compile(r"\\[A-Za-z]+")


def display(rows: Iterable[str]) -> str:
    r"""An ``align*`` of these rows, which carry their own ``&``. Rows with a sum that is too long are broken."""
    lines = [line for row in rows for line in _lines(row)]
    return "\n".join([r"\begin{align*}", " \\\\\n".join(lines), r"\end{align*}"])


def table(columns: str, rows: Iterable[Sequence[str]]) -> str:
    r"""A table of formulas in a display of its own; ``columns`` as ``array`` takes them: ``lrr``."""
    body = " \\\\\n".join(" & ".join(row) for row in rows)
    return "\n".join([r"\begin{gather*}", rf"\begin{{array}}{{{columns}}}", body, r"\end{array}", r"\end{gather*}"])


def typed(text: str) -> str:
    r"""A name as it is typed, in a formula.

    >>> print(typed("sigma2_u^2"))
    \texttt{sigma2\_u\textasciicircum{}2}
    """
    return rf"\texttt{{{text.replace('_', chr(92) + '_').replace('^', chr(92) + 'textasciicircum{}')}}}"


def broken(text: str, *, width: int = WIDTH) -> list[str]:
    r"""A sum in LaTeX, in lines of at most this printed width; each but the first begins with its sign.

    Only signs outside all brackets are places to break, so a single term stays whole.

    >>> broken(r"a + \left(b - c\right) d - e", width=7)
    ['a', '+ \\left(b - c\\right) d', '- e']
    """
    lines = [""]
    for term in _terms(text):
        if lines[-1] and printed(lines[-1]) + printed(term) > width:
            lines.append("")
        lines[-1] += f"{' ' if lines[-1] else ''}{term}"
    return lines


def printed(text: str) -> int:
    r"""About how many characters a piece of LaTeX takes on the page.

    >>> printed(r"\tfrac{1}{2} p \sigma_{u}^{2}")
    6
    """
    plain = _LETTER.sub("x", _COMMAND.sub("", text))
    return sum(not mark.isspace() and mark not in "{}_^&" for mark in plain)


def _lines(row: str) -> list[str]:
    """The row, broken after its relation sign; what is set apart by ``&&`` stays with the last line."""
    main, apart, note = row.partition(" &&")
    before, sign, sum_ = main.partition("= ")
    if not sign or printed(main) <= WIDTH:
        return [row]
    first, *others = broken(sum_, width=WIDTH - min(printed(before), WIDTH // 3))
    lines = [f"{before}{sign}{first}", *(rf"&\quad {line}" for line in others)]
    lines[-1] += apart + note
    return lines


def _terms(text: str) -> list[str]:
    """The terms of a sum, each but the first with its sign: cut at `` + `` and `` - `` outside all brackets."""
    terms, depth, start = [], 0, 0
    for match in re.finditer(r"\\[{}]|[{}()\[\]]|(?<= )[+-](?= )", text):
        mark = match[0]
        if mark in ("{", "(", "[", r"\{"):
            depth += 1
        elif mark in ("}", ")", "]", r"\}"):
            depth -= 1
        elif depth == 0 and match.start() > start:
            terms.append(text[start : match.start()].strip())
            start = match.start()
    return [*terms, text[start:].strip()]


def decimal(value: float, digits: int = 6) -> str:
    r"""A number in a formula.

    >>> decimal(12345678.0, 3), decimal(0.25), decimal(float("inf"))
    ('1.23 \\cdot 10^{7}', '0.25', '\\infty')
    """
    text = f"{value:.{digits}g}".replace("inf", r"\infty").replace("nan", r"\text{none}")
    mantissa, power, exponent = text.partition("e")
    return rf"{mantissa} \cdot 10^{{{int(exponent)}}}" if power else mantissa
