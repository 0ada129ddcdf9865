"""A self-contained HTML page: one file, no network, readable on a phone, on paper and by a screen reader."""

from __future__ import annotations

import io
import re
from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_STYLE = """
:root { color-scheme: light; --ink: #1a1a1a; --soft: #4d4d4d; --line: #c9c9c9; --panel: #f5f6f8; --link: #0b4f8a; }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 62rem; padding: 1.5rem 1rem 4rem; color: var(--ink); background: #fff;
  font: 1rem/1.55 system-ui, -apple-system, "Segoe UI", "Liberation Sans", sans-serif; }
h1 { font-size: 1.7rem; line-height: 1.2; margin: 0 0 .5rem; }
h2 { font-size: 1.2rem; line-height: 1.3; margin: 2.5rem 0 .5rem; padding-top: 1rem;
  border-top: 1px solid var(--line); }
h3 { font-size: 1rem; margin: 1.2rem 0 .3rem; }
a { color: var(--link); }
a:focus-visible, summary:focus-visible, .scroll:focus-visible { outline: 3px solid var(--link); outline-offset: 2px; }
.scroll { overflow-x: auto; margin: .8rem 0; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: .9rem; }
caption { text-align: left; color: var(--soft); padding-bottom: .3rem; }
th, td { text-align: left; padding: .3rem .7rem .3rem 0; border-bottom: 1px solid var(--line); vertical-align: top; }
td.number, th.number { text-align: right; white-space: nowrap; }
th[scope="row"] a { white-space: nowrap; }
figure { margin: 1rem 0; }
figure svg { max-width: 100%; height: auto; }
figcaption, .soft { color: var(--soft); font-size: .9rem; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .2rem 1rem; margin: .6rem 0; }
dt { color: var(--soft); } dd { margin: 0; }
code, pre { font: .88em/1.45 ui-monospace, "DejaVu Sans Mono", monospace; background: var(--panel);
  border-radius: 3px; }
code { padding: .1em .3em; overflow-wrap: anywhere; }
pre { padding: .6rem .8rem; overflow-x: auto; }
math { font-size: 1.1em; }
.holds { color: #14602b; font-weight: 600; } .fails { color: #9c1c1c; font-weight: 600; }
.blind { color: #7a4b00; font-weight: 600; }
@media (max-width: 34rem) { dl { grid-template-columns: 1fr; } dt { margin-top: .5rem; } }
@media print { body { max-width: none; } h2 { break-after: avoid; } figure, table { break-inside: avoid; } }
"""


def page(title: str, body: str, *, style: str = "") -> str:
    """The whole page: ``body`` is HTML, ``title`` plain text, ``style`` extra CSS."""
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>{_STYLE}{style}</style>\n</head>\n"
        f"<body>\n<main>\n<h1>{escape(title)}</h1>\n{body}\n</main>\n</body>\n</html>\n"
    )


def picture(fig: Figure, *, alt: str, name: str) -> str:
    """A figure as inline SVG, ``alt`` read in its place; ``name`` keeps its inner ids apart from other pictures'."""
    stream = io.StringIO()
    fig.savefig(stream, format="svg", metadata={"Date": None, "Creator": None})
    text = stream.getvalue()
    svg = text[text.index("<svg") :]
    svg = re.sub(r'\bid="([^"]+)"', rf'id="{name}-\1"', svg)
    svg = re.sub(r'href="#([^"]+)"', rf'href="#{name}-\1"', svg)
    svg = re.sub(r"url\(#([^)]+)\)", rf"url(#{name}-\1)", svg)
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    return svg.replace("<svg ", f'<svg role="img" aria-label="{escape(alt, quote=True)}" ', 1)
