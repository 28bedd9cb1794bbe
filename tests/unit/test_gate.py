"""The gate on findings: cells, limits, overrides, what needs review, and words that can be trusted."""

from dataclasses import replace

import pytest

from schemas.finding import Decision
from schemas.manifest import SourceFailure
from schemas.policy import parse_policy
from schemas.verdict import ExitCode, VerdictKind, Weight
from tasks.gate import decide_verdict
from tests.small_estate import SITE, evidence_of, judge_of, occurrence, outcome, plan_of, receipt, results, route

A, B = route("/a"), route("/b", 1, journey="secondary")
PLAN = plan_of(A, B)


def verdict_of(*occurrences, policy=None, plan=PLAN, rows=None, rule_results=None, receipts=None, **changes):
    """Decide on an estate of two pages under a policy as written."""
    rows = [outcome(A), outcome(B)] if rows is None else rows
    evidence = evidence_of(plan, rows, occurrences, rule_results, receipts)
    rules = [info.rule for info in plan.header.engine.rules]
    return decide_verdict(judge_of(plan, evidence, policy=parse_policy(policy or {}, "policy.yaml", rules), **changes))


def codes(verdict, weight=None):
    return [reason.code for reason in verdict.reasons + verdict.warnings if weight in (None, reason.decision)]


def test_a_clean_estate_passes():
    verdict = verdict_of()
    assert (verdict.kind, verdict.exit_code, verdict.flow_state) == (VerdictKind.PASSED, ExitCode.PASSED, "Completed")
    assert (verdict.reasons, verdict.warnings, verdict.findings) == ((), (), ())


@pytest.mark.parametrize(("impact", "page", "decision"), [
    ("critical", A, "block"), ("serious", A, "block"), (None, A, "block"), ("moderate", A, "warn"),
    ("minor", A, "warn"), ("critical", B, "warn"), ("serious", B, "warn"), (None, B, "warn"),
])
def test_the_default_policy_by_impact_and_journey(impact, page, decision):
    verdict = verdict_of(occurrence(page, impact=impact))
    assert verdict.findings[0].decision == decision
    assert verdict.kind == ("blocked" if decision == "block" else "passed")


def test_an_unknown_impact_is_counted_by_name():
    """Fault 055: never below the threshold for lack of a word."""
    verdict = verdict_of(occurrence(A, impact=None))
    (cell,) = [cell for cell in verdict.cells if cell.finding_count]
    assert (cell.impact, cell.journey, cell.finding_count, cell.action) == ("unknown", "primary", 1, "block")
    assert "unknown on primary" in verdict.reasons[0].text


def test_a_cell_beside_the_standard_says_what_the_policy_does_on_every_journey():
    verdict = verdict_of(occurrence(A, "region"), policy={"best_practice": {"primary": "block", "secondary": "warn"}})
    assert [(cell.name, cell.action, cell.allowed, cell.finding_count, cell.impact) for cell in verdict.cells
            if cell.kind == "best_practice"] == [
        ("best_practice on primary", "block", 0, 1, "critical"),
        ("best_practice on secondary", "warn", None, 0, "critical")]


def test_needs_review_is_judged_apart():
    """Fault 057: only items that need review pass by default and are counted; the policy can make them block."""
    item = occurrence(A, is_violation=False)
    verdict = verdict_of(item)
    assert verdict.kind == "passed"
    assert [(c.kind, c.finding_count) for c in verdict.cells if c.finding_count] == [("needs_review", 1)]
    assert verdict_of(item, policy={"needs_review": "block"}).kind == "blocked"
    named = verdict_of(item, policy={"rules": {"image-alt": "block"}})
    assert named.kind == "passed"  # nobody knows yet whether the rule is broken


def test_best_practice_and_other_rules_are_judged_apart():
    practice = occurrence(A, "region")
    other = occurrence(A, "color-contrast-enhanced")
    assert [f.decision for f in verdict_of(practice, other).findings] == ["warn", "warn"]
    assert verdict_of(practice, policy={"best_practice": "block"}).kind == "blocked"
    assert verdict_of(other, policy={"other": "block"}).kind == "blocked"


def test_a_finding_takes_the_strongest_decision_of_its_routes():
    (finding,) = verdict_of(occurrence(A), occurrence(B)).findings
    assert (finding.decision, finding.route_count) == (Decision.BLOCK, 2)


@pytest.mark.parametrize(("count", "kind", "shown"), [(2, "passed", "2 of 2"), (3, "blocked", "3 of 2")])
def test_a_limit_counts_findings_and_is_always_shown(count, kind, shown):
    """Fault 102: findings below the threshold are listed with used and allowed."""
    found = [occurrence(A, node=f"n{i}") for i in range(count)]
    verdict = verdict_of(*found, policy={"cells": {"critical": {"action": "block", "allowed": 2}}})
    assert verdict.kind == kind
    assert next(cell.text for cell in verdict.cells if cell.name == "critical on primary") == shown
    assert len(verdict.findings) == count
    assert shown in (verdict.reasons + verdict.warnings)[0].text


def test_an_override_holds_for_its_routes_only():
    policy = {"overrides": [{"pattern": "glob:/b", "cells": {"critical": "block"}}]}
    assert verdict_of(occurrence(B), policy=policy).kind == "blocked"
    lax = {"overrides": [{"pattern": "glob:/a", "cells": {"critical": "warn"}}]}
    assert verdict_of(occurrence(A), policy=lax).kind == "passed"


def test_an_override_that_matches_no_route_is_told():
    overrides = [{"pattern": pattern, "cells": {"critical": "warn"}} for pattern in ("glob:/b/", "glob:/typo", "re:/C")]
    verdict = verdict_of(policy={"overrides": overrides})
    assert [(reason.code, reason.examples) for reason in verdict.warnings] == [
        ("unused_overrides", ("glob:/typo", "re:/C"))]


def test_the_inherited_journey_judges():
    """A primary address that leads to a secondary page makes the page's faults primary."""
    rows = [outcome(A, "redirected", redirected_to=B.task_id), outcome(B)]
    assert verdict_of(occurrence(B), rows=rows).kind == "blocked"


def test_report_only_never_fails_on_findings_and_says_what_would_block():
    verdict = verdict_of(occurrence(A), policy={"report_only": True})
    assert (verdict.kind, verdict.is_report_only, codes(verdict, Weight.WOULD_BLOCK)) == (
        "passed", True, ["findings_block"])
    assert verdict.findings[0].decision == "block"
    assert "would block" in verdict.summary


def test_incomplete_wins_and_both_facts_are_told():
    """Fault 095: a route that refuses connection and a critical finding: exit 2, and both are in the verdict."""
    verdict = verdict_of(occurrence(A), rows=[outcome(A), outcome(B, "unreachable", reason="connection_refused")])
    assert (verdict.kind, verdict.exit_code) == (VerdictKind.INCOMPLETE, 2)
    assert codes(verdict) == ["unsettled_routes", "findings_block"]


@pytest.mark.parametrize(("rows", "receipts", "exit_code"), [
    ([outcome(A), outcome(B, "unreachable")], None, 2),
    ([outcome(A)], {0: receipt(PLAN, 0)}, 2),
    ([], {}, 2),
    ([outcome(A), outcome(B)], None, 0),
])
def test_exit_codes(rows, receipts, exit_code):
    """Fault 095: one route refused, one partial missing, no partials, all fine."""
    assert verdict_of(rows=rows, receipts=receipts).exit_code == exit_code


@pytest.mark.parametrize("status", [402, 403])
def test_nothing_scanned_is_never_nothing_found(status):
    """Fault 096: the summary names scanned 0 of N and never sounds clean."""
    rows = [outcome(page, "http_error", reason=f"status_{status}", status=status) for page in (A, B)]
    verdict = verdict_of(rows=rows)
    assert verdict.exit_code == 2
    assert verdict.summary == ("Incomplete: scanned 0 of 2 routes, 0 of 2 in scope are covered. Nothing is known of "
                               "this estate.")
    assert "nothing_scanned" in codes(verdict)


def test_counts_by_reason_and_the_worst_groups():
    """Fault 077: 100 planned, 67 scanned: incomplete, with counts by reason and the ten worst groups."""
    pages = [route(f"/s{i % 12}/p{i}", i % 4) for i in range(100)]
    plan = plan_of(*pages)
    rows = [outcome(page) if i < 67 else outcome(page, *(("http_error",) if i % 2 else ("timed_out",)))
            for i, page in enumerate(pages)]
    coverage = verdict_of(plan=plan, rows=rows).coverage
    assert coverage.by_outcome == {"http_error": 17, "scanned": 67, "timed_out": 16}
    assert coverage.by_reason == {"http_error/http_error": 17, "timed_out/timed_out": 16}
    assert (coverage.covered_count, coverage.scanned_count, len(coverage.worst_groups)) == (67, 67, 10)
    assert (coverage.worst_groups[0].kind, coverage.worst_groups[0].name, coverage.worst_groups[0].hole_count) == (
        "host", "e.test", 33)


def test_blocked_midway():
    """Fault 076: 200 for the first route, then 403: the identity holds and the run is incomplete."""
    verdict = verdict_of(rows=[outcome(A), outcome(B, "http_error", status=403)])
    assert sum(verdict.coverage.by_outcome.values()) == verdict.coverage.planned_count == 2
    assert verdict.kind == "incomplete"


@pytest.mark.parametrize("rules", [{}, {"color-contrast": "block"}, {"color-contrast": {"secondary": "warn"}}])
def test_a_needed_rule_that_was_not_run_is_incomplete(rules):
    """Fault 100: absent is not zero."""
    ran = [*results(A), *results(B, ("image-alt", "region"))]
    verdict = verdict_of(rule_results=ran, policy={"rules": rules})
    (reason,) = verdict.reasons
    assert (reason.code, reason.examples) == ("rules_not_run", ("color-contrast: lacking on 1 of 2 routes",))


def test_a_named_rule_is_needed_whatever_its_tags_and_an_ignored_one_is_not():
    """Fault 100: a rule that was disabled in the run is incomplete where the policy names it."""
    assert codes(verdict_of(policy={"rules": {"css-orientation-lock": "warn"}})) == ["rules_not_run"]
    ran = [*results(A, ("image-alt",)), *results(B, ("image-alt",))]
    assert codes(verdict_of(rule_results=ran)) == ["rules_not_run"]
    assert verdict_of(rule_results=ran, policy={"rules": {"color-contrast": "ignore"}}).kind == "passed"


def test_best_practice_is_needed_where_it_can_block():
    ran = [*results(A, ("image-alt", "color-contrast")), *results(B, ("image-alt", "color-contrast"))]
    assert verdict_of(rule_results=ran).kind == "passed"
    assert codes(verdict_of(rule_results=ran, policy={"best_practice": "block"})) == ["rules_not_run"]


def test_a_level_needs_its_rules():
    verdict = verdict_of(policy={"level": "AAA"})
    assert verdict.reasons[0].examples == ("color-contrast-enhanced: lacking on 2 of 2 routes",)


@pytest.mark.parametrize(("changes", "said"), [
    ({"engine_digest": "f" * 64}, "engine"), ({"engine_version": "4.11.0"}, "engine"),
    ({"options_digest": "f" * 64}, "options"), ({"browser_version": "150.0"}, "browser"),
])
def test_one_build_of_everything(changes, said):
    verdict = verdict_of(receipts={0: receipt(PLAN, 0), 1: receipt(PLAN, 1, **changes)})
    assert codes(verdict) == ["mixed_builds"]
    assert verdict.reasons[0].examples[0].startswith(f"shard 0001: {said}")


def test_receipts_that_agree_must_agree_with_the_plan():
    others = {i: receipt(PLAN, i, browser_version="150.0", engine_digest="f" * 64) for i in (0, 1)}
    verdict = verdict_of(receipts=others)
    assert (codes(verdict), verdict.reasons[0].count) == (["mixed_builds"], 4)


def test_a_plan_without_a_browser_lets_the_receipts_agree():
    plan = plan_of(A, B, browser_version=None)
    agree = {i: receipt(plan, i, browser_version="150.0") for i in (0, 1)}
    assert verdict_of(plan=plan, receipts=agree).kind == "passed"
    differ = {0: receipt(plan, 0), 1: receipt(plan, 1, browser_version="150.0")}
    assert codes(verdict_of(plan=plan, receipts=differ)) == ["mixed_builds"]


@pytest.mark.parametrize("ended_by", ["run_budget", "cancelled"])
def test_a_shard_that_was_cut_short_makes_the_run_incomplete(ended_by):
    """Though every route has an outcome: the shard itself says that it was not done."""
    verdict = verdict_of(receipts={0: receipt(PLAN, 0), 1: receipt(PLAN, 1, ended_by=ended_by)},
                         policy={"report_only": True})
    (reason,) = verdict.reasons
    assert (verdict.kind, reason.code, reason.count, reason.examples, reason.text) == (
        "incomplete", "shards_cut_short", 1, (f"shard 0001: {ended_by}",),
        "1 of 2 shards ended before they were done. Resume the run.")


def test_receipts_of_another_plan_do_not_count():
    other = {0: receipt(PLAN, 0), 1: receipt(PLAN, 1, plan_id="f" * 64)}
    assert codes(verdict_of(receipts=other)) == ["foreign_receipts"]


@pytest.mark.parametrize(("last", "rules", "expected"), [
    (2, {}, []), (3, {}, ["shrunk_estate"]), (3, {"max_shrink": 0.4}, []),
    (None, {"min_routes": 3}, ["too_few_routes"]),
])
def test_a_source_that_shrank_is_not_a_smaller_estate(last, rules, expected):
    plan = plan_of(A, B, last_full_route_count=last, last_full_run_id="r0")
    assert codes(verdict_of(plan=plan, policy={"coverage": rules})) == expected


def test_shrinking_by_exactly_the_allowed_share_is_allowed():
    for last in range(5, 200, 5):
        pages = [route(f"/p{i}") for i in range(last * 8 // 10)]
        plan = plan_of(*pages[:2], route_count=len(pages), last_full_route_count=last)
        assert "shrunk_estate" not in codes(verdict_of(plan=plan, rows=[])), last


def test_a_child_of_the_source_that_could_not_be_read_is_incomplete():
    plan = plan_of(A, B, source_failures=(SourceFailure(SITE + "/map.xml", "status 500"),))
    verdict = verdict_of(plan=plan)
    assert (codes(verdict), verdict.reasons[0].examples) == (["source_failures"], (SITE + "/map.xml: status 500",))


@pytest.mark.parametrize(("pages", "files", "rules", "kind"), [
    (1, 2, {}, "passed"), (1, 5, {}, "passed"), (1, 6, {}, "incomplete"), (20, 20, {}, "passed"),
    (20, 21, {}, "incomplete"), (3, 1, {"max_not_applicable": 0, "free_not_applicable": 0}, "incomplete"),
    (71, 29, {"max_not_applicable": 0.29}, "passed"), (70, 30, {"max_not_applicable": 0.29}, "incomplete"),
])
def test_files_in_the_place_of_pages_are_capped(pages, files, rules, kind):
    """Fault 013: one page and two files pass; a gateway that answers for the whole site does not."""
    good, bad = [route(f"/p{i}") for i in range(pages)], [route(f"/f{i}") for i in range(files)]
    rows = [*(outcome(page) for page in good), *(outcome(page, "not_applicable") for page in bad)]
    assert verdict_of(plan=plan_of(*good, *bad), rows=rows, policy={"coverage": rules}).kind == kind


def test_some_route_must_be_primary():
    weak = plan_of(B)
    assert codes(verdict_of(plan=weak, rows=[outcome(B)])) == ["no_primary_route"]
    rows = [outcome(A, "not_applicable"), outcome(B)]
    assert codes(verdict_of(rows=rows)) == ["no_primary_route"]


def test_a_delta_counts_its_scope_and_what_it_carries():
    far = replace(B, is_in_scope=False, carried_from_run_id="r0", carried_date="2026-11-01")
    plan = plan_of(A, far, scope="delta")
    verdict = verdict_of(plan=plan, rows=[outcome(A)])
    assert (verdict.kind, verdict.coverage.in_scope_count, verdict.coverage.planned_count) == ("passed", 1, 2)
    never = plan_of(A, replace(far, carried_from_run_id=None), scope="delta")
    assert codes(verdict_of(plan=never, rows=[outcome(A)])) == ["carried_without_scan"]


ENTRY = {"pattern": "glob:/b", "outcome": "http_error", "reason": "moves in spring", "owner": "web",
         "until": "2026-12-31"}


def test_an_accepted_route_is_covered_and_listed():
    verdict = verdict_of(rows=[outcome(A), outcome(B, "http_error")], policy={"accepted": [ENTRY]})
    assert (verdict.kind, verdict.coverage.accepted_count, verdict.coverage.covered_count) == ("passed", 1, 2)
    assert verdict.warnings[0].examples == (f"{SITE}/b (http_error, http_error): moves in spring (web, until "
                                            "2026-12-31)",)


@pytest.mark.parametrize(("row", "now", "expected"), [
    (outcome(B, "timed_out"), "2026-11-30", ["unsettled_routes", "unused_acceptances"]),
    (outcome(B, "http_error"), "2027-01-01", ["unsettled_routes", "expired_acceptances"]),
    (outcome(B), "2026-11-30", ["unused_acceptances"]),
])
def test_an_acceptance_is_for_one_outcome_and_ends(row, now, expected):
    assert codes(verdict_of(rows=[outcome(A), row], policy={"accepted": [ENTRY]}, now=now)) == expected


def test_findings_of_an_accepted_partial_scan_count():
    entry = ENTRY | {"pattern": "glob:/a", "outcome": "partially_scanned"}
    rows = [outcome(A, "partially_scanned", is_cut=True), outcome(B)]
    verdict = verdict_of(occurrence(A), rows=rows, policy={"accepted": [entry]})
    assert (verdict.kind, codes(verdict)) == ("blocked", ["findings_block", "accepted_routes"])


@pytest.mark.parametrize(("coverage", "kind"), [({}, "incomplete"), ({"max_unsettled": 1}, "passed")])
def test_a_policy_may_let_some_routes_fail(coverage, kind):
    rows = [outcome(A), outcome(B, "http_error")]
    assert verdict_of(rows=rows, policy={"coverage": coverage}).kind == kind


def test_a_route_without_any_outcome_is_never_let_pass():
    policy = {"coverage": {"max_unsettled": 9}}
    assert codes(verdict_of(rows=[outcome(A)], policy=policy, receipts={0: receipt(PLAN, 0), 1: receipt(PLAN, 1)})) == [
        "missing_routes"]


@pytest.mark.parametrize(("changes", "policy", "expected"), [
    ({"has_untested_own_frame": True, "frames_untested": 1}, {"untested_own_frames": "warn"}, "passed"),
    ({"is_cut": True}, {"cut_results": "warn"}, "passed"),
    ({"is_cut": True, "has_untested_own_frame": True}, {"cut_results": "warn"}, "incomplete"),
    ({"is_cut": True, "reason": "rule_failed"}, {"cut_results": "warn", "untested_own_frames": "warn"}, "incomplete"),
])
def test_a_policy_may_let_parts_go_untested(changes, policy, expected):
    rows = [outcome(A), outcome(B, "partially_scanned", **changes)]
    assert verdict_of(rows=rows, policy={"coverage": policy}).kind == expected


def test_the_verdict_is_taken_once_and_names_what_it_stands_on():
    """Fault 099: one object for all outputs; decisions are those of the findings."""
    verdict = verdict_of(occurrence(A), occurrence(B, node="b"), digests={"policy": "p" * 64})
    assert verdict.decisions == {"block": 1, "warn": 1}
    assert sorted(finding.decision for finding in verdict.findings) == ["block", "warn"]
    named = verdict.provenance
    assert (named["plan_id"], named["digests"], named["browser_version"], named["judged_on"]) == (
        PLAN.header.plan_id, {"policy": "p" * 64}, "149.0", "2026-11-30")


def test_examples_are_cut_and_the_count_is_not():
    pages = [route(f"/p{i:02d}") for i in range(25)]
    verdict = verdict_of(plan=plan_of(*pages), rows=[outcome(page, "http_error") for page in pages])
    (reason,) = [reason for reason in verdict.reasons if reason.code == "unsettled_routes"]
    assert (reason.count, len(reason.examples), reason.examples[0]) == (
        25, 20, SITE + "/p00 (http_error, http_error)")
