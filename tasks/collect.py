"""Collect what the shards left in the store, prove it, and set broken pieces aside by name.

Here: choosing the receipt of each shard and reading the triples that it names. Not here: which row of a route wins
(`tasks/converge/`, the next stage). Receipts come from the store, never from futures.
"""

import json
from collections import defaultdict
from collections.abc import Iterable, Sequence

from schemas.errors import IntegrityError
from schemas.evidence import Evidence, Quarantined
from schemas.layout import RunLayout
from schemas.outcome import Outcome
from schemas.plan import Plan
from schemas.receipt import Receipt
from schemas.shape import arrow_schema, record_of
from tasks.commit import RowFault, Shelf, Triple, committed_numbers, read_receipt, read_triple
from tasks.store import Store, concat

RECORD_CHARACTERS = 2_000


def collect(store: Store, run: RunLayout, plan: Plan) -> Evidence:
    """Read every shard's chosen receipt and triples.

    A shard without a complete receipt gives the triples that it committed, so that its work is seen, and no receipt,
    so that the run stays incomplete.
    """
    receipts: dict[int, Receipt] = {}
    triples: list[Triple] = []
    quarantined: list[Quarantined] = []
    stray: list[str] = []
    routes = defaultdict(list)
    for row in plan.routes:
        routes[row.shard_index].append(row.task_id)
    for load in plan.header.shards:
        shelf = Shelf(store, run, plan.header.plan_id, load.shard_index)
        attempts = shelf.attempts()
        receipt = _choose_receipt(shelf, attempts, quarantined)
        if receipt is None:
            named: Iterable[tuple[str, int, str | None]] = [
                (name, number, None) for name in attempts for number in committed_numbers(shelf, name)]
            stray += [run.attempt(load.shard_index, name) for name, *_ in named]
        else:
            receipts[load.shard_index] = receipt
            named = [(ref.attempt_name, ref.number, ref.outcomes_digest) for ref in receipt.triples]
        triples += _read_triples(shelf, named, frozenset(routes[load.shard_index]), quarantined)
    return Evidence(
        receipts=receipts,
        outcomes=tuple(record_of(Outcome, row) for triple in triples for row in triple.outcomes.to_pylist()),
        occurrences=concat([triple.occurrences for triple in triples], arrow_schema("occurrence")),
        rule_results=concat([triple.rule_results for triple in triples], arrow_schema("rule_result")),
        quarantined=tuple(quarantined),
        stray_attempts=tuple(sorted(set(stray))),
    )


def _choose_receipt(shelf: Shelf, attempts: Sequence[str], quarantined: list[Quarantined]) -> Receipt | None:
    """Take the receipt of the highest attempt, then hex, that is whole."""
    for attempt_name in reversed(attempts):
        try:
            receipt = read_receipt(shelf, attempt_name)
        except IntegrityError as error:
            quarantined.append(Quarantined(shelf.shard_index, "receipt", error.subject, error.fault))
            continue
        if receipt is not None:
            return receipt
    return None


def _read_triples(
    shelf: Shelf,
    named: Iterable[tuple[str, int, str | None]],
    task_ids: frozenset[str],
    quarantined: list[Quarantined],
) -> Iterable[Triple]:
    for attempt_name, number, digest in named:
        try:
            triple = read_triple(shelf, attempt_name, number, task_ids, digest)
        except IntegrityError as error:
            quarantined.append(Quarantined(shelf.shard_index, "triple", error.subject, error.fault))
            continue
        quarantined += [_quarantined(shelf.shard_index, fault) for fault in triple.faults]
        yield triple


def _quarantined(shard_index: int, fault: RowFault) -> Quarantined:
    record = json.dumps(fault.row, ensure_ascii=False, default=str)[:RECORD_CHARACTERS]
    return Quarantined(shard_index, fault.kind, fault.key, fault.reason, f"row {fault.index}", fault.task_id, record)
