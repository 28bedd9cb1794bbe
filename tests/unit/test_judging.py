"""Folding a stored run: what the policy that was frozen with it lets pass is not owed, what ended a shard stays."""

import pytest

from flows.journey import fold_run
from flows.runs import RunRef
from schemas.shard_fault import ShardFault
from schemas.verdict import from_document
from tasks.commit import Shelf, write_receipt, write_triple
from tasks.store import Store
from tests import stored_run
from tests.small_estate import FIRST, SECOND, outcome, plan_of, receipt, results, route, table

A = route("/a")


@pytest.mark.parametrize(("weight", "is_accepted", "kind"), [("warn", True, "passed"),
                                                             ("incomplete", False, "incomplete")])
def test_the_frozen_policy_says_which_partial_scans_are_owed(tmp_path, monkeypatch, weight, is_accepted, kind):
    policy = f"coverage: {{cut_results: {weight}}}\n".encode()
    monkeypatch.setattr(stored_run, "SNAPSHOT", stored_run.SNAPSHOT | {"policy.yaml": policy})
    store = Store(str(tmp_path))
    plan, run = stored_run.planned_run(store, plan_of(A), "r1", "2026-11-30")
    shelf = Shelf(store, run, plan.header.plan_id, 0)
    ref = write_triple(shelf, FIRST, 1, {
        "occurrences": table("occurrence", []), "rule_results": table("rule_result", results(A)),
        "outcomes": table("outcome", [outcome(A, "partially_scanned", is_cut=True)])})
    write_receipt(shelf, receipt(plan, 0, triples=(ref,)))
    verdict = fold_run(RunRef(str(tmp_path), plan.header.estate, "r1"))
    letters, *_ = store.read_table(run.file("dead_letters.parquet"))
    assert (verdict.kind, letters["is_accepted"].to_pylist()) == (kind, [is_accepted])
    assert len(store.read_json(run.file("replay.json"))["routes"]) == (0 if is_accepted else 1)


def test_every_fault_of_a_shard_is_kept_until_the_shard_ends(tmp_path):
    """A refusal is not undone by folding again, however many there are; a receipt of the shard answers it."""
    store = Store(str(tmp_path))
    pages = [route(f"/{index:02d}", index) for index in range(30)]
    plan, run = stored_run.planned_run(store, plan_of(*pages), "r1", "2026-11-30")
    ref = RunRef(str(tmp_path), plan.header.estate, "r1")
    faults = tuple(ShardFault(index, f"shard-{index:04d} of 30: Refused: no profile") for index in range(30))
    for given in (faults, None, None):
        verdict = fold_run(ref, given)
        assert verdict.shard_faults == faults
        assert from_document(store.read_json(run.file("verdict.json"))).shard_faults == faults
    (reason,) = [reason for reason in verdict.reasons if reason.code == "shard_faults"]
    assert (reason.count, reason.examples) == (30, tuple(fault.text for fault in faults[:20]))
    for index, attempt_name in ((3, FIRST), (29, SECOND)):
        shelf = Shelf(store, run, plan.header.plan_id, index)
        triple = write_triple(shelf, attempt_name, 1, {
            "occurrences": table("occurrence", []), "rule_results": table("rule_result", results(pages[index])),
            "outcomes": table("outcome", [outcome(pages[index], shard_index=index, attempt_name=attempt_name)])})
        write_receipt(shelf, receipt(plan, index, (attempt_name, 1), triples=(triple,)))
    left = tuple(fault for fault in faults if fault.shard_index not in (3, 29))
    assert (fold_run(ref).shard_faults, fold_run(ref).shard_faults, fold_run(ref, ()).shard_faults) == (left, left, ())
