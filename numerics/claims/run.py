"""Run many claims: in parallel, each result kept as soon as it is there, finished ones taken up again."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from functools import partial
from pathlib import Path

from numerics.claims import all_claims
from numerics.claims.ledger import Claim, Conditions, Effort, Evidence, Result, run_claim, select
from numerics.claims.records import result_from_json, result_to_json, sealed, unsealed
from numerics.files import make_folder, write_whole
from numerics.runs.machine import HERE, Machine, check_machine
from numerics.runs.places import PlaceError
from numerics.runs.processes import on_workers

Finished = Callable[[Result], None]
"""Called with each result as it comes."""


def run_claims(
    ids: Sequence[str] = (),
    *,
    effort: Effort = "quick",
    seed: int = 0,
    machine: Machine = HERE,
    keep: Path | None = None,
    finished: Finished | None = None,
) -> tuple[Result, ...]:
    """The results of the claims named (all, when none is named), in the ledger's order.

    Up to ``machine.workers`` claims run at once, each in its own process. A claim alone gets all workers for its
    replicas; so does one after the other a cluster, where ``machine.dask`` names one. Progress counts claims. With
    ``keep``, a folder, each result is written there as ``<id>.json`` at once, finished replicas go to a store beside
    it, and what is found there of the same effort, seed and code is not run again. A claim whose worker dies is tried
    again.

    Raises ``PlaceError`` where the folder holds verdicts or replicas of other code (``machine.reuse`` takes them), or
    where the store or the cluster cannot be used.
    """
    check_machine(machine)
    if machine.dask is not None:
        from numerics.runs.cluster import check_cluster

        check_cluster(machine.dask)
    store = machine.store if keep is None else keep / f"replicas-{effort}-{seed}.sqlite"
    conditions = Conditions(effort, seed, replace(machine.silent(), store=store))
    claims = select(all_claims(), ids)
    results: dict[str, Result] = {}
    for result in _run(claims, conditions, keep):
        results[result.claim.id] = result
        if finished:
            finished(result)
        if machine.progress:
            machine.progress(len(results), len(claims))
    return tuple(results[claim.id] for claim in claims)


def _run(claims: Sequence[Claim], conditions: Conditions, keep: Path | None) -> Iterator[Result]:
    if keep is not None:
        make_folder(keep)
    waiting, notes = [], {}
    recalled = [_recall(keep, claim, conditions) if keep else None for claim in claims]
    for claim, known in zip(claims, recalled, strict=True):
        if isinstance(known, Result):
            yield known
        else:
            waiting.append(claim)
            notes[claim.id] = known
    at_once = min(conditions.machine.workers, len(waiting))
    if at_once <= 1:
        for claim in waiting:
            yield _kept(run_claim(claim, conditions), keep, conditions, notes[claim.id])
        return
    run = partial(_run_by_id, replace(conditions, machine=replace(conditions.machine, workers=1)))
    ids = [claim.id for claim in waiting]
    # A claim may start threads, which no fork survives.
    with closing(on_workers(run, ids, at_once, lost=_lost, method="spawn")) as results:
        for result in results:
            yield _kept(result, keep, conditions, notes[result.claim.id])


def _run_by_id(conditions: Conditions, claim_id: str) -> Result:
    (claim,) = select(all_claims(), [claim_id])
    return run_claim(claim, conditions)


def _lost(claim_id: str, reason: str, seconds: float) -> Result:
    (claim,) = select(all_claims(), [claim_id])
    return Result(claim, Evidence(()), seconds, reason)


def _kept(result: Result, keep: Path | None, conditions: Conditions, note: str | None) -> Result:
    if note:
        result = replace(result, warnings=(note, *result.warnings))
    if keep is not None:
        record = sealed(result_to_json(result, conditions))
        write_whole(keep / f"{result.claim.id}.json", json.dumps(record, indent=1))
    return result


def _recall(keep: Path, claim: Claim, conditions: Conditions) -> Result | str | None:
    """The result kept of a claim; a note where there is one that cannot be trusted; none where there is none."""
    place = keep / f"{claim.id}.json"
    try:
        record = unsealed(json.loads(place.read_text(encoding="utf-8")))
        if record is not None:
            return result_from_json(record, claim, conditions, place=f"report {keep}")
    except OSError:
        return None
    except PlaceError:
        raise
    except (ValueError, KeyError, TypeError, RecursionError):
        pass
    return f"{place} was damaged or changed by hand: the claim was run again"
