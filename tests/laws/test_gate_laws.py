"""Laws of the gate: losing anything never turns red to green, order says nothing, and judging twice changes nothing."""

from dataclasses import replace

import pyarrow as pa
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from schemas.plan import Plan
from schemas.policy import parse_policy
from schemas.suppression import parse_suppressions
from schemas.verdict import EXIT_CODES, FLOW_STATES, VerdictKind
from tasks.converge import converge
from tasks.gate import decide_verdict, make_baseline
from tests.small_estate import evidence_of, judge_of, occurrence, outcome, plan_of, route

ROUTES = [route(f"/p{i}", i % 2, journey=("primary", "secondary")[i == 3]) for i in range(4)]
PLAN = plan_of(*ROUTES)
LIMIT = {"action": "block", "allowed": 1}
ACCEPTED = {"pattern": "glob:/p1", "outcome": "http_error", "reason": "r", "owner": "o", "until": "2027-01-01"}
POLICIES = [parse_policy(document, "p", None) for document in (
    {}, {"cells": {"critical": "block_new", "serious": "block_new", "unknown": "block_new"}},
    {"cells": {"critical": LIMIT, "moderate": {"action": "block_new", "allowed": 1}}},
    {"report_only": True}, {"accepted": [ACCEPTED], "needs_review": "block"},
    {"overrides": [{"pattern": "glob:/p2", "cells": {"critical": "ignore", "minor": "block"}}]})]
SUPPRESSIONS = parse_suppressions({"suppressions": [
    {"rule": "image-alt", "route": pattern, "reason": "r", "owner": "o", "expires": until} | more
    for pattern, until, more in (("glob:/p0", "2027-01-01", {}), ("re:p", "2027-01-01", {"selector": "b"}),
                                 ("re:.*", "2026-01-01", {}))]}, "s", None)
quick = settings(max_examples=20, deadline=None)

nodes = st.builds(
    lambda row, node, impact, is_violation: occurrence(row, node=node, impact=impact, is_violation=is_violation),
    st.sampled_from(ROUTES), st.sampled_from(["img", "b"]), st.sampled_from(["critical", "moderate", "minor", None]),
    st.sampled_from([True, True, False]))
kinds = st.sampled_from(["scanned"] * 8 + ["http_error", "partially_scanned", "not_applicable"])


@st.composite
def runs(draw):
    """Evidence and what it is judged by, as keyword arguments."""
    rows = [outcome(row, draw(kinds), frames_untested=draw(st.integers(0, 1))) for row in ROUTES]
    seen = {(o.task_id, o.target, o.is_violation): o for o in draw(st.lists(nodes, max_size=6))}
    evidence = evidence_of(PLAN, rows, list(seen.values()))
    baseline = None
    if draw(st.booleans()):
        old = judge_of(PLAN, evidence_of(PLAN, [outcome(row) for row in ROUTES], draw(st.lists(
            nodes, max_size=4, unique_by=lambda o: (o.task_id, o.target, o.is_violation)))))
        baseline = make_baseline(old, decide_verdict(old))
    suppressions = tuple(draw(st.lists(st.sampled_from(SUPPRESSIONS), unique=True)))
    return evidence, {"policy": draw(st.sampled_from(POLICIES)), "baseline": baseline, "suppressions": suppressions}


def verdict_of(evidence, by, plan=PLAN):
    return decide_verdict(judge_of(plan, evidence, **by))


def is_red(verdict):
    return verdict.kind is not VerdictKind.PASSED


def without(evidence, table_name, keep):
    data = getattr(evidence, table_name)
    mask = pa.array([keep(row) for row in data.select(["task_id", "shard_index", "rule"]).to_pylist()], pa.bool_())
    return replace(evidence, **{table_name: data.filter(mask)})


@quick
@given(runs(), st.integers(0, 3), st.booleans())
def test_losing_an_outcome_never_turns_red_to_green(run, index, with_tables):
    evidence, by = run
    lost = replace(evidence, outcomes=evidence.outcomes[:index] + evidence.outcomes[index + 1:])
    if with_tables:
        gone = evidence.outcomes[index].task_id
        for name in ("occurrences", "rule_results"):
            lost = without(lost, name, lambda row: row["task_id"] != gone)
    assert verdict_of(lost, by).kind is VerdictKind.INCOMPLETE


@quick
@given(runs(), st.integers(0, 1), st.booleans())
def test_losing_a_shard_never_turns_red_to_green(run, shard, with_rows):
    evidence, by = run
    lost = replace(evidence, receipts={i: r for i, r in evidence.receipts.items() if i != shard})
    if with_rows:
        lost = replace(lost, outcomes=tuple(row for row in lost.outcomes if row.shard_index != shard))
        for name in ("occurrences", "rule_results"):
            lost = without(lost, name, lambda row: row["shard_index"] != shard)
    assert verdict_of(lost, by).kind is VerdictKind.INCOMPLETE


@quick
@given(runs(), st.data())
def test_losing_a_suppression_never_turns_red_to_green(run, data):
    evidence, by = run
    assume(by["suppressions"])
    lost = data.draw(st.sampled_from(by["suppressions"]))
    left = by | {"suppressions": tuple(entry for entry in by["suppressions"] if entry is not lost)}
    if is_red(verdict_of(evidence, by)):
        assert is_red(verdict_of(evidence, left))


@quick
@given(runs(), st.sampled_from(["image-alt", "color-contrast"]), st.sampled_from(ROUTES))
def test_losing_a_rules_results_never_turns_red_to_green(run, rule, row):
    evidence, by = run
    lost = without(evidence, "rule_results", lambda r: (r["rule"], r["task_id"]) != (rule, row.task_id))
    if is_red(verdict_of(evidence, by)):
        assert is_red(verdict_of(lost, by))


@quick
@given(runs(), nodes)
def test_one_more_occurrence_never_turns_red_to_green(run, more):
    evidence, by = run
    added = replace(evidence, occurrences=pa.concat_tables([
        evidence.occurrences, evidence_of(PLAN, [], [more], []).occurrences]))
    if is_red(verdict_of(evidence, by)):
        assert is_red(verdict_of(added, by))


@quick
@given(runs(), st.randoms(use_true_random=False))
def test_order_says_nothing(run, random):
    evidence, by = run
    given_ = judge_of(PLAN, evidence, **by)
    converged = given_.converged
    turned = replace(
        given_, receipts=dict(reversed(list(given_.receipts.items()))),
        converged=replace(
            converged, outcomes=tuple(random.sample(converged.outcomes, len(converged.outcomes))),
            findings=tuple(random.sample(converged.findings, len(converged.findings))),
            sightings=tuple(random.sample(converged.sightings, len(converged.sightings))),
            occurrences=converged.occurrences.take(pa.array(random.sample(
                range(converged.occurrences.num_rows), converged.occurrences.num_rows), pa.int64()))))
    assert decide_verdict(turned) == decide_verdict(given_)


@quick
@given(runs())
def test_judging_twice_and_replaying_the_evidence_change_nothing(run):
    evidence, by = run
    twice = replace(evidence, outcomes=evidence.outcomes * 2,
                    occurrences=pa.concat_tables([evidence.occurrences] * 2),
                    rule_results=pa.concat_tables([evidence.rule_results] * 2))
    verdict = verdict_of(evidence, by)
    assert verdict == verdict_of(evidence, by) == verdict_of(twice, by)


@quick
@given(runs())
def test_a_baseline_of_the_run_itself_has_nothing_new(run):
    evidence, by = run
    given_ = judge_of(PLAN, evidence, **by | {"baseline": None})
    verdict = decide_verdict(given_)
    assume(verdict.kind is not VerdictKind.INCOMPLETE)
    own = verdict_of(evidence, by | {"baseline": make_baseline(given_, verdict)})
    assert (own.regression.new_count, own.regression.fixed_count, own.regression.gone_count) == (0, 0, 0)
    assert own.regression.carried_count == own.occurrence_count


@quick
@given(runs())
def test_a_verdict_agrees_with_itself(run):
    verdict = verdict_of(*run)
    assert (verdict.exit_code, verdict.flow_state) == (EXIT_CODES[verdict.kind], FLOW_STATES[verdict.kind])
    assert (verdict.kind is VerdictKind.PASSED) is (verdict.reasons == ())
    assert sum(verdict.coverage.by_outcome.values()) == len(PLAN.routes)
    assert sum(verdict.decisions.values()) == verdict.finding_count == len(verdict.findings)
    blocks = any(finding.decision == "block" for finding in verdict.findings)
    told = {reason.decision for reason in verdict.reasons + verdict.warnings}
    assert blocks is bool(told & {"block", "would_block"})


def test_empty_anything_is_red():
    whole = evidence_of(PLAN, [outcome(row) for row in ROUTES])
    by = {"policy": parse_policy({"report_only": True}, "p", None)}
    assert verdict_of(whole, by).kind is VerdictKind.PASSED
    nothing = Plan(replace(PLAN.header, route_count=0, shards=(), shard_count=0), ()).sealed()
    for evidence, plan in ((replace(whole, outcomes=()), PLAN), (replace(whole, receipts={}), PLAN),
                           (replace(whole, rule_results=whole.rule_results.slice(0, 0)), PLAN),
                           (evidence_of(nothing, []), nothing)):
        assert verdict_of(evidence, by, plan).kind is VerdictKind.INCOMPLETE
    emptied = replace(judge_of(PLAN, whole, **by), converged=replace(converge(PLAN, whole), outcomes=()))
    assert decide_verdict(emptied).kind is VerdictKind.INCOMPLETE
