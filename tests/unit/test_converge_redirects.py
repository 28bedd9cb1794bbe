"""Redirects: a route that leads elsewhere is covered only by a scan of where it leads."""

from dataclasses import replace

import pytest

from schemas.address import identity_of
from schemas.route import RouteKey
from schemas.settings import IdentitySwitches
from tasks.converge import converge
from tests.small_estate import SITE, evidence_of, occurrence, outcome, plan_of, route

A, B, C, D = (route(path, journey="secondary") for path in ("/a", "/b", "/c", "/d"))


def told(plan, rows, **changes):
    converged = converge(plan, evidence_of(plan, rows, **changes))
    return [(row.route.removeprefix(SITE), row.outcome.value, row.reason) for row in converged.outcomes]


def leads(source, target, **changes):
    return outcome(source, "redirected", redirected_to=target.task_id, final_url=target.url, **changes)


def test_a_redirect_to_a_scanned_route_is_settled_and_its_findings_count_once():
    """Fault 023: `/old` leads to `/new`, both planned: two outcomes, violations counted once."""
    plan = plan_of(A, B)
    converged = converge(plan, evidence_of(plan, [leads(A, B), outcome(B)], [occurrence(B)]))
    assert [row.outcome.value for row in converged.outcomes] == ["redirected", "scanned"]
    assert [(f.occurrence_count, f.routes) for f in converged.findings] == [(1, (B.route,))]
    assert converged.dead_letters == ()


def test_a_chain_is_followed_to_its_end():
    plan = plan_of(A, B, C)
    converged = converge(plan, evidence_of(plan, [leads(A, B), leads(B, C), outcome(C)]))
    assert [(row.outcome.value, row.redirected_to) for row in converged.outcomes] == [
        ("redirected", C.task_id), ("redirected", C.task_id), ("scanned", None)]


@pytest.mark.parametrize("rows", [
    [leads(A, A), outcome(B), outcome(C)],
    [leads(A, B), leads(B, A), outcome(C)],
    [leads(A, B), leads(B, C), leads(C, B)],
])
def test_a_cycle_is_unsettled(rows):
    plan = plan_of(A, B, C)
    seen = told(plan, rows)
    assert [line for row, line in zip(rows, seen, strict=True) if row.outcome == "redirected"] == [
        (row.route.removeprefix(SITE), "wrong_page", "redirect_cycle") for row in rows if row.outcome == "redirected"]


@pytest.mark.parametrize("target", ["http_error", "timed_out", "wrong_page"])
def test_a_redirect_settles_with_its_target(target):
    plan = plan_of(A, B, C)
    assert told(plan, [leads(A, B), leads(B, C), outcome(C, target)]) == [
        ("/a", "wrong_page", "redirect_unsettled"), ("/b", "wrong_page", "redirect_unsettled"), ("/c", target, target)]


def test_a_redirect_to_a_route_that_is_missing_is_unsettled():
    plan = plan_of(A, B)
    assert told(plan, [leads(A, B)]) == [("/a", "wrong_page", "redirect_unsettled"), ("/b", "missing", "no_row")]


def test_a_redirect_to_nothing_in_the_plan_is_unsettled():
    assert told(plan_of(A), [leads(A, D)]) == [("/a", "wrong_page", "redirect_unplanned")]
    assert told(plan_of(A), [outcome(A, "redirected")]) == [("/a", "wrong_page", "redirect_unplanned")]


def test_a_scan_under_another_profile_settles_nothing():
    admin = route("/b", 1, auth="admin")
    plan = plan_of(A, admin)
    assert told(plan, [leads(A, admin), outcome(admin)])[0] == ("/a", "wrong_page", "redirect_unplanned")


def test_a_chain_that_passes_through_another_profile_settles_nothing():
    admin = route("/b", 1, auth="admin")
    plan = plan_of(A, C, admin)
    assert told(plan, [leads(A, admin), leads(admin, C), outcome(C)])[0] == (
        "/a", "wrong_page", "redirect_unplanned")


def test_a_redirect_to_a_carried_route_stands_on_its_scan():
    far = route("/b", is_in_scope=False, carried_from_run_id="r0", carried_date="2026-11-01")
    assert told(plan_of(A, far), [leads(A, far)]) == [("/a", "redirected", "redirected"),
                                                      ("/b", "carried", "out_of_scope")]


@pytest.mark.parametrize(("expected_of_it", "outcome_kind"), [
    ({}, "not_applicable"), ({"ready": "main"}, "wrong_page"), ({"was_html": True}, "wrong_page"),
    ({"expect_status": 200}, "wrong_page"), ({"journey": "primary", "journey_is_explicit": True}, "wrong_page"),
])
def test_a_redirect_to_a_file_is_judged_like_a_file_in_its_place(expected_of_it, outcome_kind):
    source = route("/a", **{"journey": "secondary"} | expected_of_it)
    plan = plan_of(source, B)
    assert told(plan, [leads(source, B), outcome(B, "not_applicable")])[0] == ("/a", outcome_kind, "redirect_to_file")


@pytest.mark.parametrize(("count", "expected"), [(5, ("redirected", "redirected")), (6, ("wrong_page", "many_to_one"))])
@pytest.mark.parametrize("home", ["/", "/new"])
def test_more_than_five_on_to_one_planned_route_is_a_wrong_page(count, expected, home):
    """The site's root is no exception: that is where soft errors lead."""
    target = route(home)
    pages = [route(f"/p{i}") for i in range(count)]
    seen = told(plan_of(target, *pages), [outcome(target), *(leads(page, target) for page in pages)])
    assert [line[1:] for line in seen] == [("scanned", "scanned"), *[expected] * count]


@pytest.mark.parametrize(("count", "expected"), [(5, ("scanned", "scanned")), (6, ("wrong_page", "many_to_one"))])
def test_more_than_five_on_to_one_page_outside_the_plan_is_a_wrong_page(count, expected):
    pages = [route(f"/p{i}") for i in range(count)]
    rows = [outcome(page, final_url=f"{SITE}/sorry#{i}") for i, page in enumerate(pages)]
    plan = plan_of(A, *pages)
    converged = converge(plan, evidence_of(plan, [outcome(A), *rows], [occurrence(page) for page in pages]))
    assert [(row.outcome.value, row.reason) for row in converged.outcomes[1:]] == [expected] * count
    assert sum(finding.occurrence_count for finding in converged.findings) == (count if count == 5 else 0)
    assert len(converged.dead_letters) == (0 if count == 5 else 6)


def test_pages_that_stay_where_they_are_are_no_crowd():
    pages = [route(f"/p{i}", aliases=(f"{SITE}/p{i}/",)) for i in range(9)]
    rows = [outcome(page, final_url=page.aliases[0]) for page in pages]
    assert {line[1] for line in told(plan_of(*pages), rows)} == {"scanned"}


@pytest.mark.parametrize(("asked", "answered"), [
    ("https://e.test/app#/p{}", "https://e.test/app/#/p{}"),
    ("https://e.test/app#!p{}", "https://e.test/app/#!p{}"),
    ("http://e.test/p{}", "https://e.test/p{}"),
    ("https://e.test/p{}", "https://www.e.test/p{}"),
    ("https://www.e.test/p{}", "https://e.test/p{}/?utm_source=mail#top"),
    ("https://e.test/app#/p{}", "https://e.test/other/#/p{}"),
])
def test_pages_that_a_server_spells_another_way_are_no_crowd(asked, answered):
    """`/app` to `/app/`, or an upgrade to https, is no other page; and a fragment that is a route names one."""
    pages = [replace(route(""), task_id=key.task_id, route=key.route, url=key.route)
             for key in (RouteKey(identity_of(asked.format(i), IdentitySwitches()), None) for i in range(6))]
    rows = [outcome(page, final_url=answered.format(i)) for i, page in enumerate(pages)]
    assert {line[1:] for line in told(plan_of(*pages), rows)} == {("scanned", "scanned")}


@pytest.mark.parametrize("answered", ["https://e.test/app#/sign-in", "https://e.test/app/?utm_source={}#/sign-in",
                                      "about:blank"])
def test_one_page_in_any_spelling_is_a_crowd(answered):
    pages = [route(f"/app#/p{i}") for i in range(6)]
    rows = [outcome(page, final_url=answered.format(i)) for i, page in enumerate(pages)]
    seen = converge(plan_of(*pages), evidence_of(plan_of(*pages), rows)).outcomes
    assert {(row.outcome.value, row.reason, row.detail) for row in seen} == {
        ("wrong_page", "many_to_one", f"6 routes lead to {answered.format(0)}")}


def test_the_page_that_a_crowd_ends_on_is_no_part_of_it():
    """The owner of the address does not fill up the limit, and is not downgraded with the others."""
    for count, expected in ((5, "scanned"), (6, "wrong_page")):
        pages = [route(f"/p{i}") for i in range(count)]
        rows = [outcome(A), *(outcome(page, final_url=A.url) for page in pages)]
        assert [line[1] for line in told(plan_of(A, *pages), rows)] == ["scanned", *[expected] * count]


def test_the_target_inherits_the_stronger_journey():
    strong = route("/strong", journey="primary")
    plan = plan_of(strong, B, C)
    converged = converge(plan, evidence_of(plan, [leads(strong, B), leads(B, C), outcome(C)], [occurrence(C)]))
    assert [row.journey for row in converged.outcomes] == ["primary", "secondary", "primary"]
    assert converged.findings[0].journey == "primary"


def test_a_downgraded_row_can_be_accepted_by_name():
    known = route("/a", accepted_outcome="wrong_page", accepted_reason="moved")
    plan = plan_of(known, B)
    converged = converge(plan, evidence_of(plan, [leads(known, B), outcome(B, "http_error")]))
    assert (converged.outcomes[0].reason, converged.outcomes[0].is_accepted) == ("redirect_unsettled", True)
