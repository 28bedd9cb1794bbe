"""Converge: one outcome per planned route, whatever the shards left behind."""

from dataclasses import replace

import pytest

from schemas.converged import UNTESTED_PARTS, DeadLetter
from schemas.evidence import Quarantined
from schemas.outcome import OutcomeKind
from schemas.policy import parse_policy
from schemas.shape import is_valid, row_of
from tasks.converge import converge
from tasks.gate import decide_verdict
from tests.small_estate import (
    FIRST,
    RUN,
    SECOND,
    SITE,
    evidence_of,
    judge_of,
    occurrence,
    outcome,
    plan_of,
    receipt,
    results,
    route,
    table,
)

A, B, C = route("/a"), route("/b"), route("/c", 1)
PLAN = plan_of(A, B, C)


def told(converged):
    """What became of each route: path, outcome, reason, journey."""
    return [(row.route.removeprefix(SITE), row.outcome.value, row.reason, row.journey) for row in converged.outcomes]


def test_every_planned_route_has_one_outcome_in_the_plans_order():
    """A route that vanished is found by subtraction: the denominator is the plan."""
    converged = converge(PLAN, evidence_of(PLAN, [outcome(C), outcome(A)]))
    assert told(converged) == [("/a", "scanned", "scanned", "primary"), ("/b", "missing", "no_row", "primary"),
                               ("/c", "scanned", "scanned", "primary")]


@pytest.mark.parametrize(("ended_by", "expected"), [
    ("finished", ("missing", "no_row")), ("run_budget", ("expired", "run_budget")),
    ("cancelled", ("missing", "cancelled")), (None, ("missing", "no_receipt")),
])
def test_a_route_without_a_row_says_why(ended_by, expected):
    receipts = {0: receipt(PLAN, 0, ended_by=ended_by)} if ended_by else {}
    converged = converge(PLAN, evidence_of(PLAN, [outcome(A), outcome(C)], receipts=receipts))
    row = converged.outcomes[1]
    assert (row.outcome.value, row.reason) == expected
    assert row.how_to_fix and (row.attempt, row.attempt_name, row.triple_number) == (None, None, None)


def test_a_shard_without_a_receipt_keeps_what_it_committed():
    converged = converge(PLAN, evidence_of(PLAN, [outcome(A), outcome(C)], [occurrence(A)],
                                           receipts={1: receipt(PLAN, 1)}))
    assert [row.outcome.value for row in converged.outcomes] == ["scanned", "missing", "scanned"]
    assert converged.occurrences.num_rows == 1


def test_the_last_triple_of_the_receipt_wins_wherever_its_rows_stand():
    """A rerun is harmless: findings of the older triple do not count."""
    old, new = outcome(A, "timed_out"), outcome(A, attempt_name=SECOND, number=3)
    seen = [occurrence(A, node="old"), occurrence(A, node="new", attempt_name=SECOND, number=3)]
    receipts = {0: receipt(PLAN, 0, (FIRST, 1), (SECOND, 3))}
    for rows in ([old, new], [new, old]):
        converged = converge(PLAN, evidence_of(PLAN, rows, seen, receipts=receipts))
        assert converged.outcomes[0] == replace(new, is_accepted=False)
        assert converged.occurrences.column("target_text").to_pylist() == ["new"]
    turned = {0: receipt(PLAN, 0, (SECOND, 3), (FIRST, 1))}
    assert converge(PLAN, evidence_of(PLAN, [old, new], seen, receipts=turned)).outcomes[0].outcome == "timed_out"


def test_a_newer_triple_of_the_same_attempt_wins():
    rows = [outcome(A, number=1), outcome(A, number=2)]
    seen = [occurrence(A, node="old", number=1), occurrence(A, node="new", number=2)]
    ran = [*results(A, ("image-alt",), number=1), *results(A, ("region",), number=2)]
    converged = converge(PLAN, evidence_of(PLAN, rows, seen, ran))
    assert converged.occurrences.column("target_text").to_pylist() == ["new"]
    assert converged.rule_results.column("rule").to_pylist() == ["region"]


def test_replayed_rows_of_one_triple_count_once():
    seen = [occurrence(A, impact=None), occurrence(A, node="b")]
    converged = converge(PLAN, evidence_of(PLAN, [outcome(A)] * 2, seen * 2, results(A) * 2))
    assert converged.occurrences == table("occurrence", seen)
    assert converged.rule_results == table("rule_result", results(A))


def test_identical_occurrences_of_one_page_are_kept():
    """Masked targets may be equal in every column: `img[src$="•"]` twice is two images without a text."""
    seen = [occurrence(A, node='img[src$="•"]')] * 2
    evidence = evidence_of(PLAN, [outcome(A)], [*seen, occurrence(A, node="b")])
    converged = converge(PLAN, evidence)
    assert converged.occurrences == evidence.occurrences
    assert [(f.example_target, f.occurrence_count) for f in converged.findings] == [('img[src$="•"]', 2), ("b", 1)]


def test_masked_targets_of_different_faults_are_kept():
    """Equal in route, rule and target, but two fingerprints: dropping one would drop a finding."""
    seen = [occurrence(A, fingerprint=fingerprint) for fingerprint in ("a" * 16, "b" * 16)]
    assert {f.fingerprint for f in converge(PLAN, evidence_of(PLAN, [outcome(A)], seen)).findings} == {
        "a" * 16, "b" * 16}


def test_a_triple_that_a_receipt_lists_twice_counts_once():
    """Its rows are then read twice; what the triple itself holds twice stays, and so do the rows of other routes."""
    seen = [*[occurrence(A)] * 2, occurrence(A, node="b", number=2)]
    other = [*[occurrence(C)] * 2, occurrence(C, node="b")]
    receipts = {0: receipt(PLAN, 0, (FIRST, 1), (FIRST, 1)), 1: receipt(PLAN, 1)}
    converged = converge(PLAN, evidence_of(PLAN, [outcome(A)] * 2 + [outcome(C)], seen[:2] * 2 + other,
                                           receipts=receipts))
    assert converged.occurrences == table("occurrence", seen[:2] + other)


def test_the_example_is_the_smallest_target_of_the_first_route():
    first, second = occurrence(A, target='["a"]', target_text="a"), occurrence(A, target='["b"]', target_text="b")
    for seen in ([first, second], [second, first]):
        (finding,) = converge(PLAN, evidence_of(PLAN, [outcome(A)], seen)).findings
        assert finding.example_target == "a"


def test_findings_of_a_route_that_was_not_scanned_do_not_count():
    converged = converge(PLAN, evidence_of(PLAN, [outcome(A, "timed_out")], [occurrence(A)], results(A)))
    assert (converged.findings, converged.occurrences.num_rows, converged.rule_results.num_rows) == ((), 0, 0)


@pytest.mark.parametrize(("row", "reason"), [
    (outcome(route("/alien")), "the route is not in the plan"),
    (outcome(replace(A, shard_index=1)), "the plan gives the route to shard 0"),
    (outcome(A, route=SITE + "/other"), "route and profile are not those of the key"),
    (outcome(A, auth="admin"), "route and profile are not those of the key"),
    (outcome(A, "missing"), "`missing` is never written by a shard"),
    (outcome(A, attempt_name="attempt-9-00000009"), "no chosen receipt names the triple"),
    (outcome(A, triple_number=None), "no chosen receipt names the triple"),
])
def test_rows_that_the_plan_does_not_own_are_quarantined_by_name(row, reason):
    converged = converge(PLAN, evidence_of(PLAN, [row, outcome(B), outcome(C)],
                                           receipts={0: receipt(PLAN, 0), 1: receipt(PLAN, 1)}))
    (item,) = converged.quarantined
    assert (item.reason, item.kind, item.task_id) == (reason, "outcomes", row.task_id)
    assert is_valid("quarantine", RUN | row_of(item))
    assert converged.outcomes[0].outcome is OutcomeKind.MISSING


def test_table_rows_of_other_routes_or_shards_are_quarantined_and_not_counted():
    alien = route("/alien")
    evidence = evidence_of(PLAN, [outcome(A), outcome(B), outcome(C)],
                           [occurrence(A), occurrence(alien), occurrence(alien, node="b"),
                            occurrence(replace(B, shard_index=1))])
    converged = converge(PLAN, evidence)
    assert [(item.kind, item.entry, item.reason) for item in converged.quarantined] == [
        ("occurrences", SITE + "/alien", "2 rows: the route is not in the plan"),
        ("occurrences", SITE + "/b", "1 rows: the plan gives the route to another shard")]
    assert [finding.routes for finding in converged.findings] == [(SITE + "/a",)]
    assert [letter.route for letter in converged.dead_letters] == [SITE + "/b"]


def test_a_route_out_of_a_deltas_scope_is_carried():
    far = replace(B, is_in_scope=False, carried_from_run_id="r0", carried_date="2026-11-01")
    converged = converge(plan_of(A, far), evidence_of(plan_of(A, far), [outcome(A)]))
    row = converged.outcomes[1]
    assert (row.outcome, row.is_in_scope, row.carried_from_run_id, row.carried_date) == (
        OutcomeKind.CARRIED, False, "r0", "2026-11-01")
    assert converged.dead_letters == ()


def test_a_row_of_a_route_out_of_scope_is_quarantined():
    far = replace(B, is_in_scope=False, carried_from_run_id="r0", carried_date="2026-11-01")
    plan = plan_of(A, far)
    converged = converge(plan, evidence_of(plan, [outcome(A), outcome(far)]))
    assert [item.reason for item in converged.quarantined] == ["the route is out of the delta's scope"]
    assert converged.outcomes[1].outcome is OutcomeKind.CARRIED


def test_what_the_plan_knows_is_taken_from_the_plan():
    row = outcome(A, journey="secondary", owner="nobody", priority=0, is_accepted=True, accepted_by="me")
    converged = converge(PLAN, evidence_of(PLAN, [row]))
    assert converged.outcomes[0] == outcome(A)


def test_a_template_fault_is_one_finding():
    """Fault 089: 50 routes with one header fault and one fault of its own are 51 occurrences and 2 findings."""
    pages = [route(f"/p{i:02d}", owner=f"team{i % 2}") for i in range(50)]
    plan = plan_of(*pages)
    rows = [outcome(page) for page in pages]
    header = [occurrence(page, node="header img") for page in pages]
    both = converge(plan, evidence_of(plan, rows, [*header, occurrence(pages[3], node="own")])).findings
    assert [(f.occurrence_count, f.route_count, f.example_route, f.owners) for f in both] == [
        (50, 50, SITE + "/p00", ("team0", "team1")), (1, 1, SITE + "/p03", ("team1",))]
    fixed = converge(plan, evidence_of(plan, rows, [occurrence(pages[3], node="own")])).findings
    assert fixed == both[1:]


def test_equal_siblings_stay_apart_by_their_count():
    two = [occurrence(A, target='["img:nth-child(1)"]'), occurrence(A, target='["img:nth-child(2)"]')]
    (finding,) = converge(PLAN, evidence_of(PLAN, [outcome(A)], two)).findings
    assert (finding.occurrence_count, finding.route_count) == (2, 1)


def test_violations_and_items_that_need_review_stay_apart():
    """Fault 057: the two classes are separate through to the gate, also with one fingerprint."""
    seen = [occurrence(A), occurrence(B, is_violation=False)]
    findings = converge(PLAN, evidence_of(PLAN, [outcome(A), outcome(B)], seen)).findings
    assert [(f.is_violation, f.routes) for f in findings] == [(True, (SITE + "/a",)), (False, (SITE + "/b",))]


def test_an_impact_may_be_null_and_never_ranks_low():
    """Fault 055: no impact ranks beside serious."""
    mixed = [occurrence(A, impact="minor"), occurrence(A, impact=None, target='["x"]'),
             occurrence(B, node="b", impact=None), occurrence(B, node="b", impact="serious", target='["y"]')]
    findings = converge(PLAN, evidence_of(PLAN, [outcome(A), outcome(B)], mixed)).findings
    assert sorted((f.example_target, f.impact) for f in findings) == [("b", "serious"), ("img", None)]


def test_a_finding_takes_the_strongest_journey():
    weak = route("/weak", journey="secondary")
    plan = plan_of(A, weak)
    (finding,) = converge(plan, evidence_of(plan, [outcome(A), outcome(weak)],
                                            [occurrence(weak), occurrence(A)])).findings
    assert (finding.journey, finding.example_route) == ("primary", SITE + "/a")
    (finding,) = converge(plan, evidence_of(plan, [outcome(A), outcome(weak)], [occurrence(weak)])).findings
    assert finding.journey == "secondary"


def test_one_address_under_two_profiles_is_two_routes():
    guest, admin = route("/x"), route("/x", 1, auth="admin")
    plan = plan_of(guest, admin)
    (finding,) = converge(plan, evidence_of(plan, [outcome(guest), outcome(admin)],
                                            [occurrence(guest), occurrence(admin)])).findings
    assert finding.routes == (SITE + "/x", SITE + "/x as admin")


def letters(plan, rows, **changes):
    return converge(plan, evidence_of(plan, rows, **changes)).dead_letters


def test_a_dead_letter_names_the_triple_it_judged():
    (letter,) = letters(plan_of(A), [outcome(A, "http_error", reason="status_404", status=404, detail="Not Found",
                                             how_to_fix="Mend the link.")])
    assert letter == DeadLetter(
        A.task_id, A.route, None, A.url, "web", 0, 1, FIRST, 1, OutcomeKind.HTTP_ERROR, "status_404", "Not Found",
        "Mend the link.", 404, A.url, is_accepted=False)
    assert is_valid("dead_letter", RUN | row_of(letter))


def test_an_accepted_route_is_listed_and_not_owed():
    known = replace(A, accepted_outcome="http_error", accepted_reason="gone since May")
    plan = plan_of(known)
    converged = converge(plan, evidence_of(plan, [outcome(known, "http_error")]))
    assert (converged.outcomes[0].is_accepted, converged.outcomes[0].accepted_by) == (True, "gone since May")
    assert [letter.is_accepted for letter in converged.dead_letters] == [True]
    (other,) = letters(plan, [outcome(known, "timed_out")])
    assert not other.is_accepted


@pytest.mark.parametrize(("changes", "is_hole"), [
    ({"has_untested_own_frame": True, "frames_untested": 1}, True),
    ({"is_cut": True}, True),
    ({"frames_untested": 2}, False),
    ({}, True),
])
def test_a_partial_scan_is_owed_where_the_gate_counts_a_hole(changes, is_hole):
    found = letters(plan_of(A), [outcome(A, "partially_scanned", **changes)])
    assert [(letter.task_id, bool(letter.how_to_fix)) for letter in found] == ([(A.task_id, True)] if is_hole else [])


@pytest.mark.parametrize(("changes", "coverage", "is_accepted"), [
    ({"is_cut": True}, {}, False),
    ({"is_cut": True}, {"cut_results": "warn"}, True),
    ({"is_cut": True}, {"untested_own_frames": "warn"}, False),
    ({"is_cut": True, "reason": "rule_failed"}, {"cut_results": "warn", "untested_own_frames": "warn"}, False),
    ({"has_untested_own_frame": True, "frames_untested": 1}, {"untested_own_frames": "warn"}, True),
    ({"is_cut": True, "has_untested_own_frame": True}, {"cut_results": "warn"}, False),
    ({"is_cut": True, "has_untested_own_frame": True}, {"cut_results": "warn", "untested_own_frames": "warn"}, True),
    ({}, {"untested_own_frames": "warn"}, True),
    ({}, {"cut_results": "warn"}, False),
])
def test_a_partial_scan_that_the_policy_lets_pass_is_not_owed(changes, coverage, is_accepted):
    """Else the gate passes and every retry scans the route again. The gate and the letter say one thing."""
    policy = parse_policy({"coverage": coverage}, "p", None)
    evidence = evidence_of(plan_of(A), [outcome(A, "partially_scanned", **changes)])
    converged = converge(plan_of(A), evidence, policy.tolerated_parts)
    assert [letter.is_accepted for letter in converged.dead_letters] == [is_accepted]
    verdict = decide_verdict(judge_of(plan_of(A), evidence, policy=policy, converged=converged))
    assert (verdict.kind == "passed") is is_accepted


def test_what_the_policy_lets_pass_excuses_no_other_hole():
    broken = evidence_of(plan_of(A), [outcome(A, "partially_scanned", is_cut=True)], quarantined=[BROKEN])
    for evidence in (broken, evidence_of(plan_of(A), [outcome(A, "timed_out", is_cut=True)])):
        (letter,) = converge(plan_of(A), evidence, UNTESTED_PARTS).dead_letters
        assert not letter.is_accepted


BROKEN = Quarantined(0, "occurrences", f"shop/runs/r1/partials/shard-0000/{FIRST}/occurrences-0001.parquet",
                     "impact is none of [...]", entry="row 3", task_id=A.task_id, record="{}")


def test_a_route_with_a_broken_record_is_owed_another_scan():
    converged = converge(plan_of(A), evidence_of(plan_of(A), [outcome(A)], quarantined=[BROKEN]))
    (letter,) = converged.dead_letters
    assert (letter.reason, letter.attempt, letter.attempt_name, letter.triple_number) == ("quarantined", 1, FIRST, 1)
    assert (converged.quarantined, converged.superseded) == ((BROKEN,), ())


def test_a_broken_record_is_answered_by_a_newer_triple_of_its_route():
    """Old triples stay for ever: without this no retry could make such a run whole."""
    rows = [outcome(A), outcome(A, attempt_name=SECOND)]
    converged = converge(plan_of(A), evidence_of(plan_of(A), rows, quarantined=[BROKEN]))
    assert (converged.quarantined, converged.superseded, converged.dead_letters) == ((), (BROKEN,), ())


def test_a_broken_record_newer_than_the_winner_counts():
    newer = replace(BROKEN, file=BROKEN.file.replace(FIRST, SECOND))
    receipts = {0: receipt(plan_of(A), 0, (FIRST, 1), (SECOND, 1))}
    converged = converge(plan_of(A), evidence_of(plan_of(A), [outcome(A)], quarantined=[newer], receipts=receipts))
    assert (converged.quarantined, [letter.attempt_name for letter in converged.dead_letters]) == ((newer,), [SECOND])


def test_a_broken_file_counts_though_no_route_is_told():
    lost = Quarantined(0, "triple", "shop/runs/r1/partials/shard-0000/x", "digest differs")
    assert converge(PLAN, evidence_of(PLAN, [outcome(A)], quarantined=[lost])).quarantined == (lost,)


def test_a_route_whose_only_row_was_broken_says_so():
    converged = converge(plan_of(A), evidence_of(plan_of(A), [], quarantined=[replace(BROKEN, kind="outcomes")]))
    assert told(converged) == [("/a", "missing", "quarantined", "primary")]


def test_no_evidence_at_all_is_every_route_missing():
    converged = converge(PLAN, evidence_of(PLAN, [], receipts={}))
    assert [row.reason for row in converged.outcomes] == ["no_receipt"] * 3
    assert [letter.route for letter in converged.dead_letters] == [A.route, B.route, C.route]


def test_every_record_keeps_its_schema():
    converged = converge(PLAN, evidence_of(PLAN, [outcome(A), outcome(C, "timed_out")], [occurrence(A)]))
    for name, records in (("outcome", converged.outcomes), ("finding", converged.findings),
                          ("dead_letter", converged.dead_letters)):
        assert table(name, records).num_rows == len(records)
        assert all(is_valid(name, RUN | row_of(record)) for record in records)
