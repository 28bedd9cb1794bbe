"""Suppressions in the gate: they keep from blocking, never from the data, and the careless ones are told."""

from dataclasses import replace

import pytest

from schemas.finding import Decision
from schemas.policy import parse_policy
from schemas.settings import IdentitySwitches
from schemas.suppression import parse_suppressions
from tasks.gate import decide_verdict, make_baseline
from tests.small_estate import evidence_of, judge_of, occurrence, outcome, plan_of, route

A, B = route("/a"), route("/b")
PLAN = plan_of(A, B)
ENTRY = {"rule": "image-alt", "route": "glob:/a", "reason": "decorative", "owner": "web", "ticket": "T-1",
         "expires": "2026-12-31"}


def verdict_of(entries, *occurrences, policy=None, rows=None, **changes):
    evidence = evidence_of(PLAN, rows or [outcome(A), outcome(B)], occurrences)
    given = judge_of(PLAN, evidence, policy=parse_policy(policy or {}, "p", None),
                     suppressions=parse_suppressions({"suppressions": entries}, "s", None), **changes)
    return decide_verdict(given)


def codes(verdict):
    return [reason.code for reason in verdict.reasons + verdict.warnings]


def test_a_suppressed_finding_does_not_block_and_stays_in_the_data():
    verdict = verdict_of([ENTRY], occurrence(A))
    (finding,) = verdict.findings
    assert (verdict.kind, finding.decision, finding.suppressed_by, finding.suppressed_until) == (
        "passed", "ignore", "decorative (web, T-1)", "2026-12-31")
    assert (verdict.finding_count, verdict.occurrence_count, verdict.suppressed_count) == (1, 1, 1)
    assert [(use.rule, use.applied_count, use.is_expired) for use in verdict.suppressions] == [("image-alt", 1, False)]


def test_what_is_left_of_a_finding_still_blocks():
    verdict = verdict_of([ENTRY], occurrence(A), occurrence(B))
    assert (verdict.kind, verdict.findings[0].decision, verdict.suppressed_count) == ("blocked", "block", 1)


def test_a_finding_says_how_much_of_it_is_suppressed_and_where_all_is():
    """Two entries cover a part: what they cover adds up to what the list of suppressions says."""
    first, second = ENTRY | {"selector": "img"}, ENTRY | {"route": "glob:/b", "owner": "shop", "expires": "2026-12-05"}
    other = occurrence(A, target='["b"]', target_text="b")
    verdict = verdict_of([first, second], occurrence(A), other, occurrence(B))
    (finding,) = verdict.findings
    assert (finding.suppressed_count, finding.suppression, finding.suppressed_routes, finding.open_routes) == (
        2, "2 of 3 suppressed", (B.route,), (A.route,))
    assert (finding.suppressed_by, finding.suppressed_until) == (
        "decorative (web, T-1); decorative (shop, T-1)", "2026-12-05")
    assert sum(use.applied_count for use in verdict.suppressions) == finding.suppressed_count
    assert " 1 finding (3 occurrences, 2 of them suppressed): 1 block, 0 warn, 0 ignored or wholly suppressed." in (
        verdict.summary)
    (whole,), (none,) = verdict_of([ENTRY], occurrence(A)).findings, verdict_of([], occurrence(A)).findings
    assert [(one.suppressed_count, one.suppression, one.suppressed_routes) for one in (whole, none)] == [
        (1, "suppressed", (A.route,)), (0, "", ())]


@pytest.mark.parametrize(("decision", "said"), [("ignore", "suppressed"), ("warn", "partly suppressed")])
def test_a_finding_of_an_older_file_says_what_it_knows(decision, said):
    (finding,) = verdict_of([ENTRY], occurrence(A)).findings
    older = replace(finding, decision=Decision(decision), suppressed_count=None, suppressed_routes=None)
    assert (older.suppression, older.open_routes) == (said, older.routes)


@pytest.mark.parametrize(("selector", "kind"), [("img", "passed"), ("#x img", "blocked"), (None, "passed")])
def test_a_selector_means_one_target(selector, kind):
    entry = {key: value for key, value in (ENTRY | {"selector": selector}).items() if value is not None}
    assert verdict_of([entry], occurrence(A)).kind == kind


def test_each_occurrence_is_counted_under_the_first_entry_that_means_it():
    entries = [ENTRY | {"selector": "img"}, ENTRY]
    verdict = verdict_of(entries, occurrence(A), occurrence(A, node="b"))
    assert [use.applied_count for use in verdict.suppressions] == [1, 1]
    both = verdict_of(entries, occurrence(A))
    assert ([use.applied_count for use in both.suppressions], codes(both)) == ([1, 0], [])


@pytest.mark.parametrize(("changes", "now", "code"), [
    ({}, "2027-01-01", "expired_suppressions"), ({"route": "glob:/b"}, "2026-11-30", "unused_suppressions"),
    ({"route": "re:.*"}, "2026-11-30", "wide_suppressions"),
])
@pytest.mark.parametrize(("how", "place"), [("warn", "warnings"), ("block", "reasons"), ("ignore", None)])
def test_careless_suppressions_are_told_as_the_policy_says(changes, now, code, how, place):
    policy = {"suppressions": dict.fromkeys(("expired", "unused", "too_wide"), how)}
    verdict = verdict_of([ENTRY | changes], occurrence(A), policy=policy, now=now)
    assert [name for name in ("reasons", "warnings")
            if code in [reason.code for reason in getattr(verdict, name)]] == ([place] if place else [])


def test_a_selector_or_a_page_left_out_is_not_too_wide():
    for entry in (ENTRY | {"route": "re:.*", "selector": "img"}, ENTRY):
        assert "wide_suppressions" not in codes(verdict_of([entry], occurrence(A)))


@pytest.mark.parametrize(("pattern", "path_case"), [("glob:/A", "fold"), ("glob:/a/", "keep")])
def test_a_suppression_holds_where_an_exclusion_would(pattern, path_case):
    plan = plan_of(A, B, identity=IdentitySwitches(path_case=path_case))
    entries = parse_suppressions({"suppressions": [
        ENTRY | {"route": pattern}, ENTRY | {"rule": "region", "route": pattern, "selector": "div"},
        ENTRY | {"rule": "list", "route": "re:^HTTPS:" if path_case == "fold" else "re:/$"}]}, "s", None)
    evidence = evidence_of(plan, [outcome(A), outcome(B)], [occurrence(A), occurrence(A, "region", "div")])
    verdict = decide_verdict(judge_of(plan, evidence, suppressions=entries))
    assert [use.applied_count for use in verdict.suppressions] == [1, 1, 0]
    assert "wide_suppressions" in codes(verdict)


def test_an_expired_suppression_does_not_apply():
    verdict = verdict_of([ENTRY], occurrence(A), now="2027-01-01")
    assert (verdict.kind, verdict.suppressed_count, verdict.suppressions[0].is_expired) == ("blocked", 0, True)


def test_suppressions_never_touch_coverage():
    verdict = verdict_of([ENTRY | {"route": "re:.*"}], rows=[outcome(A), outcome(B, "http_error")])
    assert verdict.kind == "incomplete"


def test_a_new_fault_does_not_hide_behind_a_suppressed_old_one():
    """The baseline knows one, which is suppressed; another one appears."""
    entry = ENTRY | {"selector": "old"}
    old = occurrence(A, target='["old"]', target_text="old")
    evidence = evidence_of(PLAN, [outcome(A), outcome(B)], [old])
    given = judge_of(PLAN, evidence)
    baseline = make_baseline(given, decide_verdict(given))
    policy = {"cells": {"critical": "block_new"}}
    assert verdict_of([entry], old, baseline=baseline, policy=policy).kind == "passed"
    new = occurrence(A, target='["new"]', target_text="new")
    assert verdict_of([entry], old, new, baseline=baseline, policy=policy).kind == "blocked"


def test_a_limit_counts_what_is_not_suppressed():
    policy = {"cells": {"critical": {"action": "block", "allowed": 1}}}
    found = [occurrence(A, node="x"), occurrence(B, node="y")]
    assert verdict_of([ENTRY], *found, policy=policy).kind == "passed"
    assert verdict_of([], *found, policy=policy).kind == "blocked"
