"""Folding a stored run: what the policy that was frozen with it lets pass is not owed."""

import pytest

from flows.journey import fold_run
from flows.runs import RunRef
from tasks.commit import Shelf, write_receipt, write_triple
from tasks.store import Store
from tests import stored_run
from tests.small_estate import FIRST, outcome, plan_of, receipt, results, route, table

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
