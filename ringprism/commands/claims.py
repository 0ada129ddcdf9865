"""``ringprism claims``: run the ledger, print the verdicts, write the report."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ringprism import console
from ringprism.options import DaskOption, PlainFormat, PlainFormatOption, ReuseOption, SeedOption, WorkersOption
from theory.errors import InputError

if TYPE_CHECKING:
    from numerics.claims.ledger import Claim


def claims(
    ids: Annotated[list[str] | None, typer.Argument(metavar="[ID]...", help="Claims to run; all by default.")] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Small sizes: the whole ledger in minutes (the default).")
    ] = False,
    full: Annotated[
        bool, typer.Option("--full", help="The serious run: large sizes, hours for the whole ledger.")
    ] = False,
    report: Annotated[
        Path | None, typer.Option("--report", metavar="DIR", help="Write index.html there; go on from what is there.")
    ] = None,
    listing: Annotated[bool, typer.Option("--list", help="List the claims without running them.")] = False,
    format: PlainFormatOption = PlainFormat.text,
    seed: SeedOption = 0,
    workers: WorkersOption = 1,
    dask: DaskOption = None,
    reuse: ReuseOption = False,
) -> int:
    """Run claims: theory against simulation, each with its verdict. Exit code 1 when one does not hold."""
    from numerics.claims import all_claims
    from numerics.claims.ledger import Conditions, Effort, Result, select
    from numerics.claims.records import result_to_json
    from numerics.claims.run import run_claims
    from numerics.files import write_whole
    from numerics.pages.claims import report_html, verdict_counts

    if quick and full:
        raise InputError("effort", given="--quick --full", expected="one of them", remedy="drop one")
    chosen = select(all_claims(), ids or [])
    if listing:
        _print_list(chosen, format)
        return 0
    effort: Effort = "full" if full else "quick"
    conditions = Conditions(effort, seed)
    results: list[Result] = []

    def finished(result: Result) -> None:
        results.append(result)
        console.warn(result.warnings)
        if format is PlainFormat.text:
            print(result.to_text(), flush=True)

    with console.machine("claims", workers=workers, dask=dask, reuse=reuse) as machine:
        try:
            run_claims(ids or [], effort=effort, seed=seed, machine=machine, keep=report, finished=finished)
        finally:
            order = {claim.id: k for k, claim in enumerate(chosen)}
            results.sort(key=lambda result: order[result.claim.id])
            if report is not None and results:
                write_whole(report / "index.html", report_html(results, conditions))
            if format is PlainFormat.json:
                print(json.dumps({"claims": [result_to_json(r, conditions) for r in results]}, allow_nan=False))
            elif results:
                print(verdict_counts(results) + (f"; report in {report / 'index.html'}" if report else ""))
    return 0 if all(result.verdict == "holds" for result in results) else console.FAILED


def _print_list(chosen: Sequence[Claim], format: PlainFormat) -> None:
    if format is PlainFormat.json:
        keys = ("id", "statement", "source", "prediction", "experiment", "rule", "power")
        print(json.dumps({"claims": [{key: getattr(claim, key) for key in keys} for claim in chosen]}))
        return
    for claim in chosen:
        print(f"{claim.id:8} {claim.statement} ({claim.source})")
