"""`fanfold gate RUN_ID --explain ROUTE`: rule by rule why a route blocks or not."""

from dataclasses import replace

import pytest

from schemas.errors import ContractError
from schemas.suppression import parse_suppressions
from tasks.gate import decide_verdict, explain_route, make_baseline
from tests.small_estate import SITE, evidence_of, judge_of, occurrence, outcome, plan_of, results, route

A, B = route("/a", aliases=(SITE + "/a/",)), route("/b", journey="secondary")
ADMIN = route("/a", 1, auth="admin")
PLAN = plan_of(A, B, ADMIN)


def run_of(*occurrences, rows=None, ran=None, **changes):
    rows = [outcome(A), outcome(B), outcome(ADMIN)] if rows is None else rows
    return judge_of(PLAN, evidence_of(PLAN, rows, occurrences, ran), **changes)


def test_every_rule_is_explained_and_what_blocks_comes_first():
    found = run_of(occurrence(A, "color-contrast"), occurrence(A, "region", impact="minor"))
    explained = explain_route(found, B.route)[0]
    assert (explained.route, explained.journey, explained.coverage) == (B.route, "secondary",
                                                                       "scanned, scanned. Covered.")
    assert {rule.text for rule in explained.rules} == {"nothing found"}
    rules = explain_route(found, A.task_id)[0].rules
    assert [(rule.rule, rule.decision, rule.cell) for rule in rules] == [
        ("color-contrast", "block", "critical on primary: block"), ("region", "warn", "best_practice on primary: warn"),
        ("image-alt", None, "")]
    assert rules[0].classes == "pass 1" and rules[0].occurrence_count == 1 and rules[0].is_needed


@pytest.mark.parametrize("asked", [A.route, SITE + "/a/"])
def test_an_address_is_explained_under_every_profile_that_sees_it(asked):
    assert [e.route for e in explain_route(run_of(), asked)] == (
        [A.route, A.route + " as admin"] if asked == A.route else [A.route])
    assert [e.route for e in explain_route(run_of(), str(ADMIN.key))] == [A.route + " as admin"]


def test_a_route_that_the_plan_has_not_names_near_ones():
    with pytest.raises(ContractError, match=f"Near: {A.route}"):
        explain_route(run_of(), "/a")


def test_a_hole_is_explained():
    found = run_of(rows=[outcome(A, "http_error", reason="status_500", how_to_fix="Ask the owner."), outcome(B),
                         outcome(ADMIN)])
    explained = explain_route(found, A.task_id)[0]
    assert explained.coverage == "http_error, status_500. Not covered: the run is incomplete. Ask the owner."


def test_a_rule_that_did_not_run_is_explained():
    ran = [*results(A, ("image-alt",)), *results(B), *results(ADMIN)]
    (rule,) = [r for r in explain_route(run_of(ran=ran), A.task_id)[0].rules if r.rule == "color-contrast"]
    assert (rule.classes, rule.is_needed, rule.text) == ("not run", True, "not run: what was not run is not clean")


def test_baseline_and_suppressions_are_explained():
    entry = {"rule": "image-alt", "route": "glob:/a", "selector": "img", "reason": "r", "owner": "o",
             "expires": "2027-01-01"}
    suppressions = parse_suppressions({"suppressions": [entry]}, "s", None)
    (text,) = [rule.text for rule in explain_route(run_of(occurrence(A), suppressions=suppressions), A.task_id)[0].rules
               if rule.occurrence_count]
    assert text.endswith(": suppressed until 2027-01-01: r (o)")
    given = run_of(occurrence(A), occurrence(A, target='["b"]', target_text="b"), suppressions=suppressions)
    (text,) = [rule.text for rule in explain_route(given, A.task_id)[0].rules if rule.occurrence_count]
    assert text.endswith("block, 1 suppressed until 2027-01-01: r (o)")
    given = run_of(occurrence(A))
    given = replace(given, baseline=make_baseline(given, decide_verdict(given)))
    assert "carried" in explain_route(given, A.task_id)[0].rules[0].text


def test_it_says_what_the_verdict_says():
    found = run_of(occurrence(A), occurrence(B), occurrence(ADMIN, "region"))
    blocking = {f.rule for f in decide_verdict(found).findings if f.decision == "block"}
    explained = {rule.rule for page in (A, B, ADMIN) for e in explain_route(found, page.task_id) for rule in e.rules
                 if rule.decision == "block"}
    assert explained == blocking == {"image-alt"}
