"""The gate against a baseline: what is new, what is fixed, and what nobody can tell."""

from dataclasses import replace

import pytest

from schemas.baseline import KnownFinding
from schemas.counts import Regression
from schemas.engine import RuleInfo
from schemas.errors import ContractError
from schemas.policy import parse_policy
from tasks.gate import decide_verdict, diff_baseline, make_baseline, prune_baseline
from tests.small_estate import ENGINE, RULES, SITE, evidence_of, judge_of, occurrence, outcome, plan_of, route

A, B = route("/a"), route("/b")
PLAN = plan_of(A, B)
NEW_ONLY = parse_policy({"cells": dict.fromkeys(("critical", "serious", "unknown"), "block_new")}, "p", None)


def run_of(*occurrences, rows=None, plan=PLAN, **changes):
    rows = [outcome(page) for page in plan.routes if page.is_in_scope] if rows is None else rows
    return judge_of(plan, evidence_of(plan, rows, occurrences), **{"policy": NEW_ONLY} | changes)


def baseline_of(*occurrences, **changes):
    given = run_of(*occurrences, **changes)
    return make_baseline(given, decide_verdict(given))


def counts_of(regression: Regression):
    return {name: getattr(regression, name) for name in Regression.__slots__ if name.endswith("_count")
            and getattr(regression, name)}


def judged(baseline, *occurrences, **changes):
    return decide_verdict(run_of(*occurrences, baseline=baseline, **changes))


def test_a_fix_and_a_fault_of_one_rule_never_cancel():
    """Fault 091: the header's logo is fixed, the footer's icon breaks: new 1, fixed 1, blocked."""
    verdict = judged(baseline_of(occurrence(A, node="header img")), occurrence(A, node="footer img"))
    assert verdict.kind == "blocked"
    assert counts_of(verdict.regression) == {"new_count": 1, "fixed_count": 1}


def test_the_same_node_on_another_route_is_new():
    """Fault 091: also with identical markup."""
    verdict = judged(baseline_of(occurrence(A)), occurrence(B))
    assert verdict.kind == "blocked"
    assert counts_of(verdict.regression) == {"new_count": 1, "new_on_clean_count": 1, "fixed_count": 1}


def test_one_more_sibling_is_new_by_its_count():
    """Equal siblings have one fingerprint and stay apart by their count."""
    first, second = occurrence(A, target='["img:nth-child(1)"]'), occurrence(A, target='["img:nth-child(2)"]')
    verdict = judged(baseline_of(first), first, second)
    assert (verdict.kind, counts_of(verdict.regression)) == ("blocked", {"new_count": 1, "carried_count": 1})


def test_ten_thousand_old_faults_can_be_adopted_on_day_one():
    old = [occurrence(page, node=f"n{i}") for i in range(300) for page in (A, B)]
    verdict = judged(baseline_of(*old), *old)
    assert (verdict.kind, counts_of(verdict.regression)) == ("passed", {"carried_count": 600})
    assert {finding.standing for finding in verdict.findings} == {"carried"}


@pytest.mark.parametrize("impact", ["moderate", "serious", "critical", None])
def test_a_new_violation_on_a_clean_route_blocks_even_within_a_limit(impact):
    lax = {"cells": {"critical": {"action": "block", "allowed": 9}, "serious": {"action": "block_new", "allowed": 9},
                     "unknown": "warn"}}
    verdict = judged(baseline_of(occurrence(A, impact=impact)), occurrence(A, impact=impact),
                     occurrence(B, node="new", impact=impact), policy=parse_policy(lax, "p", None))
    assert verdict.kind == "blocked"
    assert [reason.code for reason in verdict.reasons][-1] == "new_on_clean_route"


@pytest.mark.parametrize(("found", "policy"), [
    (occurrence(B, node="new", impact="minor"), {}),
    (occurrence(B, "region", node="new"), {}),
    (occurrence(B, node="new", impact="moderate", is_violation=False), {}),
    (occurrence(B, node="new", impact="moderate"), {"regression": "warn"}),
    (occurrence(B, node="new", impact="moderate"), {"cells": {"moderate": "ignore"}}),
    (occurrence(A, node="new", impact="moderate"), {}),
])
def test_what_is_no_regression_on_a_clean_route(found, policy):
    """Minor, best practice, needs review, a policy that says so, or a route that was not clean."""
    baseline = baseline_of(occurrence(A))
    cells = NEW_ONLY_CELLS | policy.get("cells", {})
    verdict = judged(baseline, occurrence(A), found, policy=parse_policy(policy | {"cells": cells}, "p", None))
    assert verdict.kind == "passed"


NEW_ONLY_CELLS = dict.fromkeys(("critical", "serious", "unknown"), "block_new")


def test_minor_faults_do_not_make_a_route_unclean():
    baseline = baseline_of(occurrence(B, node="old", impact="minor"), occurrence(B, "region", node="practice"))
    verdict = judged(baseline, occurrence(B, node="new", impact="moderate"))
    assert [reason.code for reason in verdict.reasons] == ["new_on_clean_route"]


@pytest.mark.parametrize(("row", "word"), [
    (outcome(A), "fixed"), (outcome(A, "partially_scanned", frames_untested=1), "unverified"),
    (outcome(A, "partially_scanned", reason="rule_failed", is_cut=True), "unverified"),  # a rule of it threw
    (outcome(A, is_cut=True), "unverified"),
    (outcome(A, "http_error"), "unverified"), (outcome(A, "redirected", redirected_to=B.task_id), "unverified"),
])
def test_fixed_only_where_the_route_was_fully_scanned(row, word):
    given = run_of(rows=[row, outcome(B)])
    changes = diff_baseline(given, baseline_of(occurrence(A)))
    assert [(change.change, change.route, change.count) for change in changes] == [(word, A.route, 1)]


@pytest.mark.parametrize("weight", ["incomplete", "warn"])
def test_a_rule_that_threw_fixes_nothing_and_cleans_no_baseline(weight):
    """Axe makes one item for review of it; whatever the policy lets pass, what the rule found before is not fixed."""
    threw = occurrence(A, node="html", is_violation=False)
    rows = [outcome(A, "partially_scanned", is_cut=True), outcome(B)]
    policy = parse_policy({"coverage": {"cut_results": weight}}, "p", None)
    known = baseline_of(occurrence(A))
    given = run_of(threw, rows=rows, baseline=known, policy=policy)
    verdict = decide_verdict(given)
    assert counts_of(verdict.regression) == {"new_count": 1, "unverified_count": 1}
    assert (verdict.kind == "incomplete") is (weight == "incomplete")
    if weight != "incomplete":
        before = known.findings[0]
        assert before in make_baseline(given, verdict, known).findings
        assert prune_baseline(given, verdict, known).findings == (before,)
        assert A.task_id not in make_baseline(given, verdict).scanned


def test_fixed_only_where_the_rule_was_on():
    off = replace(ENGINE, rules=tuple(replace(info, is_on=info.rule != "image-alt") for info in RULES))
    given = run_of(plan=plan_of(A, B, engine=off))
    assert [change.change for change in diff_baseline(given, baseline_of(occurrence(A)))] == ["unverified"]


def test_routes_that_left_are_said_to_have_left():
    verdict = judged(baseline_of(occurrence(A), occurrence(B)), plan=plan_of(B))
    assert counts_of(verdict.regression) == {"gone_count": 1, "gone_route_count": 1, "fixed_count": 1}
    assert verdict.regression.gone_routes == (A.route,)


def test_a_rule_that_the_old_engine_lacked_is_apart():
    newer = replace(ENGINE, digest="d" * 64, rules=(*RULES, RuleInfo("new-rule", ("wcag2a",), is_on=True)))
    plan = plan_of(A, B, engine=newer)
    found = occurrence(A, "new-rule", tags=("wcag2a",))
    for policy, decision in ((NEW_ONLY, "warn"), (parse_policy({}, "p", None), "block")):
        verdict = judged(baseline_of(), found, plan=plan, policy=policy)
        assert (verdict.findings[0].standing, verdict.findings[0].decision) == ("new_rule", decision)
        assert counts_of(verdict.regression) == {"new_rule_count": 1}
        (warning,) = [reason for reason in verdict.warnings if reason.code == "baseline_of_other_engine"]
        assert warning.examples == ("new-rule",)


def test_a_policy_may_do_without_a_baseline():
    policy = parse_policy({"baseline": "none"}, "p", None)
    verdict = judged(baseline_of(occurrence(A)), occurrence(A), policy=policy)
    assert (verdict.regression, verdict.findings[0].standing, verdict.kind) == (None, None, "blocked")


def test_where_impacts_of_one_node_differ_the_worst_counts_as_the_new_one():
    old = occurrence(A, impact="minor", target='["x"]')
    verdict = judged(baseline_of(old), old, occurrence(A, impact="critical", target='["y"]'))
    assert verdict.kind == "blocked"


# ---- writing baselines


def test_a_baseline_is_refused_from_an_incomplete_run():
    """Fault 094."""
    given = run_of(rows=[outcome(A)])
    for write in (lambda v: make_baseline(given, v), lambda v: prune_baseline(given, v, baseline_of())):
        with pytest.raises(ContractError, match="incomplete run"):
            write(decide_verdict(given))


def test_a_baseline_knows_what_the_run_saw():
    baseline = baseline_of(occurrence(A), occurrence(A, target='["x"]'), occurrence(B, is_violation=False),
                           occurrence(B, impact=None))
    mark = occurrence(A).fingerprint
    assert baseline.findings == (
        KnownFinding(mark, False, "image-alt", "critical", {B.task_id: 1}),
        KnownFinding(mark, True, "image-alt", "critical", {A.task_id: 2, B.task_id: 1}))
    assert (baseline.scanned, baseline.rules, baseline.run_id, baseline.date) == (
        {A.task_id: A.route, B.task_id: B.route}, {"image-alt", "color-contrast", "region"}, "r1", "2026-11-30")


def test_a_delta_run_merges_the_routes_that_it_scanned():
    """What the delta did not look at stands, also routes that left."""
    gone = route("/gone")
    before = baseline_of(occurrence(A), occurrence(B), occurrence(gone), plan=plan_of(A, B, gone))
    far = replace(B, is_in_scope=False, carried_from_run_id="r1", carried_date="2026-11-29")
    given = run_of(occurrence(A, node="other"), plan=plan_of(A, far, scope="delta"))
    after = make_baseline(given, decide_verdict(given), before)
    assert {known.fingerprint: dict(known.routes) for known in after.findings} == {
        occurrence(A).fingerprint: {B.task_id: 1, gone.task_id: 1},
        occurrence(A, node="other").fingerprint: {A.task_id: 1}}
    assert set(after.scanned) == {A.task_id, B.task_id, gone.task_id}


def test_a_full_run_drops_routes_that_left_and_keeps_what_it_could_not_scan():
    gone = route("/gone")
    before = baseline_of(occurrence(A), occurrence(B), occurrence(gone), plan=plan_of(A, B, gone))
    entry = {"pattern": "glob:/b", "outcome": "http_error", "reason": "r", "owner": "o", "until": "2027-01-01"}
    given = run_of(occurrence(A), rows=[outcome(A), outcome(B, "http_error")],
                   policy=parse_policy({"accepted": [entry]}, "p", None))
    after = make_baseline(given, decide_verdict(given), before)
    assert [dict(known.routes) for known in after.findings] == [{A.task_id: 1, B.task_id: 1}]
    assert set(after.scanned) == {A.task_id, B.task_id}


def test_a_partial_scan_never_lowers_what_is_known():
    before = baseline_of(occurrence(A), occurrence(A, target='["x"]'))
    partial = [outcome(A, "partially_scanned", frames_untested=1), outcome(B)]
    given = run_of(occurrence(A), rows=partial)
    assert make_baseline(given, decide_verdict(given), before).findings == before.findings


def test_rules_that_only_part_of_the_estate_was_tested_for_stay_new():
    newer = replace(ENGINE, rules=(*RULES, RuleInfo("new-rule", ("wcag2a",), is_on=True)))
    far = replace(B, is_in_scope=False, carried_from_run_id="r1", carried_date="2026-11-29")
    policy = parse_policy({"rules": {"new-rule": "ignore"}}, "p", None)
    given = run_of(plan=plan_of(A, far, scope="delta", engine=newer), policy=policy)
    assert "new-rule" not in make_baseline(given, decide_verdict(given), baseline_of()).rules
    whole = run_of(plan=plan_of(A, B, engine=newer), policy=policy)
    assert "new-rule" in make_baseline(whole, decide_verdict(whole), baseline_of()).rules


def test_other_switches_need_a_full_run_to_start_anew():
    old = replace(baseline_of(occurrence(A)), identity={"path_case": "fold"})
    given = run_of(occurrence(B))
    verdict = decide_verdict(given)
    assert make_baseline(given, verdict, old) == make_baseline(given, verdict)
    delta = run_of(plan=plan_of(A, B, scope="delta"))
    with pytest.raises(ContractError, match="path_case"):
        make_baseline(delta, decide_verdict(delta), old)


def test_pruning_takes_out_what_is_fixed_or_gone_and_lets_nothing_in():
    gone = route("/gone")
    before = baseline_of(occurrence(A), occurrence(A, target='["x"]'), occurrence(B, node="fixed"), occurrence(gone),
                         plan=plan_of(A, B, gone))
    given = run_of(occurrence(A), occurrence(B, node="new"))
    after = prune_baseline(given, decide_verdict(given), before)
    assert [(known.fingerprint, dict(known.routes)) for known in after.findings] == [
        (occurrence(A).fingerprint, {A.task_id: 1})]
    assert set(after.scanned) == {A.task_id, B.task_id}


def test_differences_are_listed_new_ones_first():
    given = run_of(occurrence(A, node="new"), occurrence(B))
    assert [(c.change, c.rule, c.route.removeprefix(SITE), c.count)
            for c in diff_baseline(given, baseline_of(occurrence(A), occurrence(B)))] == [
        ("new", "image-alt", "/a", 1), ("fixed", "image-alt", "/a", 1)]
