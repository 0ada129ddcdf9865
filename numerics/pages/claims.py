"""The report: every claim that was run on one page, to show to others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from html import escape

from numerics.claims.ledger import Conditions, Result
from numerics.figures.claims import draw_plot
from numerics.judge import STANDARD_ERRORS, Quantity
from numerics.pages.html import page, picture

_SIGNS = {"=": "=", "<=": "≤", ">=": "≥"}


def report_html(results: Sequence[Result], conditions: Conditions) -> str:
    """One self-contained page: a summary, then a section per claim with its evidence and the command to repeat it."""
    return page("ringprism: claims and their verdicts", _summary(results, conditions) + _sections(results, conditions))


def verdict_counts(results: Sequence[Result]) -> str:
    """Such as ``12 hold, 1 fails, 0 blind``."""
    counts = Counter(result.verdict for result in results)
    return f"{counts['holds']} hold, {counts['fails']} fail, {counts['blind']} blind"


def _summary(results: Sequence[Result], conditions: Conditions) -> str:
    rows = "".join(
        f'<tr><th scope="row"><a href="#{r.claim.id}">{r.claim.id}</a></th><td>{_mark(r.verdict)}</td>'
        f"<td>{escape(r.claim.statement)}</td><td>{escape(r.claim.source)}</td>"
        f'<td class="number">{r.took}</td></tr>'
        for r in results
    )
    return (
        f"<p>{escape(verdict_counts(results))}. Effort <code>{conditions.effort}</code>, seed {conditions.seed}.</p>"
        "<p>A claim holds when every measurement agrees with its prediction within the allowance stated before the run "
        f"plus {STANDARD_ERRORS:g} standard errors, and would not have agreed with the rival beside it. "
        "A measurement that cannot tell the two apart is blind, and counts as failed.</p>"
        f"{_table('Summary', ('Claim', 'Verdict', 'Statement', 'Source', 'Time'), rows)}"
    )


def _sections(results: Sequence[Result], conditions: Conditions) -> str:
    return "".join(_section(result, conditions) for result in results)


def _section(result: Result, conditions: Conditions) -> str:
    claim = result.claim
    facts = {
        "Verdict": f"{_mark(result.verdict)} ({result.took})",
        "Source": escape(claim.source),
        "Prediction": escape(claim.prediction),
        "Experiment": escape(claim.experiment),
        "Rule": escape(claim.rule),
        "Power": escape(claim.power),
        "Repeat": f"<code>ringprism claims {claim.id} --{conditions.effort} --seed {conditions.seed}</code>",
    }
    if result.warnings:
        facts["Warnings"] = escape("; ".join(result.warnings))
    if result.error:
        facts["Error"] = escape(result.error)
    listed = "".join(f"<dt>{name}</dt><dd>{text}</dd>" for name, text in facts.items())
    remarks = "".join(f"<li>{escape(remark)}</li>" for remark in result.evidence.remarks)
    pictures = "".join(
        f"<figure>{picture(draw_plot(plot), alt=plot.alt, name=f'{claim.id}-{k}')}"
        f"<figcaption>{escape(plot.alt)}</figcaption></figure>"
        for k, plot in enumerate(result.evidence.plots)
    )
    return (
        f'<section aria-labelledby="{claim.id}"><h2 id="{claim.id}">{claim.id}: {escape(claim.statement)}</h2>'
        f"<dl>{listed}</dl>{_quantities(result.evidence.quantities)}{pictures}"
        f"{f'<h3>Remarks</h3><ul>{remarks}</ul>' if remarks else ''}</section>"
    )


def _quantities(quantities: Sequence[Quantity]) -> str:
    if not quantities:
        return ""
    rows = "".join(
        f'<tr><th scope="row">{escape(q.name)}</th><td>{_mark(q.verdict)}</td>'
        f'<td class="number">{_SIGNS[q.relation]} {q.predicted:.5g}</td>'
        f'<td class="number">{q.measured:.5g} ± {q.stderr:.2g}</td><td class="number">{q.allowance:.2g}</td>'
        f"<td>{q.rival:.5g} ({escape(q.rival_name)})</td></tr>"
        for q in quantities
    )
    heads = ("Quantity", "Verdict", "Predicted", "Measured ± s.e.", "Allowance", "Rival")
    return _table("Measurements", heads, rows)


def _table(caption: str, heads: Sequence[str], rows: str) -> str:
    head = "".join(f'<th scope="col">{name}</th>' for name in heads)
    return (
        f'<div class="scroll" role="region" tabindex="0" aria-label="{caption}"><table><caption>{caption}</caption>'
        f"<thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>"
    )


def _mark(verdict: str) -> str:
    return f'<span class="{verdict}">{verdict}</span>'
